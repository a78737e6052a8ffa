"""A result with its interval, as a cell prints it and as a record holds it."""

from __future__ import annotations

from bedside.analysis.entered_cases import EnteredCases
from bedside.reports.number_text import DASH, between, decimal, n_of, number
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


#: What a note says of the cases that :func:`cases_words` leaves out without a word.
WITHOUT_VALUE = "n of N cases: those without a value are left out, and others for the reason beside it."


def cases_words(entered: EnteredCases, n_a: int, n_b: int, shared: int, *, paired: bool) -> str:
    """The cases of a comparison of two systems, one number where all pair; of how many, and why others are left out.

    Where nothing is said of those others they have no value: :data:`WITHOUT_VALUE` says so.

    Args:
        entered: what became of each case.
        n_a, n_b: the cases of each system that entered.
        shared: those that both have.
        paired: whether all of them pair.
    """
    beside = [entered.why_not] if entered.why_not else []
    if paired:
        words = n_of(n_a, entered.of)
    else:
        words = f"{n_of(n_a, entered.of_a)}, {n_of(n_b, entered.of_b)}"
        beside = [f"{shared:,} shared"] * bool(shared) + beside
    return words + (f" ({'; '.join(beside)})" if beside else "")


def bounded_record(name: str, result: Result | None) -> dict[str, float | None]:
    """A value and the ends of its interval, under the name and the name with ``_low`` and ``_high``."""
    interval = result.interval if result else None
    return {
        name: result.estimate if result else None,
        f"{name}_low": interval.low if interval else None,
        f"{name}_high": interval.high if interval else None,
    }
