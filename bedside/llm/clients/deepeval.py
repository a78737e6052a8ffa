"""Every provider that deepeval has a model class for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from bedside.llm.contract import ClientKind
from bedside.llm.deepeval_library import deepeval_module, listed_price, schema_class
from bedside.llm.forms import Forms
from bedside.llm.model_names import ModelName, provider_and_model
from bedside.llm.protocol import (
    FaultError,
    LanguageModelError,
    RefusedError,
    Reply,
    Request,
    Sampling,
    UnusableError,
    retry_after,
)
from bedside.llm.secrets import Secrets
from bedside.support.errors import MissingExtraError

#: Providers with the class that deepeval has for each.
PROVIDERS: Mapping[str, str] = {
    "anthropic": "AnthropicModel",
    "azure": "AzureOpenAIModel",
    "bedrock": "AmazonBedrockModel",
    "deepseek": "DeepSeekModel",
    "gemini": "GeminiModel",
    "grok": "GrokModel",
    "kimi": "KimiModel",
    "litellm": "LiteLLMModel",
    "ollama": "OllamaModel",
    "portkey": "PortkeyModel",
}
#: What the providers call the limit of a reply's tokens.
_LIMITS = {"gemini": "max_output_tokens", "ollama": "num_predict", "bedrock": "maxTokens",
           "azure": "max_completion_tokens"}  # fmt: skip
#: Ollama cuts longer prompts without a word unless it is told how much room to make.
_OLLAMA_PROMPT_TOKENS = 16_384
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
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._secrets = Secrets()
        self._name = name
        self._timeout = sampling.timeout
        # Given a schema, deepeval's gateway class asks again in words at any fault, which nobody counts.
        self._forms = Forms(_WORDS, first=_WORDS if name.provider == "portkey" else _SCHEMA)
        options: dict[str, Any] = {_LIMITS.get(name.provider, "max_tokens"): sampling.max_tokens}
        if name.provider == "ollama":
            self.max_prompt_tokens = sampling.max_prompt_tokens or _OLLAMA_PROMPT_TOKENS
            options["num_ctx"] = self.max_prompt_tokens + sampling.max_tokens
        arguments: dict[str, Any] = {"temperature": sampling.temperature, "generation_kwargs": options}
        if name.provider == "azure":
            arguments["deployment_name"] = name.model
        model_class = getattr(deepeval_module("models"), PROVIDERS[name.provider])
        try:
            model = model_class(model=name.model, **arguments)
            opened = model.load_model(async_mode=True)
        except Exception as error:  # whatever a provider's library raises on being set up
            raise self._not_set_up(error) from error
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
        """Send one request; see :class:`bedside.llm.protocol.Client`."""
        form = self._forms.choose(request)
        schema = self._schema(request) if form == _SCHEMA else None
        try:
            async with asyncio.timeout(self._timeout):
                output, cost = await self._generate(self._model, request.single(), schema)
        except TimeoutError as error:
            raise FaultError(f"no answer within {self._timeout:g} s", unreachable=True) from error
        except Exception as error:  # every provider's library has its own errors
            raise self._failure(error, form) from error
        if request.schema is not None:
            self._forms.worked(form)
        text = output.model_dump_json() if isinstance(output, BaseModel) else str(output or "")
        counts = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
        if not text.strip():
            raise UnusableError("the reply is empty", "", *counts)
        return Reply(self._secrets.scrub(text), *counts)

    def _failure(self, error: Exception, form: int) -> Exception:
        problem = self._secrets.line(str(error)) or type(error).__name__
        status = _status(error)
        if status is None:
            if isinstance(error, ValidationError) or "invalid JSON" in problem:
                return UnusableError("the reply is no JSON of the form described")
            if isinstance(error, OSError) or _is_connection(error):
                return FaultError(f"the connection failed ({problem})", unreachable=True)
            return RefusedError(f"{self._name.provider} failed ({type(error).__name__}: {problem})")
        if status in (401, 402, 403):
            return LanguageModelError(
                f"{self._name.provider} refuses access ({problem})", todo="check its key"
            )
        if status == 404:
            return LanguageModelError(f"{self._name.provider} has no model {self._name.model!r} ({problem})")
        if status in (400, 422):
            self._forms.failed(form, refused=True)
        if status in (408, 409, 425, 429, 529) or status >= 500:
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            wait = retry_after(headers.get("retry-after"))
            return FaultError(
                f"{self._name.provider} answered {problem}", wait=wait, busy=status in (429, 503, 529)
            )
        return RefusedError(f"{self._name.provider} refused the request ({problem})")

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
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # Amazon's
        value = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return value if isinstance(value, int) else None
    return None


def _is_connection(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return any("Connect" in name or "Timeout" in name or name == "TransportError" for name in names)


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    return ModelName(model, provider, None)


CLIENT = ClientKind(
    name="deepeval",
    title="providers that deepeval has a class for",
    beginnings=tuple(f"{provider}/" for provider in PROVIDERS),
    read=_read,
    open=DeepEvalClient,
    price=listed_price,
)
