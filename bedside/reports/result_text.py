"""A result with its interval, as a cell prints it and as a record holds it."""

from __future__ import annotations

from bedside.reports.number_text import DASH, between, decimal, number
from bedside.stats.result import Interval, Result


def share_words(result: Result | None) -> str:
    """A value that can't exceed 1, with its interval; a dash where there is none."""
    if result is None or result.estimate is None:
        return DASH
    interval = f" {between(result.interval.low, result.interval.high)}" if result.interval else ""
    return decimal(result.estimate) + interval


def plain_words(result: Result | None, digits: int = 2) -> str:
    """A value with its interval; a dash where there is none."""
    if result is None or result.estimate is None:
        return DASH
    interval = f" {interval_words(result.interval, digits)}" if result.interval else ""
    return number(result.estimate, digits) + interval


def interval_words(interval: Interval | None, digits: int = 2) -> str:
    """An interval of plain numbers; a dash where there is none."""
    if interval is None:
        return DASH
    return f"[{number(interval.low, digits)}, {number(interval.high, digits)}]"


def bounded_record(name: str, result: Result | None) -> dict[str, float | None]:
    """A value and the ends of its interval, under the name and the name with ``_low`` and ``_high``."""
    interval = result.interval if result else None
    return {
        name: result.estimate if result else None,
        f"{name}_low": interval.low if interval else None,
        f"{name}_high": interval.high if interval else None,
    }
