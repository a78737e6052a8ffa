"""A provider of models: its address and its key, as environment variables have them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.protocol import LanguageModelError


@dataclass(frozen=True, slots=True)
class Provider:
    """Who serves the models.

    Attributes:
        title: the provider's name, for messages.
        address: base address of its interface.
        key_name: the environment variable that holds its key.
        key: the key; empty where it wants none.
        key_header: the header that it wants its key in; empty for a bearer token.
        headers: sent beside it, names and values.
        no_model: what to do where it doesn't have the model.
    """

    title: str
    address: str
    key_name: str
    key: str
    key_header: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    no_model: str = "check the model's name"


def base_address(variable: str, usual: str) -> str:
    """The address in an environment variable, or else the usual one, without a slash at its end.

    Raises:
        RegistryError: it holds a name, password or query.
    """
    address = os.environ.get(variable, "").strip() or usual
    if holds_secret(address):
        raise RegistryError(
            f"the address in {variable} holds a name, password or query",
            todo="put the key into its own variable",
        )
    return address.rstrip("/")


def environment_key(*variables: str) -> tuple[str, str]:
    """The first of some environment variables that is set, and the key in it.

    Raises:
        LanguageModelError: none is set, they hold different keys, or one holds what can't be sent.
    """
    keys = {name: key for name in variables if (key := os.environ.get(name, "").strip())}
    if not keys:
        raise LanguageModelError(
            f"{' or '.join(variables)} is not set", todo="export it, or name another model"
        )
    if len(set(keys.values())) > 1:
        raise LanguageModelError(
            f"{' and '.join(keys)} hold different keys", todo="unset the one that isn't to be used"
        )
    name, key = next(iter(keys.items()))
    return name, sendable_key(name, key)


def sendable_key(name: str, key: str) -> str:
    """A key that can stand in a header.

    Raises:
        LanguageModelError: it can't, and ``name`` says where it is from.
    """
    if not (key.isascii() and key.isprintable()):
        raise LanguageModelError(f"{name} holds characters that can't be sent", todo="copy the key again")
    return key
