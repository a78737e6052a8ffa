"""Google's Gemini models, by the Gemini API."""

from __future__ import annotations

import math
import os
import re
from typing import Any
from urllib.parse import quote

import orjson

from bedside.judges.llm.clients._provider import Provider, base_address, environment_key, sendable_key
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.prices import ModelFacts, Token, listed_price
from bedside.judges.llm.protocol import (
    BatchService,
    Client,
    DeclinedError,
    FaultError,
    LanguageModelError,
    Reply,
    Request,
    Sampling,
    TokenCounts,
    empty_reply,
)
from bedside.judges.llm.server_problems import Secrets

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_ADDRESS = "GOOGLE_GEMINI_BASE_URL"
_VERTEX = "GOOGLE_GENAI_USE_VERTEXAI"
#: Forms of structured output: its own, JSON of any form, words.
_SCHEMA, _JSON, _WORDS = range(3)
#: Transcripts are of people in distress; what a rater may not read it can't rate.
_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_SAFETY = [{"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_NONE"} for harm in _HARMS]
#: Reasons for an end that are a filter's.
_FILTERED = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "ESCALATION",
)  # fmt: skip
#: Tokens for thinking, of models before Gemini 3, which want a number: those that Google takes for OpenAI's words.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576}
_ALTERNATIVES = 20
_SECONDS = re.compile(r"([\d.]+)s")


class _ContentsChat:
    """Contents as Gemini has them; a :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""

    first_form, last_form = _SCHEMA, _WORDS
    streams = False

    def __init__(self, name: ModelName, sampling: Sampling, facts: ModelFacts, secrets: Secrets) -> None:
        model = quote(name.model.removeprefix("models/"), safe="")
        root = "/v1beta1/publishers/google" if _at_vertex() else "/v1beta"
        self.path = f"{root}/models/{model}:generateContent"
        # Of probabilities the tables say no for every model; which give them, they are asked.
        self.never = frozenset(("temperature",) if facts.temperature is False else ())
        self._secrets = secrets
        self._sampling = sampling
        self._budgeted = re.match(r"(models/)?gemini-[12]\b", name.model) is not None

    def content(self, request: Request, form: int, unsent: frozenset[str]) -> bytes:
        """The body of a request; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        sampling = self._sampling
        settings: dict[str, Any] = {"maxOutputTokens": sampling.max_tokens}
        if sampling.temperature is not None and "temperature" not in unsent:
            settings["temperature"] = sampling.temperature
        if request.seed is not None and "seed" not in unsent:
            settings["seed"] = request.seed
        if sampling.probabilities and "probabilities" not in unsent:
            settings |= {"responseLogprobs": True, "logprobs": _ALTERNATIVES}
        if sampling.reasoning_effort is not None and "reasoning_effort" not in unsent:
            settings["thinkingConfig"] = self._thinking(sampling.reasoning_effort)
        if request.schema is not None and form != _WORDS:
            settings["responseMimeType"] = "application/json"
            if form == _SCHEMA:
                settings["responseJsonSchema"] = orjson.Fragment(request.schema)
        chat = [message for message in request.messages if message.role != "system"]
        system = [message for message in request.messages if message.role == "system"]
        content: dict[str, Any] = {"generationConfig": settings, "safetySettings": _SAFETY}
        if system and chat:
            content["systemInstruction"] = {"parts": [{"text": message.content} for message in system]}
        content["contents"] = [
            {"role": "model" if message.role == "assistant" else "user", "parts": [{"text": message.content}]}
            for message in chat or system
        ]
        return orjson.dumps(content)

    def _thinking(self, effort: str) -> dict[str, Any]:
        if self._budgeted:
            return {"thinkingBudget": _BUDGETS[effort]}
        return {"thinkingLevel": "minimal" if effort == "none" else effort}

    def read(self, data: Any) -> Reply:
        """The reply in an answer; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        counts = _counts(data.get("usageMetadata") or {})
        blocked = (data.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            raise DeclinedError("filter", f"blocked the prompt: {self._secrets.line(str(blocked))}", **counts)
        if "usageMetadata" in data and not data.get("candidates"):
            # Of a prompt that is blocked none come; the reason is left out at times.
            raise DeclinedError("filter", "blocked the prompt: no reason is given", **counts)
        candidate = data["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or ()
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        ending = candidate.get("finishReason")
        if ending in _FILTERED:
            raise DeclinedError("filter", f"ended the reply: {ending}", text, **counts)
        cut = ending == "MAX_TOKENS"
        if not text.strip():
            other = f" ({self._secrets.line(str(ending))})" if ending not in (None, "STOP") else ""
            raise empty_reply(cut, self._sampling.max_tokens, also=other, **counts)
        tokens = _tokens(candidate.get("logprobsResult")) if self._sampling.probabilities else ()
        return Reply(text, **counts, tokens=tokens, cut=cut)

    def failure(self, answer: Any) -> Exception | None:
        """What it says in a way of its own; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        if answer.status == 400 and (b"API_KEY_INVALID" in answer.body or b"API key not valid" in answer.body):
            return LanguageModelError(f"Gemini refuses the key ({answer.words})", todo=f"check {' or '.join(_KEYS)}")
        if answer.status == 400 and b"FAILED_PRECONDITION" in answer.body:
            return LanguageModelError(
                f"Gemini can't be asked from this account or place ({answer.words})",
                todo="switch billing on for the key's project, or name another model",
            )
        if answer.status == 429:
            return _over_quota(answer)
        return None


def _over_quota(answer: Any) -> Exception:
    """What a limit that was reached means: a wait of seconds, or of a day."""
    try:
        details = orjson.loads(answer.body)["error"].get("details") or []
        kinds = {str(detail.get("@type", "")).rpartition(".")[2]: detail for detail in details}
        quotas = kinds.get("QuotaFailure", {}).get("violations") or []
        delay = _SECONDS.fullmatch(str(kinds.get("RetryInfo", {}).get("retryDelay", "")))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        quotas, delay = [], None
    if any("PerDay" in str(quota.get("quotaId", "")) for quota in quotas):
        return LanguageModelError(
            f"the day's quota at Gemini is used up ({answer.words})",
            todo="run the same command again tomorrow, or raise the quota: what is done is kept",
        )
    wait = float(delay[1]) if delay else None
    return FaultError(f"Gemini answered {answer.words}", wait=wait, busy=True)


def _counts(usage: Any) -> TokenCounts:
    from bedside.judges.llm.openai_chat import token_count

    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount")
    prompt, written, thought, cached = (token_count(usage.get(name)) for name in names)
    # Thoughts are paid for as what is written, and are counted beside it; a count of 0 is left out.
    return TokenCounts(
        input_tokens=prompt,
        output_tokens=(written or 0) + (thought or 0) if usage else None,
        cached_tokens=cached,
        reasoning_tokens=thought,
    )


def _tokens(result: Any) -> tuple[Token, ...]:
    """The tokens of a reply with their alternatives; none where the form is another."""
    try:
        return tuple(
            Token(chosen["token"].encode(), tuple(_alternative(other) for other in place["candidates"]))
            for chosen, place in zip(result["chosenCandidates"], result["topCandidates"], strict=True)
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _alternative(candidate: Any) -> tuple[bytes, float]:
    probability = float(candidate.get("logProbability", 0.0))
    if not math.isfinite(probability):
        raise ValueError("no probability")
    return candidate["token"].encode(), probability


def _at_vertex() -> bool:
    """Whether Vertex AI is asked, as Google's own library has it; with a key, which is its express mode."""
    return os.environ.get(_VERTEX, "").strip().lower() in ("1", "true")


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    base_address(_ADDRESS, "")
    return ModelName(model, provider, None, _KEYS[0])


def _provider() -> Provider:
    if _at_vertex():
        key = sendable_key(_KEYS[0], os.environ.get(_KEYS[0], "").strip())
        if not key:
            raise LanguageModelError(
                f"{_VERTEX} is set, and {_KEYS[0]} holds no key of Vertex AI",
                todo=f"put one into it (cloud.google.com/vertex-ai, API keys), name litellm/vertex_ai/MODEL to ask "
                f"with an account, or unset {_VERTEX} to ask with a key of the Gemini API",
            )
        address = base_address(_ADDRESS, "https://aiplatform.googleapis.com")
        return Provider("Vertex AI", address, _KEYS[0], key, key_header="x-goog-api-key")
    name, key = environment_key(*_KEYS)
    address = base_address(_ADDRESS, "https://generativelanguage.googleapis.com")
    return Provider("Gemini", address, name, key, key_header="x-goog-api-key")


def _check(name: ModelName) -> None:
    _provider()


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._hosted_model import HostedModel

    provider = _provider()
    chat = _ContentsChat(name, sampling, listed_facts(name), Secrets(more=[provider.key]))
    return HostedModel(name, provider, sampling, chat)


def _batches(name: ModelName) -> BatchService | None:
    from bedside.judges.llm.clients._batch_services import GeminiBatches

    model = quote(name.model.removeprefix("models/"), safe="")
    return None if _at_vertex() else GeminiBatches(_provider(), f"/v1beta/models/{model}:batchGenerateContent")


CLIENT = ClientKind(
    name="gemini",
    title="Google's Gemini models",
    beginnings=("gemini/",),
    read=_read,
    open=_open,
    check=_check,
    price=listed_price,
    batches=_batches,
)
