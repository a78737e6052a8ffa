"""The scaffold: facts, stages, candidates, what is redundant, and what can't be read."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedside.core.errors import InputError
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Outcome
from bedside.simulation.simulators.multisense.sensemaker import least_like
from bedside.simulation.simulators.multisense.stages import NAMES, guides
from tests.simulation.simulators.multisense.scenes import Talk, by_chance, cases, talked
from tests.simulation.simulators.playing import Played
from tests.soak import budget

ALL = (True, True, True)
FIXED = guides("en").fixed_sentence


def messages(outcome: Outcome) -> list[dict[str, Any]]:
    return [dict(state) for state in outcome.states if state["purpose"] == "message"]


def stages(outcome: Outcome) -> list[int]:
    numbers = {name: number for number, name in NAMES.items()}
    return [numbers[turn.meta["stage"]] for turn in outcome.turns if turn.role == "clinician"]


# -- whatever is replied ------------------------------------------------------------------------------


@pytest.mark.soak
@settings(max_examples=budget(10, 3000), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    seed=st.integers(0, 2**32), redundant=st.sampled_from((0.0, 0.5, 0.9, 1.0)), unreadable=st.sampled_from((0.0, 0.3))
)
def test_whatever_is_replied(seed: int, redundant: float, unreadable: float) -> None:
    talk = talked(by_chance(seed, redundant=redundant, unreadable=unreadable), seed=seed)
    ended = talk.ended
    own = stages(ended)
    assert own == sorted(own)
    assert ended.stop == "exit"
    assert own[-1] == 6
    assert 3 in own, "information is never skipped"
    assert len(own) <= 21
    assert all(own.count(stage) <= most for stage, most in zip(range(1, 7), (4, 5, 1, 5, 5, 1), strict=True))
    if not any("bumped" in turn for state in messages(ended) for turn in state["rounds"]):
        assert len(own) >= 5
    _check_candidates(ended)
    _check_facts(ended)
    _check_patient(ended, talk)


def _check_candidates(ended: Outcome) -> None:
    """What is said is one of the last round's three, and not redundant unless it is forced."""
    for state in messages(ended):
        last = state["rounds"][-1]
        assert state["message"] in last["candidates"]
        assert len(last["candidates"]) == 3
        if "redundant" in last:
            places = [n for n, text in enumerate(last["candidates"]) if text == state["message"]]
            assert last["forced"] is not any(not last["redundant"][n] for n in places)
        else:
            assert last["stage"] == 6
        assert len(state["rounds"]) <= 3
        reached = [each["stage"] for each in state["rounds"]]
        assert all(after - before in (0, 1) for before, after in pairwise(reached))
        assert all(after == before == 3 for before, after in pairwise(reached) if after == before)


def _check_facts(ended: Outcome) -> None:
    """What is known only grows, each fact once."""
    known: list[str] = []
    for state in messages(ended):
        assert not {text.casefold() for text in state["learned"]} & {text.casefold() for text in known}
        assert set(state["learned"]) <= set(state["extracted"])
        known += state["learned"]
    assert len({text.casefold() for text in known}) == len(known)


def _check_patient(ended: Outcome, talk: Played) -> None:
    answers = [state for state in ended.states if state["purpose"] == "answer"]
    for state in answers:
        assert len(state["selected"]) <= 3
        assert all(1 <= place <= len(state["facts"]) for place in state["selected"])
        assert state["made_by"] == ("answer" if state["selected"] else "no_facts")
    diagnosis = cases()["panic"].hidden.diagnosis
    assert diagnosis
    for call in talk.calls:
        if call.actor == "patient":
            assert diagnosis not in f"{call.brief} {call.instruction} {call.material}"


# -- facts --------------------------------------------------------------------------------------------


def test_a_fact_that_is_known_by_meaning_is_not_learned_twice() -> None:
    talk = talked(
        Talk(
            extraction=lambda call: {"facts": ["He sleeps badly.", f"He said {call.ordinal}."]}, matching={"known": [1]}
        )
    )
    learned = [state["learned"] for state in messages(talk.ended)]
    # The words that were there before aren't even put to the evaluator.
    assert learned[0] == ["He sleeps badly.", "He said 1."]
    assert learned[1:] == [[] for _ in learned[1:]]
    assert "He sleeps badly." not in talk.asked("matching")[0].material["fresh"]


def test_nothing_is_matched_where_nothing_was_said_or_known() -> None:
    talk = talked(Talk(extraction={"facts": []}))
    assert not talk.asked("matching")
    assert [call.ordinal for call in talked(Talk()).asked("matching")] == [2, 3, 4, 5]


def test_the_reply_to_the_information_is_searched_for_facts_too() -> None:
    talk = talked(Talk())
    assert [call.ordinal for call in talk.asked("extraction")] == [1, 2, 3, 4, 5]


def test_the_clinician_is_shown_facts_its_own_words_and_the_last_message_only() -> None:
    talk = talked(Talk([False, True]))
    turns = talk.ended.turns
    for call in talk.asked("candidates"):
        assert len(call.history) == 1
        number = call.ordinal
        assert call.history[0].text == turns[2 * number - 2].text
        own = [turn.text for turn in turns[: 2 * number - 2] if turn.role == "clinician"]
        assert all(text in call.brief for text in own)
        assert "Pulse 88" in call.brief


# -- stages -------------------------------------------------------------------------------------------


def test_nobody_decides_while_information_is_provided_and_at_the_end() -> None:
    talk = talked(Talk([False]))
    decided = [call.material["stage"] for call in talk.asked("stage")]
    assert Counter(decided) == {1: 5, 2: 5, 4: 5, 5: 5}


def test_a_decision_that_cant_be_read_is_one_to_stay_and_the_cap_moves_all_the_same() -> None:
    ended = talked(Talk(stage="Let us see.")).ended
    assert stages(ended) == [1] * 4 + [2] * 5 + [3] + [4] * 5 + [5] * 5 + [6]
    assert ended.completed
    assert ended.flags["clinician: stage can't be read"] == 20
    assert not messages(ended)[0]["readable"]
    assert all(len(state["decisions_refused"]) == 3 for state in messages(ended)[:9])


def test_the_clinician_is_asked_for_decisions_and_the_evaluator_for_facts_and_labels() -> None:
    asked = {(call.purpose, call.actor) for call in talked(Talk(), "bipolar").calls}
    assert asked == {
        *((purpose, "clinician") for purpose in ("stage", "candidates")),
        *((purpose, "evaluator") for purpose in ("extraction", "matching", "redundancy")),
        *((purpose, "patient") for purpose in ("decomposition", "intent", "goal", "opening", "selection", "answer")),
    }  # fmt: skip


# -- candidates ---------------------------------------------------------------------------------------


def test_one_of_those_that_arent_redundant_is_drawn() -> None:
    # A round for the opening, where nothing but the chart can be repeated, and four more.
    labels = [(False, False, False), (True, False, True), (False, True, False), (True, True, False)]
    said = set()
    for seed in range(20):
        states = messages(talked(Talk(redundant=labels), seed=seed).ended)
        last = [state["rounds"][-1] for state in states]
        assert states[1]["message"] == last[1]["candidates"][1]
        assert states[3]["message"] == last[3]["candidates"][2]
        said.add(last[0]["candidates"].index(states[0]["message"]))
        assert last[2]["candidates"].index(states[2]["message"]) in (0, 2)
    assert said == {0, 1, 2}


def test_where_all_is_redundant_the_stage_is_left_and_its_count_begins_anew() -> None:
    # Stays four times in the second stage after three redundant candidates end the first.
    ended = talked(Talk([False, *[False] * 4, True], redundant=[ALL])).ended
    assert stages(ended)[:6] == [2, 2, 2, 2, 2, 3]
    first = messages(ended)[0]
    assert [each["stage"] for each in first["rounds"]] == [1, 2]
    assert first["rounds"][0]["bumped"]
    assert ended.flags["stages cut short by redundancy"] == 1


def test_information_is_never_skipped_but_written_anew_and_forced() -> None:
    # Moves to the second and third stage; all that is written there is redundant, twice.
    none = (False,) * 3
    talk = talked(Talk(redundant=[none, ALL, ALL, none]))
    ended = talk.ended
    assert stages(ended) == [2, 3, 4, 5, 6]
    state = messages(ended)[1]
    assert [each["stage"] for each in state["rounds"]] == [3, 3]
    assert [each["forced"] for each in state["rounds"]] == [False, True]
    again = talk.asked("candidates")[2]
    assert all(text in again.instruction for text in state["rounds"][0]["candidates"])
    turn = next(turn for turn in ended.turns if turn.meta["stage"] == NAMES[3])
    assert "forced" in turn.meta["flags"]
    assert ended.flags["clinician: forced"] == 1


def test_from_the_second_stage_a_redundant_round_leads_to_information() -> None:
    ended = talked(Talk(redundant=[ALL, ALL, ALL])).ended
    assert [each["stage"] for each in messages(ended)[0]["rounds"]] == [2, 3, 3]
    assert stages(ended) == [3, 4, 5, 6]


def test_feelings_end_in_the_exit_which_isnt_checked() -> None:
    none = (False,) * 3
    talk = talked(Talk(redundant=[none, none, none, ALL]))
    assert stages(talk.ended) == [2, 3, 4, 6]
    assert [each["stage"] for each in messages(talk.ended)[-1]["rounds"]] == [5, 6]
    assert len(talk.asked("redundancy")) == 4


def test_the_one_least_like_what_was_said_is_forced() -> None:
    said = ["How do you sleep at night?", "Tell me about your family and your work."]
    candidates = ["How is your sleep at night?", "Do you drink coffee?", "How is your family, and your work?"]
    assert least_like(candidates, said) == "Do you drink coffee?"
    assert least_like(candidates, []) == candidates[0]


def test_labels_belong_to_candidates_by_number() -> None:
    reordered = json.dumps({"3": "redundant", "1": "redundant", "2": "not redundant"})
    ended = talked(Talk(redundancy=reordered)).ended
    for state in messages(ended)[:-1]:
        assert state["message"] == state["rounds"][-1]["candidates"][1]


@pytest.mark.parametrize(
    ("reply", "stop"),
    [
        ("Well, hello!", "no candidates"),
        ({"reasoning": "", "candidates": ["One.", "Two."]}, "no candidates"),
        ({"reasoning": "", "candidates": ["One.", "", "Two."]}, "no candidates"),
        (ActorReply("", declined="unsafe"), "refused"),
    ],
)
def test_without_candidates_the_conversation_is_the_clinicians_result(reply: Any, stop: str) -> None:
    talk = talked(Talk(candidates=reply))
    assert len(talk.asked("candidates")) == 3
    ended = talk.ended
    assert (ended.stop, ended.completed, len(ended.turns)) == (stop, False, 1)
    assert ended.flags["clinician: candidates can't be read"] == 1


@pytest.mark.parametrize("purpose", ["extraction", "matching", "redundancy"])
def test_what_the_evaluator_cant_say_makes_the_conversation_missing(purpose: str) -> None:
    talk = talked(Talk((True,), (), **{purpose: "I see."}))
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("evaluator", "reply can't be read")
    assert len(talk.asked(purpose)) == 3
    assert talk.failure.states


def test_refused_candidates_keep_their_state_where_the_evaluator_cannot_be_read_afterwards() -> None:
    def written(call: Call) -> dict[str, Any]:
        return {"candidates": ["One."] if call.attempt == 1 else ["One.", "Two.", "Three."]}

    talk = talked(Talk(candidates=written, redundancy={"1": "maybe"}))
    assert talk.failure is not None
    (kept,) = (state for state in talk.failure.states if state["purpose"] == "message")
    (only,) = kept["rounds"]
    assert only["candidates"] == ["One.", "Two.", "Three."]
    ((text, reason),) = only["candidates_refused"]
    assert (text, reason) == ('{"candidates": ["One."]}', '"candidates" must be a list of 3 messages')


def test_an_agent_that_can_only_write_messages_stops_the_run_at_its_first() -> None:
    with pytest.raises(InputError, match="replies with messages where the scaffold asks it for objects"):
        talked(Talk(stage={"message": "Hello."}))


def test_an_agent_that_fails_at_times_doesnt_stop_the_run() -> None:
    def stage(call: Call) -> Any:
        return {"message": "Sorry."} if call.ordinal > 1 or call.attempt < 3 else None

    assert talked(Talk(stage=stage)).ended.completed
    assert talked(Talk(candidates={"message": "Hello."})).ended.stop == "no candidates"
    assert talked(Talk(stage="Sorry.")).ended.completed


# -- providing information ----------------------------------------------------------------------------


def test_the_fixed_sentence_is_asked_for_and_missed() -> None:
    def with_it(call: Call) -> dict[str, Any] | None:
        if call.material["stage"] != 3:
            return None
        return {"reasoning": "", "candidates": [f"It is this, {n}. {FIXED.upper()}" for n in range(3)]}

    talk = talked(Talk(candidates=with_it))
    asked = [FIXED in call.instruction for call in talk.asked("candidates")]
    assert asked == [call.material["stage"] == 3 for call in talk.asked("candidates")]
    assert not any("flags" in turn.meta for turn in talk.ended.turns)
    without = next(turn for turn in talked(Talk()).ended.turns[3:] if turn.meta["stage"] == NAMES[3])
    assert without.meta["flags"] == ["fixed sentence missing"]


def test_severity_and_risk_are_a_variant_of_the_prompt() -> None:
    line = guides("en").risk_line

    def instruction(**options: bool) -> str:
        talk = talked(Talk(), options=options)
        (call,) = (call for call in talk.asked("candidates") if call.material["stage"] == 3)
        return call.instruction

    assert line not in instruction()
    assert line in instruction(risk_line=True)
    assert instruction(risk_line=True).replace(f"{line} ", "") == instruction()
