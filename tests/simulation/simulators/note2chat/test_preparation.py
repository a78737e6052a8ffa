"""Notes become cases: the cut is checked against the note, and what isn't answered isn't taken for no."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.preparation import ASPECTS, DischargeNote, prepared_case
from tests.simulation.simulators.playing import Replies, Table, by_rules, run_exchange

NOTE = DischargeNote(
    id="n1",
    chief_complaint="Cough",
    history="He has coughed for 2 d. No fever. In the ED he got O2.",
    diagnosis="qzdiagnosis",
    origin="invented",
)
BEFORE = json.dumps({"before": "He has coughed for 2 d. No fever."})
FINDINGS = json.dumps({"findings": ["He has coughed for two days.", "He has no fever."]})


def aspects(**yes: bool | None) -> str:
    return json.dumps(dict.fromkeys(ASPECTS, False) | yes)


def prepared(replies: Replies, note: DischargeNote = NOTE) -> tuple[Case, list[Call]]:
    case, calls, _ = run_exchange(prepared_case(note), replies)
    return case, calls


def table(**replies: Any) -> Table:
    return Table({"split": BEFORE, "findings": FINDINGS, "aspects": aspects(timing=True), **replies})


def test_a_note_becomes_a_case_that_can_be_simulated() -> None:
    answers = [aspects(timing=True, onset=True), aspects(associated=True)]
    case, calls = prepared(table(aspects=answers))
    assert list(SIMULATOR.check_case(case)) == []
    assert case.note is not None
    assert case.note.vignette == "He has coughed for 2 d. No fever."
    assert case.note.text == NOTE.history
    assert (case.id, case.origin, case.hidden.diagnosis) == ("n1", "invented", "qzdiagnosis")
    assert [finding.categories for finding in case.note.findings] == [("onset", "timing"), ("associated",)]
    assert [(call.purpose, call.ordinal, call.actor) for call in calls] == [
        ("split", 1, "evaluator"), ("findings", 1, "evaluator"), ("aspects", 1, "evaluator"),
        ("aspects", 2, "evaluator"),
    ]  # fmt: skip


def test_findings_are_made_of_the_vignette_and_nothing_is_made_of_the_diagnosis() -> None:
    _, calls = prepared(table())
    asked = {call.purpose: f"{call.messages()} {call.material}" for call in calls}
    assert "O2" in asked["split"]
    assert "O2" not in asked["findings"] + asked["aspects"]
    assert "qzdiagnosis" not in "".join(asked.values())


def test_the_nine_questions_are_asked_of_all_findings_at_once() -> None:
    exchange = prepared_case(NOTE)
    next(exchange)
    exchange.send((ActorReply(BEFORE),))
    batch = exchange.send((ActorReply(FINDINGS),))
    assert [call.purpose for call in batch] == ["aspects", "aspects"]
    assert batch[0].schema is not None
    assert set(batch[0].schema["properties"]) == set(ASPECTS)
    assert len(ASPECTS) == 9


def test_the_history_keeps_its_own_characters() -> None:
    case, _ = prepared(table(split=json.dumps({"before": "he has coughed  for 2 d. no fever"})))
    assert case.note is not None
    assert case.note.vignette == "He has coughed for 2 d. No fever."


@pytest.mark.parametrize(
    "changed",
    [
        "He has coughed for two days. No fever.",
        "No fever.",
        "He has coughed for 2 d. No fever. In the ED he got oxygen.",
    ],
)
def test_a_copy_that_is_not_the_notes_beginning_is_asked_for_again_and_then_refused(changed: str) -> None:
    wrong = json.dumps({"before": changed})
    case, calls = prepared(table(split=[wrong, BEFORE]))
    assert case.note is not None
    assert [call.attempt for call in calls if call.purpose == "split"] == [1, 2]
    assert "word for word" in calls[1].objection
    with pytest.raises(UnusableConversationError) as caught:
        prepared(table(split=wrong))
    assert "word for word" in caught.value.detail


def test_a_history_that_begins_with_treatment_makes_no_case() -> None:
    with pytest.raises(UnusableConversationError) as caught:
        prepared(table(split=json.dumps({"before": " "})))
    assert caught.value.reason == "no history before treatment"


@pytest.mark.parametrize("reply", ["[]", '{"findings": []}', '{"findings": [""]}', '{"findings": "x"}', "no"])
def test_a_note_without_findings_makes_no_case(reply: str) -> None:
    with pytest.raises(UnusableConversationError):
        prepared(table(findings=reply))


@pytest.mark.parametrize("reply", ["no", "[]", ""])
def test_a_failed_answer_is_not_known_and_not_no(reply: str) -> None:
    case, calls = prepared(table(aspects=reply))
    assert case.note is not None
    assert [finding.categories for finding in case.note.findings] == [(), ()]
    assert [finding.unanswered for finding in case.note.findings] == [ASPECTS, ASPECTS]
    assert sum(call.purpose == "aspects" for call in calls) == 6


def test_of_nine_answers_those_that_are_there_are_kept() -> None:
    case, _ = prepared(table(aspects=json.dumps({"site": True, "onset": None, "timing": "yes", "history": False})))
    assert case.note is not None
    finding = case.note.findings[0]
    assert finding.categories == ("site",)
    assert set(finding.unanswered) == set(ASPECTS) - {"site", "history"}


def test_the_toy_evaluator_prepares_a_note() -> None:
    case, _ = prepared(by_rules(SIMULATOR))
    assert case.note is not None
    assert case.note.vignette == "He has coughed for 2 d. No fever."
    assert [finding.text for finding in case.note.findings] == ["He has coughed for 2 d.", "No fever."]
