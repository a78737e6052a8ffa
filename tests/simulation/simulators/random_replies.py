"""Replies at random: objects that fit a schema, and whatever else a model may come up with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from bedside.simulation.simulators.calls import ActorReply, Call

_WORDS = "well yes no pain since monday and my mother left arm cough perhaps doctor it hurts when I walk".split()
_JUNK = (
    "",
    " ",
    "null",
    "[]",
    "{}",
    "{",
    "7",
    '{"a": 1}',
    "As an AI language model, I can't.",
    "Doctor: Hello.",
    "*sighs*",
)


def sentence(draw: random.Random) -> str:
    """A few words."""
    words = [draw.choice(_WORDS) for _ in range(draw.randint(2, 9))]
    return " ".join(words).capitalize() + draw.choice(".?")


def fitting(schema: Mapping[str, Any], draw: random.Random, root: Mapping[str, Any] | None = None) -> Any:
    """A value that fits a JSON Schema."""
    root = schema if root is None else root
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return fitting(target, draw, root)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return fitting(draw.choice(schema[several]), draw, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    kind = schema.get("type", "object")
    kind = draw.choice(kind) if isinstance(kind, list) else kind
    return _KINDS[kind](schema, draw, root)


def _object(schema: Mapping[str, Any], draw: random.Random, root: Mapping[str, Any]) -> Any:
    parts = schema.get("properties", {})
    values = {name: fitting(part, draw, root) for name, part in parts.items()}
    if len(parts) > 1 and all(part.get("type") == "number" for part in parts.values()):  # shares of a whole
        total = sum(values.values()) or 1.0
        return {name: value / total for name, value in values.items()}
    return values


def _array(schema: Mapping[str, Any], draw: random.Random, root: Mapping[str, Any]) -> Any:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + 3), least + 3)
    return [fitting(schema.get("items", {"type": "string"}), draw, root) for _ in range(draw.randint(least, most))]


def _integer(schema: Mapping[str, Any], draw: random.Random, root: Mapping[str, Any]) -> Any:
    return draw.randint(schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0) + 5))


def _number(schema: Mapping[str, Any], draw: random.Random, root: Mapping[str, Any]) -> Any:
    return round(draw.uniform(schema.get("minimum", 0), schema.get("maximum", 1)), 3)


_KINDS: dict[str, Callable[[Mapping[str, Any], random.Random, Mapping[str, Any]], Any]] = {
    "object": _object,
    "array": _array,
    "integer": _integer,
    "number": _number,
    "string": lambda schema, draw, root: sentence(draw),
    "boolean": lambda schema, draw, root: draw.random() < 0.2,
    "null": lambda schema, draw, root: None,
}


def good_reply(call: Call, draw: random.Random) -> ActorReply:
    """A reply as it was asked for."""
    if call.schema is None:
        return ActorReply(sentence(draw))
    return ActorReply(json.dumps(fitting(call.schema, draw)))


def any_reply(call: Call, draw: random.Random, *, bad: float) -> ActorReply:
    """A reply as it was asked for, or, so often as ``bad`` says, none that is."""
    if draw.random() >= bad:
        return good_reply(call, draw)
    kind = draw.randrange(5)
    if kind == 0:
        return ActorReply("", declined="unsafe")
    if kind == 1:
        return ActorReply(sentence(draw)[: draw.randint(1, 9)], cut=True)
    if kind == 2:
        return ActorReply(f"<think>{sentence(draw)}</think>{draw.choice(_JUNK)}")
    if kind == 3:
        return ActorReply(" ".join(sentence(draw) for _ in range(60)))
    return ActorReply(draw.choice(_JUNK))
