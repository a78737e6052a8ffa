"""A result with its interval, as a cell prints it."""

from __future__ import annotations

from bedside.reports.number_text import DASH, between, decimal, number
from bedside.stats.result import Result


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
    bounds = result.interval
    interval = f" [{number(bounds.low, digits)}, {number(bounds.high, digits)}]" if bounds else ""
    return number(result.estimate, digits) + interval
