"""Note2Chat judged: which message conveys each finding of the note, its category, and where the diagnosis ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from bedside.metrics.protocols.note2chat import PROTOCOL, labels as note2chat
from bedside.scoring.pipeline import (
    AnswerLabels,
    PassAnswers,
    Pipeline,
    answers_by_item,
    parts_by_need,
    placed_as,
    read_labels,
    reference_entry,
    single_answer_to,
)
from bedside.transcripts.transcript import Transcript

_FINDINGS = TypeAdapter(tuple[note2chat.ClinicalFinding, ...])


def _findings(transcript: Transcript, answers: PassAnswers) -> list[dict[str, Any]]:
    """The note's findings with the message that conveys each; the categories are those the case says, if any."""
    noted = reference_entry(transcript, "findings")
    checked = answers_by_item(answers, "finding_check")
    labels = []
    for number, entry in enumerate(noted if isinstance(noted, list | tuple) else [noted]):
        finding = entry if isinstance(entry, Mapping) else {"text": str(entry)}
        labels.append(
            {
                "text": finding.get("text"),
                "categories": finding.get("categories") or (),
                "opening": checked[number]["opening"],
                "message": checked[number]["message"],
            }
        )
    return read_labels(_FINDINGS, labels, "the reference's findings")


def _with_categories(answers: PassAnswers, findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The findings, each with a category: what the case says goes before what the judge does."""
    if all(finding["categories"] for finding in findings):
        return [dict(finding) for finding in findings]
    judged = answers_by_item(answers, "finding_category")
    return [
        {**finding, "categories": finding["categories"] or [judged[number]["label"]]}
        for number, finding in enumerate(findings)
    ]


def _label(transcript: Transcript, answers: PassAnswers) -> AnswerLabels:
    labels = AnswerLabels()
    with labels.part("findings"):
        findings = _findings(transcript, answers)
        labels.whole["findings"] = [{**finding, "categories": ()} for finding in findings]
        with labels.part("categories"):
            labels.whole["findings"] = _with_categories(answers, findings)
    with labels.part("rank"):
        labels.whole["diagnosis_rank"] = single_answer_to(answers, "diagnosis_match")["candidate"]
    for part, rubric, key in (
        ("control", "information_control", "only_what_was_asked"),
        ("conflict", "factual_conflict", "conflict"),
    ):
        with labels.part(part):
            labels.add_turns(
                {index: {key: int(entry["score"])} for index, entry in answers_by_item(answers, rubric).items()}
            )
    return labels


PIPELINE = Pipeline(
    name="note2chat",
    family=PROTOCOL.family,
    parts={
        "findings": ("finding_check",),
        "categories": ("finding_category",),
        "rank": ("diagnosis_match",),
        "control": ("information_control",),
        "conflict": ("factual_conflict",),
    },
    needs=parts_by_need(
        {
            "labels of findings": ("findings",),
            "labels of findings with SOCRATES categories": ("findings", "categories"),
            "a label of the diagnosis's rank": ("rank",),
            "labels of findings and of the diagnosis's rank": ("findings", "rank"),
            "labels of the replies' information control": ("control",),
            "labels of the replies' conflicts with the note": ("conflict",),
        }
    ),
    label=_label,
    place=placed_as(note2chat.LABELS),
)
