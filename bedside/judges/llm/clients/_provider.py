"""A provider of models: its address and its key, as environment variables have them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.protocol import LanguageModelError, NotAskableError, Reply, TokenCounts, empty_reply


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
            f"the address in {variable} holds a name, password or query", todo="put the key into its own variable"
        )
    return address.rstrip("/")


def environment_key(*variables: str) -> tuple[str, str]:
    """The first of some environment variables that is set, and the key in it.

    Raises:
        LanguageModelError: none is set, they hold different keys, or one holds what can't be sent.
    """
    keys = {name: key for name in variables if (key := os.environ.get(name, "").strip())}
    if not keys:
        raise LanguageModelError(f"{' or '.join(variables)} is not set", todo="export it, or name another model")
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


# -- The reply of a provider that says by name why a model stopped --------------------------------------

#: Where the model's own window was full, in the words of Anthropic, and of Bedrock, which has them from there.
_WINDOW_FULL = "model_context_window_exceeded"


def finished_reply(text: str, ending: str | None, counts: TokenCounts, max_tokens: int) -> Reply:
    """The reply, by how it ended.

    Args:
        text: what the model said.
        ending: why it stopped.
        counts: tokens that it took.
        max_tokens: most tokens of a reply.

    Raises:
        NotAskableError: the prompt filled the model's window.
        UnusableError: the model said nothing.
    """
    if ending == _WINDOW_FULL and not text.strip():
        raise NotAskableError("the prompt leaves no room for a reply in what the model takes in")
    cut = ending in ("max_tokens", _WINDOW_FULL)
    if not text.strip():
        raise empty_reply(cut, max_tokens, **counts)
    return Reply(text, **counts, cut=cut)


# -- JSON Schemas as the structured output of Anthropic's models takes them -----------------------------

#: What JSON Schemas say that it refuses; it is put in words instead.
_UNCHECKED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
_KEPT = ("description", "title", "enum", "const", "$ref", "format")


@lru_cache(maxsize=256)
def strict_schema(text: str) -> bytes | None:
    """A JSON Schema as Claude's structured output takes it; None where that can't say as much, as of keys that vary."""
    try:
        return orjson.dumps(_strict(orjson.loads(text)))
    except _LooseSchemaError:
        return None


class _LooseSchemaError(Exception):
    """Structured output has no such schema."""


def _strict(schema: Any) -> dict[str, Any]:
    """A schema without what structured output refuses: limits become words, and kinds stand one by one."""
    if not isinstance(schema, dict):
        raise _LooseSchemaError
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {"anyOf": [_strict(_of_kind(schema, kind)) for kind in kinds]}
    strict = {name: schema[name] for name in _KEPT if name in schema}
    limits = [f"{name} {schema[name]}" for name in _UNCHECKED if name in schema]
    if limits:
        strict["description"] = f"{strict.get('description', '')} ({', '.join(limits)})".strip()
    if kinds is not None:
        strict["type"] = kinds
    for source, target in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
        if source in schema:
            strict[target] = [_strict(part) for part in schema[source]]
    if "$defs" in schema:
        strict["$defs"] = {name: _strict(part) for name, part in schema["$defs"].items()}
    if "items" in schema:
        strict["items"] = _strict(schema["items"])
    if kinds == "object":
        if schema.get("additionalProperties") or "patternProperties" in schema or not schema.get("properties"):
            raise _LooseSchemaError
        strict["properties"] = {name: _strict(part) for name, part in schema["properties"].items()}
        strict["required"] = list(schema.get("required", ()))
        strict["additionalProperties"] = False
    return strict


def _of_kind(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """What a schema of several kinds says of one of them."""
    if kind == "null":
        return {"type": "null"}
    part = {**schema, "type": kind}
    if "enum" in part:
        part["enum"] = [value for value in part["enum"] if value is not None]
    return part
