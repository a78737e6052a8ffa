"""Models that Ollama serves, by its own API."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

import orjson

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.clients._provider import Provider, sendable_key
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Client, FaultError, Reply, Request, Sampling, TokenCounts, empty_reply

#: The address, as Ollama's own programs have it; and the key of its servers on the internet.
_ADDRESS, _KEY = "OLLAMA_HOST", "OLLAMA_API_KEY"
_PORT = 11434
#: Forms of structured output: a JSON Schema, or words.
_SCHEMA, _WORDS = range(2)
#: It cuts longer prompts without a word unless it is told how much room to make.
_PROMPT_TOKENS = 16_384
_ALTERNATIVES = 20


class _OllamaChat:
    """Chats as Ollama has them; a :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""

    path = "/api/chat"
    first_form, last_form = _SCHEMA, _WORDS
    streams = False
    never: frozenset[str] = frozenset()

    def __init__(self, name: ModelName, sampling: Sampling, room: int) -> None:
        self._sampling = sampling
        options = {"num_predict": sampling.max_tokens, "num_ctx": room + sampling.max_tokens}
        # Prompts that don't fit are refused in place of being cut.
        self._body: dict[str, Any] = {"model": name.model, "stream": False, "truncate": False, "options": options}

    def content(self, request: Request, form: int, unsent: frozenset[str]) -> bytes:
        """The body of a request; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        sampling, options = self._sampling, dict(self._body["options"])
        content = {**self._body, "messages": request.messages, "options": options}
        if sampling.temperature is not None and "temperature" not in unsent:
            options["temperature"] = sampling.temperature
        if request.seed is not None and "seed" not in unsent:
            options["seed"] = request.seed
        if sampling.probabilities and "probabilities" not in unsent:
            content |= {"logprobs": True, "top_logprobs": _ALTERNATIVES}
        effort = sampling.reasoning_effort
        if effort is not None and "reasoning_effort" not in unsent:
            content["think"] = False if effort == "none" else effort
        if request.schema is not None and form == _SCHEMA:
            content["format"] = orjson.Fragment(request.schema)
        return orjson.dumps(content)

    def read(self, data: Any) -> Reply:
        """The reply in an answer; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        from bedside.judges.llm.openai_chat import listed_tokens, token_count

        text = data["message"].get("content") or ""
        counts = TokenCounts(
            input_tokens=token_count(data.get("prompt_eval_count")), output_tokens=token_count(data.get("eval_count"))
        )
        cut = data.get("done_reason") == "length"
        if not text.strip():
            raise empty_reply(cut, self._sampling.max_tokens, **counts)
        tokens = listed_tokens({"content": data.get("logprobs")}) if self._sampling.probabilities else ()
        return Reply(text, **counts, tokens=tokens, cut=cut)

    def failure(self, answer: Any) -> Exception | None:
        """What it says in a way of its own; see :class:`bedside.judges.llm.clients._hosted_model.ProviderChat`."""
        if answer.status == 503:
            return FaultError(f"Ollama answered {answer.words}", busy=True)
        return None


def _host() -> str:
    """The server's address; as for Ollama's programs, scheme and port may be left out.

    Raises:
        RegistryError: it can't be read, or holds a name, password or query.
    """
    text = os.environ.get(_ADDRESS, "").strip().rstrip("/")
    if holds_secret(text):
        raise RegistryError(
            f"the address in {_ADDRESS} holds a name, password or query", todo=f"put the key into {_KEY}"
        )
    scheme, mark, rest = text.partition("://")
    if not mark:
        scheme, rest = "http", text
    try:
        parts = urlsplit(f"{scheme}://{rest or '127.0.0.1'}")
        host, port = parts.hostname, parts.port or (None if mark else _PORT)
    except ValueError as error:
        raise RegistryError(f"the address in {_ADDRESS} can't be read", todo="write http://host:port") from error
    if scheme not in ("http", "https") or not host:
        raise RegistryError(f"the address in {_ADDRESS} can't be read", todo="write http://host:port")
    if host in ("0.0.0.0", "::"):  # where a server listens, and no address to ask
        host = "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}{'' if port is None else f':{port}'}{parts.path}"


def _provider(name: ModelName) -> Provider:
    key = sendable_key(_KEY, os.environ.get(_KEY, "").strip())
    return Provider("Ollama", _host(), _KEY, key, no_model=f"fetch it with: ollama pull {name.model}")


def _read(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    _host()
    return ModelName(model, provider, None, _KEY)


def _check(name: ModelName) -> None:
    _provider(name)


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._hosted_model import HostedModel

    room = sampling.max_prompt_tokens or _PROMPT_TOKENS
    client = HostedModel(name, _provider(name), sampling, _OllamaChat(name, sampling, room))
    client.max_prompt_tokens = room
    return client


def _price(name: ModelName) -> Price | None:
    """Nothing, where the model runs on a computer of the user's."""
    hosted = (urlsplit(_host()).hostname or "").endswith("ollama.com") or name.model.endswith("-cloud")
    return None if hosted else Price(0.0, 0.0)


CLIENT = ClientKind(
    name="ollama",
    title="models that Ollama serves",
    beginnings=("ollama/",),
    read=_read,
    open=_open,
    check=_check,
    price=_price,
)
