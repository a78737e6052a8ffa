"""What deepeval's metrics would ask, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from bedside.core.stopping import run_to_end
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import Tally
from bedside.judges.deepeval_raters.catalogue import GRAPH, DeepevalKind, is_deepeval
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
from bedside.judges.deepeval_raters.measure import Measure, MetricStep, library_version
from bedside.judges.deepeval_raters.ratings import asked_by_deepeval
from bedside.judges.llm.model_names import ModelName
from bedside.judges.questions import JudgeAnswer
from bedside.judges.raters import deepeval_rater
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.transcripts.transcript import Transcript

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
    settings = asked_by_deepeval(settings)
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
