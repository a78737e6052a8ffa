"""MedConceal judged: findings extracted, matched with the hidden concerns, and clinician turns evaluated."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from bedside.protocols import medconceal
from bedside.ratings.names import turn_index
from bedside.scoring.pipeline import (
    AnswerLabels,
    LaterQuestion,
    PassAnswers,
    Pipeline,
    answers_by_item,
    answers_to,
    parts_by_need,
    placed_as,
    read_labels,
    reference_entry,
    single_answer_to,
)
from bedside.support.errors import DataError
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


def _turns(answers: PassAnswers) -> dict[int, dict[str, Any]]:
    """The labels of clinician turns; the kinds of their questions too, where the judge was asked and answered."""
    turns = {}
    try:
        questions = {
            index: entry["label"] for index, entry in answers_by_item(answers, "open_question").items()
        }
    except DataError:
        questions = {}
    for answer, content in answers_to(answers, "turn_evaluator"):
        probabilities = {intent: content["intent_probabilities"][intent] for intent in medconceal.INTENTS}
        index = turn_index(answer.unit)
        turns[index] = {
            "z": {name: content[name] for name in medconceal.FEATURES},
            "intent": max(probabilities, key=probabilities.__getitem__),
            "intent_probabilities": probabilities,
            "empathy_strength": content["empathy_strength"],
            "question": questions.get(index),
            "reason": content["reason"],
        }
    return turns


def _label(transcript: Transcript, answers: PassAnswers) -> AnswerLabels:
    labels = AnswerLabels()
    with labels.part("findings"):
        labels.whole["findings"] = _findings(transcript, answers)
    with labels.part("matches"):
        labels.whole["matches"] = _matches(transcript, answers)
    with labels.part("turns"):
        labels.add_turns(_turns(answers))
    return labels


PIPELINE = Pipeline(
    name="medconceal",
    family=medconceal.PROTOCOL.family,
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
    place=placed_as(medconceal.PROTOCOL.labels),
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
