"""JSON Schemas as the structured output of Anthropic's models takes them, which knows less of them than others do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

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
        if (
            schema.get("additionalProperties")
            or "patternProperties" in schema
            or not schema.get("properties")
        ):
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
