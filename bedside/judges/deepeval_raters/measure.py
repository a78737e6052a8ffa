"""One metric of deepeval on one transcript: it asks as it goes, and comes to a value."""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from bedside.core.errors import RegistryError
from bedside.core.neutral_text import neutral
from bedside.core.stopping import in_thread
from bedside.judges.ask_settings import Order
from bedside.judges.counts import Tally
from bedside.judges.deepeval_raters.catalogue import GEVAL, GRAPH, Need
from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric, graph_object
from bedside.judges.llm.contract import missing_library
from bedside.judges.llm.deepeval_library import deepeval_module
from bedside.judges.prompt import NotAskable, Prompt, PromptPiece
from bedside.judges.questions import AnswerGroup, JudgeAnswer
from bedside.judges.reply import Parsed, parse_object, without_thought
from bedside.judges.store import Judgement
from bedside.ratings.names import TRANSCRIPT
from bedside.transcripts.transcript import Transcript, Turn

# -- Transcripts as deepeval's test cases ---------------------------------------------------------------

_SURROGATE = re.compile(r"[\ud800-\udfff]")
#: Control characters other than tab and line feed become their visible pictures.
_CONTROLS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {0x7F: 0x2421}
#: Fields of a test case that a transcript's reference may hold under the same names.
_FIELDS = ("scenario", "expected_outcome", "user_description")
_FROM_TURNS = ("retrieval_context", "tools_called")
_FROM_REFERENCE = {
    "chatbot_role": "the transcript's reference has no chatbot_role, and deepeval.chatbot_role isn't said",
    "relevant_topics": "the transcript's reference has no relevant_topics, and deepeval.relevant_topics aren't said",
    "available_tools": "the transcript's reference has no available_tools",
    "expected_outcome": "the transcript's reference has no expected_outcome",
}


def problem_of(metric: DeepevalMetric, transcript: Transcript) -> str | None:
    """Why a metric can't rate a transcript; None where it can.

    Where nothing is there to be judged deepeval gives its best or its worst score; here, there is none.
    """
    assistant, user = _sides(metric)
    roles = [turn.role for turn in transcript.turns if turn.role in (assistant, user)]
    if user not in roles or assistant not in roles[roles.index(user) :]:
        return f"no turn of the {assistant} follows one of the {user}"
    for need in metric.kind.needs:
        if need in _FROM_TURNS:
            if not any(turn.meta.get(need) for turn in transcript.turns if turn.role == assistant):
                return f"no turn of the {assistant} has {need} in its meta"
        elif not needed(need, metric, transcript):
            return _FROM_REFERENCE[need]
    return None


def needed(need: Need, metric: DeepevalMetric, transcript: Transcript) -> Any:
    """What a metric needs of a transcript: what was said for all of them, or what its reference holds."""
    return getattr(metric, need, None) or transcript.reference.get(need)


def deepeval_case(metric: DeepevalMetric, transcript: Transcript) -> Any:
    """The ``ConversationalTestCase`` that a transcript is: the turns of both sides, without those of others.

    Raises:
        ValueError: deepeval doesn't take what the transcript's reference or a turn's meta holds.
    """
    cases = deepeval_module("test_case")
    assistant, user = _sides(metric)
    sides = {assistant: "assistant", user: "user"}
    role = needed("chatbot_role", metric, transcript)
    context = transcript.reference.get("context")
    return cases.ConversationalTestCase(
        name=transcript.id,
        turns=[_turn(turn, sides[turn.role]) for turn in transcript.turns if turn.role in sides],
        chatbot_role=None if role is None else clean(str(role)),
        context=None if context is None else [clean(text) for text in _texts(context)],
        **{name: clean(str(transcript.reference[name])) for name in _FIELDS if transcript.reference.get(name)},
    )


def _sides(metric: DeepevalMetric) -> tuple[str, str]:
    """The roles of deepeval's assistant and of its user."""
    return ("clinician", "patient") if metric.assistant == "clinician" else ("patient", "clinician")


def _turn(turn: Turn, side: str) -> Any:
    cases = deepeval_module("test_case")
    fields: dict[str, Any] = {}
    if turn.meta.get("retrieval_context"):
        fields["retrieval_context"] = [clean(text) for text in _texts(turn.meta["retrieval_context"])]
    if turn.meta.get("tools_called"):
        fields["tools_called"] = tools(turn.meta["tools_called"])
    return cases.Turn(role=side, content=clean(turn.text), **fields)


def tools(entries: Any) -> list[Any]:
    """Tools as deepeval has them, of their names or of objects with its fields.

    Raises:
        ValueError: they are something else.
    """
    tool = deepeval_module("test_case").ToolCall
    listed = entries if isinstance(entries, list | tuple) else [entries]
    return [tool(**_cleaned(entry)) if isinstance(entry, Mapping) else tool(name=clean(str(entry))) for entry in listed]


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {str(key): _cleaned(part) for key, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list | tuple) else value


def _texts(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else [str(value)]


def clean(text: str) -> str:
    """A text without what can't be sent, control tokens, and the marks by which deepeval loads pictures."""
    return _SURROGATE.sub("\ufffd", neutral(text)).replace("[DEEPEVAL:", "[DEEPEVAL :").translate(_CONTROLS)


# -- A model for deepeval's metrics that is answered by somebody else -----------------------------------

#: Of answers that deepeval waits for in a thread of its own: the loop that gives them.
_LOOP: ContextVar[asyncio.AbstractEventLoop] = ContextVar("loop of a deepeval metric")
T = TypeVar("T")

#: Answers a prompt, by a schema or in words: an object of the schema's class, or a text.
Answering = Callable[[str, type[BaseModel] | None], Awaitable[Any]]


def answered_model(name: str, answer: Answering) -> Any:
    """A ``DeepEvalBaseLLM`` that has its answers from ``answer``."""
    return _model_class()(name, answer)


@cache
def _model_class() -> Any:
    base: Any = deepeval_module("models").DeepEvalBaseLLM

    class AnsweredModel(base):  # type: ignore[misc]
        """See :func:`answered_model`."""

        def __init__(self, name: str, answer: Answering) -> None:
            self._answer = answer
            super().__init__(name)

        def load_model(self, *_: Any, **__: Any) -> Any:
            """Itself: there is nothing to load."""
            return self

        def get_model_name(self, *_: Any, **__: Any) -> str:
            """The judge's name."""
            return str(self.name)

        def generate(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer, in a thread of :func:`bedside.core.stopping.in_thread`."""
            return asyncio.run_coroutine_threadsafe(self._wait(prompt, schema), _LOOP.get()).result()

        def generate_with_schema(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer, in a thread of :func:`bedside.core.stopping.in_thread`."""
            return self.generate(prompt, schema)

        async def _wait(self, prompt: str, schema: type[BaseModel] | None) -> Any:
            return await self._answer(prompt, schema)

        async def a_generate(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer."""
            return await self._answer(prompt, schema)

        async def a_generate_with_schema(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer. deepeval's own way here would ask again, without a schema, at any TypeError."""
            return await self._answer(prompt, schema)

    return AnsweredModel


@lru_cache(256)
def schema_text(schema: type[BaseModel] | None) -> str:
    """The JSON Schema of what deepeval asks for, as strict as providers want it; ``null`` for words.

    An object allows no other keys and requires all of its own, but where its keys are anything.
    """
    if schema is None:
        return "null"
    return orjson.dumps(_strict(copy.deepcopy(schema.model_json_schema()))).decode()


def _strict(part: Any) -> Any:
    if isinstance(part, list):
        return [_strict(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    strict = {key: _strict(entry) for key, entry in part.items() if key not in ("default", "title")}
    for key in ("properties", "$defs"):
        if key in part:  # whose keys are names
            strict[key] = {name: _strict(entry) for name, entry in part[key].items()}
    if "properties" in part:
        strict["additionalProperties"] = False
        strict["required"] = list(part["properties"])
    return strict


def read_answer(text: str, schema: type[BaseModel] | None) -> Parsed:
    """What a model wrote, where it fits the schema; words are ``{"text": …}``."""
    if schema is None:
        words = without_thought(text).strip()
        return Parsed({"text": words}, None) if words else Parsed(None, "the reply is empty")

    def problem(answer: dict[str, Any]) -> str | None:
        try:
            schema.model_validate(answer)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_context=False, include_input=False)[0]
            return f"{'.'.join(map(str, detail['loc'])) or 'the object'}: {detail['msg']}"
        return None

    return parse_object(text, problem)


# -- One metric of deepeval on one transcript -----------------------------------------------------------

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
        super().__init__(measure.transcript, measure.metric.metric, measure.version, measure.number, measure.tally)
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

    def __init__(self, metric: DeepevalMetric, transcript: Transcript, number: int, judge: str, tally: Tally) -> None:
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
                _LOOP.set(asyncio.get_running_loop())
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
        return answer.answer["text"] if schema is None else schema.model_validate(answer.answer)


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
