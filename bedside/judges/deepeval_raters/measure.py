"""One metric of deepeval on one transcript: it asks as it goes, and comes to a value."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic import BaseModel

from bedside.core.errors import RegistryError
from bedside.judges.counts import Tally
from bedside.judges.deepeval_raters.answered_model import (
    answered_model,
    as_deepeval_has_it,
    in_thread,
    read_answer,
    schema_text,
)
from bedside.judges.deepeval_raters.cases import deepeval_case, needed, problem_of, tools
from bedside.judges.deepeval_raters.catalogue import GEVAL, GRAPH
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
from bedside.judges.deepeval_raters.graph import graph_object
from bedside.judges.llm.contract import missing_library
from bedside.judges.llm.deepeval_library import deepeval_module
from bedside.judges.prompt import NotAskable, Order, Prompt, PromptPiece
from bedside.judges.questions import AnswerGroup, JudgeAnswer
from bedside.judges.reply import Parsed
from bedside.judges.store import Judgement
from bedside.ratings.names import TRANSCRIPT
from bedside.transcripts.transcript import Transcript

#: What a reply is taken to cost, in tokens, before it is there.
_REPLY_TOKENS = 150
#: Turns of the event loop that a metric has to ask further before the next of its answers is handed to it.
_TURNS = 12


@cache
def library_version() -> str:
    """The version of deepeval that is installed.

    Raises:
        MissingExtraError: none is.
    """
    try:
        return version("deepeval")
    except PackageNotFoundError as error:
        raise missing_library("deepeval") from error


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """What a metric came to: a value from 0 to 1 with its reason, or neither and the error."""

    value: float | None = None
    reason: str | None = None
    error: str | None = None


class MetricStep(AnswerGroup):
    """One thing that a metric asks.

    Attributes:
        answered: done with the answer when it is there.
    """

    def __init__(self, measure: Measure, text: str, schema: type[BaseModel] | None) -> None:
        super().__init__(
            measure.transcript, measure.metric.metric, measure.version, measure.number, measure.tally
        )
        pieces, form = (PromptPiece(text),), PromptPiece(schema_text(schema))
        self.prompt: Prompt = Prompt(TRANSCRIPT, pieces, form, None, {}, {}, _REPLY_TOKENS)
        self.answered: asyncio.Future[JudgeAnswer] = asyncio.get_running_loop().create_future()
        self._schema = schema

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The one prompt, which is deepeval's whatever the order."""
        yield self.prompt

    def read(self, text: str, prompt: Prompt) -> Parsed:
        """A reply, where it fits deepeval's schema."""
        return read_answer(text, self._schema)

    def put(self, place: int, answer: JudgeAnswer) -> None:
        """Put the answer in its place, for the metric too."""
        super().put(place, answer)
        if not self.answered.done():
            self.answered.set_result(answer)

    def wordless(self, judgement: Judgement) -> Judgement:
        """Nothing can be kept without words: the next thing that a metric asks is made of them."""
        raise NotImplementedError("deepeval's metrics need a run that keeps text")


class _NoAnswerError(Exception):
    """There is no answer to one of a metric's questions."""


class Measure:
    """One pass of a metric on a transcript; used once, as metrics of deepeval keep what they find on themselves.

    What a metric asks next may hang on the order in which its answers came. They are handed to it in the order in which
    it asked, whenever they came, so that the same answers always lead to the same questions.

    Args:
        metric: the metric.
        transcript: the transcript.
        number: the pass.
        judge: the judge's name, for deepeval.
        tally: where what is asked is counted.

    Attributes:
        asked: how many things it asked.
    """

    def __init__(
        self, metric: DeepevalMetric, transcript: Transcript, number: int, judge: str, tally: Tally
    ) -> None:
        self.metric = metric
        self.transcript = transcript
        self.number = number
        self.tally = tally
        self.version: str = metric.version(library_version())
        self.asked: int = 0
        self._judge = judge
        self._ask: Callable[[MetricStep], Awaitable[None]]
        self._last: asyncio.Event | None = None
        self._error: str | None = None

    async def value(self, ask: Callable[[MetricStep], Awaitable[None]]) -> MeasuredValue:
        """What the metric comes to; ``ask`` sees to it that what is asked is answered."""
        self._ask = ask
        problem = problem_of(self.metric, self.transcript)
        if problem is not None:
            self.tally.judgements += 1
            self.tally.not_askable += 1
            return MeasuredValue(error=problem)
        try:
            case = deepeval_case(self.metric, self.transcript)
            scorer = metric_object(self.metric, self.transcript, answered_model(self._judge, self._answer))
            # deepeval's wrapper keeps traces of every call.
            if self.metric.kind.threaded:
                scorer.async_mode = False
                work = inspect.unwrap(type(scorer).measure)
                await in_thread(partial(work, scorer, case, _show_indicator=False))
            else:
                await inspect.unwrap(type(scorer).a_measure)(scorer, case, _show_indicator=False)
        except _NoAnswerError:
            pass
        except Exception as error:  # whatever the library raises over an answer
            self._error = self._error or f"deepeval failed ({type(error).__name__}: {_line(error)})"
        if self._error is not None:
            return MeasuredValue(error=self._error)
        return self._checked(scorer, case)

    def _checked(self, scorer: Any, case: Any) -> MeasuredValue:
        """The value of a metric that is done."""
        if self._judged_nothing(scorer, case):
            return MeasuredValue(error="the judge found nothing in the conversation that this metric judges")
        score = scorer.score
        if not isinstance(score, int | float) or not math.isfinite(score):
            return MeasuredValue(error=f"deepeval's score is {score!r}")
        if not 0 <= score <= 1:
            return MeasuredValue(
                error=f"deepeval's score is {score:g}, which does not lie between 0 and 1: the judge left its scale"
            )
        return MeasuredValue(float(score), scorer.reason)

    def _judged_nothing(self, scorer: Any, case: Any) -> bool:
        """Whether the score stands for nothing, which deepeval rates as perfect, or as 0."""
        kind = self.metric.kind
        if kind.name == "topic_adherence":  # of each exchange it asks for questions first
            exchanges = deepeval_module("metrics.utils").get_unit_interactions(case.turns)
            return self.asked == len(exchanges)
        return bool(kind.verdicts) and all(verdict is None for verdict in getattr(scorer, kind.verdicts))

    async def _answer(self, text: str, schema: type[BaseModel] | None) -> Any:
        """An answer for deepeval, handed over after those that it asked for before."""
        if self._error is not None:
            raise _NoAnswerError(self._error)
        before, mine = self._last, asyncio.Event()
        self._last = mine
        self.asked += 1
        step = MetricStep(self, text, schema)
        try:
            await self._ask(step)
            answer = await step.answered
            if before is not None:
                await before.wait()
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
        finally:
            mine.set()
        if answer.answer is None:
            self._error = self._error or answer.error or "there is no answer"
            raise _NoAnswerError(self._error)
        return as_deepeval_has_it(answer.answer, schema)


def metric_object(metric: DeepevalMetric, transcript: Transcript, model: Any) -> Any:
    """deepeval's object for a metric on a transcript, asking a model of deepeval's.

    Raises:
        RegistryError: the installed deepeval has no such metric, or takes no such criterion or graph.
    """
    module = deepeval_module("metrics")
    scorer = getattr(module, metric.kind.class_name, None)
    if scorer is None:
        raise RegistryError(
            f"deepeval {library_version()} has no {metric.kind.class_name}", todo="install version 4.3.1"
        )
    if metric.kind == GEVAL:
        return scorer(**_criterion(metric), model=model)
    if metric.kind == GRAPH:
        return scorer(
            name=metric.name, dag=graph_object(metric.name, metric.own["graph"]), model=model, eval_mode="llm"
        )
    arguments: dict[str, Any] = {}
    if "relevant_topics" in metric.kind.needs:
        arguments["relevant_topics"] = list(needed("relevant_topics", metric, transcript))
    if "available_tools" in metric.kind.needs:
        arguments["available_tools"] = tools(needed("available_tools", metric, transcript))
    return scorer(model=model, eval_mode="llm", **arguments)


def _criterion(metric: DeepevalMetric) -> dict[str, Any]:
    """The arguments of ``ConversationalGEval``."""
    params = deepeval_module("test_case").MultiTurnParams
    band = deepeval_module("metrics.g_eval").Rubric
    own = metric.own
    return {
        "name": metric.name,
        "evaluation_params": [params.CONTENT, params.ROLE],
        "criteria": own["criterion"],
        "evaluation_steps": list(own["steps"]) or None,
        "rubric": [
            band(score_range=(entry["lowest"], entry["highest"]), expected_outcome=entry["outcome"])
            for entry in own["bands"]
        ]
        or None,
    }


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
