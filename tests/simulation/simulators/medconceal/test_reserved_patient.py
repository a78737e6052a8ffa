"""What the patient is told and says: nothing before its time, everything at its time, whatever the model does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedside.metrics.protocols.medconceal.labels import FEATURES, INTENTS
from bedside.metrics.protocols.medconceal.policy import PARAMETERS, PolicyState, content
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.medconceal import SIMULATOR
from bedside.simulation.simulators.medconceal.consultation import TASKS
from bedside.simulation.simulators.medconceal.reserved_patient import TURNED_ASIDE, gives_away, says, stance_of
from tests.simulation.simulators.medconceal.scenes import (
    ANSWERS,
    ASKS,
    CASE,
    NOTHING,
    PROBE,
    SHAPE,
    actors,
    bundled,
    honest,
)
from tests.simulation.simulators.playing import Played, play
from tests.soak import budget

A, B = CASE.hidden.concerns
GUARD = PARAMETERS.load("default").guard


def held(*turns: Mapping[str, Any], patient: Callable[[Call], str | ActorReply] = honest, **more: Any) -> Played:
    """With the published equations alone, in which every turn counts for every concern."""
    options = SHAPE | more.pop("options", {})
    return play(SIMULATOR, CASE, actors(turns or (NOTHING,), patient=patient), options=options, **more)


def replies(talk: Played) -> list[str]:
    return [turn.text for turn in talk.ended.turns if turn.role == "patient"]


# -- the guard -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("I dread fainting on the escalator, like my sister did.", "", True),  # voiced
        ("i DREAD fainting on the escalator like my sister did!", "", True),  # the same sentence, but for its marks
        ("My sister took the escalator.", "", True),  # 2 of dread, fainting, escalator and sister
        ("The escalator was out of order.", "", False),  # 1 of 4
        ("The escalator was out of order.", "Her sister dreads it.", False),  # half of the two left, but one alone
        ("Fainting on stairs.", "Her sister dreads it.", False),
        ("I get dizzy when I stand up.", "", False),
    ],
)
def test_a_leak_is_half_of_the_distinctive_words_and_two_at_least(text: str, known: str, expected: bool) -> None:
    assert content(A.text) == {"dread", "fainting", "escalator", "sister"}
    assert gives_away(text, A, content(known), GUARD) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I dread fainting on the escalator, like my sister did.", True),
        ("Well. My sister fainted on one of them, and I dread that happening on an escalator.", True),
        ("The scanner's invoice, it would take all my savings.", False),
        ("I get dizzy.", False),
    ],
)
def test_a_disclosure_is_half_of_its_words_or_of_a_voiced_sentences(text: str, expected: bool) -> None:
    assert says(text, A, GUARD) is expected


# -- the prompt ------------------------------------------------------------------------------------------


def told(call: Call) -> str:
    return json.dumps([call.brief, call.instruction, call.objection, dict(call.material)])


def test_a_concern_is_in_the_patients_prompt_from_its_gate_on() -> None:
    talk = held(ASKS, ASKS, NOTHING)
    first, second, *later = talk.asked("reply")
    assert "escalator" not in told(first)
    assert "invoice" not in told(first)
    assert A.voiced[0] in second.instruction
    assert B.voiced[0] in second.instruction
    assert A.voiced[0] not in second.brief
    for call in later:
        assert A.voiced[0] in call.brief
        assert "escalator" not in call.instruction
    for call in talk.calls:
        if call.actor != "patient":
            before = call.ordinal <= 2 and call.purpose != "findings"
            assert not (before and "escalator" in told(call))
        for evidence in (*A.evidence, *B.evidence):
            assert evidence not in told(call)


def test_facts_that_would_give_a_hidden_concern_away_wait_for_it() -> None:
    facts = ("I get dizzy.", "Fainting on the escalator happened to my sister.")
    case = CASE.model_copy(update={"patient": CASE.patient.model_copy(update={"facts": facts})})
    talk = play(SIMULATOR, case, actors((ASKS, ASKS, NOTHING)), options=SHAPE)
    calls = talk.asked("reply")
    assert facts[1] not in told(calls[0])
    assert facts[1] in told(calls[2])
    assert all(facts[0] in call.brief for call in calls)


def test_the_preference_is_the_patients_in_the_intervention_only() -> None:
    confirmation = held(setting="confirmation-8").asked("reply")[0]
    intervention = held(setting="intervention-8").asked("reply")[0]
    assert "I just want drops." not in told(confirmation)
    assert "What you want for now: I just want drops." in intervention.brief
    assert "Vera drinks more" not in told(intervention), "the plan is the clinician's"


def test_stances_follow_from_the_state() -> None:
    default = PARAMETERS.load("default")

    def state(evidence: float = 0.0, revealed: int | None = None, addressed: int | None = None) -> PolicyState:
        revealed_at = {} if revealed is None else {"a": revealed}
        return PolicyState(3, (evidence, 0.1), (0, 0), revealed_at, 0, 0.0, 0, addressed)

    assert stance_of(state(0.59), default, intervention=False) == "guarded"
    assert stance_of(state(0.6), default, intervention=False) == "hesitant"
    assert stance_of(state(0.9, 2), default, intervention=False) == "open"
    assert stance_of(state(0.9, 2), default, intervention=True) == "resisting"
    assert stance_of(state(0.9, 2, 6), default, intervention=True) == "accepting"
    assert stance_of(state(0.9, 2, 6), default, intervention=False) == "open"


def test_hints_are_off_unless_they_are_asked_for() -> None:
    # E of the only evidence is .49, then .62 for one turn: between the thresholds.
    warm = {"concern_elicitation": 0.5, "space_provision": 0.3}
    for cues, hint in ((False, False), (True, True)):
        talk = held(ASKS, warm, NOTHING, options={"cues": cues})
        second = talk.asked("reply")[1]
        stances = [state["stance"] for state in talk.ended.states if state["purpose"] == "reply"]
        assert stances[1] == "hesitant"
        assert ("something is on your mind" in second.instruction) is hint
        assert ("on your guard" in second.instruction) is not hint


def test_a_blocked_turn_is_deflected() -> None:
    talk = held(PROBE, NOTHING)
    first, second = talk.asked("reply")[:2]
    assert "fishes for worries" in first.instruction
    assert "It is as it is." in first.instruction
    assert "fishes for worries" not in second.instruction


# -- faults, retries, fallbacks --------------------------------------------------------------------------

LEAKS = "Oh, the escalator, fainting there like my sister, that is it."


def test_a_leak_is_asked_again_without_repeating_it() -> None:
    def patient(call: Call) -> str:
        return LEAKS if call.ordinal == 1 and call.attempt < 3 else honest(call)

    talk = held(NOTHING, patient=patient)
    first, second, third = talk.asked("reply")[:3]
    assert [call.attempt for call in (first, second, third)] == [1, 2, 3]
    assert "told something that you keep to yourself" in third.objection
    assert "escalator" not in told(third)
    assert LEAKS not in replies(talk)
    assert talk.ended.flags == {"patient, refused: reveals what is hidden": 2}
    refused = next(state for state in talk.ended.states if state["purpose"] == "reply")["refused"]
    assert refused == ((LEAKS, "reveals what is hidden"),) * 2


def test_after_three_leaks_a_deflection_of_the_cases_own_is_said() -> None:
    talk = held(NOTHING, patient=lambda call: LEAKS if call.ordinal == 2 else honest(call))
    second = talk.ended.turns[3]
    assert second.text in CASE.patient.deflections
    assert second.meta["flags"] == ["fallback"]
    assert talk.ended.flags["patient: fallback"] == 1


def test_a_deflection_that_gives_something_away_is_never_said() -> None:
    told_off = "Not the escalator, and no fainting, please."
    fallbacks = set()
    for kept in (("It is as it is.",), ()):
        patient = CASE.patient.model_copy(update={"deflections": (told_off, *kept)})
        case = CASE.model_copy(update={"patient": patient})
        assert any("`deflections` gives the concern 'a' away" in problem for problem in SIMULATOR.check_case(case))
        talk = play(
            SIMULATOR, case, actors((NOTHING,), patient=lambda call: LEAKS if call.ordinal == 1 else honest(call))
        )
        fallbacks.add(replies(talk)[0])
    assert len(fallbacks) == 2
    assert fallbacks <= {"It is as it is.", *TURNED_ASIDE}


def test_after_three_replies_that_hold_back_what_is_due_the_case_says_it() -> None:
    talk = held(ASKS, ASKS, NOTHING, patient=lambda call: f"It is a long story, let me say, {call.ordinal} times.")
    assert replies(talk)[1] == f"{A.voiced[0]} {B.voiced[0]}"
    assert talk.ended.flags["patient: fallback"] == 1


def test_the_third_fallback_ends_it_as_the_patients() -> None:
    talk = held(NOTHING, patient=lambda call: LEAKS)
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("patient", "too many fallback lines")
    assert len(talk.asked("reply")) == 9
    assert len(talk.failure.states) >= 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("As an AI language model, I can't pretend to be a patient.", "refusal"),
        ("Doctor: And how do you feel?", "speaks for the clinician"),
        ("*looks away* I get dizzy.", "stage directions"),
        ("Ich habe seit Mai immer wieder Schwindel, und das ist nicht schön.", "wrong language"),
    ],
)
def test_what_no_line_of_the_case_can_mend_ends_it(text: str, reason: str) -> None:
    talk = held(NOTHING, patient=lambda call: text if call.ordinal == 2 else honest(call))
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("patient", reason)
    assert [call.attempt for call in talk.asked("reply")] == [1, 1, 2, 3]


def _spoilt(reply: ActorReply, call: Call) -> str | ActorReply:
    return reply if call.ordinal == 2 else honest(call)


def test_an_empty_or_cut_off_reply_falls_back() -> None:
    for bad in (ActorReply(""), ActorReply("I get", cut=True)):
        talk = held(NOTHING, patient=partial(_spoilt, bad))
        assert replies(talk)[1] in CASE.patient.deflections


def test_what_is_too_long_is_kept_and_flagged_but_never_with_a_leak_in_it() -> None:
    long = "I get dizzy when I stand up in the morning. " * 4
    talk = held(NOTHING, patient=lambda call: long if call.ordinal == 1 else honest(call))
    assert replies(talk)[0] == long.strip()
    assert talk.ended.turns[1].meta["flags"] == ["too long"]
    leaking = held(NOTHING, patient=lambda call: f"{long}{LEAKS}" if call.ordinal == 1 else honest(call))
    assert replies(leaking)[0] in CASE.patient.deflections


# -- whatever is played ----------------------------------------------------------------------------------

SHARES = st.sampled_from([0.0, 0.3, 0.7, 1.0])
FEATURE_SETS = st.fixed_dictionaries({}, optional=dict.fromkeys(FEATURES, SHARES))
TURNS = st.lists(
    st.tuples(FEATURE_SETS, st.sampled_from(INTENTS)).map(lambda pair: {**pair[0], "intent": pair[1]}),
    min_size=1,
    max_size=20,
)
HABITS = st.lists(st.sampled_from(["honest", "leaks", "holds back", "rambles", "is empty"]), min_size=1, max_size=20)


@given(
    turns=TURNS,
    habits=HABITS,
    setting=st.sampled_from(sorted(TASKS)),
    stop=st.booleans(),
    name=st.sampled_from(["alcohol", "bipolar", "heart"]),
    stops_at=st.integers(1, 20),
)
@pytest.mark.soak
@settings(max_examples=budget(25, 3000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_played_nothing_comes_out_before_its_gate_and_all_at_it(
    turns: list[dict[str, Any]], habits: list[str], setting: str, stop: bool, name: str, stops_at: int
) -> None:
    case = bundled()[name]
    task = TASKS[setting]
    leak = " ".join(concern.voiced[0] for concern in case.hidden.concerns)

    def patient(call: Call) -> str:
        habit = habits[(call.ordinal * 3 + call.attempt) % len(habits)]
        said = {"leaks": leak, "holds back": "Well, hm.", "rambles": "So so so. " * 40, "is empty": ""}
        return honest(call) if habit == "honest" else said[habit]

    decisions = [{"decision": "STOP" if number >= stops_at else "CONTINUE"} for number in range(1, 21)]
    talk = play(
        SIMULATOR,
        case,
        actors(turns, patient=patient, data={"decision": decisions}),
        setting=setting,
        options={"stop_when_addressed": stop},
    )
    if talk.outcome is None:
        assert talk.failure is not None
        assert talk.failure.whose == "patient"
        assert talk.failure.reason == "too many fallback lines" or (
            # What is revealed may be said, and is the same each time.
            talk.failure.reason == "stuck" and ("rambles" in habits or "leaks" in habits)
        )
        return
    ended = talk.outcome
    assert [turn.role for turn in ended.turns] == ["clinician", "patient"] * (len(ended.turns) // 2)
    states = [state["state"] for state in ended.states if state["purpose"] == "policy"]
    revealed_at = states[-1]["revealed_at"]
    concerns = [each for each in case.hidden.concerns if each.primary or not task.intervention]
    for concern in concerns:
        at = revealed_at.get(concern.id, len(states) + 1)
        for turn in ended.turns[1 : 2 * (at - 1) : 2]:
            assert not any(sentence in turn.text for sentence in concern.voiced)
        if concern.id in revealed_at:
            assert says(ended.turns[2 * at - 1].text, concern, GUARD)
        for call in talk.asked("reply"):
            if call.ordinal < at:
                assert not any(text in told(call) for text in (concern.text, *concern.voiced))
    for before, after in pairwise(states):
        assert before["revealed_at"].items() <= after["revealed_at"].items()
        assert before["addressed_at"] in (None, after["addressed_at"])
    if task.intervention and states[-1]["addressed_at"] is not None:
        lag = states[-1]["addressed_at"] - revealed_at[concerns[0].id]
        assert lag >= 3
        assert not stop or ended.stop == "addressed"
    if not task.intervention:
        assert ended.stop == "turn limit" or len(states) >= 5
    assert len(states) <= task.turns


def test_a_canary_in_every_hidden_field_reaches_only_whom_it_may() -> None:
    content_of = CASE.model_dump()
    for number, concern in enumerate(content_of["hidden"]["concerns"]):
        concern["text"] += f" zqtext{number}"
        concern["voiced"] = [f"{text} zqvoiced{number}" for text in concern["voiced"]]
        concern["evidence"] = [f"{text} zqevidence" for text in concern["evidence"]]
    content_of["hidden"]["diagnosis"] = "zqdiagnosis"
    content_of["patient"]["facts"] = ["I get dizzy zqfact.", "It began in May."]
    content_of["patient"]["deflections"] = ["No zqdeflection.", "Hm."]
    case = Case.model_validate(content_of)
    for setting in TASKS:
        talk = play(SIMULATOR, case, actors((ASKS, ASKS, ANSWERS)), setting=setting, options=SHAPE)
        for call in talk.calls:
            words, spoken = told(call), "\n".join(line.text for line in call.history)
            assert "zqevidence" not in words
            assert "zqdiagnosis" not in words
            assert "zqtext" not in words, "the policy alone reads it"
            for mark in ("zqvoiced0", "zqvoiced1"):
                if call.actor == "clinician":
                    assert mark not in words
                elif call.actor == "patient":
                    assert mark not in words or call.ordinal >= 2
                elif mark in words:
                    assert mark in spoken
            if call.actor == "clinician":
                assert "zqfact" not in words
                assert "zqdeflection" not in words
            if call.actor == "evaluator":
                assert "Vera" not in words
        assert "zqvoiced0" in talk.ended.turns[3].text
