"""What is typed for an option as what it means: names, pairs, numbers, settings, and how files are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError, one_of

if TYPE_CHECKING:
    pass


def either(names: Iterable[str]) -> str:
    """Names as a choice between them: ``a, b or c``."""
    *before, last = names
    return f"{', '.join(before)} or {last}" if before else last


def check_choice(value: str | None, choices: Collection[str], option: str) -> None:
    """Raise InputError unless an option's value is one of its choices, or nothing."""
    if value is not None:
        one_of(value, choices, "choice", InputError, where=option)


def read_pairs(text: str | None, option: str) -> dict[str, str]:
    """``a=b,c=d`` as a dict; a name with a comma or equals sign can be quoted."""
    return _each_once(_pairs(text, option), option)


def read_columns(text: str | None) -> dict[str, str]:
    """``text=utterance,id=`` as a dict; nothing after the equals sign says that there is no such column."""
    return _each_once(_pairs(text, "--columns", empty=True), "--columns")


def _each_once(pairs: Iterable[tuple[str, str]], option: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise InputError(f"{name!r} is {values[name]!r} and {value!r}", where=option, todo="name it once")
    return values


def _pairs(text: str | None, option: str, *, empty: bool = False) -> Iterator[tuple[str, str]]:
    import csv

    for part in next(csv.reader([text], skipinitialspace=True)) if text else ():
        name, equals, value = part.rpartition("=")
        if not equals or not name.strip() or not (value.strip() or empty):
            raise InputError(f"{part!r} is not NAME=VALUE", where=option, todo=f"write {option} a=b,c=d")
        yield name.strip().strip('"'), value.strip()


def read_where(texts: Iterable[str] | None) -> dict[str, list[str]]:
    """``factor=level,…``, as often as it was typed, as the levels of each factor."""
    levels: dict[str, list[str]] = {}
    for text in texts or ():
        for factor, level in _pairs(text, "--where"):
            levels.setdefault(factor, []).append(level)
    return levels


def read_margins(texts: Iterable[str] | None) -> str | dict[str, str] | None:
    """``0.3``, or ``metric=0.3,…``, as often as it was typed; None where nothing was."""
    typed = list(texts or ())
    if not typed:
        return None
    if len(typed) == 1 and "=" not in typed[0]:
        return typed[0]
    return {name: margin for text in typed for name, margin in _pairs(text, "--margin")}


def read_rounds(text: str | None) -> list[str] | None:
    """``a,b`` as a list of names of rounds; two quotation marks stand for the round without a name."""
    names = read_names(text)
    return names if names is None else [name.strip('"') for name in names]


def read_names(text: str | None) -> list[str] | None:
    """``a,b`` as a list of names."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def read_numbers(text: str, option: str) -> list[float]:
    """``1,2`` as a list of numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{text!r} is not a list of numbers", where=option, todo=f"write {option} 1,2,3") from error


def read_price(text: str) -> tuple[float, ...]:
    """``in=N,out=N``, with ``cached=N`` or without, as numbers in that order."""
    parts = read_pairs(text, "--price")
    if parts.keys() - {"cached"} != {"in", "out"}:
        raise InputError(f"{text!r} is not a price", where="--price", todo="write --price in=0.25,out=2")
    return tuple(read_numbers(parts[key], "--price")[0] for key in ("in", "out", "cached") if key in parts)


def read_whole_numbers(text: str, option: str) -> list[int]:
    """``1,2`` as a list of whole numbers."""
    numbers = read_numbers(text, option)
    if not all(number.is_integer() for number in numbers):
        raise InputError(f"{text!r} is not a list of whole numbers", where=option, todo=f"write {option} 10,20,40")
    return [int(number) for number in numbers]


def read_share(text: str, option: str) -> float:
    """A share that is typed as ``0.1`` or as ``10%``.

    Raises:
        InputError: it is no number.
    """
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if number != text.strip() else 1)
    except ValueError as error:
        raise InputError(f"{text!r} is no share", where=option, todo=f"write {option} 10%") from error


def read_settings(
    texts: Iterable[str],
    *,
    form: str = "FAMILY.PARAMETER=VALUE",
    todo: str = "bedside list metrics lists the families, bedside show FAMILY its parameters",
) -> dict[str, dict[str, Any]]:
    """``family.parameter=value`` as nested dict; the value is read as YAML, so true and 5 are what they look like.

    Args:
        texts: what was typed.
        form, todo: how it is to be typed, and where to look, for the message where it isn't.

    Raises:
        InputError: one isn't of the form, or its value isn't YAML.
    """
    import yaml

    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        family, dot, parameter = name.partition(".")
        if not (equals and dot and family and parameter):
            raise InputError(f"{text!r} is not {form}", where="--set", todo=todo)
        try:
            settings.setdefault(family, {})[parameter] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(
                f"{value!r} can't be read as a value", where=f"--set {name}", todo="quote it as YAML"
            ) from error
    return settings


def read_fields(texts: Iterable[str], option: str) -> dict[str, Any]:
    """``name=value`` as a dict; a value that is JSON is what it says, and any other is a text.

    Raises:
        InputError: one isn't of the form, or a name comes twice.
    """
    fields: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise InputError(f"{text!r:.60} is not KEY=VALUE", where=option, todo="write enable_thinking=false")
        if name in fields:
            raise InputError(f"{name} is given twice", where=option, todo="give it once")
        try:
            fields[name] = json.loads(value)
        except ValueError:
            fields[name] = value
    return fields
