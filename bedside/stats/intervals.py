"""How sure is a mean or a proportion: t, bootstrap, Wilson, and clusters drawn whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError, one_of
from bedside.stats._resampling import StatisticOfTotals, aligned, bootstrap_interval, resample
from bedside.stats.arrays import Array, Seed, clean, constant, vector
from bedside.stats.result import Interval, Result

#: Why a mean has no value.
NO_VALUES = "no values"


def _described(values: Array) -> dict[str, float | None]:
    """Sample standard deviation (n − 1), median and extremes."""
    return {
        "standard deviation": float(values.std(ddof=1)) if values.size > 1 else None,
        "median": float(np.median(values)),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
    }


def t_interval(mean: float, standard_error: float, df: float, level: float, words: str) -> Interval:
    """``mean ± t · standard error``."""
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + level) / 2)) * standard_error
    return Interval(mean - half, mean + half, level, words)


def wilson_bounds(share: Any, n: Any, level: float) -> tuple[Any, Any]:
    """Wilson's score interval (1927) of shares of n, which needn't be whole: arrays or single numbers, 0 … 1."""
    from scipy.special import ndtri

    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def paired_difference_interval(differences: Array, *, level: float = 0.95) -> Interval | None:
    """The t interval of a mean difference within pairs.

    Args:
        differences: one for each pair, none missing.
        level: nominal coverage.

    Returns:
        The interval, without width where the differences don't vary; None of fewer than two.
    """
    n = differences.size
    if n < 2:
        return None
    return _difference_interval(differences.mean(), differences.std(ddof=1) / np.sqrt(n), n - 1.0, level)


def welch_interval(x: Array, y: Array, *, level: float = 0.95) -> Interval | None:
    """Welch's t interval of the difference of two groups' means, the first minus the second.

    Args:
        x, y: the values of each group, none missing.
        level: nominal coverage.

    Returns:
        The interval, without width where the values within the groups don't vary; None where a group has fewer than
        two.
    """
    if min(x.size, y.size) < 2:
        return None
    error, df = welch_error(x.var(ddof=1) / x.size, x.size, y.var(ddof=1) / y.size, y.size)
    return _difference_interval(x.mean() - y.mean(), error, df, level)


def welch_error(part_x: float, n_x: int, part_y: float, n_y: int) -> tuple[float, float]:
    """Standard error of a difference of two means and Welch's degrees of freedom, 1 where nothing varies.

    Args:
        part_x, part_y: the variance of each group over its number of values.
        n_x, n_y: numbers of values, two or more.
    """
    error = float(np.sqrt(part_x + part_y))
    if not error:
        return error, 1.0
    return error, float((part_x + part_y) ** 2 / (part_x**2 / (n_x - 1) + part_y**2 / (n_y - 1)))


def _difference_interval(difference: float, error: float, df: float, level: float) -> Interval:
    if error <= 1e-12 * abs(difference):
        return Interval(float(difference), float(difference), level, "t")
    return t_interval(float(difference), float(error), float(df), level, "t")


def mean_t(values: Any, *, clusters: Any = None, level: float = 0.95) -> Result:
    """The mean with Student's t interval.

    Args:
        values: numbers; None or NaN where missing.
        clusters: for each value the cluster it belongs to, such as the transcript of a turn. The standard error
            is then the clusters' (linearised, corrected for their number), with one degree of freedom less than
            clusters; the estimate stays the mean over all values.
        level: nominal coverage.
    """
    array = vector(values)
    kept = ~np.isnan(array)
    present = array[kept]
    over = "values" if clusters is None else "clusters"
    blank = Result(
        name="mean", method=f"mean with t interval over {over}, {level:.0%}", n=present.size,
        dropped=int(array.size - present.size), options={"clusters": clusters is not None, "level": level},
    )  # fmt: skip
    if present.size == 0:
        return blank.no_value(NO_VALUES)
    member = np.arange(present.size)
    if clusters is not None:
        labels = aligned(clusters, array.size)[kept].astype(str)
        member = np.unique(labels, return_inverse=True)[1]
    mean = float(present.mean())
    groups = int(member.max()) + 1
    result = replace(blank, estimate=mean, details=_described(present))
    if groups == 1 or constant(present):
        reason = f"only one {over[:-1]}" if groups == 1 else "all values are equal"
        return replace(result, missing=f"no interval: {reason}")
    sums = np.bincount(member, weights=present - mean)
    error = float(np.sqrt(groups / (groups - 1) * (sums**2).sum()) / present.size)
    bounds = t_interval(mean, error, groups - 1, level, f"t over {over}")
    return replace(result, interval=bounds, standard_error=error)


def mean_bootstrap(
    values: Any,
    *,
    method: Literal["bca", "percentile"] = "bca",
    clusters: Any = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """The mean with a bootstrap interval over values or over clusters of values.

    Args:
        values: numbers; None or NaN where missing.
        method: ``"percentile"`` or ``"bca"`` (Efron 1987).
        clusters: for each value the cluster it belongs to, such as the transcript of a turn; clusters are drawn
            whole, and the estimate stays the mean over all values.
        resamples: number of resamples; up to six values are resampled in all possible ways where that is fewer.
        level: nominal coverage.
        seed: seed or generator.
    """
    one_of(method, ("percentile", "bca"), "method", DataError)
    array = vector(values)
    kept = ~np.isnan(array)
    present = array[kept]
    over = "values" if clusters is None else "clusters"
    blank = Result(
        name="mean",
        method=f"mean with bootstrap interval over {over} ({method}), {level:.0%}",
        n=present.size,
        dropped=int(array.size - present.size),
        options={
            "method": method,
            "clusters": clusters is not None,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
    )
    if present.size == 0:
        return blank.no_value(NO_VALUES)
    drawn = resample(
        StatisticOfTotals(np.column_stack([present, np.ones(present.size)]), lambda sums: sums[:, 0] / sums[:, 1]),
        np.ones(present.size), resamples=resamples, seed=seed, over=over,
        clusters=None if clusters is None else aligned(clusters, array.size)[kept],
    )  # fmt: skip
    interval, reason, remarks = bootstrap_interval(drawn, level=level, method=method)
    return replace(
        blank, estimate=float(present.mean()), interval=interval,
        standard_error=drawn.standard_error if interval else None, details=_described(present), missing=reason,
        remarks=remarks,
    )  # fmt: skip


def wilson(successes: int, n: int, *, level: float = 0.95) -> Result:
    """A proportion with Wilson's score interval (Wilson 1927), without continuity correction.

    Raises:
        DataError: ``successes`` is not between 0 and ``n``.
    """
    if not 0 <= successes <= n:
        raise DataError(f"{successes} successes of {n} are impossible")
    blank = Result(
        name="proportion", method=f"proportion with Wilson's interval, {level:.0%}", n=n, options={"level": level}
    )
    if n == 0:
        return blank.no_value(NO_VALUES)
    share = successes / n
    low, high = wilson_bounds(share, n, level)
    # Rounding can leave the bound at 0 or 1 off by one unit in the last place, outside the estimate.
    bounds = Interval(min(max(float(low), 0.0), share), max(min(float(high), 1.0), share), level, "Wilson")
    return replace(blank, estimate=share, interval=bounds)


def proportion(values: Any, *, clusters: Any = None, level: float = 0.95) -> Result:
    """The share of ones among zeros and ones, with Wilson's interval.

    Args:
        values: 0 or 1; None or NaN where missing.
        clusters: for each value the cluster it belongs to, such as the case of a transcript. The interval is then
            Wilson's for the effective number of values ``share (1 − share) / SE²`` (no more than there are; the number
            of clusters where nothing varies), with the clusters' standard error, times ``(z / t)²`` with t of one
            degree of freedom less than clusters (Korn and Graubard 1998; Franco et al. 2019).
        level: nominal coverage.

    Raises:
        DataError: a value is neither 0 nor 1.
    """
    present, dropped = clean(values)
    if not np.isin(present, (0.0, 1.0)).all():
        raise DataError("a proportion needs values of 0 and 1")
    result = replace(wilson(int(present.sum()), present.size, level=level), dropped=dropped)
    if clusters is None or not present.size:
        return result
    labels = aligned(clusters, vector(values).size)[~np.isnan(vector(values))].astype(str)
    return _clustered(result, present, labels, level)


def _clustered(result: Result, present: Array, labels: npt.NDArray[np.str_], level: float) -> Result:
    """The same share with an interval for clustered values."""
    from scipy.special import ndtri, stdtrit

    groups = np.unique(labels).size
    result = replace(
        result,
        method=f"proportion with Wilson's interval over clusters, {level:.0%}",
        options={"clusters": True, "level": level},
    )
    if groups < 2:
        return replace(result, interval=None, missing="no interval: only one cluster")
    share = float(present.mean())
    error = mean_t(present, clusters=labels).standard_error
    effective = min(float(present.size), share * (1 - share) / error**2) if error else float(groups)
    tail = (1 + level) / 2
    effective *= float(ndtri(tail) / stdtrit(groups - 1, tail)) ** 2
    low, high = wilson_bounds(share, effective, level)
    bounds = min(max(float(low), 0.0), share), max(min(float(high), 1.0), share)
    return replace(result, interval=Interval(*bounds, level, "Wilson over clusters"), standard_error=error)
