"""Do several raters give the same numbers? The intraclass correlation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.stats.arrays import Array, matrix
from bedside.stats.result import Interval, Result
from bedside.support.errors import DataError


def icc(ratings: Any, *, average: bool = False, level: float = 0.95) -> Result:
    """Intraclass correlation of absolute agreement, ICC(2,1), or of the raters' mean, ICC(2,k).

    Two-way random effects (Shrout and Fleiss 1979), with their F interval.

    Args:
        ratings: numbers, items by raters. Items that any rater missed are dropped and counted.
        average: ICC(2,k), the reliability of the mean of these k raters.

    The statistic is F of items against error with (n − 1) and (n − 1)(k − 1) degrees of freedom.
    """
    from scipy.stats import f

    table = matrix(ratings)
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    kept = ~np.isnan(table).any(axis=1)
    values = table[kept]
    n, k = values.shape
    name = "ICC(2,k)" if average else "ICC(2,1)"
    blank = Result(
        name=name,
        method=f"{name}, two-way random effects, absolute agreement, {k} raters",
        n=n,
        dropped=int((~kept).sum()),
        options={"average": average, "level": level},
    )
    if n < 2:
        return blank.no_value("fewer than two items rated by all raters")
    squares = _mean_squares(values)
    if squares is None:
        return blank.no_value("all ratings are the same")
    items, raters, error = squares.items, squares.raters, squares.error
    single = (items - error) / (items + (k - 1) * error + k * (raters - error) / n)
    result = replace(
        blank,
        estimate=(items - error) / (items + (raters - error) / n) if average else single,
        details={
            "mean square of items": items,
            "mean square of raters": raters,
            "mean square of error": error,
        },
    )
    if error == 0.0:
        return replace(
            result, missing="no p-value and no interval: there is no error beside items and raters"
        )
    low, high = _bounds(squares, single, n=n, k=k, level=level)
    if average:
        low, high = (bound * k / (1 + bound * (k - 1)) for bound in (low, high))
    statistic = items / error
    return replace(
        result,
        interval=Interval(float(low), float(high), level, "F (Shrout and Fleiss)"),
        statistic=statistic,
        p=float(f.sf(statistic, n - 1, (n - 1) * (k - 1))),
    )


@dataclass(frozen=True, slots=True)
class _MeanSquares:
    """Mean squares of a table of items by raters."""

    items: float
    raters: float
    error: float


def _mean_squares(values: Array) -> _MeanSquares | None:
    """The mean squares; None where all values are the same."""
    n, k = values.shape
    # From the first rating on, and times n k: of whole numbers all sums are exact, and so an ICC of 0 is 0.
    shifted = values - values[0, 0]
    whole = shifted.sum() ** 2
    total = n * k * (shifted**2).sum() - whole
    if total <= 1e-24 * n * k * max(1.0, float((values**2).sum())):
        return None
    of_items = n * (shifted.sum(axis=1) ** 2).sum() - whole
    of_raters = k * (shifted.sum(axis=0) ** 2).sum() - whole
    of_error = total - of_items - of_raters
    return _MeanSquares(
        items=float(of_items / (n * k * (n - 1))),
        raters=0.0 if of_raters <= 1e-12 * total else float(of_raters / (n * k * (k - 1))),
        error=0.0 if of_error <= 1e-12 * total else float(of_error / (n * k * (n - 1) * (k - 1))),
    )


def _bounds(squares: _MeanSquares, single: float, *, n: int, k: int, level: float) -> tuple[float, float]:
    """The F interval of ICC(2,1)."""
    from scipy.stats import f

    items, raters, error = squares.items, squares.raters, squares.error
    tail = (1 + level) / 2
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    df = (a * raters + b * error) ** 2 / (
        (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    )
    upper_f, lower_f = float(f.ppf(tail, n - 1, df)), float(f.ppf(tail, df, n - 1))
    mixed = k * raters + (k * n - k - n) * error
    low = n * (items - upper_f * error) / (upper_f * mixed + n * items)
    high = n * (lower_f * items - error) / (mixed + n * lower_f * items)
    return low, high
