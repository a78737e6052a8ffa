"""Numbers and results with their intervals, as tables, notes and messages print them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from bedside.analysis.averaging import EnteredCases
from bedside.analysis.ratings_view import PEOPLE
from bedside.ratings.values import Direction
from bedside.reports.table_content import DASH as DASH
from bedside.stats.result import Interval, Result

# -- What a cell is called ------------------------------------------------------------------------------


def rater_words(group: str) -> str:
    """How a group of raters is named in a row: people, or an algorithm or judge without its kind."""
    return group if group == PEOPLE else group.partition(":")[2]


def several_raters(pairs: Collection[tuple[str, str]]) -> frozenset[str]:
    """The metrics that several groups of raters rated, given (metric, group) of each."""
    metrics = [metric for metric, _ in pairs]
    return frozenset(metric for metric in metrics if metrics.count(metric) > 1)


def cell_name(metric: str, group: str, several: Collection[str], *parts: str) -> str:
    """The name of a cell: the metric, its raters where ``several`` rated it, and what else it is of."""
    return "/".join((f"{metric}@{group}" if metric in several else metric, *parts))


class CellNames:
    """What cells of a table over metrics and raters are called, and its rows' headings.

    Args:
        items: what its rows are about, with ``metric``, ``raters`` and ``facts``.
    """

    def __init__(self, items: Collection[Any]) -> None:
        self._several = several_raters({(each.metric, each.raters) for each in items})

    def __call__(self, item: Any, *parts: str) -> str:
        """The name of the cells about one of them, and what else they are of."""
        return cell_name(item.metric, item.raters, self._several, *parts)

    def has_several(self, metric: str) -> bool:
        """Whether several groups of raters rated a metric."""
        return metric in self._several

    def title(self, item: Any) -> str:
        """The metric's title, with its raters where several rated it."""
        return f"{item.facts.title}{self.raters(item)}"

    def raters(self, item: Any) -> str:
        """Its raters in brackets, where several rated the metric."""
        return f" ({rater_words(item.raters)})" if item.metric in self._several else ""


ARROWS: Mapping[Direction, str] = {"higher": " ↑", "lower": " ↓", "none": ""}


# -- Numbers --------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    """A number as printed, with a true minus sign; a dash where there is none."""
    if value is None:
        return DASH
    # The same mean by two ways of adding differs in its last bits: both print the same at an exact half.
    text = f"{float(f'{value:.13g}'):.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def range_words(low: int, high: int) -> str:
    """The least and the greatest of whole numbers; one where they are the same."""
    return str(low) if low == high else f"{low}–{high}"


def trimmed(text: str) -> str:
    """A printed number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal(value: float | None, digits: int = 2) -> str:
    """A number that can't exceed 1 (a share, kappa, p), printed without its leading zero."""
    return (
        number(value, digits).replace("0.", ".", 1) if value is not None and abs(value) < 1 else number(value, digits)
    )


def p_value(value: float | None) -> str:
    """A p value to three decimals, or below .001."""
    if value is None:
        return DASH
    return "< .001" if value < 0.001 else decimal(value, 3)


def between(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval as printed."""
    if low is None or high is None:
        return DASH
    return f"[{decimal(low, digits)}, {decimal(high, digits)}]"


def percent_over(mean: float | None, base: float | None) -> float | None:
    """By how many per cent a mean lies over a base, which has to be above zero."""
    return None if mean is None or base is None or base <= 0 else 100 * (mean - base) / base


def signed(value: float | None, digits: int) -> str:
    """A number as printed, with a plus sign where it is above zero."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def n_of(n: int, of: int | None) -> str:
    """A count, and of how many where these are more; ``of`` is None where that isn't known."""
    return f"{n:,}" if of is None or of <= n else f"{n:,} of {of:,}"


def money(cost: float | None) -> str:
    """US dollars as tables write them; None for what isn't known."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 0.01 or cost == 0 else f"${cost:.4f}"


# -- A result with its interval -------------------------------------------------------------------------


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
    """A value and the finite ends of its interval, under the name and the name with ``_low`` and ``_high``."""
    interval = result.interval if result else None
    return {
        name: result.estimate if result else None,
        f"{name}_low": finite(interval.low) if interval else None,
        f"{name}_high": finite(interval.high) if interval else None,
    }


def finite(bound: float) -> float | None:
    """An end of an interval; None where it is infinite."""
    return None if math.isinf(bound) else bound


CORRECTION_WORDS: Mapping[str | None, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini and Hochberg",
    None: "none",
}


def corrected_record(result: Result) -> dict[str, Any]:
    """The p-value after correction, and in which family it was corrected."""
    return {
        "p_corrected": result.p_adjusted, "correction": result.correction, "family": result.family,
        "family_size": result.family_size,
    }  # fmt: skip
