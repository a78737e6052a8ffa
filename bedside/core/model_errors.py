"""What is wrong with data from outside, as a person says it: an unknown key is answered with the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from bedside.core.errors import nearest

#: Keys of an object, and positions in a list counted from 0.
KeyPath = tuple[int | str, ...]


def complaints(error: ValidationError, model: type[BaseModel]) -> list[tuple[KeyPath, str]]:
    """The path of each key that is wrong, and what is wrong with it.

    Unknown keys come first: a key that is missing may be one of them, misspelt.
    """
    details = error.errors(include_url=False, include_context=False, include_input=False)
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")
    return [(detail["loc"], _text(detail["loc"], detail["type"], detail["msg"], model)) for detail in details]


def key_name(path: KeyPath) -> str:
    """A path as messages write it: ``hidden.concerns.0.text``."""
    return ".".join(map(str, path))


def _text(path: KeyPath, kind: str, message: str, model: type[BaseModel]) -> str:
    if kind == "extra_forbidden":
        known = _keys(model.model_json_schema(), path[:-1])
        return f"unknown key; {nearest(str(path[-1]), known)}"
    if kind == "missing":
        return "it is missing"
    return message.removeprefix("Value error, ")


def _keys(schema: dict[str, Any], path: Sequence[int | str]) -> list[str]:
    """The keys that the object at a path can have."""
    definitions = schema.get("$defs", {})
    place: Any = schema
    for step in path:
        place = _plain(place, definitions)
        if isinstance(step, int):
            place = place.get("items", {})
        else:
            place = place.get("properties", {}).get(step, place.get("additionalProperties") or {})
    return list(_plain(place, definitions).get("properties", {}))


def _plain(place: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """A part of a schema without references, and without the null that it may be instead."""
    place = place if isinstance(place, dict) else {}
    for choice in place.get("anyOf", ()):
        if choice.get("type") != "null":
            place = choice
            break
    if "$ref" in place:
        place = definitions[place["$ref"].rpartition("/")[2]]
    return dict(place)
