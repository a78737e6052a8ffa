"""The shape of JSON: checked when it is read, so that damage is told at once; and what can't be written as JSON."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

#: Types of single values; a whole number is none where a boolean stands.
TEXT, INTEGER, NUMBER, BOOLEAN = (str,), (int,), (int, float), (bool,)

#: How deep a file that people write may be nested.
MOST_LEVELS = 50

_WHOLE_NUMBERS = range(-(2**63), 2**64)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object whose values all have one shape."""

    shape: Any


@dataclass(frozen=True, slots=True)
class OrNull:
    """A shape, or null, or no such key."""

    shape: Any


def misfit(value: Any, shape: Any, at: str = "") -> str | None:
    """Where a value differs from a shape, as keys with points between; None where it fits.

    Args:
        value: of JSON.
        shape: types of a single value; an object with the shapes of its keys (others are left alone); a list with the
            one shape of its items; an :class:`ObjectOf` or a :class:`OrNull`.
        at: the place of the value.
    """
    if isinstance(shape, OrNull):
        return None if value is None else misfit(value, shape.shape, at)
    if isinstance(shape, tuple):
        fits = isinstance(value, shape) and (isinstance(value, bool) == (shape == BOOLEAN))
        return None if fits else at or "the top level"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return at or "the top level"
        parts: Any = ((item, shape[0], number) for number, item in enumerate(value))
    elif not isinstance(value, dict):
        return at or "the top level"
    elif isinstance(shape, ObjectOf):
        parts = ((part, shape.shape, key) for key, part in value.items())
    else:
        parts = ((value.get(key), key_shape, key) for key, key_shape in shape.items())
    places = (misfit(part, part_shape, f"{at}.{key}" if at else str(key)) for part, part_shape, key in parts)
    return next((place for place in places if place is not None), None)


def unwritable(value: Any, levels: int) -> str | None:
    """What in a value can't be written as JSON that every reader takes, with its keys; None where all of it can.

    Args:
        value: of JSON or YAML.
        levels: how deep it may be nested.
    """
    if levels < 0:
        return "it is nested too deeply"
    if isinstance(value, str):
        return f"the text {value!r:.60} holds half of a character" if _LONE_SURROGATE.search(value) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is no number of JSON"
    if isinstance(value, int):
        return None if value in _WHOLE_NUMBERS else f"the number {str(value)[:20]}… is too large"
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        wrong = unwritable(key, levels)
        if wrong is not None:
            return wrong
        wrong = unwritable(part, levels - 1)
        if wrong is not None:
            return f"{key}: {wrong}"
    return None


def json_kind(value: Any) -> str:
    """What a JSON value is, in words, for messages."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return {"list": "a list", "dict": "an object", "NoneType": "null"}.get(type(value).__name__, "a string")
