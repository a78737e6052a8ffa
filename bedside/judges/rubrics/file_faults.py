"""What is wrong with a key of a rubric's file, as its author says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from pydantic import ValidationError

from bedside.judges.rubrics.answer_form import Label, Level, RubricPart
from bedside.judges.rubrics.rubric import Input
from bedside.judges.rubrics.tuned_parts import RatedExample

_PARTS = {part.__name__: part for part in (Level, Label, RubricPart, Input, RatedExample)}


def key_faults(error: ValidationError) -> Iterator[tuple[str, str, str]]:
    """The key of each fault, its kind as pydantic calls it, and what is wrong."""
    for detail in error.errors(include_url=False, include_input=False):
        yield ".".join(map(str, detail["loc"])), detail["type"], _words(detail)


def _words(detail: Mapping[str, Any]) -> str:
    kind = detail["type"]
    if kind == "unexpected_keyword_argument":
        return "unknown key"
    if kind == "missing":
        return "it is missing"
    if kind == "dataclass_type":
        part = _PARTS.get(detail["ctx"]["class_name"])
        if part is None:
            return "it must hold keys and values"
        *first, last = (
            field.name
            for field in fields(part)
            if field.default is MISSING and field.default_factory is MISSING
        )
        return f"it must hold keys and values, at least {', '.join(first)} and {last}"
    return str(detail["msg"]).removeprefix("Value error, ")
