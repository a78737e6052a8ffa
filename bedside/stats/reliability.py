"""How reliable are several raters' ratings? Krippendorff's alpha, and of numbers the intraclass correlation.

``ratings`` is a table of items (rows) by raters (columns), None or NaN where a rater didn't rate an item. Intervals of
alpha resample items, or clusters of items such as transcripts, never single ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.stats._rated_items import NO_PAIR, level_counts, merged, rated_items
from bedside.stats._resampling import COEFFICIENT_INTERVALS, CoefficientInterval, ResamplingPlan, Statistic
from bedside.stats.arrays import Array, Indices, Scale, Seed, chosen, matrix
from bedside.stats.result import Interval, Result
from bedside.support.errors import DataError

METRICS = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    ratings: Any,
    *,
    metric: Literal["nominal", "ordinal", "interval", "ratio"],
    scale: Scale | None = None,
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Krippendorff's alpha (2011) of any number of raters, with missing ratings.

    Args:
        metric: the distance between values: ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``.
        scale: all levels in order. Needed for labels unless nominal; numbers carry their own distances, and
            levels nobody used don't matter to alpha.

    Items with fewer than two ratings are dropped and counted. Undefined, and missing, where all values are the
    same: there is then no disagreement to be expected by chance.

    Raises:
        DataError: a negative value on a ratio scale, labels without a scale, or a rating off the scale.
    """
    chosen("metric", metric, METRICS)
    chosen("interval", interval, COEFFICIENT_INTERVALS)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, scale, fewest=2)
    if scale is None and metric != "nominal" and any(isinstance(label, str) for label in items.scale):
        raise DataError(
            f"alpha of labels needs the scale for the {metric} metric", todo="give its levels in order"
        )
    positions = _positions(items.scale, metric)
    name = f"Krippendorff's alpha ({metric})"
    blank = Result(
        name=name,
        method=f"{name}, {items.raters} raters",
        n=items.n,
        dropped=items.dropped,
        options={**plan.options(), "metric": metric, "scale": None if scale is None else tuple(scale)},
    )
    if not items.n:
        return blank.no_value(NO_PAIR)
    members = plan.members(items.kept)
    disagreement, multiplicity = _disagreement(items.codes, positions, metric, members)
    observed, expected = (float(part[0]) for part in disagreement(multiplicity[None, :]))
    if not expected > 1e-12:
        return blank.no_value("all ratings are the same")
    details: dict[str, float | None] = {
        "observed disagreement": observed,
        "expected disagreement": expected,
        "ratings used": float((items.codes >= 0).sum()),
    }
    return plan.filled(
        replace(blank, details=details),
        1 - observed / expected,
        _alpha_statistic(disagreement),
        multiplicity=multiplicity,
        members=members,
    )


def _positions(scale: Sequence[Any], metric: str) -> Array:
    """Numeric positions of the levels, as far as the metric needs them."""
    if metric == "nominal" or any(isinstance(label, str) for label in scale):
        return np.arange(len(scale), dtype=np.float64)
    positions = np.asarray(scale, dtype=np.float64)
    if metric == "ratio" and (positions < 0).any():
        raise DataError("a ratio scale has no negative values", todo="use the interval metric")
    return positions


#: From weights of items (rows × items) to mean observed and mean expected disagreement, a value a row.
Disagreement = Callable[[Array], tuple[Array, Array]]


def _alpha_statistic(disagreement: Disagreement) -> Statistic:
    """Alpha as a function of the weights of items; NaN where no disagreement is to be expected."""

    def statistic(drawn: Array) -> Array:
        observed, expected = disagreement(drawn)
        ratio: Array = np.divide(
            observed, expected, out=np.full(observed.size, np.nan), where=expected > 1e-12
        )
        return 1 - ratio

    return statistic


def _disagreement(codes: Indices, positions: Array, metric: str, members: Any) -> tuple[Disagreement, Array]:
    """Disagreement as a function of the weights of distinct items, and how often each of these occurs.

    Of n ratings in all, both kinds are means over pairs of ratings, by Krippendorff's squared distances.

    Args:
        codes: items × raters, positions of the levels; −1 where missing.
        positions: the levels' numeric positions.
        members: for each item the cluster it belongs to, or None.
    """
    if metric == "interval":
        return _interval_disagreement(codes, positions, members)
    rows, multiplicity = merged(level_counts(codes, positions.size), members)
    if metric == "ordinal":
        return _ordinal_disagreement(rows), multiplicity
    if metric == "nominal":
        distances = 1 - np.eye(positions.size)
    else:
        total = positions[:, None] + positions[None, :]
        gap = positions[:, None] - positions[None, :]
        distances = np.divide(gap, total, out=np.zeros_like(total), where=total > 0) ** 2
    return _disagreement_by_distance(rows, distances), multiplicity


def _means(observed: Array, expected: Array, n: Array) -> tuple[Array, Array]:
    return observed / n, expected / (n * (n - 1))


def _interval_disagreement(codes: Indices, positions: Array, members: Any) -> tuple[Disagreement, Array]:
    """By the squared differences of values; their sums and sums of squares are enough, however many values occur."""
    length = positions[-1] - positions[0] or 1.0
    present = codes >= 0
    place = np.where(present, (positions[codes] - positions.mean()) / length, 0.0)
    items, multiplicity = merged(
        np.column_stack([present.sum(axis=1), place.sum(axis=1), (place**2).sum(axis=1)]).astype(np.float64),
        members,
    )
    raters, sums, squares = items.T
    within = 2 * (raters * squares - sums**2) / (raters - 1)

    def disagreement(drawn: Array) -> tuple[Array, Array]:
        n = drawn @ raters
        return _means(drawn @ within, 2 * (n * (drawn @ squares) - (drawn @ sums) ** 2), n)

    return disagreement, multiplicity


def _ordinal_disagreement(rows: Array) -> Disagreement:
    """By distances that depend on how often levels occur: a level's place is its mean rank.

    Args:
        rows: counts of raters, items × levels.
    """
    raters = rows.sum(axis=1)

    def disagreement(drawn: Array) -> tuple[Array, Array]:
        used = drawn @ rows
        n = used.sum(axis=1)
        place = np.cumsum(used, axis=1) - used / 2 - n[:, None] / 2
        sums, squares = place @ rows.T, place**2 @ rows.T
        observed = (drawn * 2 * (raters * squares - sums**2) / (raters - 1)).sum(axis=1)
        expected = 2 * (n * (used * place**2).sum(axis=1) - (used * place).sum(axis=1) ** 2)
        return _means(observed, expected, n)

    return disagreement


def _disagreement_by_distance(rows: Array, distances: Array) -> Disagreement:
    """By fixed distances of levels.

    Args:
        rows: counts of raters, items × levels.
        distances: levels × levels.
    """
    per_item = ((rows @ distances) * rows).sum(axis=1) / (rows.sum(axis=1) - 1)

    def disagreement(drawn: Array) -> tuple[Array, Array]:
        used = drawn @ rows
        return _means(drawn @ per_item, ((used @ distances) * used).sum(axis=1), used.sum(axis=1))

    return disagreement


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
