"""Every provider that deepeval has a model class for."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from bedside.core.errors import MissingExtraError
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import deepeval_module, schema_class
from bedside.judges.llm.endpoints import Forms
from bedside.judges.llm.extra_fields import STREAM
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.openai_chat import token_count
from bedside.judges.llm.prices import listed_price
from bedside.judges.llm.protocol import (
    DeclinedError,
    FaultError,
    LanguageModelError,
    NotAskableError,
    NotTakenError,
    RefusedError,
    Reply,
    Request,
    Sampling,
    TokenCounts,
    UnusableError,
    retry_after,
)
from bedside.judges.llm.server_problems import Secrets, filtered, not_answered

#: Providers with the class that deepeval has for each.
PROVIDERS: Mapping[str, str] = {
    "deepseek": "DeepSeekModel",
    "grok": "GrokModel",
    "kimi": "KimiModel",
    "litellm": "LiteLLMModel",
    "portkey": "PortkeyModel",
}
#: What a provider's class needs beside deepeval: the module, and what installs it.
_LIBRARIES: Mapping[str, tuple[str, str]] = {
    "grok": ("xai_sdk", "pip install xai-sdk"),
    "litellm": ("litellm", 'pip install "bedside[litellm]"'),
}
#: Variables of keys that are LiteLLM's own; other providers' keys it finds itself.
_LITELLM_KEYS = ("LITELLM_API_KEY", "LITELLM_PROXY_API_KEY")
#: Providers that are asked by OpenAI's library.
_OPENAI_LIBRARY = ("deepseek", "kimi")
#: Forms of structured output: the provider's own, or words only.
_SCHEMA, _WORDS = 0, 1


class DeepEvalClient:
    """Asks a model of one of deepeval's classes.

    Args:
        name: the provider and model.
        sampling: how the model is asked to write; a seed is not sent, and probabilities are not given.

    Raises:
        MissingExtraError: deepeval or the provider's own library isn't installed.
        LanguageModelError: the provider isn't set up, as where its key is missing.
    """

    def __init__(self, name: ModelName, sampling: Sampling) -> None:
        assert name.provider is not None
        self.max_prompt_tokens: int | None = sampling.max_prompt_tokens
        self._secrets = Secrets()
        self._name = name
        self._timeout = sampling.timeout
        # Given a schema, deepeval's gateway class asks again in words at any fault, which nobody counts.
        self._forms = Forms(_WORDS, first=_WORDS if name.provider == "portkey" else _SCHEMA)
        options: dict[str, Any] = {"max_tokens": sampling.max_tokens, **_extra_options(name.provider, sampling)}
        arguments: dict[str, Any] = {"temperature": sampling.temperature, "generation_kwargs": options}
        _check_library(name.provider)
        model_class = getattr(deepeval_module("models"), PROVIDERS[name.provider])
        try:
            model = model_class(model=name.model, **arguments)
            opened = model.load_model(async_mode=True)
        except Exception as error:  # whatever a provider's library raises on being set up
            raise self._not_set_up(error) from error
        if name.provider == "litellm":
            _set_up_litellm(model)
        # Without a price they would not tell the tokens either.
        model.calculate_cost = _tokens
        # Made with none, it takes one of its own.
        model.temperature = sampling.temperature
        self._wanted = {
            "temperature": sampling.temperature is not None,
            "probabilities": sampling.probabilities,
            "reasoning_effort": sampling.reasoning_effort is not None,
        }
        # deepeval makes a new client, with its TLS context, for every call; one is enough.
        model.load_model = lambda async_mode=False: opened
        self._opened = opened
        # Its wrappers keep traces of every call, and send a request again that nobody counts.
        self._generate = inspect.unwrap(type(model).a_generate)
        self._model = model
        #: The class that stands for a schema, by its name and text.
        self._schemas: dict[tuple[str, str], type[BaseModel]] = {}

    def _not_set_up(self, error: Exception) -> Exception:
        problem = self._secrets.line(str(error))
        if isinstance(error, ImportError) or "pip install" in problem:
            return MissingExtraError(f"asking {self._name.provider} needs its own library: {problem}")
        return LanguageModelError(f"{self._name.provider} is not set up: {problem}")

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        form = self._forms.choose(request)
        schema = self._schema(request) if form == _SCHEMA else None
        try:
            async with asyncio.timeout(self._timeout):
                output, counts = await self._generate(self._model, request.single(), schema)
        except TimeoutError as error:
            raise FaultError(f"no answer within {self._timeout:g} s", unreachable=True) from error
        except Exception as error:  # every provider's library has its own errors
            raise self._failure(error, form) from error
        if request.schema is not None:
            self._forms.worked(form)
        text = output.model_dump_json() if isinstance(output, BaseModel) else str(output or "")
        counts = counts or TokenCounts()
        if not text.strip():
            raise UnusableError("the reply is empty", "", **counts)
        return Reply(self._secrets.scrub(text), **counts, unsent=self._unsent(request))

    def _unsent(self, request: Request) -> tuple[str, ...]:
        """What was wanted and can't be said to these classes, or isn't taken."""
        missed = {**self._wanted, "seed": request.seed is not None}
        missed["temperature"] = missed["temperature"] and self._model.temperature is None
        return tuple(parameter for parameter, wanted in missed.items() if wanted)

    def _failure(self, error: Exception, form: int) -> Exception:
        problem = self._secrets.line(str(error)) or type(error).__name__
        status = _status(error)
        if status is None:
            if isinstance(error, ValidationError) or "invalid JSON" in problem:
                return UnusableError("the reply is no JSON of the form described")
            if isinstance(error, OSError) or _is_connection(error):
                return FaultError(f"the connection failed ({problem})", unreachable=True)
            return RefusedError(f"{self._name.provider} failed ({type(error).__name__}: {problem})")
        if "ContentPolicyViolationError" in {kind.__name__ for kind in type(error).__mro__} or (
            status in (400, 403, 422) and filtered(problem)
        ):
            return DeclinedError("filter", f"stopped the prompt ({problem})")
        if status in (401, 402, 403):
            return LanguageModelError(f"{self._name.provider} refuses access ({problem})", todo="check its key")
        if status == 404:
            return LanguageModelError(f"{self._name.provider} has no model {self._name.model!r} ({problem})")
        names = {kind.__name__ for kind in type(error).__mro__}
        if "ContextWindowExceededError" in names or status == 413:
            return NotAskableError(f"the prompt is longer than the model takes in ({problem})")
        if status in (400, 422):
            if "temperature" in problem and self._model.temperature is not None:
                self._model.temperature = None
                return NotTakenError("temperature", problem)
            self._forms.failed(form, refused=True)
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        return not_answered(str(self._name.provider), status, problem, retry_after(headers))

    def _schema(self, request: Request) -> type[BaseModel] | None:
        if request.schema is None:
            return None
        key = request.schema_name, request.schema
        if key not in self._schemas:
            self._schemas[key] = schema_class(orjson.loads(request.schema), request.schema_name)
        return self._schemas[key]

    async def close(self) -> None:
        """Close the provider's connections."""
        close = getattr(self._opened, "close", None) or getattr(self._opened, "aclose", None)
        if close is not None:
            closing = close()
            if asyncio.iscoroutine(closing):
                await closing


def _status(error: BaseException) -> int | None:
    """The HTTP status that a provider's error carries, wherever it keeps it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return value
    return None


def _is_connection(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return any("Connect" in name or "Timeout" in name or name == "TransportError" for name in names)


def _tokens(input_tokens: object, output_tokens: object, **_: object) -> TokenCounts:
    """What takes the place of the classes' own reckoning of costs: the tokens that these would be reckoned from."""
    return TokenCounts(input_tokens=token_count(input_tokens), output_tokens=token_count(output_tokens))


def _extra_options(provider: str, sampling: Sampling) -> dict[str, Any]:
    """The fields that are added to requests, where a provider's library takes any.

    Raises:
        LanguageModelError: it doesn't.
    """
    if not sampling.extra:
        return {}
    if provider in _OPENAI_LIBRARY and STREAM not in sampling.extra:
        return {"extra_body": dict(sampling.extra)}
    if provider == "litellm" and STREAM not in sampling.extra:
        return dict(sampling.extra)
    fields = "and".join(f" {name} " for name in sampling.extra).strip()
    raise LanguageModelError(
        f"{provider}/ models can't be sent {fields}", todo="leave it out, or name the model by the server's address"
    )


def _check_library(provider: str) -> None:
    """Raise MissingExtraError where what a provider's class needs isn't installed."""
    library, todo = _LIBRARIES.get(provider, ("", ""))
    if library and find_spec(library) is None:
        raise MissingExtraError(f"asking {provider}/ models needs {library}, which isn't installed", todo=todo)


def _set_up_litellm(model: Any) -> None:
    """Keep LiteLLM quiet, and have it take the key of the provider that it asks.

    Raises:
        LanguageModelError: that isn't set.
    """
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    own = next((key for name in _LITELLM_KEYS if (key := os.environ.get(name, "").strip())), None)
    if own is None:
        # deepeval would give it the first key that there is, whoever's that is.
        model.api_key = None
        missing = litellm.validate_environment(model.name, api_base=model.base_url).get("missing_keys") or ()
        if missing and model.base_url is None:
            raise LanguageModelError(
                f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not set",
                todo="export it, or name another model",
            )


def _check(name: ModelName) -> None:
    # Its classes say what is missing when they are made.
    DeepEvalClient(name, Sampling())


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    return ModelName(model, provider, None)


CLIENT = ClientKind(
    name="deepeval",
    title="providers that deepeval has a class for",
    beginnings=tuple(f"{provider}/" for provider in PROVIDERS),
    read=_read,
    open=DeepEvalClient,
    libraries=("deepeval",),
    check=_check,
    price=listed_price,
)
