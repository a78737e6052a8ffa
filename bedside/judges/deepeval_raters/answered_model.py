"""A model for deepeval's metrics that is answered by somebody else, and the schemas of what they ask."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

from bedside.judges.llm.deepeval_library import deepeval_module
from bedside.judges.reply import Parsed, parse_object, without_thought

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
            """An answer, in a thread of :func:`in_thread`."""
            return asyncio.run_coroutine_threadsafe(self._wait(prompt, schema), _LOOP.get()).result()

        def generate_with_schema(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer, in a thread of :func:`in_thread`."""
            return self.generate(prompt, schema)

        async def _wait(self, prompt: str, schema: type[BaseModel] | None) -> Any:
            return await self._answer(prompt, schema)

        async def a_generate(self, prompt: str, schema: type[BaseModel] | None = None, **_: Any) -> Any:
            """An answer."""
            return await self._answer(prompt, schema)

        async def a_generate_with_schema(
            self, prompt: str, schema: type[BaseModel] | None = None, **_: Any
        ) -> Any:
            """An answer. deepeval's own way here would ask again, without a schema, at any TypeError."""
            return await self._answer(prompt, schema)

    return AnsweredModel


async def in_thread(work: Callable[[], T]) -> T:
    """What ``work`` returns in a thread of its own, where a model of this loop can be asked synchronously."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def put(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(cast(T, value))

    def target() -> None:
        _LOOP.set(loop)
        value, problem = None, None
        try:
            value = work()
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # where the loop has ended, nobody waits
            loop.call_soon_threadsafe(put, value, problem)

    threading.Thread(target=target, daemon=True).start()
    return await result


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


def as_deepeval_has_it(answer: dict[str, Any], schema: type[BaseModel] | None) -> Any:
    """An answer that was read, as deepeval takes it."""
    return answer["text"] if schema is None else schema.model_validate(answer)
