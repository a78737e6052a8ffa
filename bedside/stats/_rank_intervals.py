"""Hodges and Lehmann's estimates with intervals that invert the rank test beside them, right with ties.

A shift lies inside where the test of the data less that shift doesn't reject. Between two neighbouring averages (or
differences) the rank sum is one number, and only values that are equal in the data are tied: there the test is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bedside.stats._exact import (
    pairwise_difference,
    rank_sum_distribution,
    signed_rank_distribution,
    tail,
    walsh_average,
)
from bedside.stats.arrays import Array, constant
from bedside.stats.result import Interval

#: From how many pairs (or values of both groups) on an interval is that of the normal approximation.
MOST_EXACT_VALUES = 50

#: Up to this many values, making all averages is quicker than looking for some.
_FEW = 100

Shift = tuple[float, Interval | None, str | None]


def pseudo_median(d: Array, level: float, *, exact: bool, continuity: bool) -> Shift:
    """Median of the Walsh averages, its interval, and why there is none.

    Args:
        d: differences, at least one, rounded.
        level: nominal coverage.
        exact: invert the exact test, on up to 50 differences.
        continuity: whether the normal approximation has its continuity correction.
    """
    n = d.size
    count = n * (n + 1) // 2
    ordered = np.sort(d)
    averages = _walsh_averages(ordered) if n <= _FEW else None
    if averages is None:
        middle = (walsh_average(ordered, (count + 1) // 2) + walsh_average(ordered, count // 2 + 1)) / 2
    else:
        middle = float(np.median(averages))
    if constant(d):
        return middle, None, "no interval: all differences are equal"
    few = f"no interval: too few pairs for {level:.0%}"
    if exact and averages is not None and n <= MOST_EXACT_VALUES:
        bounds = _inverted(np.unique(averages), middle, lambda shift: _signed_rank_p(d - shift), level)
        words = "Walsh averages, exact"
    else:
        # Equal differences stay tied whatever the shift; where they rank doesn't change the sum of squares.
        sizes = np.unique(d, return_counts=True)[1]
        variance = (n * (n + 1) * (2 * n + 1) / 6 - (sizes**3 - sizes).sum() / 12) / 4
        below = _rejected_below(count, float(np.sqrt(variance)), continuity, level)
        bounds = None
        if below >= 0:
            bounds = walsh_average(ordered, below + 1), walsh_average(ordered, count - below)
        words = "Walsh averages, normal approximation"
    if bounds is None:
        return middle, None, few
    return middle, Interval(*bounds, level, words), None


def _walsh_averages(ordered: Array) -> Array:
    first, second = np.triu_indices(ordered.size)
    averages: Array = (ordered[first] + ordered[second]) / 2
    return averages


def _signed_rank_p(d: Array) -> float:
    """Two-sided exact p of differences of which none is zero."""
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(d), method="average")
    return tail(signed_rank_distribution(ranks), round(2 * float(ranks[d > 0].sum())), "two-sided")


def shift_of_groups(x: Array, y: Array, level: float, *, exact: bool, continuity: bool) -> Shift:
    """Median of all differences between two groups, its interval, and why there is none.

    Args:
        x, y: values of the groups, at least one each.
        level: nominal coverage.
        exact: invert the exact test, on up to 50 values together.
        continuity: whether the normal approximation has its continuity correction.
    """
    x, y = np.sort(x), np.sort(y)
    m, n = x.size, y.size
    count, total = m * n, m + n
    middle = (pairwise_difference(x, y, (count + 1) // 2) + pairwise_difference(x, y, count // 2 + 1)) / 2
    if constant(x) and constant(y):
        return middle, None, "no interval: all differences are equal"
    bounds = None
    if exact and total <= MOST_EXACT_VALUES:
        every = np.unique(np.subtract.outer(x, y))
        bounds = _inverted(every, middle, lambda shift: _rank_sum_p(x - shift, y), level)
        words = "ordered differences, exact"
    else:
        ties = sum(
            float((sizes**3 - sizes).sum())
            for sizes in (np.unique(group, return_counts=True)[1] for group in (x, y))
        )
        variance = count / 12 * (total + 1 - ties / (total * max(total - 1, 1)))
        below = _rejected_below(count, float(np.sqrt(variance)), continuity, level) if variance > 0 else -1
        if below >= 0:
            bounds = pairwise_difference(x, y, below + 1), pairwise_difference(x, y, count - below)
        words = "ordered differences, normal approximation"
    if bounds is None:
        return middle, None, f"no interval: too few values for {level:.0%}"
    return middle, Interval(*bounds, level, words), None


def _rank_sum_p(x: Array, y: Array) -> float:
    """Two-sided exact p of two groups."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([x, y]), method="average")
    return tail(rank_sum_distribution(ranks, x.size), round(2 * float(ranks[: x.size].sum())), "two-sided")


def _rejected_below(count: int, deviation: float, continuity: bool, level: float) -> int:
    """How many of the ordered values may lie below a shift that the normal approximation still rejects; −1 for none."""
    from scipy.special import ndtri

    step = 0.5 if continuity else 0.0
    return int(np.floor(count / 2 - step - float(ndtri((1 + level) / 2)) * deviation))


def _inverted(
    values: Array, estimate: float, p_at: Callable[[float], float], level: float
) -> tuple[float, float] | None:
    """The least and the greatest of the values between which the test doesn't reject; None where it never rejects.

    Args:
        values: where the rank sum changes, ascending.
        estimate: the shift itself, which counts as inside.
        p_at: the test's two-sided p at a shift between two values.
        level: nominal coverage.
    """
    alpha = (1 - level) * (1 + 1e-9)
    # Shifts outside all values have one p, the least of all.
    if p_at(float(values[0]) - 1.0) > alpha:
        return None
    between = (values[1:] + values[:-1]) / 2
    centre = min(int(np.searchsorted(values, estimate)), values.size - 1)

    def rejects(place: int) -> bool:
        return p_at(float(between[place])) <= alpha

    low, high = -1, centre
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    lower = float(values[high])
    low, high = centre - 1, between.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return lower, float(values[high])
