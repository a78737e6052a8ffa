"""Numbers as tables, notes and messages print them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bedside.analysis.ratings_view import PEOPLE
from bedside.ratings.values import Direction

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


ARROWS: Mapping[Direction, str] = {"higher": " ↑", "lower": " ↓", "none": ""}


# -- Numbers --------------------------------------------------------------------------------------------

#: Shown where there is no value.
DASH = "–"


def number(value: float | None, digits: int = 2) -> str:
    """A number as printed, with a true minus sign; a dash where there is none."""
    if value is None:
        return DASH
    # The same mean by two ways of adding differs in its last bits: both print the same at an exact half.
    text = f"{float(f'{value:.13g}'):.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def trimmed(text: str) -> str:
    """A printed number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal(value: float | None, digits: int = 2) -> str:
    """A number that can't exceed 1 (a share, kappa, p), printed without its leading zero."""
    return (
        number(value, digits).replace("0.", ".", 1)
        if value is not None and abs(value) < 1
        else number(value, digits)
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
