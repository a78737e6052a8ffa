"""One judge's rating of a run: what is asked at once, what waits for that, and the metrics that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bedside.core.errors import DataError
from bedside.judges.cost_limit import JudgeBudget
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.driver import JudgingStage, ask_judge
from bedside.judges.llm.protocol import Client
from bedside.judges.prompt import ITEMS_PER_CALL, Conversation, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup, QuestionSet
from bedside.judges.raters import rubric_rater
from bedside.judges.rating_rows import RatingRows
from bedside.judges.rubric_ratings import asked_with, ratings_of
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import TRANSCRIPT, unit_name
from bedside.scoring._answer_spool import AnswerSpool
from bedside.scoring.failed_talks import FailedTalk, failed_talk, without_failed
from bedside.scoring.judging_orders import JudgingOrder
from bedside.scoring.pipeline import (
    LaterQuestion,
    PassAnswers,
    Pipeline,
    later_questions,
    pipelines_for,
    spared_by,
)
from bedside.scoring.run_transcripts import TranscriptSource
from bedside.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class FollowingMetrics:
    """The metrics that follow from a judge's answers by one pipeline.

    Attributes:
        pipeline: how they follow.
        names: the metrics.
        settings: all parameters of their family.
    """

    pipeline: Pipeline
    names: frozenset[str]
    settings: Mapping[str, Any]


class PipelineJudging:
    """One judge's rating of a run: what is asked at once, what waits for that, and what follows.

    Args:
        order: what the judge is asked, and how.
        settings: parameters of a pipeline's metric family.
        folder: for what is remembered between the stages.
        add: called with each row of the ratings table.

    Attributes:
        following: the metrics that follow from the answers.
    """

    def __init__(
        self,
        order: JudgingOrder,
        settings: Callable[[Pipeline], Mapping[str, Any]],
        folder: Path,
        add: Callable[[tuple[Any, ...]], object],
    ) -> None:
        asked = {rubric.name for rubric in order.work.rubrics}
        pipelines = pipelines_for(asked)
        self.following = [
            FollowingMetrics(pipeline, pipeline.metrics(asked), settings(pipeline)) for pipeline in pipelines
        ]
        self._later = later_questions(pipelines, asked)
        self._followed = frozenset[str]().union(*(pipeline.rubrics for pipeline in pipelines))
        self._order = order
        self._passes = order.settings.passes
        self._questions = QuestionSet(
            map(Question, order.work.rubrics),
            self._passes,
            spared=spared_by(pipelines) if order.work.from_suite else None,
        )
        self._spools = [AnswerSpool(folder / f"answers-{stage}") for stage in range(2 if self._later else 1)]
        self._rows = RatingRows(rubric_rater(order.judge, order.work.rubrics), add)

    def judge(
        self,
        store: Path,
        transcripts: TranscriptSource,
        *,
        text: bool,
        progress: Callable[[JudgingProgress], None] | None,
        client: Callable[[], Client] | None,
        alone: bool,
        budget: JudgeBudget | None,
        count: int,
    ) -> JudgingSummary:
        """Ask everything, rate what is answered, and make the metrics that follow.

        Nothing is asked about conversations that the clinician failed: what they are rated with is stated beforehand.

        Args:
            store: where judgements are kept.
            transcripts: what is asked about.
            text, progress, client, alone, budget: as for :func:`bedside.judges.driver.ask_judge`.
            count: how many transcripts there are at most, for the progress.
        """
        settings = self._order.settings
        held = without_failed(transcripts)
        at_once = [name for name in self._questions.questions if name not in self._later]
        stages = [
            JudgingStage(
                lambda: self._questions.groups(held(), at_once),
                partial(self._emit, self._spools[0]),
                count * len(at_once) * self._passes,
            )
        ]
        if self._later:
            stages.append(
                JudgingStage(
                    lambda: self._later_groups(held()),
                    partial(self._emit, self._spools[1]),
                    count * len(self._later) * self._passes,
                )
            )
        try:
            calls = ask_judge(
                self._order.judge,
                settings,
                store,
                stages,
                text=text,
                progress=progress,
                client=client,
                alone=alone,
                budget=budget,
            )
        finally:
            for spool in self._spools:
                spool.close()
        self._derive(held)
        self._rate_failed(transcripts)
        tallies = self._questions.tallies
        return JudgingSummary(
            rater=self._rows.rater,
            parameters=asked_with(settings, ITEMS_PER_CALL),
            passes=self._passes,
            rubrics=self._questions.counts(),
            ratings=self._rows.count,
            calls=calls,
            waiting=tuple(
                name
                for name, later in self._later.items()
                if tallies[later.after].not_asked or tallies[later.after].failed
            ),
        )

    def _later_groups(self, transcripts: Iterable[Transcript]) -> Iterator[QuestionGroup]:
        """What is asked about the answers of the first stage."""
        self._spools[0].close()
        reader = self._spools[0].reader()
        for transcript in transcripts:
            passes = reader.take(transcript.id)
            for name, later in self._later.items():
                for number in range(self._passes):
                    try:
                        asked = later.with_input(transcript, later.find(transcript, passes[number]))
                    except DataError:  # what it says is rated when metrics are made
                        tally = self._questions.tallies[name]
                        tally.judgements += 1
                        tally.not_askable += 1
                        continue
                    yield self._questions.group(Conversation(asked), name, number)

    def _emit(self, spool: AnswerSpool, group: QuestionGroup) -> None:
        rubric = group.question.rubric
        self._rate(group.transcript, rubric, group.number, group.answers)
        if rubric.name in self._followed:
            spool.add(group)

    def _rate(
        self, transcript: Transcript, rubric: Rubric, number: int, answers: Sequence[JudgeAnswer]
    ) -> None:
        for rating in ratings_of(rubric, transcript, answers):
            self._rows.add(transcript, number, *rating)

    def _derive(self, transcripts: TranscriptSource) -> None:
        """Make the metrics that follow from what was answered."""
        if not self.following:
            return
        readers = [spool.reader() for spool in self._spools]
        for transcript in transcripts():
            stages = [reader.take(transcript.id) for reader in readers]
            for number in range(self._passes):
                answers = {
                    rubric: rubric_answers
                    for passes in stages
                    for rubric, rubric_answers in passes.get(number, {}).items()
                }
                for name, later in self._later.items():
                    if name not in answers:
                        answers[name] = [_not_asked(transcript, later, answers)]
                        rubric = self._questions.questions[name].rubric
                        self._rate(transcript, rubric, number, answers[name])
                for metrics in self.following:
                    self._add_metrics(transcript, number, answers, metrics)

    def _rate_failed(self, transcripts: TranscriptSource) -> None:
        """Rate the conversations that the clinician failed."""
        for transcript in transcripts():
            failed = failed_talk(transcript)
            if failed is None:
                continue
            for number in range(self._passes):
                for question in self._questions.questions.values():
                    rubric = question.rubric
                    answer = JudgeAnswer(TRANSCRIPT, None, None, failed.why)
                    worst = failed.level(rubric)
                    for unit, metric, _, _, _, error in ratings_of(rubric, transcript, [answer]):
                        if worst is not None and metric == rubric.name:
                            self._rows.add(transcript, number, unit, metric, worst, None, failed.why, None)
                        else:
                            self._rows.add(transcript, number, unit, metric, None, None, None, error)
                for metrics in self.following:
                    self._add_metrics(transcript, number, {}, metrics, failed)

    def _add_metrics(
        self,
        transcript: Transcript,
        number: int,
        answers: PassAnswers,
        metrics: FollowingMetrics,
        failed: FailedTalk | None = None,
    ) -> None:
        """Rate what follows from one pass over a transcript."""
        for value in metrics.pipeline.values(
            transcript, self._rows.rater, answers, metrics.names, metrics.settings
        ):
            if failed is not None:
                value = failed.rated(value)
                if value.value is None and value.error is not None:
                    value = value._replace(error=failed.why)
            self._rows.add(
                transcript,
                number,
                unit_name(value.turn),
                value.metric if value.role is None else f"{value.metric}.{value.role}",
                value.value,
                value.label,
                value.reason,
                value.error,
                rater=value.rater,
            )


def _not_asked(transcript: Transcript, later: LaterQuestion, answers: PassAnswers) -> JudgeAnswer:
    """The answer to a rubric that had nothing to be asked about: why."""
    try:
        later.find(transcript, answers)
    except DataError as error:
        return JudgeAnswer(TRANSCRIPT, None, None, str(error))
    raise AssertionError("it could have been asked")
