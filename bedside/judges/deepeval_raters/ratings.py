"""Rating transcripts by deepeval's metrics through one queue and one store, and what they would ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import orjson

from bedside.core.stopping import run_to_end
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary, RubricCount, Tally
from bedside.judges.deepeval_raters.catalogue import GRAPH, DeepevalKind, is_deepeval
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
from bedside.judges.deepeval_raters.measure import Measure, MeasuredValue, MetricStep, library_version
from bedside.judges.judgement_queue import JudgeAccess, JudgementQueue, QueueMaker, with_judge
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.spending import CostLimit
from bedside.judges.questions import JudgeAnswer
from bedside.judges.raters import RatingRows, deepeval_rater
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.ratings.names import TRANSCRIPT
from bedside.ratings.table import RatingRow
from bedside.transcripts.transcript import Transcript

# -- Rating transcripts by deepeval's metrics -----------------------------------------------------------

#: Metrics under way at once, for each request that may be: most wait for one request, some for several.
_AT_ONCE = 2


def rate_by_deepeval(
    transcripts: Iterable[Transcript],
    judge: ModelName,
    metrics: Sequence[DeepevalMetric],
    *,
    store_path: Path,
    add: Callable[[RatingRow], object],
    settings: JudgeSettings,
    progress: Callable[[JudgingProgress], None] | None = None,
    count: int | None = None,
    **access: Unpack[JudgeAccess],
) -> JudgingSummary:
    """Have a judge rate transcripts by metrics of deepeval, on deepeval's own scale from 0 to 1.

    Args:
        transcripts: they are taken as they are needed.
        judge: the model.
        metrics: what it rates by.
        store_path: the file that keeps judgements: each thing that a metric asks is one.
        add: called with each row.
        settings: passes, limits and the like.
        progress, access: as for :func:`bedside.judges.judgement_queue.ask_judge`.
        count: how many transcripts there are, for the progress.

    Raises:
        MissingExtraError: deepeval or the libraries for the judge aren't installed.
        BedsideError: as :func:`bedside.judges.judgement_queue.ask_judge` does.
    """
    settings = replace(settings, expected=False)  # these metrics weigh no probabilities
    rows = RatingRows(deepeval_rater(judge, library_version()), add)
    rating = _DeepevalRating(judge, metrics, rows, settings, progress)
    measures = rating.measures(transcripts)
    size = None if count is None else count * len(metrics) * settings.passes

    async def work(queue: QueueMaker, budget: CostLimit) -> int:
        return await rating.ask(queue, measures, size, budget)

    calls = with_judge(judge, settings, store_path, work, **access)
    return JudgingSummary(
        rater=rows.rater,
        parameters={
            **settings.sampling().parameters(),
            "order": settings.order,
            "deepeval": {"version": library_version(), "metrics": [metric.recorded() for metric in metrics]},
        },
        passes=settings.passes,
        rubrics=rating.counts(),
        ratings=rows.count,
        calls=calls,
    )


class _DeepevalRating:
    """One judge's rating by metrics of deepeval.

    Args:
        judge, metrics, settings, progress: as for :func:`rate_by_deepeval`.
        rows: the ratings.
    """

    def __init__(
        self,
        judge: ModelName,
        metrics: Sequence[DeepevalMetric],
        rows: RatingRows,
        settings: JudgeSettings,
        progress: Callable[[JudgingProgress], None] | None,
    ) -> None:
        self._judge = judge
        self._metrics = metrics
        self._rows = rows
        self._settings = settings
        self._progress = progress
        self._tallies = {metric.metric: Tally() for metric in metrics}
        #: Measures that are done, and what these asked.
        self._done = self._asked = 0
        #: Values that wait for those of earlier measures, and the number of the next that is due.
        self._values: dict[int, tuple[Measure, MeasuredValue]] = {}
        self._due = 0

    def measures(self, transcripts: Iterable[Transcript]) -> Iterator[Measure]:
        """What is measured: of each transcript one metric after the other, each pass by pass."""
        for transcript in transcripts:
            for metric in self._metrics:
                for number in range(self._settings.passes):
                    tally = self._tallies[metric.metric]
                    yield Measure(metric, transcript, number, self._judge.identity, tally)

    async def ask(self, maker: QueueMaker, measures: Iterator[Measure], size: int | None, budget: CostLimit) -> int:
        """Measure everything; returns how many requests were sent."""

        def tell(state: JudgingProgress) -> None:
            if self._progress is not None:
                total = None if size is None or not self._done else round(self._asked / self._done * size)
                self._progress(
                    replace(state, total=None if total is None else max(total, state.done), cost=budget.cost)
                )

        queue: JudgementQueue[MetricStep] = maker(lambda step: None, progress=tell)
        numbered = enumerate(measures)
        at_once = _AT_ONCE * self._settings.max_concurrency * max(1, len(self._judge.endpoints))

        async def measure_in_turn() -> None:
            for number, measure in numbered:
                self._take(number, measure, await measure.value(queue.ask))

        async def measure_all() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(measure_in_turn())

        begun = budget.calls
        await queue.run_asking(measure_all)
        budget.calls = queue.calls
        return budget.calls - begun

    def _take(self, number: int, measure: Measure, value: MeasuredValue) -> None:
        """Take a value, and rate what is due: ratings come in the order of the measures."""
        self._done += 1
        self._asked += measure.asked
        self._values[number] = measure, value
        while self._due in self._values:
            due, came = self._values.pop(self._due)
            self._due += 1
            cells = (came.value, None, came.reason, came.error)
            self._rows.add(due.transcript, due.number, TRANSCRIPT, due.metric.metric, *cells)

    def counts(self) -> tuple[RubricCount, ...]:
        """What each metric took."""
        named = {metric.metric: metric.version(library_version()) for metric in self._metrics}
        return tuple(self._tallies[name].of(name, version) for name, version in named.items())


# -- What deepeval's metrics would ask ------------------------------------------------------------------

#: Follows a metric's name in a plan where it may ask more, as the replies have it; or more or less.
AT_LEAST, ABOUT = " (at least)", " (about)"


def plan_deepeval(
    transcripts: Iterable[Transcript],
    judge: ModelName,
    metrics: Sequence[DeepevalMetric],
    *,
    store_path: Path,
    settings: JudgeSettings,
) -> tuple[RubricPlan, ...]:
    """What :func:`bedside.judges.deepeval_raters.ratings.rate_by_deepeval` would send; nothing is sent.

    Metrics go as far as they go on the answers that are stored, and further on stand-ins that say as little as can be:
    empty lists, empty texts. Of metrics that ask more the more is replied, the plan has the fewest calls there can be,
    and its name ends in :data:`AT_LEAST`. Of a graph, the plan has one way through it, and ends in :data:`ABOUT`.
    """
    settings = replace(settings, expected=False)  # these metrics weigh no probabilities
    planner = CallPlanner(judge, settings, store_path)
    stored = {
        judgement.key: JudgeAnswer(judgement.unit, judgement.items, judgement.answer, judgement.error)
        for judgement in read_judgements(store_path)
        if is_deepeval(judgement.rubric) and judgement.state != "failed"
    }
    tallies = {metric.metric: Tally() for metric in metrics}

    async def walk() -> None:
        for transcript in transcripts:
            for metric in metrics:
                for number in range(settings.passes):
                    tally = tallies[metric.metric]
                    measure = Measure(metric, transcript, number, judge.identity, tally)
                    await measure.value(_PlannedAnswers(planner, stored, metric.kind.replies).ask)

    run_to_end(walk)
    return tuple(
        replace(
            planner.plan(metric.metric + _ending(metric.kind), tallies[metric.metric]),
            judge=deepeval_rater(judge, library_version()),
        )
        for metric in metrics
    )


def _ending(kind: DeepevalKind) -> str:
    if kind == GRAPH:
        return ABOUT
    return AT_LEAST if kind.replies else ""


class _PlannedAnswers:
    """Answers one measure by what is stored, and by stand-ins; counts what would be asked."""

    def __init__(self, planner: CallPlanner, stored: Mapping[str, JudgeAnswer], least: bool) -> None:
        self._planner = planner
        self._stored = stored
        #: Whether the fewest calls are counted, so that what has the same words is asked once.
        self._least = least
        #: Whether an answer was a stand-in: what is asked after that will have other words.
        self._guessed = False

    async def ask(self, step: MetricStep) -> None:
        """Count and answer one thing."""
        prompt, planner = step.prompt, self._planner
        answer = None if self._guessed else self._stored.get(planner.key(prompt, step.number))
        if not planner.askable(prompt):
            step.tally.not_askable += 1
            answer = JudgeAnswer(prompt.unit, None, None, "it can't be asked")
        elif self._guessed and not self._least:
            step.tally.calls += 1
            step.tally.input_tokens += prompt.tokens
            step.tally.output_tokens += prompt.reply_tokens
        else:
            planner.count(step)
        if answer is None:
            self._guessed = True
            answer = JudgeAnswer(prompt.unit, None, _least(orjson.loads(prompt.schema.text)), None)
        step.put(step.expect(), answer)


def _least(schema: dict[str, Any] | None) -> dict[str, Any]:
    """The shortest object that fits a schema; words where there is none."""
    if schema is None:
        return {"text": ""}
    made: dict[str, Any] = _least_part(schema, schema)
    return made


def _least_part(part: dict[str, Any], whole: dict[str, Any]) -> Any:
    if "$ref" in part:
        return _least_part(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in part:
        kinds = [choice.get("type") for choice in part["anyOf"]]
        return None if "null" in kinds else _least_part(part["anyOf"][0], whole)
    if "enum" in part:
        return part["enum"][0]
    if "const" in part:
        return part["const"]
    if part.get("type") == "object":
        return {name: _least_part(inner, whole) for name, inner in part.get("properties", {}).items()}
    least = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False}
    return least[part.get("type", "string")]
