"""The form of what bedside itself wrote as JSON: looked at when it is read, so that damage is told at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Types of single values; a whole number is none where a boolean stands.
TEXT, WHOLE, NUMBER, YES_OR_NO = (str,), (int,), (int, float), (bool,)


@dataclass(frozen=True, slots=True)
class Each:
    """An object whose values all have a form."""

    form: Any


@dataclass(frozen=True, slots=True)
class Maybe:
    """A form, or null, or no such key."""

    form: Any


def misfit(value: Any, form: Any, at: str = "") -> str | None:
    """Where a value differs from a form, as keys with points between; None where it fits.

    Args:
        value: of JSON.
        form: types of a single value; an object with the forms of its keys (others are left alone); a list with the one
            form of its items; an :class:`Each` or a :class:`Maybe`.
        at: the place of the value.
    """
    if isinstance(form, Maybe):
        return None if value is None else misfit(value, form.form, at)
    if isinstance(form, tuple):
        fits = isinstance(value, form) and (isinstance(value, bool) == (form == YES_OR_NO))
        return None if fits else at or "the whole"
    if isinstance(form, list):
        if not isinstance(value, list):
            return at or "the whole"
        parts: Any = ((item, form[0], number) for number, item in enumerate(value))
    elif not isinstance(value, dict):
        return at or "the whole"
    elif isinstance(form, Each):
        parts = ((part, form.form, key) for key, part in value.items())
    else:
        parts = ((value.get(key), wanted, key) for key, wanted in form.items())
    found = (misfit(part, wanted, f"{at}.{key}" if at else str(key)) for part, wanted, key in parts)
    return next((place for place in found if place is not None), None)


def json_kind(value: Any) -> str:
    """What a JSON value is, in words, for messages."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return {"list": "a list", "dict": "an object", "NoneType": "null"}.get(type(value).__name__, "a string")
