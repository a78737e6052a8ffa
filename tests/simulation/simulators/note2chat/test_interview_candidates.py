"""Candidates of a doctor's turns with scripted actors: rewards worked out by hand, and who is told what."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bedside.metrics.protocols.note2chat.turn_candidates import CandidateTurn, TurnReward
from bedside.simulation.simulators.calls import ActorReply, Call, Line
from bedside.simulation.simulators.note2chat.record_kinds import CandidateMaterial, interview_candidates
from bedside.simulation.simulators.note2chat.rule_actors import TRAINING_RULES
from bedside.simulation.simulators.note2chat.training_records import DoctorState
from bedside.simulation.simulators.note2chat.vignette import SENTENCES, sentences
from tests.simulation.simulators.note2chat.test_guided_dialogue import lines
from tests.simulation.simulators.playing import run_exchange

#: Where six messages convey the findings: in the opening, in messages 2 and 4, and nowhere.
PLACES: dict[str, dict[str, Any]] = {
    "qzfinding0": {"opening": True, "last": None, "patient_first": 0, "doctor_first": None},
    "qzfinding1": {"opening": False, "last": 2, "patient_first": 2, "doctor_first": None},
    "qzfinding2": {"opening": False, "last": 4, "patient_first": 4, "doctor_first": None},
    "qzfinding3": {"opening": False, "last": None, "patient_first": None, "doctor_first": None},
}
#: What a doctor writes for each turn; the second says the first in other spaces, the fourth says nothing.
WRITTEN = ("<think>qzthought</think>Where is it?", "Where  is it? ", "1. gout\n2. qzdiagnosis", "", "Is it warm?")
#: What is told for the first time by the answers, as numbers of the findings that were not told before, by turn.
TOLD = {1: [0, 2], 3: [1], 5: []}


def material(generated_recall: float | None = 0.5) -> CandidateMaterial:
    return CandidateMaterial(
        lines=lines(6),
        states=tuple(DoctorState(turn, f"state of {turn}", None) for turn in (1, 3, 5)),
        vignette="The qzvignette ache began two days ago.",
        findings=tuple(PLACES),
        diagnosis="qzdiagnosis",
        language="en",
        fixed=SENTENCES["en"],
        generated_recall=generated_recall,
    )


def turn_of(call: Call) -> int:
    return (1, 3, 5)[(call.ordinal - 1) // len(WRITTEN)]


def reply(call: Call) -> str | ActorReply:
    own = call.material
    if call.purpose == "candidate":
        return WRITTEN[(call.ordinal - 1) % len(WRITTEN)]
    if call.purpose == "reply":
        return "It comes at night."
    answers: dict[str, Any] = {
        "finding_place": lambda: PLACES[own["finding"]],
        "diagnosis_reading": lambda: {"diagnoses": ["gout", "qzdiagnosis"] if "gout" in own["message"] else None},
        "diagnosis_place": lambda: {"candidate": 1},
        "exchange_findings": lambda: {"findings": TOLD[turn_of(call)]},
        "answered_before": lambda: {"answered": turn_of(call) == 3},
        "answerable": lambda: {"answerable": "Where" in own["question"]},
    }
    return json.dumps(answers[call.purpose]())


def judged(
    reward: TurnReward, own: CandidateMaterial | None = None, replies: Any = reply
) -> tuple[tuple[CandidateTurn, ...], tuple[Call, ...]]:
    turns, calls, _ = run_exchange(interview_candidates(own or material(), number=len(WRITTEN), reward=reward), replies)
    return turns, tuple(calls)


def rewards(turns: tuple[CandidateTurn, ...]) -> list[list[float | None]]:
    return [[candidate.reward for candidate in turn.candidates] for turn in turns]


def test_new_findings_and_diagnoses_are_rewarded() -> None:
    turns, calls = judged("finding")
    assert [turn.turn for turn in turns] == [1, 3, 5]
    # Three findings count: none, one and two of them were told before the turns.
    assert [turn.recall for turn in turns] == [0, pytest.approx(1 / 3), pytest.approx(2 / 3)]
    # The diagnosis stands second: 4/5 · recall / .5.
    assert rewards(turns) == [
        [1, 1, pytest.approx(0), None, 1],
        [1, 1, pytest.approx(0.8 / 1.5), None, 1],
        [0, 0, pytest.approx(1.6 / 1.5), None, 0],
    ]
    assert turns[0].candidates[0].findings == ("qzfinding1", "qzfinding3")
    assert turns[1].candidates[0].findings == ("qzfinding3",)
    first, second, diagnosing, empty, _ = turns[0].candidates
    assert (first.kind, first.thought, first.answer) == ("asking", "qzthought", "It comes at night.")
    assert (second.message, second.thought) == ("Where  is it?", "")
    assert (diagnosing.kind, diagnosing.rank) == ("diagnosing", 1)
    assert (empty.missing, empty.flags) == ("the message can't be used: empty", ("empty",))
    assert turns[0].prompt[1] == {"role": "user", "content": "state of 1"}
    numbers = {site: sum(call.purpose == site for call in calls) for site in {one.purpose for one in calls}}
    # What was said twice is judged once, an empty message is asked for once more.
    assert numbers == {
        "finding_place": 4, "candidate": 18, "diagnosis_reading": 9, "diagnosis_place": 3, "reply": 6,
        "exchange_findings": 6,
    }  # fmt: skip


def test_open_and_answerable_questions_are_rewarded() -> None:
    turns, calls = judged("answerable")
    # Answered before in the second turn; "Is it warm?" is not in the note.
    assert [[row[0], row[1], row[4]] for row in rewards(turns)] == [[1, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert (turns[1].candidates[0].answered, turns[1].candidates[0].answerable) == (True, True)
    assert not any(call.purpose in ("reply", "exchange_findings") for call in calls)


def test_where_all_was_told_nobody_is_asked_for_a_new_finding() -> None:
    told = {**PLACES["qzfinding3"], "last": 2, "patient_first": 2}
    own = material()

    def all_told(call: Call) -> str | ActorReply:
        if call.purpose == "finding_place" and call.material["finding"] != "qzfinding0":
            return json.dumps(told)
        return reply(call)

    turns, calls = judged("finding", own, all_told)
    assert [row[0] for row in rewards(turns)] == [1, 0, 0]
    assert {call.ordinal for call in calls if call.purpose == "reply"} == {1, 5}


def test_what_cannot_be_judged_has_no_reward_and_says_why() -> None:
    def unreadable(call: Call) -> str | ActorReply:
        if call.purpose == "exchange_findings" and call.ordinal == 1:
            return '{"findings": [9]}'
        if call.purpose == "reply" and call.ordinal == 5:
            return ""
        return reply(call)

    turns, _ = judged("finding", material(None), unreadable)
    assert [candidate.missing for candidate in turns[0].candidates] == [
        "evaluator: reply can't be read",
        "evaluator: reply can't be read",
        "the recall of the interview written from the case's note is not known",
        "the message can't be used: empty",
        "patient: empty",
    ]
    assert rewards(turns)[0] == [None] * 5
    assert rewards(turns)[1][0] == 1


@pytest.mark.parametrize("reward", ["finding", "answerable"])
def test_nobody_is_told_what_they_must_not_know(reward: TurnReward) -> None:
    _, calls = judged(reward)
    for call in calls:
        text = str(call.messages())
        if call.purpose == "candidate":
            assert "qz" not in text
            assert f"state of {turn_of(call)}" in text
        elif call.purpose == "reply":
            assert "qzfinding" not in text
            assert "qzdiagnosis" not in text
            assert [line.text for line in call.history[:-1]] == [f"m{n}" for n in range(turn_of(call))]
        elif call.purpose != "diagnosis_place" and call.purpose != "diagnosis_reading":
            assert "qzdiagnosis" not in text
        # What comes after the turn is nobody's business but the check's of the whole interview.
        if call.purpose != "finding_place":
            assert not any(f"m{n}" in text for n in range(turn_of(call), 6)), call.purpose


def test_calls_are_told_apart() -> None:
    _, calls = judged("finding")
    sites = [(call.purpose, call.ordinal, call.attempt) for call in calls]
    assert len(set(sites)) == len(sites)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reward", ["finding", "answerable"])
def test_the_toys_write_and_judge_in_every_language(language: str, reward: TurnReward) -> None:
    texts = {
        "en": ("The pain began two days ago. It is worse at night.", "Since when?", "asthma"),
        "zh": ("两天前开始疼痛。夜间加重。", "什么时候开始的？", "哮喘"),
    }
    vignette, question, diagnosis = texts[language]
    findings = sentences(vignette)
    said = (findings[0], question, findings[0], question)
    own = replace(
        material(),
        lines=tuple(Line("clinician" if index % 2 else "patient", text) for index, text in enumerate(said)),
        states=(DoctorState(1, "turn 0", None), DoctorState(3, "turn 1", None)),
        vignette=vignette,
        findings=findings,
        diagnosis=diagnosis,
        language=language,
        fixed=SENTENCES[language],
        generated_recall=1.0,
    )
    turns, _ = judged(reward, own, lambda call: TRAINING_RULES[call.actor](call))
    assert len(turns) == 2
    for turn in turns:
        kinds = {candidate.kind for candidate in turn.candidates}
        assert kinds == {"asking", "diagnosing"}
        assert all(candidate.reward is not None for candidate in turn.candidates)
