"""What MedConceal takes from a judge's open and closed questions: behaviour metrics from codes, as a person's give."""

from __future__ import annotations

from dataclasses import replace

from bedside.scoring.pipeline import AnswerLabels, PassAnswers, Pipeline, answers_by_item
from bedside.transcripts.transcript import Transcript

_METRICS = ("open_question_ratio", "early_open_question_ratio")


def _label(transcript: Transcript, answers: PassAnswers) -> AnswerLabels:
    labels = AnswerLabels()
    with labels.part("question"):
        labels.add_turns(
            {index: {"question": entry["label"]} for index, entry in answers_by_item(answers, "open_question").items()}
        )
    return labels


def _placed_as_codes(transcript: Transcript, rater: str, labels: AnswerLabels) -> Transcript:
    """Labels as the codes of a person stand."""
    turns = tuple(
        replace(turn, meta={"codes": {rater: labels.turns[turn.index]}} if turn.index in labels.turns else {})
        for turn in transcript.turns
    )
    return replace(transcript, turns=turns)


PIPELINE = Pipeline(
    name="medconceal_questions",
    family="behaviour",
    parts={"question": ("open_question",)},
    needs=lambda metric: ("question",) if metric.name in _METRICS else None,
    label=_label,
    place=_placed_as_codes,
    settings={"coders": "human"},
)
