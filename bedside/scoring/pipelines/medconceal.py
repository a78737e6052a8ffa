"""MedConceal judged: findings extracted, matched with the hidden concerns, and clinician turns evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal import PROTOCOL, labels as medconceal
from bedside.ratings.names import turn_index
from bedside.scoring.pipeline import (
    AnswerLabels,
    LaterQuestion,
    PassAnswers,
    Pipeline,
    answers_by_item,
    answers_to,
    parts_by_need,
    read_labels,
    reference_entry,
    single_answer_to,
)
from bedside.transcripts.transcript import Transcript

_FINDINGS = TypeAdapter(tuple[medconceal.SubmittedFinding, ...])


def _findings(transcript: Transcript, answers: PassAnswers) -> list[dict[str, Any]]:
    """What the clinician submitted: as the case says, else as the judge extracted it."""
    submitted = reference_entry(transcript, "submitted_findings")
    if submitted is not None:
        return read_labels(_FINDINGS, submitted, "the reference's submitted_findings")
    extracted = single_answer_to(answers, "finding_extraction")["findings"]
    return read_labels(_FINDINGS, extracted, "finding_extraction: the findings")


def _findings_to_match(transcript: Transcript, answers: PassAnswers) -> list[dict[str, Any]]:
    findings = _findings(transcript, answers)
    if not findings:
        raise DataError("no finding was submitted: there is nothing to match")
    return findings


def _expected_findings(transcript: Transcript) -> Any:
    """As many findings as the case has concerns, and as long."""
    concerns = transcript.reference.get("concerns")
    return concerns if isinstance(concerns, list | tuple) else []


def _matches(transcript: Transcript, answers: PassAnswers) -> list[dict[str, Any]]:
    if not _findings(transcript, answers):
        return []
    pairs = single_answer_to(answers, "concern_matching")["pairs"]
    concerns = medconceal.concerns_of(transcript)
    return [
        {
            "finding": int(pair["finding"]),
            "concern": concerns[int(pair["concern"])].id,
            "quote": pair["quote"],
            "category_agrees": pair["category_agrees"],
            "reason": pair["reason"],
        }
        for pair in pairs
    ]


def _turns(transcript: Transcript, answers: PassAnswers) -> dict[int, dict[str, Any]]:
    """The labels of clinician turns: those by which the conversation was simulated, else as the judge evaluated them;
    the kinds of their questions too, where the judge was asked and answered."""
    turns = {}
    try:
        questions = {index: entry["label"] for index, entry in answers_by_item(answers, "open_question").items()}
    except DataError:
        questions = {}
    simulated = medconceal.simulated_turns(transcript)
    if simulated is not None:
        return {
            index: {**labels.model_dump(mode="json"), "question": questions.get(index)}
            for index, labels in simulated.items()
        }
    for answer, content in answers_to(answers, "turn_evaluator"):
        index = turn_index(answer.unit)
        turns[index] = medconceal.evaluated_turn(content, questions.get(index))
    return turns


def _label(transcript: Transcript, answers: PassAnswers) -> AnswerLabels:
    labels = AnswerLabels()
    with labels.part("findings"):
        labels.whole["findings"] = _findings(transcript, answers)
    with labels.part("matches"):
        labels.whole["matches"] = _matches(transcript, answers)
    with labels.part("turns"):
        labels.add_turns(_turns(transcript, answers))
    return labels


def _answered(transcript: Transcript) -> frozenset[str]:
    """A simulated patient went by its evaluator's labels of the turns: nobody else's decide what was revealed."""
    return frozenset({"turn_evaluator"} if medconceal.turn_rater(transcript) is not None else ())


def _placed(transcript: Transcript, rater: str, labels: AnswerLabels) -> Transcript:
    """Labels in place of all others; where the patient went by labels of turns, the rater's are these."""
    placed = medconceal.LABELS.replaced(transcript, rater, labels.whole, labels.turns)
    if medconceal.turn_rater(transcript) is None:
        return placed
    simulation = {**transcript.reference["simulation"], "turn_rater": rater}
    return replace(placed, reference={**placed.reference, "simulation": simulation})


PIPELINE = Pipeline(
    name="medconceal",
    family=PROTOCOL.family,
    parts={
        "findings": ("finding_extraction", "concern_matching"),
        "matches": ("concern_matching",),
        "turns": ("turn_evaluator",),
    },
    needs=parts_by_need(
        {
            "hidden concerns in the reference": (),
            "labels of findings": ("findings",),
            "labels of findings and matches": ("findings", "matches"),
            "labels of the clinician turns": ("turns",),
            "labels of findings, matches and clinician turns": ("findings", "matches", "turns"),
        }
    ),
    label=_label,
    place=_placed,
    answered=_answered,
    later=(
        LaterQuestion(
            "concern_matching",
            after="finding_extraction",
            input="submitted_findings",
            find=_findings_to_match,
            expect=_expected_findings,
        ),
    ),
)
