"""Models at Amazon Bedrock, by Amazon's own library."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import orjson

from bedside.judges.llm.clients._provider import Provider, finished_reply, strict_schema
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.prices import ModelFacts, listed_price
from bedside.judges.llm.protocol import Client, DeclinedError, LanguageModelError, Reply, Request, Sampling, TokenCounts
from bedside.judges.llm.server_problems import Secrets

#: Where its region is looked for first: only for Bedrock.
_REGION = "AWS_BEDROCK_REGION"
_KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK"
#: Forms of structured output: its own, a tool that the model has to call, words.
_SCHEMA, _TOOL, _WORDS = range(3)
#: Codes of errors that are the account's or the key's, and no request's own.
_KEY_CODES = (
    "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "InvalidClientTokenId",
    "IncompleteSignature", "MissingAuthenticationTokenException", "InvalidTokenException",
)  # fmt: skip


class _ConverseChat:
    """Conversations as Bedrock has them; a :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""

    path = ""
    last_form = _WORDS
    streams = False

    def __init__(self, name: ModelName, sampling: Sampling, facts: ModelFacts, secrets: Secrets) -> None:
        # The tables say yes for every model, whose own interfaces know better: each is tried.
        self.first_form = _SCHEMA
        without = {"seed", "probabilities"} | ({"temperature"} if facts.temperature is False else set())
        # It has no way to switch thinking off that is the same for all models.
        self.never = frozenset(without | ({"reasoning_effort"} if sampling.reasoning_effort == "none" else set()))
        self._sampling = sampling
        self._secrets = secrets
        self._model = name.model

    def content(self, request: Request, form: int, unsent: frozenset[str]) -> bytes:
        """The body of a request; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        limits: dict[str, Any] = {"maxTokens": self._sampling.max_tokens}
        if self._sampling.temperature is not None and "temperature" not in unsent:
            limits["temperature"] = self._sampling.temperature
        chat = [message for message in request.messages if message.role != "system"]
        system = [{"text": message.content} for message in request.messages if message.role == "system"]
        content: dict[str, Any] = {"modelId": self._model, "inferenceConfig": limits}
        if system and chat:
            content["system"] = system
        content["messages"] = [{"role": message.role, "content": [{"text": message.content}]} for message in chat] or [
            {"role": "user", "content": system}
        ]
        output: dict[str, Any] = {}
        effort = self._sampling.reasoning_effort
        if effort is not None and "reasoning_effort" not in unsent:
            output["effort"] = "low" if effort == "minimal" else effort
        if request.schema is not None and form != _WORDS:
            schema = strict_schema(request.schema) if form == _SCHEMA else None
            if schema is not None:
                structure = {"jsonSchema": {"schema": schema.decode(), "name": request.schema_name}}
                output["textFormat"] = {"type": "json_schema", "structure": structure}
            else:
                tool = {
                    "name": request.schema_name,
                    "description": "Takes the reply.",
                    "inputSchema": {"json": orjson.Fragment(request.schema)},
                }
                choice = {"tool": {"name": request.schema_name}}
                content["toolConfig"] = {"tools": [{"toolSpec": tool}], "toolChoice": choice}
        if output:
            content["outputConfig"] = output
        return orjson.dumps(content)

    def read(self, data: Any) -> Reply:
        """The reply in an answer; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        from bedside.judges.llm.openai_chat import token_count

        usage = data.get("usage") or {}
        fresh, cached, kept = (
            token_count(usage.get(name)) for name in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        )
        counts = TokenCounts(
            input_tokens=None if fresh is None else fresh + (cached or 0) + (kept or 0),
            output_tokens=token_count(usage.get("outputTokens")),
            cached_tokens=cached,
            written_tokens=kept,
        )
        blocks = data["output"]["message"]["content"]
        calls = [block["toolUse"]["input"] for block in blocks if "toolUse" in block]
        words = "".join(block["text"] for block in blocks if "text" in block)
        text = orjson.dumps(calls[0]).decode() if calls else words
        ending = data.get("stopReason")
        if ending in ("content_filtered", "guardrail_intervened"):
            raise DeclinedError("filter", f"ended the reply: {ending}", text, **counts)
        return finished_reply(text, ending, counts, self._sampling.max_tokens)

    def failure(self, answer: Any) -> Exception | None:
        """What it says in a way of its own; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        if any(code in answer.words for code in _KEY_CODES):
            return LanguageModelError(f"Bedrock refuses the key ({answer.words})", todo=f"check {_KEYS}")
        if answer.status == 400 and "inference profile" in answer.words:
            return LanguageModelError(
                f"{self._model} is asked by an inference profile only ({answer.words})",
                todo=f"name the profile, such as bedrock/us.{self._model}",
            )
        if answer.status == 400 and "model identifier is invalid" in answer.words:
            return LanguageModelError(
                f"Bedrock has no model {self._model!r} ({answer.words})",
                todo="check the model's id, and that the region has it",
            )
        return None


@cache
def _session() -> Any:
    """Amazon's settings, of the environment and of its files."""
    import botocore.session

    return botocore.session.Session()


def _region() -> str:
    region = os.environ.get(_REGION, "").strip() or _session().get_config_variable("region")
    if not region:
        raise LanguageModelError("no region of Amazon's is set", todo="export AWS_BEDROCK_REGION, such as us-east-1")
    return str(region)


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    return ModelName(model, provider, None, "AWS_SECRET_ACCESS_KEY")


def _check(name: ModelName) -> None:
    import botocore.exceptions

    try:
        _region()
        has_key = os.environ.get("AWS_BEARER_TOKEN_BEDROCK", "").strip() or _session().get_credentials() is not None
    except botocore.exceptions.BotoCoreError as error:
        raise LanguageModelError(f"Amazon's settings can't be used: {Secrets().line(str(error))}") from error
    if not has_key:
        raise LanguageModelError("no key of Amazon's is there", todo=f"export {_KEYS}, or run: aws configure")


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._bedrock_poster import BedrockPoster
    from bedside.judges.llm.clients._hosted_model import HostedModel

    _check(name)
    region, secrets = _region(), Secrets()
    provider = Provider(
        "Bedrock", f"Bedrock in {region}", _KEYS, "", no_model="check the model's id, and that the region has it"
    )
    poster = BedrockPoster(region, sampling.timeout, secrets)
    return HostedModel(name, provider, sampling, _ConverseChat(name, sampling, listed_facts(name), secrets), poster)


CLIENT = ClientKind(
    name="bedrock",
    title="models at Amazon Bedrock",
    beginnings=("bedrock/",),
    read=_read,
    open=_open,
    extra="bedrock",
    libraries=("aiobotocore",),
    check=_check,
    price=listed_price,
)
