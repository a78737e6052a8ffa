"""Servers that speak OpenAI's chat protocol: vLLM, SGLang, llama.cpp, LM Studio, OpenAI itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.clients._provider import sendable_key
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.openai_chat import OPENAI_URL, ChatAddress
from bedside.judges.llm.prices import Price, listed_price
from bedside.judges.llm.protocol import BatchService, Client, LanguageModelError, Sampling

#: Companies that are asked directly, with their addresses.
PROVIDERS: Mapping[str, str] = {"openai": OPENAI_URL, "openrouter": "https://openrouter.ai/api/v1"}
#: The environment variable with the key of servers given by their address, which may want none.
SERVER_KEY = "BEDSIDE_API_KEY"
_SCHEMES = ("http://", "https://")
#: What to check at each company where something is wrong with the account.
_ADVICE: Mapping[str, Mapping[str, str]] = {
    "openai": {
        "access": "that the project of the key, and its region, may use this model",
        "pay": "add credit or raise the limit at platform.openai.com, Billing",
    },
    "openrouter": {
        "partner": "OpenRouter",
        "access": "the settings of the key and of privacy at openrouter.ai",
        "pay": "add credits at openrouter.ai",
    },
}


def _read(text: str) -> ModelName:
    return _server_name(text) if text.startswith(_SCHEMES) else _company_name(text)


def _server_name(text: str) -> ModelName:
    url, _, model = text.partition("#")
    try:
        parts = urlsplit(url)
        readable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        readable = False
    if not readable:
        raise RegistryError("the model's address can't be read", todo="write http://host:port/v1#model")
    if holds_secret(url):
        raise RegistryError(
            "the address of a model must hold no name, password or query", todo=f"put the key into {SERVER_KEY}"
        )
    if not model.strip():
        raise RegistryError(f"no model is named after {url}", todo=f"write {url}#model")
    return ModelName(model.strip(), None, url.rstrip("/"), SERVER_KEY)


def _company_name(text: str) -> ModelName:
    provider, model = provider_and_model(text)
    prefix = provider.upper()
    url = os.environ.get(f"{prefix}_BASE_URL") or PROVIDERS[provider]
    if holds_secret(url):
        raise RegistryError(
            f"the address in {prefix}_BASE_URL holds a name, password or query",
            todo=f"put the key into {prefix}_API_KEY",
        )
    return ModelName(model, provider, url.rstrip("/"), f"{prefix}_API_KEY")


def _address(name: ModelName) -> ChatAddress:
    """Where a model is asked, with its key.

    Raises:
        LanguageModelError: its key is missing, or can't be sent.
    """
    assert name.url is not None
    key = os.environ.get(name.key, "").strip()
    if not key and (name.provider is not None or name.key != SERVER_KEY):
        raise LanguageModelError(f"{name.key} is not set", todo="export it, or name another model")
    address = ChatAddress(
        f"{name.url}/chat/completions",
        name.url,
        sendable_key(name.key, key),
        name.key,
        models_url=f"{name.url}/models",
        responses_url=f"{name.url}/responses",
    )
    return replace(address, **_ADVICE.get(name.provider or "", {}))


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._openai_server import OpenAIServer

    return OpenAIServer(name, _address(name), sampling, listed_facts(name))


def _check(name: ModelName) -> None:
    _address(name)


def _price(name: ModelName) -> Price | None:
    return None if name.provider is None else listed_price(name)


def _batches(name: ModelName) -> BatchService | None:
    from bedside.judges.llm.clients._batch_services import OpenAIBatches

    return OpenAIBatches(_address(name)) if name.provider == "openai" else None


CLIENT = ClientKind(
    name="openai_compatible",
    title="servers that speak OpenAI's protocol, OpenAI and OpenRouter",
    beginnings=(*_SCHEMES, *(f"{provider}/" for provider in PROVIDERS)),
    read=_read,
    open=_open,
    check=_check,
    price=_price,
    batches=_batches,
)
