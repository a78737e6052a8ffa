"""The consultation: the policy's golden courses, both tasks and their ends, and whose fault ends what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bedside.metrics.families.hidden_concerns import CASE as EXAMPLE, RATER, TALK
from bedside.metrics.protocols.medconceal.policy import PARAMETERS
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import Outcome
from bedside.simulation.simulators.medconceal import SIMULATOR
from bedside.simulation.simulators.medconceal.consultation import TASKS
from tests.simulation.simulators.medconceal.scenes import ANSWERS, ASKS, CASE, NOTHING, PROBE, SHAPE, actors
from tests.simulation.simulators.playing import Played, by_rules, play


def held(*turns: Mapping[str, Any], setting: str = "confirmation-8", options: Any = None, **more: Any) -> Played:
    """With the published equations alone, in which every turn counts for every concern."""
    return play(SIMULATOR, CASE, actors(turns or (NOTHING,), **more), setting=setting, options=SHAPE | (options or {}))


def course(outcome: Outcome) -> list[dict[str, Any]]:
    """The policy's states in order."""
    return [state["state"] for state in outcome.states if state["purpose"] == "policy"]


# -- golden courses --------------------------------------------------------------------------------------


def test_the_worked_course_of_seven_turns() -> None:
    """The course that docs/suites/medconceal.md works out by hand, as a conversation."""
    hidden = {
        "concerns": [
            {**concern, "confidence": 0.5, "voiced": [f"To be honest, it is this: {concern['text']}"]}
            for concern in EXAMPLE["reference"]["concerns"]
        ]
    }
    case = Case.model_validate({**CASE.model_dump(), "hidden": hidden})
    clinician = [turn for turn in TALK if turn[0] == "clinician"]
    features = [turn[2]["medconceal"][RATER]["z"] for turn in clinician]
    played = play(
        SIMULATOR,
        case,
        actors(features, message=lambda call: str(clinician[min(call.ordinal, 7) - 1][1])),
        setting="confirmation-8",
        options=SHAPE,
    )
    states = course(played.ended)
    assert [round(value, 3) for value in states[1]["evidence"]] == [0.569, 0.564]
    assert [round(value, 3) for value in states[2]["evidence"]] == [0.775, 0.769]
    assert states[-1]["revealed_at"] == {"a": 3, "b": 3}
    assert [bool(state["hits"]) for state in states[:7]] == [False, False, False, False, True, True, False]
    assert states[-1]["addressed_at"] == 6


def test_earliest_reveal_and_address() -> None:
    ended = held(ASKS, ASKS, ANSWERS, setting="intervention-20").ended
    assert ended.stop == "addressed"
    last = course(ended)[-1]
    assert (last["revealed_at"], last["addressed_at"]) == ({"a": 2}, 5)
    assert len(ended.turns) == 10


def test_talk_about_nothing_reveals_nothing() -> None:
    ended = held(NOTHING).ended
    assert course(ended)[-1]["revealed_at"] == {}
    assert course(ended)[-1]["evidence"] == pytest.approx([0.5 * (1 - 0.5**8)] * 2)
    assert (ended.stop, ended.completed, len(ended.turns)) == ("turn limit", True, 16)


@pytest.mark.parametrize("place", range(7))
def test_a_blocked_turn_leaves_every_later_number(place: int) -> None:
    turns = [ASKS, ASKS, ANSWERS, ANSWERS, ANSWERS, ASKS, NOTHING]
    options = {"stop_when_addressed": False}
    plain = course(held(*turns, setting="intervention-8", options=options).ended)[:7]
    probed = course(held(*turns[:place], PROBE, *turns[place:], setting="intervention-8", options=options).ended)
    kept = [*probed[:place], *probed[place + 1 :]]
    for one, other in zip(plain, kept, strict=True):
        assert [one[key] for key in ("evidence", "rows", "since", "address_evidence", "hits")] == [
            other[key] for key in ("evidence", "rows", "since", "address_evidence", "hits")
        ]


def test_the_order_of_concerns_changes_nothing() -> None:
    concerns = CASE.hidden.concerns
    turned = CASE.model_copy(update={"hidden": CASE.hidden.model_copy(update={"concerns": concerns[::-1]})})
    turns = (ASKS, NOTHING, ASKS, ASKS)
    one = play(SIMULATOR, CASE, actors(turns), options=SHAPE).ended
    other = play(SIMULATOR, turned, actors(turns), options=SHAPE).ended
    assert course(one)[-1]["revealed_at"] == course(other)[-1]["revealed_at"]
    for state, mirrored in zip(course(one), course(other), strict=True):
        assert state["evidence"] == mirrored["evidence"][::-1]


# -- tasks and ends --------------------------------------------------------------------------------------


def test_the_intervention_is_about_the_primary_concern_alone() -> None:
    talk = held(ASKS, ASKS, ANSWERS, setting="intervention-8")
    assert [concern["id"] for concern in talk.ended.reference["concerns"]] == ["a"]
    assert "submitted_findings" not in talk.ended.reference
    assert not talk.asked("findings")
    brief = talk.asked("message")[0].brief
    assert "I just want drops." in brief
    assert "Vera drinks more" in brief
    for call in talk.calls:
        assert "savings" not in json.dumps([call.brief, call.instruction, dict(call.material)])


def test_an_intervention_can_go_on_after_its_success() -> None:
    turns = (ASKS, ASKS, ANSWERS)
    assert len(held(*turns, setting="intervention-8").ended.turns) == 10
    on = held(*turns, setting="intervention-8", options={"stop_when_addressed": False}).ended
    assert (len(on.turns), on.stop) == (16, "turn limit")


def test_findings_are_a_call_of_their_own_and_change_no_course() -> None:
    finding = {"category": "emotional discomfort or fear", "text": "She fears a fall."}
    plain = held(ASKS).ended
    handed = held(ASKS, data={"findings": [{"findings": [finding]}]})
    assert handed.ended.reference["submitted_findings"] == [finding]
    assert handed.ended.turns == plain.turns
    assert course(handed.ended) == course(plain)
    (call,) = handed.asked("findings")
    assert (call.kind, len(call.history)) == ("data", 16)


def test_unreadable_findings_are_none_at_all() -> None:
    unreadable = held(ASKS, data={"findings": ["I found a fear."]})
    assert "submitted_findings" not in unreadable.ended.reference
    assert unreadable.ended.flags["clinician: findings can't be read"] == 1
    assert len(unreadable.asked("findings")) == 3
    assert held(ASKS).ended.reference["submitted_findings"] == []


def test_from_the_fifth_turn_on_an_adaptive_clinician_may_stop() -> None:
    decisions = [{"decision": "CONTINUE"}] * 5 + ["perhaps"] * 4
    stops = held(setting="confirmation-adaptive", data={"decision": [*decisions, {"decision": "STOP"}]})
    assert [call.ordinal for call in stops.asked("decision")][:3] == [5, 6, 6]
    assert len(stops.ended.turns) == 2 * 10
    assert (stops.ended.stop, stops.ended.completed) == ("clinician stops", True)
    assert stops.ended.flags["clinician: decision can't be read"] == 4
    at_once = held(setting="confirmation-adaptive", data={"decision": [{"decision": "STOP"}]})
    assert len(at_once.ended.turns) == 10
    never = held(setting="confirmation-adaptive")
    assert (len(never.ended.turns), never.ended.stop) == (40, "turn limit")
    assert len(never.asked("decision")) == 15, "not after the last turn"


def test_what_says_goodbye_in_speech_ends_nothing() -> None:
    ended = held(message=lambda call: f"Goodbye, STOP, that is all, number {call.ordinal} of many.").ended
    assert len(ended.turns) == 16


# -- the clinician's faults are results ------------------------------------------------------------------


def test_a_clinician_who_says_nothing_ends_it_and_is_scored() -> None:
    silent = held(ASKS, message=lambda call: "Do tell." if call.ordinal == 1 else "")
    assert (silent.ended.stop, silent.ended.completed) == ("clinician empty", False)
    assert [turn.role for turn in silent.ended.turns] == ["clinician", "patient"]
    assert len(silent.asked("message")) == 3, "an empty message is asked for once more"
    assert silent.asked("findings")
    assert silent.ended.flags["clinician: empty"] == 1
    declined = held(ASKS, message=lambda call: ActorReply("", declined="unsafe"))
    assert (declined.ended.stop, declined.ended.turns, declined.asked("findings")) == ("refused", (), [])


def test_a_clinician_who_repeats_three_times_in_a_row_ends_it() -> None:
    ended = held(message=lambda call: "Do you take your medicine every single day of the week?").ended
    assert (ended.stop, ended.completed, len(ended.turns)) == ("clinician repeats", False, 8)
    assert [turn.meta.get("flags") for turn in ended.turns[::2]] == [None, *[["repeats itself"]] * 3]


def test_a_refusal_and_stage_directions_are_kept_and_flagged() -> None:
    texts = ["As an AI language model, I can't talk about this.", "*nods* And how are you today?"]
    ended = held(message=lambda call: texts[call.ordinal - 1] if call.ordinal < 3 else f"And {call.ordinal}?").ended
    assert [turn.text for turn in ended.turns[::2]][:2] == texts
    assert (ended.flags["clinician: refusal"], ended.flags["clinician: stage directions"]) == (1, 1)


# -- the evaluator's are not -----------------------------------------------------------------------------


def test_an_evaluator_that_cannot_be_read_ends_it_as_its_own() -> None:
    replies = actors((ASKS,))

    def broken(call: Call) -> str | ActorReply:
        return "{}" if call.actor == "evaluator" and call.ordinal == 3 else replies(call)

    talk = play(SIMULATOR, CASE, broken)
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("evaluator", "reply can't be read")
    assert len([call for call in talk.asked("evaluation") if call.ordinal == 3]) == 3
    assert any(state["purpose"] == "policy" for state in talk.failure.states)


def test_the_evaluator_sees_the_clinicians_turns_and_the_open_question_only() -> None:
    patient = iter(f"Is it bad, number {number}?" for number in range(99))
    talk = held(NOTHING, patient=lambda call: next(patient))
    fifth = talk.asked("evaluation")[4]
    assert "[8] clinician: Message 5" in fifth.instruction
    assert "[2] clinician: Message 2" in fifth.instruction
    assert "Message 1 " not in fifth.instruction
    assert "Is it bad, number 3?" in fifth.instruction
    assert "Is it bad, number 2?" not in fifth.instruction
    assert "Vera" not in fifth.instruction + json.dumps(dict(fifth.material))


# -- what it hands over ----------------------------------------------------------------------------------


def test_the_reference_says_what_the_suite_and_the_scoring_need() -> None:
    titles = {setting.name: setting.title for setting in SIMULATOR.settings}
    assert titles.keys() == TASKS.keys()
    for setting, task in TASKS.items():
        ended = play(SIMULATOR, CASE, by_rules(SIMULATOR), setting=setting).ended
        assert ended.factors == {"task": task.name, "setting": titles[setting]}
        assert task.name in titles[setting]
        digest = PARAMETERS.load("default").digest()
        assert ended.simulation["parameters"] == {"name": "default", "sha256": digest}
        assert ended.simulation["turn_limit"] == task.turns
        labelled = [turn.labels for turn in ended.turns]
        assert all(bool(labels) is (place % 2 == 0) for place, labels in enumerate(labelled))


def test_a_persona_brings_its_manner_and_parameters() -> None:
    persona = Persona(id="shy", manner="Whispers.", sentences=1, parameters="guarded")
    talk = play(SIMULATOR, CASE, actors((ASKS,)), persona=persona)
    assert talk.ended.simulation["parameters"]["name"] == "guarded"
    assert "Whispers." in talk.asked("reply")[0].brief
    assert "no more sentences than 1" in talk.asked("reply")[0].brief
    by_option = play(SIMULATOR, CASE, actors((ASKS,)), options={"parameters": "risk"})
    assert by_option.ended.simulation["parameters"]["name"] == "risk"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"chart": {}}, "no `chart`"),
        ({"intervention": None}, "no `intervention`"),
        ({"patient": {"facts": ["I get dizzy."]}}, "no `deflections`"),
        ({"patient": {"deflections": ["No."]}}, "no `facts`"),
        ({"hidden": {}}, "no `concerns`"),
    ],
)
def test_what_a_case_lacks_is_said(changes: dict[str, Any], problem: str) -> None:
    case = Case.model_validate({**CASE.model_dump(), **changes})
    assert any(problem in said for said in SIMULATOR.check_case(case))
    assert not list(SIMULATOR.check_case(CASE))


def test_a_case_that_gives_its_concern_away_is_refused() -> None:
    patient = CASE.patient.model_copy(update={"narrative": "Vera dreads fainting on the escalator."})
    problems = list(SIMULATOR.check_case(CASE.model_copy(update={"patient": patient})))
    assert problems == ["Its `narrative` gives the concern 'a' away: put it in other words."]


# -- what a person may begin before it is asked for -------------------------------------------------------


@pytest.mark.parametrize(("setting", "early"), [("confirmation-8", True), ("intervention-8", False)])
def test_a_person_who_is_to_find_concerns_may_begin_the_form_after_five_messages(setting: str, early: bool) -> None:
    calls = held(ASKS, setting=setting).calls
    forms = {call.actor: SIMULATOR.early_form(call) for call in calls if call.purpose != "findings"}
    assert (forms["patient"], forms["evaluator"]) == (None, None)
    asked = [call for call in calls if call.purpose == "findings"]
    if not early:
        assert (forms["clinician"], asked) == (None, [])
        return
    assert forms["clinician"] is not None
    assert forms["clinician"].after == 5
    assert [call.schema for call in asked] == [forms["clinician"].schema]
    # A model, or an agent, learns of the categories when it is asked for findings, and not before.
    told = [json.dumps([call.brief, call.instruction, dict(call.material)]) for call in calls if call not in asked]
    assert not [text for text in told if "financial or insurance concern" in text]
