"""What is wrong with data from outside, as a person says it: an unknown key is answered with the nearest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bedside.core.errors import BedsideError, InputError, nearest

#: Keys of an object, and positions in a list counted from 0.
KeyPath = tuple[int | str, ...]
Model = TypeVar("Model", bound=BaseModel)
#: Ends pydantic's path where not the value but the key itself is wrong.
_OF_KEY = "[key]"
#: What pydantic's kinds of errors mean to a person, with what its context says.
_WORDS = {
    "greater_than": "it must be above {gt:g}",
    "greater_than_equal": "it must be {ge:g} or more",
    "less_than": "it must be below {lt:g}",
    "less_than_equal": "it must be {le:g} or less",
    "finite_number": "it must be a finite number",
    "literal_error": "it must be {expected}",
    "string_too_short": "it must not be empty",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "it must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "it must be a number"),
    "string_type": "it must be text",
    "too_short": "it must have {min_length} or more",
    **dict.fromkeys(("bool_type", "bool_parsing"), "it must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "it must be a list"),
    **dict.fromkeys(("dict_type", "model_type"), "it must hold keys and values"),
}
#: What the patterns that texts from outside must fit mean to a person.
_PATTERN_WORDS = {
    r"\S": "it must not be empty",
    r"^[^\x00]*$": "it must hold no zero character",
    r"^[a-z][a-z0-9_]*$": "it must be small letters, digits and _, with a letter first",
    r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$": "it must be small letters, digits and _, with a letter "
    "first, or two such names with a point between them",
    r"^(reference\.)?[a-z][a-z0-9_]*$": "it must be reference.NAME",
    r"^[0-9]{1,4}-[0-9]{1,4}$": "it must be two whole numbers with - between, such as 1-6",
    "^[a-z0-9][a-z0-9-]*$": "it must be small letters, digits and -, with no - first",
    "^[a-z]{2,3}$": "it must be the code of a language, such as en",
    r"^[\w.-]+$": "it must be letters, digits, _, . and - alone",
    r"^[^\s/][^/\r\n]*$": "it must be one line without /, and not begin with a space",
    r"^[0-9a-f]{8,64}$": "it must be 8 to 64 hexadecimal digits",
    r"^[A-Za-z0-9-]{8,64}$": "it must be 8 to 64 letters, digits and -",
    r"^(human|judge|algorithm):\S.*$": "it must be human:, judge: or algorithm: and a name",
    r"^(transcripts|cases|reference\.\w+)$": "it must be transcripts, cases or reference.NAME",
    r"(?s)^(transcript|turn:[0-9]{1,9}|pair:.+)$": "it must be transcript, turn:NUMBER or pair:ID",
    r"^[^\W_](?:[\w.@+-]{0,62}\w)?$": (
        "it must be up to 64 letters, digits and . _ @ + -, with a letter or digit first and none of . @ + - last"
    ),
    r"^(?:[^\W_][\w. +-]{0,62})?$": (
        "it must be up to 63 letters, digits, spaces and . _ + -, with a letter or digit first"
    ),
}


def complaints(error: ValidationError, model: type[BaseModel]) -> list[tuple[KeyPath, str]]:
    """The path of each key that is wrong, and what is wrong with it.

    Unknown keys come first: a key that is missing may be one of them, misspelt.
    """
    details = error.errors(include_url=False, include_input=False)
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")
    return [_complaint(detail, model) for detail in details]


def first_complaint(error: ValidationError, model: type[BaseModel]) -> tuple[KeyPath, str]:
    """The path of the first of :func:`complaints`, and the whole of what is wrong, key and all."""
    path, text = complaints(error, model)[0]
    return path, f"{key_name(path)}: {text}" if path else text


def to_model(
    value: Any,
    model: type[Model],
    where: str | Callable[[KeyPath], str],
    *,
    todo: str,
    kind: type[BedsideError] = InputError,
) -> Model:
    """Data from outside as a model of it.

    Args:
        value: the data.
        model: the model.
        where: the place of the data, or what gives that of a part of it.
        todo: what to do where it is wrong.
        kind: of the error.

    Raises:
        BedsideError: of ``kind``: the data are not of the model; the key is named.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        path, text = first_complaint(error, model)
        raise kind(text, where=where if isinstance(where, str) else where(path), todo=todo) from error


def key_name(path: KeyPath) -> str:
    """A path as messages write it: ``hidden.concerns.0.text``."""
    return ".".join(map(str, path))


def _complaint(detail: Any, model: type[BaseModel]) -> tuple[KeyPath, str]:
    path, text = detail["loc"], _text(detail, model)
    if path and path[-1] == _OF_KEY:
        return path[:-1], text.replace("it must", "the key must", 1)
    return path, text


def _text(detail: Any, model: type[BaseModel]) -> str:
    path, kind = detail["loc"], detail["type"]
    if kind == "extra_forbidden":
        known = _keys(model.model_json_schema(), path[:-1])
        return f"unknown key; {nearest(str(path[-1]), known)}"
    return plain_words(detail)


def plain_words(detail: Any) -> str:
    """What is wrong with a value, of what pydantic says of it."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "it is missing"
    if kind == "string_pattern_mismatch":
        return _PATTERN_WORDS.get(context["pattern"], "it has a form that isn't allowed")
    if kind in _WORDS and (kind != "string_too_short" or context["min_length"] == 1):
        return _WORDS[kind].format(**context)
    return str(detail["msg"]).removeprefix("Value error, ")


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
