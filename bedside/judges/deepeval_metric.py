"""Rubrics as metrics of deepeval, for whoever tests conversations with its ``evaluate`` and ``assert_test``."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from bedside.core.errors import DataError, RegistryError
from bedside.judges.counts import Tally
from bedside.judges.judgement_queue import JudgementQueue
from bedside.judges.llm.deepeval_library import deepeval_module, schema_class
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client, Reply, Request, UnusableError
from bedside.judges.llm.sharing import open_client
from bedside.judges.prompt import Conversation, NotAskable, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Store
from bedside.ratings.names import TRANSCRIPT
from bedside.transcripts.transcript import Role, Transcript, new_turns

#: Who deepeval's two roles are in a conversation that is tested.
_ROLES: dict[str, Role] = {"assistant": "clinician", "user": "patient"}
#: How often deepeval asks again, and how long it waits, is its user's to say.
_LEFT_ALONE = ("DEEPEVAL_RETRY_MAX_ATTEMPTS", "DEEPEVAL_DISABLE_TIMEOUTS")


def deepeval_metric(rubric: str | Rubric, model: Any, *, threshold: float | None = 0.5, async_mode: bool = True) -> Any:
    """A rubric as a conversational metric of deepeval.

    It asks with bedside's prompt and reads the reply as bedside does: one that doesn't fit the rubric is asked again,
    and whatever goes wrong in the end is an error, never a score. In the test case, the assistant is the clinician
    and the user the patient; what the rubric needs beside the conversation stands in the test case's ``metadata`` under
    the names that the rubric gives it.

    The metric's ``score`` is from 0 to 1, the higher the better: (level - lowest) / (highest - lowest), or 1
    minus that for rubrics where lower is better. The level itself is its ``level``, and begins its ``reason``.

    Args:
        rubric: a rubric that rates whole conversations by levels, or its name.
        model: a model object of deepeval (``DeepEvalBaseLLM``), or the name of a judge
            (:mod:`bedside.judges.llm.contract`).
        threshold: the score from which a test passes; None for no test.
        async_mode: whether a model object's ``a_generate`` is called, or its ``generate``.

    Returns:
        A ``deepeval.metrics.BaseConversationalMetric``. deepeval is imported with its telemetry, update check, ``.env``
        loading and file writing switched off, unless it is imported already.

    Raises:
        RegistryError: there is no such rubric or judge, or the rubric's answer is no level with a better end.
        MissingExtraError: deepeval isn't installed.
    """
    return _metric_class()(find_rubric(rubric) if isinstance(rubric, str) else rubric, model, threshold, async_mode)


class _RubricRater:
    """Rates conversations by a rubric.

    Args:
        rubric: one that rates whole conversations by levels.
        model: a model object of deepeval, or the name of a judge.
        async_mode: as for :func:`deepeval_metric`.

    Raises:
        RegistryError: the rubric is another one, or the model is none.
    """

    def __init__(self, rubric: Rubric, model: Any, async_mode: bool) -> None:
        levels = rubric.kind == "level" and rubric.unit == TRANSCRIPT and not rubric.each
        if not levels or rubric.direction == "none":
            raise RegistryError(
                f"the rubric {rubric.name} can't be a metric of deepeval",
                todo="take one that rates whole conversations by levels of which one end is the better",
            )
        self.name = model_name(model) if isinstance(model, str) else _name_of(model)
        self._question = Question(rubric)
        self._model = model
        self._async_mode = async_mode

    def problem(self, conversation: Conversation) -> str | None:
        """Why a conversation can't be asked about; None where it can."""
        (prompt,) = self._question.prompts(conversation)
        return prompt.reason if isinstance(prompt, NotAskable) else None

    async def answer(self, conversation: Conversation) -> tuple[JudgeAnswer, Tally]:
        """What the judge says of a conversation, and what it took.

        Raises:
            LanguageModelError: the judge can't be asked.
        """
        settings, groups = JudgeSettings(max_concurrency=1), list[QuestionGroup]()
        client: Client
        if isinstance(self._model, str):
            client = open_client(self.name, settings.sampling(), settings.sharing())
        else:
            client = _ModelClient(self._model, self._async_mode)
        group = QuestionGroup(conversation, self._question, 0, Tally())
        # A queue keeps what it does; here, for as long as it works.
        with tempfile.TemporaryDirectory(prefix="bedside-") as folder:
            try:
                with closing(Store(Path(folder) / "judgements.sqlite")) as store:
                    queue = JudgementQueue(client, self.name, store, settings, groups.append)
                    await queue.run(iter([group]))
            finally:
                await client.close()
        return groups[0].answers[0], group.tally


@cache
def _metric_class() -> Any:
    base: Any = deepeval_module("metrics", _LEFT_ALONE).BaseConversationalMetric
    missing: Any = deepeval_module("errors", _LEFT_ALONE).MissingTestCaseParamsError

    class RubricMetric(base):  # type: ignore[misc]
        """See :func:`deepeval_metric`. deepeval copies it by the names of these arguments."""

        def __init__(self, rubric: Rubric, model: Any, threshold: float | None, async_mode: bool) -> None:
            self._rater = _RubricRater(rubric, model, async_mode)
            self.rubric = rubric
            self.model = model
            self.threshold = threshold
            self.async_mode = async_mode
            self.using_native_model = False
            self.level: int | float | None = None
            self.evaluation_model = self._rater.name.identity

        @property
        def __name__(self) -> str:
            return self.rubric.title

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            """The score of a conversation; in a thread, as there may be a running event loop."""
            context = contextvars.copy_context()
            with ThreadPoolExecutor(1) as executor:
                return executor.submit(context.run, asyncio.run, self.a_measure(test_case)).result()

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            """The score of a conversation.

            Raises:
                MissingTestCaseParamsError: deepeval's error for a test case that lacks what the rubric needs.
                DataError: there is no score, because no usable reply was had or the judge gave no level.
                LanguageModelError: the judge can't be asked.
            """
            self.score = self.level = self.reason = self.success = self.error = None
            conversation = Conversation(_transcript(test_case))
            problem = self._rater.problem(conversation)
            if problem is not None:
                raise missing(f"{self.rubric.name}: {problem}")
            answer, tally = await self._rater.answer(conversation)
            # Nought is what is counted where the model doesn't say.
            self.input_tokens, self.output_tokens = tally.input_tokens or None, tally.output_tokens or None
            self.evaluation_cost = tally.cost
            self.level, share, self.reason = _level_of(answer, self.rubric)
            self.score = share
            self.is_successful()
            return share

    return RubricMetric


def _level_of(answer: JudgeAnswer, rubric: Rubric) -> tuple[int | float, float, str]:
    """An answer's level, its place from the worst (0) to the best (1), and the reason.

    Raises:
        DataError: there is no level.
    """
    if answer.answer is None:
        raise DataError(answer.error or "", where=rubric.name)
    level, reason = answer.answer["score"], answer.answer["reason"]
    if level is None:
        raise DataError(f"the judge gives no level: {reason}", where=rubric.name)
    lowest, highest = rubric.scale[0].value, rubric.scale[-1].value
    share = (level - lowest) / (highest - lowest)
    score = float(share if rubric.direction == "higher" else 1 - share)
    return level, score, f"Level {level:g} of {lowest:g} to {highest:g}. {reason}"


def _name_of(model: Any) -> ModelName:
    if not isinstance(model, deepeval_module("models", _LEFT_ALONE).DeepEvalBaseLLM):
        raise RegistryError(
            f"{model!r} is neither a model object of deepeval nor the name of a judge",
            todo="give one of these as `model`",
        )
    return ModelName(str(model.get_model_name()), None, None)


class _ModelClient:
    """Asks a model object of deepeval; its errors stay as they are."""

    max_prompt_tokens: int | None = None

    def __init__(self, model: Any, async_mode: bool) -> None:
        self._generate = model.a_generate if async_mode else model.generate
        self._takes_schema = "schema" in inspect.signature(self._generate).parameters

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        arguments: dict[str, Any] = {}
        if self._takes_schema and request.schema is not None:
            arguments["schema"] = schema_class(orjson.loads(request.schema), request.schema_name)
        try:
            generated = self._generate(request.single(), **arguments)
            if inspect.isawaitable(generated):
                generated = await generated
        except Exception as error:
            if isinstance(error, ValidationError) or "invalid JSON" in str(error):
                raise UnusableError("the reply is no JSON of the form described") from error
            raise
        # deepeval's own models tell the cost, which is a number that knows its tokens.
        output, cost = generated if isinstance(generated, tuple) else (generated, None)
        text = output.model_dump_json() if isinstance(output, BaseModel) else str(output)
        return Reply(text, getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None))

    async def close(self) -> None:
        """Nothing: the model is its owner's."""


def _transcript(test_case: Any) -> Transcript:
    turns = test_case.turns
    new = new_turns(
        [_ROLES[turn.role] for turn in turns], [turn.role for turn in turns], [turn.content for turn in turns]
    )
    return Transcript(test_case.name or "conversation", tuple(new), reference=test_case.metadata or {})
