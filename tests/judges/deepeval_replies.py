"""Replies to what deepeval's metrics ask: made of the schema and the prompt alone, so that anybody gets the same."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

from tests.judges.llm.server import Action, Received

#: Numbers that metrics ask for lie from 0 to 1, but G-Eval's, whose schema has the reason first.
_TENTHS = 11
Schema = dict[str, Any]


def reply(prompt: str, schema: dict[str, Any] | None) -> str:
    """What a judge replies to a prompt."""
    seed = int(hashlib.sha256(prompt.encode()).hexdigest()[:12], 16)
    generator = random.Random(seed)
    if schema is None:
        return f"Words about it, number {generator.randrange(1000)}."
    return json.dumps(_filled(schema, schema, generator, ()), ensure_ascii=False)


def served(request: Received, number: int) -> Action:
    """The same, of a server."""
    return Action(text=reply(request.prompt, request.schema))


def _filled(part: Schema, whole: Schema, generator: random.Random, path: tuple[str, ...]) -> Any:
    if "$ref" in part:
        return _filled(whole["$defs"][part["$ref"].rsplit("/", 1)[1]], whole, generator, path)
    if "enum" in part:
        return generator.choice(part["enum"])
    if "const" in part:
        return part["const"]
    if "anyOf" in part:
        return _filled(part["anyOf"][0], whole, generator, path)
    kind = part["type"]
    if kind == "object" and "properties" not in part:
        return {f"fact {generator.randrange(9)}": f"value {generator.randrange(9)}"}
    if kind == "object":
        names = list(part["properties"])
        inner = part["properties"]
        filled = {name: _filled(inner[name], whole, generator, (*path, name)) for name in inner}
        if names == ["reason", "score"]:
            filled["score"] = generator.randrange(_TENTHS)
        return filled
    if kind == "array":
        return [_filled(part["items"], whole, generator, path) for _ in range(generator.randrange(1, 4))]
    values: dict[str, Callable[[], Any]] = {
        "string": lambda: f"{path[-1] if path else 'text'} {generator.randrange(1000)}",
        "integer": lambda: generator.randrange(6),
        "number": lambda: generator.randrange(_TENTHS) / 10,
        "boolean": lambda: generator.random() < 0.5,
    }
    return values[kind]()
