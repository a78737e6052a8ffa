"""Rubrics as metrics of deepeval, for whoever tests conversations with its ``evaluate`` and ``assert_test``."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from bedside.judges.judgement_queue import JudgeAnswer, JudgementQueue, Patience, QuestionGroup, Tally
from bedside.judges.prompt import Conversation, NotAskable, Question
from bedside.judges.store import Store
from bedside.llm.client import (
    Client,
    JudgeName,
    Reply,
    Request,
    Sampling,
    UnusableError,
    judge_name,
    known_price,
    missing_extra,
    open_client,
)
from bedside.llm.clients.deepeval import ENVIRONMENT, schema_class
from bedside.rubrics.files import find_rubric
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError, RegistryError
from bedside.transcripts.transcript import Role, Transcript, new_turns

#: Who deepeval's two roles are in a conversation that is tested.
_ROLES: dict[str, Role] = {"assistant": "clinician", "user": "patient"}
#: How often deepeval asks again, and how long it waits, is its user's to say.
_LEFT_ALONE = ("DEEPEVAL_RETRY_MAX_ATTEMPTS", "DEEPEVAL_DISABLE_TIMEOUTS")


def deepeval_metric(
    rubric: str | Rubric, model: Any, *, threshold: float | None = 0.5, async_mode: bool = True
) -> Any:
    """A rubric as a conversational metric of deepeval.

    It asks with bedside's prompt and reads the reply as bedside does: one that doesn't fit the rubric is asked again,
    and whatever goes wrong in the end is an error, never a score. In the test case, the assistant is the clinician
    and the user the patient; what the rubric needs beside the conversation stands in the test case's ``metadata`` under
    the names that the rubric gives it.

    The metric's ``score`` is from 0 to 1, the higher the better: (level - lowest) / (highest - lowest), turned round
    for rubrics where lower is better. The level itself is its ``level``, and begins its ``reason``.

    Args:
        rubric: a rubric that rates whole conversations by levels, or its name.
        model: a model object of deepeval (``DeepEvalBaseLLM``), or the name of a judge as for ``--judge``.
        threshold: the score from which a test passes; None for no test.
        async_mode: whether a model object's ``a_generate`` is called, or its ``generate``.

    Returns:
        A ``deepeval.metrics.BaseConversationalMetric``. deepeval is imported with its telemetry, update check, ``.env``
        loading and file writing switched off, unless it is imported already.

    Raises:
        RegistryError: there is no such rubric or judge, or the rubric's answer is no level with a better end.
        MissingExtraError: deepeval isn't installed.
    """
    return _metric_class()(
        find_rubric(rubric) if isinstance(rubric, str) else rubric, model, threshold, async_mode
    )


def _deepeval(part: str) -> Any:
    if "deepeval" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            if name not in _LEFT_ALONE:
                os.environ.setdefault(name, value)
    try:
        return importlib.import_module(f"deepeval.{part}")
    except ImportError as error:
        raise missing_extra("deepeval") from error


@cache
def _metric_class() -> Any:
    base: Any = _deepeval("metrics").BaseConversationalMetric
    missing: Any = _deepeval("errors").MissingTestCaseParamsError

    class RubricMetric(base):  # type: ignore[misc]
        """See :func:`deepeval_metric`. deepeval copies it by the names of these arguments."""

        def __init__(self, rubric: Rubric, model: Any, threshold: float | None, async_mode: bool) -> None:
            if (
                rubric.kind != "level"
                or rubric.unit != "transcript"
                or rubric.each
                or rubric.direction == "none"
            ):
                raise RegistryError(
                    f"the rubric {rubric.name} can't be a metric of deepeval",
                    todo="take one that rates whole conversations by levels of which one end is the better",
                )
            self.rubric = rubric
            self.model = model
            self.threshold = threshold
            self.async_mode = async_mode
            self.using_native_model = False
            self.level: int | float | None = None
            self._name = judge_name(model) if isinstance(model, str) else _name_of(model)
            self.evaluation_model = self._name.identity
            self._question = Question(rubric)

        @property
        def __name__(self) -> str:
            return self.rubric.title

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            """The score of a conversation; in a thread, as there may be a running event loop."""
            context = contextvars.copy_context()
            with ThreadPoolExecutor(1) as executor:
                done = executor.submit(context.run, asyncio.run, self.a_measure(test_case))
                score: float = done.result()
            return score

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            """The score of a conversation.

            Raises:
                MissingTestCaseParamsError: deepeval's error for a test case that lacks what the rubric needs.
                DataError: there is no score, because no usable reply was had or the judge gave no level.
                JudgeError: the judge can't be asked.
            """
            self.score = self.level = self.reason = self.success = self.error = None
            conversation = Conversation(_transcript(test_case))
            (prompt,) = self._question.prompts(conversation)
            if isinstance(prompt, NotAskable):
                raise missing(f"{self.rubric.name}: {prompt.reason}")
            answer = await self._ask(conversation)
            if answer.answer is None:
                raise DataError(answer.error or "", where=self.rubric.name)
            level, reason = answer.answer["score"], answer.answer["reason"]
            if level is None:
                raise DataError(f"the judge gives no level: {reason}", where=self.rubric.name)
            levels = [each.value for each in self.rubric.scale]
            share = (level - levels[0]) / (levels[-1] - levels[0])
            self.level = level
            self.score = float(share if self.rubric.direction == "higher" else 1 - share)
            self.reason = f"Level {level:g} of {levels[0]:g} to {levels[-1]:g}. {reason}"
            self.is_successful()
            return self.score

        async def _ask(self, conversation: Conversation) -> JudgeAnswer:
            sampling, tally, done = Sampling(), Tally(), list[QuestionGroup]()
            client: Client
            if isinstance(self.model, str):
                client = open_client(self._name, sampling)
            else:
                client = _ModelClient(self.model, self.async_mode)
            # The engine keeps what it does; here, for as long as it works.
            with tempfile.TemporaryDirectory(prefix="bedside-") as folder:
                try:
                    with closing(Store(Path(folder) / "judgements.sqlite")) as store:
                        engine = JudgementQueue(
                            client,
                            self._name,
                            store,
                            sampling,
                            done.append,
                            patience=Patience(),
                            max_concurrency=1,
                            price=known_price(self._name),
                        )
                        await engine.run(iter([QuestionGroup(conversation, self._question, 0, tally)]))
                finally:
                    await client.close()
            # Nought is what is counted where the model doesn't say.
            self.input_tokens, self.output_tokens = tally.input_tokens or None, tally.output_tokens or None
            self.evaluation_cost = tally.cost
            return done[0].answers[0]

    return RubricMetric


def _name_of(model: Any) -> JudgeName:
    if not isinstance(model, _deepeval("models").DeepEvalBaseLLM):
        raise RegistryError(
            f"{model!r} is no judge", todo="give a model object of deepeval, or the name of a judge"
        )
    return JudgeName(str(model.get_model_name()), None, None)


class _ModelClient:
    """Asks a model object of deepeval; its errors stay as they are."""

    max_prompt_tokens: int | None = None

    def __init__(self, model: Any, async_mode: bool) -> None:
        self._generate = model.a_generate if async_mode else model.generate
        self._takes_schema = "schema" in inspect.signature(self._generate).parameters

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.llm.client.Client`."""
        given = {"schema": schema_class(orjson.loads(request.schema))} if self._takes_schema else {}
        try:
            made = self._generate(request.single(), **given)
            if inspect.isawaitable(made):
                made = await made
        except Exception as error:
            if isinstance(error, ValidationError) or "invalid JSON" in str(error):
                raise UnusableError("the reply is no JSON of the form described") from error
            raise
        # deepeval's own models tell the cost, which is a number that knows its tokens.
        output, cost = made if isinstance(made, tuple) else (made, None)
        text = output.model_dump_json() if isinstance(output, BaseModel) else str(output)
        return Reply(text, getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None))

    async def close(self) -> None:
        """Nothing: the model is its owner's."""


def _transcript(test_case: Any) -> Transcript:
    turns = test_case.turns
    made = new_turns(
        [_ROLES[turn.role] for turn in turns],
        [turn.role for turn in turns],
        [turn.content for turn in turns],
    )
    return Transcript(test_case.name or "conversation", tuple(made), reference=test_case.metadata or {})
