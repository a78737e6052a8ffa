"""Means over items that were drawn with unequal chances: of all that the sample stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.stats._resampling import ResamplingPlan, Statistic, StatisticOfTotals, leave_one_out
from bedside.stats.arrays import Array, vector
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems


def mean(values: Any, sample: SampledItems, *, level: float = 0.95) -> Result:
    """The weighted mean, in the unit of the values, with the jackknife's t interval by strata.

    Args:
        values: one an item; None or NaN where missing, which are dropped and counted.
        sample: how the items were drawn.
        level: nominal coverage.
    """
    array = vector(values)
    kept = ~np.isnan(array)
    return _with_t_interval(
        Result(name="mean", method="weighted mean", n=int(kept.sum()), dropped=int((~kept).sum())),
        _mean_of(array[kept]),
        sample.of(kept),
        level,
    )


def share(values: Any, sample: SampledItems, *, level: float = 0.95) -> Result:
    """The weighted mean of shares, 0 … 1, with the jackknife's t interval by strata on the logit scale.

    Arguments as for :func:`mean`. There is no interval where leaving out a cluster changes nothing.
    """
    array = vector(values)
    kept = ~np.isnan(array)
    blank = Result(name="share", method="weighted mean share", n=int(kept.sum()), dropped=int((~kept).sum()))
    if not kept.any():
        return blank.no_value("no values")
    # From −1 to 1 Fisher's scale is half the logit.
    members = sample.of(kept)
    plan = ResamplingPlan("jackknife", sample, 0, level, 0)
    turned = 2 * array[kept] - 1
    result = plan.filled(
        blank, members.weighted_mean(turned), _mean_of(turned), multiplicity=members.weights, members=members
    )
    bounds = result.interval
    return replace(
        result,
        estimate=members.weighted_mean(array[kept]),
        standard_error=None if result.standard_error is None else result.standard_error / 2,
        interval=None
        if bounds is None
        else Interval(
            (1 + bounds.low) / 2,
            (1 + bounds.high) / 2,
            level,
            "jackknife over clusters within strata, t on the logit scale",
        ),
        options=plan.options(),
    )


def limit_of_agreement(differences: Any, sample: SampledItems, *, multiplier: float, level: float = 0.95) -> Result:
    """The weighted mean of differences plus so many standard deviations, with the jackknife's t interval by strata.

    Arguments as for :func:`mean`; ``multiplier`` is negative for the lower limit.
    """
    array = vector(differences)
    kept = ~np.isnan(array)
    present = array[kept]
    blank = Result(
        name="limit of agreement", method="weighted mean and standard deviation",
        n=present.size, dropped=int((~kept).sum()),
    )  # fmt: skip
    if present.size < 2:
        return blank.no_value("fewer than two items")
    # From a value on: a variance from sums loses no digits then.
    start = float(present.mean())
    from_start = present - start

    def limits(sums: Array) -> Array:
        n, total, squares = sums.T
        room = np.where(n > 1, n - 1, np.nan)
        deviation = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / room)
        limit: Array = start + total / n + multiplier * deviation
        return limit

    parts = np.column_stack([np.ones(present.size), from_start, from_start**2])
    return _with_t_interval(blank, StatisticOfTotals(parts, limits), sample.of(kept), level)


def rank_correlation(x: Any, y: Any, sample: SampledItems, *, level: float = 0.95) -> Result:
    """Spearman's rho of weighted mid-ranks, with the jackknife's interval by strata, t on Fisher's scale.

    Args:
        x, y: numbers, one an item; items without either are dropped and counted.
        sample, level: as for :func:`mean`.
    """
    first, second = vector(x, "x"), vector(y, "y")
    kept = ~np.isnan(first) & ~np.isnan(second)
    blank = Result(
        name="Spearman's rho", method="Spearman's rho of weighted mid-ranks",
        n=int(kept.sum()), dropped=int((~kept).sum()),
    )  # fmt: skip
    if blank.n < 3:
        return blank.no_value("fewer than three items")
    codes = [np.unique(values[kept], return_inverse=True)[1] for values in (first, second)]
    members = sample.of(kept)

    def correlations(weights: Array) -> Array:
        ranks = [np.stack([_mid_ranks(row, code) for row in weights]) for code in codes]
        total = weights.sum(axis=1, keepdims=True)
        a, b = (rank - (weights * rank).sum(axis=1, keepdims=True) / total for rank in ranks)
        room = np.sqrt((weights * a**2).sum(axis=1) * (weights * b**2).sum(axis=1))
        together = (weights * a * b).sum(axis=1)
        values: Array = np.divide(together, room, out=np.full(len(weights), np.nan), where=room > 1e-12)
        return values

    estimate = float(correlations(members.weights[None, :])[0])
    if np.isnan(estimate):
        return blank.no_value("a rater gives the same value to every item")
    plan = ResamplingPlan("jackknife", sample, 0, level, 0)
    return plan.filled(blank, estimate, correlations, multiplicity=members.weights, members=members)


def _mid_ranks(weights: Array, codes: Any) -> Array:
    """The weighted mid-rank of each item: the weight below its value and half of that at it."""
    used = np.bincount(codes, weights=weights)
    ranks: Array = (np.cumsum(used) - used / 2)[codes]
    return ranks


def _mean_of(values: Array) -> StatisticOfTotals:
    return StatisticOfTotals(np.column_stack([values, np.ones(values.size)]), lambda sums: sums[:, 0] / sums[:, 1])


def _with_t_interval(blank: Result, statistic: Statistic, sample: SampledItems, level: float) -> Result:
    """A result with its estimate and t interval."""
    if not blank.n:
        return blank.no_value("no values")
    left_out = leave_one_out(statistic, sample.weights, clusters=sample)
    error = left_out.standard_error
    result = replace(
        blank,
        estimate=left_out.estimate,
        standard_error=error,
        options={"clusters": True, "weighted": True, "level": level},
    )
    if error is None or error <= 1e-12 * max(1.0, abs(left_out.estimate)):
        reason = "only one cluster" if sample.cluster_count < 2 else "leaving out any cluster changes nothing"
        return replace(result, missing=f"no interval: {reason}")
    words = "jackknife over clusters within strata, t"
    return replace(result, interval=t_interval(left_out.estimate, error, left_out.freedom, level, words))
