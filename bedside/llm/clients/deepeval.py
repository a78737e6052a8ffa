"""A client that asks through deepeval's model classes, so that every provider deepeval knows can be a judge."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from bedside.llm.client import (
    PROVIDERS,
    FaultError,
    Forms,
    JudgeError,
    JudgeName,
    Price,
    RefusedError,
    Reply,
    Request,
    Sampling,
    Secrets,
    UnusableError,
    missing_extra,
    retry_after,
)
from bedside.support.errors import MissingExtraError

#: Set before deepeval is imported, where the user hasn't set them: it sends usage data, reads .env files, writes
#: transcripts to the working folder, looks for updates, and retries on its own account. LiteLLM fetches prices.
ENVIRONMENT: Mapping[str, str] = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_RETRY_MAX_ATTEMPTS": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "CONFIDENT_TRACING_ENABLED": "NO",
    "CONFIDENT_TRACE_VERBOSE": "0",
    "ERROR_REPORTING": "0",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
}
#: What the providers call the limit of a reply's tokens.
_LIMITS = {"gemini": "max_output_tokens", "ollama": "num_predict", "bedrock": "maxTokens",
           "azure": "max_completion_tokens"}  # fmt: skip
#: Ollama cuts longer prompts without a word unless it is told how much room to make.
_OLLAMA_PROMPT_TOKENS = 16_384
_PRICES = {
    "openai": "OPENAI_MODELS_DATA",
    "azure": "OPENAI_MODELS_DATA",
    "anthropic": "ANTHROPIC_MODELS_DATA",
    "bedrock": "BEDROCK_MODELS_DATA",
    "deepseek": "DEEPSEEK_MODELS_DATA",
    "gemini": "GEMINI_MODELS_DATA",
    "grok": "GROK_MODELS_DATA",
    "kimi": "KIMI_MODELS_DATA",
}
#: Forms of structured output: the provider's own, or words only.
_SCHEMA, _WORDS = 0, 1


@cache
def _deepeval_models() -> Any:
    """deepeval's models, imported with everything that leaves the machine unasked switched off."""
    if "deepeval" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
    try:
        return importlib.import_module("deepeval.models")
    except ImportError as error:
        raise missing_extra("deepeval") from error


def listed_price(name: JudgeName) -> Price | None:
    """The price in deepeval's tables; None where there is none, or no deepeval."""
    table = _PRICES.get(name.provider or "")
    if table is None:
        return None
    try:
        _deepeval_models()
        constants = importlib.import_module("deepeval.models.llms.constants")
    except (MissingExtraError, ImportError):
        return None
    found = getattr(constants, table, {}).get(name.model)
    if found is None or found.input_price is None or found.output_price is None:
        return None
    return Price(found.input_price * 1e6, found.output_price * 1e6)


class DeepEvalClient:
    """Asks a model of one of deepeval's classes.

    Args:
        name: the provider and model.
        sampling: how the model is asked to write; a seed is not sent, and probabilities are not given.

    Raises:
        MissingExtraError: deepeval or the provider's own library isn't installed.
        JudgeError: the provider isn't set up, as where its key is missing.
    """

    def __init__(self, name: JudgeName, sampling: Sampling) -> None:
        assert name.provider is not None
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._secrets = Secrets()
        self._name = name
        self._timeout = sampling.timeout
        # Given a schema, deepeval's gateway class asks again in words at any fault, uncounted and unsaid.
        self._forms = Forms(_WORDS, first=_WORDS if name.provider == "portkey" else _SCHEMA)
        options: dict[str, Any] = {_LIMITS.get(name.provider, "max_tokens"): sampling.max_tokens}
        if name.provider == "ollama":
            self.max_prompt_tokens = sampling.max_prompt_tokens or _OLLAMA_PROMPT_TOKENS
            options["num_ctx"] = self.max_prompt_tokens + sampling.max_tokens
        arguments: dict[str, Any] = {"temperature": sampling.temperature, "generation_kwargs": options}
        if name.provider == "azure":
            arguments["deployment_name"] = name.model
        made = getattr(_deepeval_models(), PROVIDERS[name.provider])
        try:
            model = made(model=name.model, **arguments)
            opened = model.load_model(async_mode=True)
        except Exception as error:  # whatever a provider's library raises on being set up
            raise self._not_set_up(error) from error
        # deepeval makes a new client, with its TLS context, for every call; one is enough.
        model.load_model = lambda async_mode=False: opened
        self._opened = opened
        # Its wrappers keep traces of every call, and send a request again that nobody counts.
        self._generate = inspect.unwrap(type(model).a_generate)
        self._model = model
        self._schemas: dict[str, type[BaseModel]] = {}

    def _not_set_up(self, error: Exception) -> Exception:
        said = self._secrets.line(str(error))
        if isinstance(error, ImportError) or "pip install" in said:
            return MissingExtraError(f"asking {self._name.provider} needs its own library: {said}")
        return JudgeError(f"{self._name.provider} is not set up: {said}")

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.llm.client.Client`."""
        form = self._forms.choose(request)
        schema = self._schema(request.schema) if form == _SCHEMA else None
        try:
            async with asyncio.timeout(self._timeout):
                output, cost = await self._generate(self._model, request.single(), schema)
        except TimeoutError as error:
            raise FaultError(f"no answer within {self._timeout:g} s", unreachable=True) from error
        except Exception as error:  # every provider's library has its own errors
            raise self._failure(error, form) from error
        self._forms.worked(form)
        text = output.model_dump_json() if isinstance(output, BaseModel) else str(output or "")
        counts = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
        if not text.strip():
            raise UnusableError("the reply is empty", "", *counts)
        return Reply(self._secrets.scrub(text), *counts)

    def _failure(self, error: Exception, form: int) -> Exception:
        said = self._secrets.line(str(error)) or type(error).__name__
        status = _status(error)
        if status is None:
            if isinstance(error, ValidationError) or "invalid JSON" in said:
                return UnusableError("the reply is no JSON of the form described")
            if isinstance(error, OSError) or _is_connection(error):
                return FaultError(f"the connection failed ({said})", unreachable=True)
            return RefusedError(f"{self._name.provider} failed ({type(error).__name__}: {said})")
        if status in (401, 402, 403):
            return JudgeError(f"{self._name.provider} refuses access ({said})", todo="check its key")
        if status == 404:
            return JudgeError(f"{self._name.provider} has no model {self._name.model!r} ({said})")
        if status in (400, 422):
            self._forms.failed(form, refused=True)
        if status in (408, 409, 425, 429, 529) or status >= 500:
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            wait = retry_after(headers.get("retry-after"))
            return FaultError(
                f"{self._name.provider} answered {said}", wait=wait, busy=status in (429, 503, 529)
            )
        return RefusedError(f"{self._name.provider} refused the request ({said})")

    def _schema(self, text: str) -> type[BaseModel]:
        if text not in self._schemas:
            self._schemas[text] = schema_class(orjson.loads(text))
        return self._schemas[text]

    async def close(self) -> None:
        """Close the provider's connections."""
        close = getattr(self._opened, "close", None) or getattr(self._opened, "aclose", None)
        if close is not None:
            done = close()
            if asyncio.iscoroutine(done):
                await done


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


def schema_class(schema: dict[str, Any]) -> type[BaseModel]:
    """A Pydantic class, which is what deepeval takes, that stands for a JSON Schema.

    It lets any object through: whether a reply fits the rubric is checked where all replies are.
    """

    class Judgement(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
            return copy.deepcopy(schema)

    return Judgement
