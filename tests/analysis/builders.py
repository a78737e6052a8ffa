"""What tests of analysis make and take apart again and again."""

from __future__ import annotations

from typing import Any, TypeVar

from bedside.reports.table import Table
from bedside.stats.result import Interval

_T = TypeVar("_T")


def definite(value: _T | None) -> _T:
    """The value, which must be there."""
    assert value is not None
    return value


def ends(interval: Interval | None) -> tuple[float, float]:
    """The two ends of an interval, which must be there."""
    bounds = definite(interval)
    return bounds.low, bounds.high


def column(table: Table, title: str) -> list[str]:
    """The texts of a table's column, from above."""
    place = [shown.title for shown in table.columns].index(title)
    return [row.cells[place].text for row in table.rows]


def has_note(table: Table, *words: str) -> bool:
    """Whether a note of the table has all of these words."""
    return any(all(word in note for word in words) for note in table.notes)


def rating(
    name: str, system: str | None, case: str | None, metric: str, rater: str, value: float | None,
    *, unit: str = "transcript", replicate: int = 0, label: str | None = None, error: str | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """A row of the table of ratings."""
    return name, system, case, unit, metric, rater, replicate, value, label, None, error
