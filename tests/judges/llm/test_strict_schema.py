"""Schemas as Claude's structured output takes them: docs/en/build-with-claude/structured-outputs, JSON Schema
limitations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from bedside.judges.llm.clients._provider import strict_schema

#: What the page says is refused.
REFUSED = set("minimum maximum multipleOf minLength maxLength maxItems uniqueItems oneOf pattern".split())


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    text = strict_schema(json.dumps(schema))
    assert text is not None
    return dict(json.loads(text))


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and those inside it."""
    if isinstance(schema, dict):
        yield schema
        for name, value in schema.items():
            if name in ("properties", "$defs"):
                for part in value.values():
                    yield from parts(part)
            elif isinstance(value, list):
                for part in value:
                    yield from parts(part)
            else:
                yield from parts(value)


def an_object(**properties: Any) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


DIGIT = {"type": "integer", "minimum": 1, "maximum": 9}
NUMBERS = {"type": "array", "minItems": 2, "maxItems": 4, "items": DIGIT}
LEVEL = {"type": ["integer", "null"], "enum": [1, 2, 3, None], "description": "The level."}
CHOICE = {"oneOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}
SCORE = {"type": "integer", "enum": [1, 2]}


@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        (an_object(score=SCORE), [{"score": 1}], [{"score": 3}, {}, {"score": 1, "x": 1}]),
        (an_object(level=LEVEL), [{"level": None}, {"level": 2}], [{"level": 4}, {"level": "2"}]),
        (an_object(numbers=NUMBERS), [{"numbers": [1, 2]}], [{"numbers": ["one"]}]),
        (an_object(choice=CHOICE), [{"choice": None}, {"choice": "ab"}], [{"choice": 1}]),
        (an_object(inner={**an_object(a={"type": "boolean"}), "additionalProperties": True}), None, None),
        ({"type": "object", "additionalProperties": {"type": "number"}}, None, None),
    ],
    ids=["enum", "nullable", "numbers", "one of", "open inside", "open"],
)
def test_what_is_left_of_a_schema(schema: dict[str, Any], fits: Any, fails: Any) -> None:
    if fits is None:
        assert strict_schema(json.dumps(schema)) is None
        return
    closed = strict(schema)
    for part in parts(closed):
        assert not part.keys() & REFUSED
        assert not isinstance(part.get("type"), list)
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
    check = jsonschema.Draft202012Validator(closed)
    for reply in fits:
        assert jsonschema.Draft202012Validator(schema).is_valid(reply)
        assert check.is_valid(reply)
    assert not any(map(check.is_valid, fails))


def test_limits_are_told_in_words() -> None:
    numbers = strict(an_object(numbers=NUMBERS))["properties"]["numbers"]
    assert numbers["description"] == "(minItems 2, maxItems 4)"
    assert numbers["items"]["description"] == "(minimum 1, maximum 9)"
