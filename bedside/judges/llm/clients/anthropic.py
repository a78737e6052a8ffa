"""Anthropic's models, by its Messages API."""

from __future__ import annotations

from typing import Any

import orjson

from bedside.judges.llm.clients._provider import Provider, base_address, environment_key, finished_reply, strict_schema
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.prices import ModelFacts, listed_price
from bedside.judges.llm.protocol import (
    BatchService,
    Client,
    DeclinedError,
    LanguageModelError,
    Message,
    Reply,
    Request,
    Sampling,
    TokenCounts,
    cache_marked,
)
from bedside.judges.llm.server_problems import Secrets

_KEY = "ANTHROPIC_API_KEY"
_ADDRESS = "ANTHROPIC_BASE_URL"
_VERSION = ("anthropic-version", "2023-06-01")
#: Forms of structured output: its own, a tool that the model has to call, words.
_SCHEMA, _TOOL, _WORDS = range(3)


class _MessagesChat:
    """Messages as Anthropic has them; a :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""

    path = "/v1/messages"
    last_form = _WORDS
    streams = True
    #: There is neither.
    _without = frozenset(("seed", "probabilities"))

    def __init__(self, name: ModelName, sampling: Sampling, facts: ModelFacts, secrets: Secrets) -> None:
        self.first_form = _TOOL if facts.schema is False else _SCHEMA
        self.never = self._without | ({"temperature"} if facts.temperature is False else set())
        self._secrets = secrets
        self._sampling = sampling
        self._body: dict[str, Any] = {"model": name.model, "max_tokens": sampling.max_tokens}

    def content(self, request: Request, form: int, unsent: frozenset[str]) -> bytes:
        """The body of a request; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        chat = [message for message in request.messages if message.role != "system"]
        if not chat:
            system, chat = "", [Message("user", system)]
        content = {**self._body, "messages": cache_marked(chat, request.shared)}
        if system:
            content["system"] = system
        if self._sampling.temperature is not None and "temperature" not in unsent:
            content["temperature"] = self._sampling.temperature
        output: dict[str, Any] = {}
        effort = self._sampling.reasoning_effort
        if effort is not None and "reasoning_effort" not in unsent:
            if effort == "none":
                content["thinking"] = {"type": "disabled"}
            else:
                content["thinking"] = {"type": "adaptive"}
                output["effort"] = "low" if effort == "minimal" else effort
        if request.schema is not None and form != _WORDS:
            schema = strict_schema(request.schema) if form == _SCHEMA else None
            if schema is not None:
                output["format"] = {"type": "json_schema", "schema": orjson.Fragment(schema)}
            else:
                tool = {"name": request.schema_name, "input_schema": orjson.Fragment(request.schema)}
                content["tools"] = [{**tool, "description": "Takes the reply."}]
                content["tool_choice"] = {"type": "tool", "name": request.schema_name}
        if output:
            content["output_config"] = output
        return orjson.dumps(content)

    def read(self, data: Any) -> Reply:
        """The reply in an answer; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        from bedside.judges.llm.openai_chat import token_count

        usage = data.get("usage") or {}
        fresh, cached, kept = (
            token_count(usage.get(name))
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        counts = TokenCounts(
            input_tokens=None if fresh is None else fresh + (cached or 0) + (kept or 0),
            output_tokens=token_count(usage.get("output_tokens")),
            cached_tokens=cached,
            reasoning_tokens=token_count((usage.get("output_tokens_details") or {}).get("thinking_tokens")),
            written_tokens=kept,
        )
        calls = [block["input"] for block in data["content"] if block["type"] == "tool_use"]
        words = "".join(block["text"] for block in data["content"] if block["type"] == "text")
        text = orjson.dumps(calls[0]).decode() if calls else words
        ending = data.get("stop_reason")
        if ending == "refusal":
            details = data.get("stop_details") or {}
            why = details.get("explanation") or details.get("category") or "no reason is given"
            raise DeclinedError("model", self._secrets.line(str(why)), text, **counts)
        return finished_reply(text, ending, counts, self._sampling.max_tokens)

    def failure(self, answer: Any) -> Exception | None:
        """What it says in a way of its own; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        # Other limits say how long to wait; this one ends with the month.
        if answer.status == 429 and b"enforced_spend_limit_reached" in answer.body:
            return LanguageModelError(
                f"the account at Anthropic has reached its limit for this month ({answer.words})",
                todo="raise the limit at Anthropic, then run the same command again: what is done is kept",
            )
        return None


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    base_address(_ADDRESS, "")
    return ModelName(model, provider, None, _KEY)


def _provider() -> Provider:
    name, key = environment_key(_KEY)
    address = base_address(_ADDRESS, "https://api.anthropic.com")
    return Provider("Anthropic", address, name, key, key_header="x-api-key", headers=(_VERSION,))


def _check(name: ModelName) -> None:
    _provider()


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._hosted_model import HostedModel

    provider = _provider()
    if sampling.temperature is not None and sampling.temperature > 1:
        raise LanguageModelError("Anthropic takes temperatures from 0 to 1", todo="give a lower `temperature`, or none")
    chat = _MessagesChat(name, sampling, listed_facts(name), Secrets(more=[provider.key]))
    return HostedModel(name, provider, sampling, chat)


def _batches(name: ModelName) -> BatchService:
    from bedside.judges.llm.clients._batch_services import AnthropicBatches

    return AnthropicBatches(_provider())


CLIENT = ClientKind(
    name="anthropic",
    title="Anthropic's models",
    beginnings=("anthropic/",),
    read=_read,
    open=_open,
    check=_check,
    price=listed_price,
    batches=_batches,
)
