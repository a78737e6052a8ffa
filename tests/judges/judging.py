"""Judging without a run: transcripts and rubrics go in, rows of ratings come out, as a run has them made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.endpoints import model_name
from bedside.judges.prompt import ITEMS_PER_CALL, Question
from bedside.judges.questions import QuestionGroup, QuestionSet
from bedside.judges.raters import RatingRows, rater_of
from bedside.judges.rubric_ratings import asked_with, ratings_of
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings, check_numbers
from bedside.transcripts.transcript import Transcript


def judge_transcripts(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str,
    *,
    store_path: Path,
    add: Callable[[tuple[Any, ...]], object],
    settings: JudgeSettings | None = None,
    items_per_call: int = ITEMS_PER_CALL,
    text: bool = True,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> JudgingSummary:
    """Have a language model rate transcripts; ``add`` is called with each row."""
    name, settings = model_name(judge), settings or JudgeSettings()
    questions = _questions(rubrics, items_per_call, settings)
    rows = RatingRows(rater_of(name), add)

    def emit(group: QuestionGroup) -> None:
        for rating in ratings_of(group.question.rubric, group.transcript, group.answers):
            rows.add(group.transcript, group.number, *rating)

    stage = JudgingStage(lambda: questions.groups(transcripts), emit)
    calls = ask_judge(name, settings, store_path, [stage], text=text, progress=progress)
    parameters = asked_with(settings, items_per_call)
    counts = questions.counts()
    return JudgingSummary(rows.rater, parameters, settings.passes, counts, rows.count, calls)


def plan_judging(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str,
    *,
    store_path: Path,
    settings: JudgeSettings | None = None,
    items_per_call: int = ITEMS_PER_CALL,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_transcripts` with the same arguments would send."""
    settings = settings or JudgeSettings()
    questions = _questions(rubrics, items_per_call, settings)
    return CallPlanner(model_name(judge), settings, store_path).plans(questions, transcripts)


def _questions(rubrics: Sequence[Rubric], items_per_call: int, settings: JudgeSettings) -> QuestionSet:
    check_numbers(items_per_call=items_per_call)
    return QuestionSet((Question(rubric, items_per_call) for rubric in rubrics), settings.passes)
