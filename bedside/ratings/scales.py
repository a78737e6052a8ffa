"""Scales: what a rater may answer, and how people write that."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.ratings.word_scales import standing_order
from bedside.support.errors import DataError

#: An end of a scale as typed.
_LEVEL = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Scale:
    """What a rater may answer.

    Attributes:
        levels: the levels, numbers in ascending order or labels; ordered labels stand from the lowest to the highest.
        ordered: whether the levels have an order: numbers always, labels where it is said.
    """

    levels: tuple[float, ...] | tuple[str, ...]
    ordered: bool

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers, not labels."""
        return not isinstance(self.levels[0], str)

    def level_texts(self) -> list[str]:
        """The levels as they are shown, in their order."""
        return [f"{level:g}" if isinstance(level, float) else str(level) for level in self.levels]

    def to_json(self) -> list[float] | list[str]:
        """The levels as a list, for a manifest; ordered labels as one text with their order, ``low<middle<high``."""
        labels = [level for level in self.levels if isinstance(level, str)]
        return ["<".join(labels)] if self.ordered and labels else list(self.levels)  # type: ignore[return-value]

    @staticmethod
    def from_json(levels: Sequence[Any]) -> Scale:
        """The scale of :meth:`to_json`."""
        if len(levels) == 1 and isinstance(levels[0], str):
            return Scale(tuple(levels[0].split("<")), True)
        return Scale(tuple(levels), all(isinstance(level, int | float) for level in levels))


def scale_from(first: int, last: int) -> Scale:
    """The scale of whole numbers between two, both included."""
    return Scale(tuple(float(level) for level in range(first, last + 1)), True)


def parse_scale(text: str) -> Scale:
    """A scale as typed: ``1-5`` (whole numbers), ``0,0.5,1`` (these numbers), ``none/open/closed`` (labels), or
    ``mild<moderate<severe`` (labels that have this order).

    Three labels or more that are words of a known order, and stand in it, have that order however they are parted:
    ``never/rarely/often`` is ``never<rarely<often``.

    Raises:
        DataError: it is none of these.
    """
    low, dash, high = text.strip().partition("-")
    if dash and _LEVEL.fullmatch(low.strip()) and _LEVEL.fullmatch(high.strip()):
        first, last = int(low), int(high)
        if first < last <= first + 1000:
            return scale_from(first, last)
    ranked = [part.strip() for part in text.split("<")]
    if len(ranked) >= 2 and all(ranked) and len(set(ranked)) == len(ranked):
        return Scale(tuple(ranked), True)
    parts = [part.strip() for part in text.replace("/", ",").split(",")]
    if len(parts) >= 2 and all(parts) and len(set(parts)) == len(parts):
        numbers = [number_in(part) for part in parts]
        if all(number is not None for number in numbers):
            return Scale(tuple(sorted(number for number in numbers if number is not None)), True)
        order = standing_order(parts) if len(parts) > 2 else None
        return Scale(tuple(parts) if order is None else order, order is not None)
    raise DataError(
        f"{text!r:.60} is not a scale",
        where="`scales`",
        todo="write 1-5, or 0,0.5,1, or none/open/closed, or mild<moderate<severe",
    )


def parse_scales(texts: Sequence[str]) -> dict[str | None, Scale]:
    """Scales as typed, by metric; one without ``metric=`` holds for all and has the key None."""
    scales: dict[str | None, Scale] = {}
    for text in texts:
        metric, equals, rest = text.partition("=")
        scales[metric.strip() if equals else None] = parse_scale(rest if equals else text)
    return scales


def number_in(cell: str) -> float | None:
    """The finite number that a cell holds; None where it holds none."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
