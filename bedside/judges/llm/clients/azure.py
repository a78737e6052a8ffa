"""Models deployed at Azure OpenAI, asked in OpenAI's form.

``AZURE_OPENAI_ENDPOINT`` is the resource's address and ``AZURE_OPENAI_API_KEY`` its key. Where ``OPENAI_API_VERSION``
is set, the deployment is asked by that version of Azure's interface, else by its interface ``v1``, which needs none
(learn.microsoft.com, Azure OpenAI API version lifecycle).
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote, urlsplit

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.clients._provider import sendable_key
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName, provider_and_model
from bedside.judges.llm.openai_chat import ChatAddress
from bedside.judges.llm.prices import listed_price
from bedside.judges.llm.protocol import Client, LanguageModelError, Sampling

_ENDPOINT, _KEY, _VERSION = "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"


def _read(text: str) -> ModelName:
    provider, deployment = provider_and_model(text)
    endpoint = os.environ.get(_ENDPOINT, "").strip().rstrip("/")
    if holds_secret(endpoint):
        raise RegistryError(
            f"the address in {_ENDPOINT} holds a name, password or query", todo=f"put the key into {_KEY}"
        )
    endpoint = endpoint.removesuffix("/openai/v1").removesuffix("/openai")
    return ModelName(deployment, provider, f"{endpoint}/openai" if endpoint else None, _KEY)


def _address(name: ModelName) -> ChatAddress:
    """Where a deployment is asked, with the resource's key.

    Raises:
        LanguageModelError: something of it isn't set, or can't be used.
    """
    missing = [variable for variable in (_ENDPOINT, name.key) if not os.environ.get(variable, "").strip()]
    if missing:
        raise LanguageModelError(
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not set",
            todo="export what the page Keys and Endpoint of the resource shows, or name another model",
        )
    assert name.url is not None
    if urlsplit(name.url).scheme not in ("http", "https"):
        raise LanguageModelError(
            f"the address in {_ENDPOINT} can't be read", todo="write https://NAME.openai.azure.com"
        )
    key = sendable_key(name.key, os.environ[name.key].strip())
    version = os.environ.get(_VERSION, "").strip()
    if version and not re.fullmatch(r"[\w.-]+", version):
        raise LanguageModelError(f"{_VERSION} is no version", todo="write one such as 2024-10-21, or unset it")
    by_version = f"{name.url}/deployments/{quote(name.model, safe='')}/chat/completions?api-version={version}"
    return ChatAddress(
        by_version if version else f"{name.url}/v1/chat/completions",
        name.url,
        key,
        name.key,
        key_header="api-key",
        responses_url=None if version else f"{name.url}/v1/responses",
        partner="Azure",
        access="that the key is this resource's, and that its network and region let you in",
        no_model=f"check the deployment's name, {_ENDPOINT}" + (f" and {_VERSION}" if version else ""),
        pay="see the subscription and its quota in the Azure portal",
    )


def _open(name: ModelName, sampling: Sampling) -> Client:
    from bedside.judges.llm.clients._openai_server import OpenAIServer

    return OpenAIServer(name, _address(name), sampling, listed_facts(name))


def _check(name: ModelName) -> None:
    _address(name)


CLIENT = ClientKind(
    name="azure",
    title="deployments at Azure OpenAI",
    beginnings=("azure/",),
    read=_read,
    open=_open,
    check=_check,
    price=listed_price,
)
