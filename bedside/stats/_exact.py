"""Exact distributions of rank sums, right with ties, and order statistics of all pairwise averages and differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from bedside.stats.arrays import Array


def signed_rank_distribution(ranks: Array) -> Array:
    """P(W+ = s/2) for s = 0, 1, … when every rank is positive or negative with even odds.

    Args:
        ranks: ranks above 0; midranks where tied.
    """
    doubled = np.rint(2 * ranks).astype(np.intp)
    chances: Array = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        moved = 0.5 * chances
        moved[rank:] += 0.5 * chances[:-rank]
        chances = moved
    return chances


def rank_sum_distribution(ranks: Array, size: int) -> Array:
    """P(rank sum = s/2) for s = 0, 1, … of ``size`` ranks drawn from all ranks without replacement.

    The shift algorithm of Streitberg and Röhmel (1986): ways to reach each sum with each number of ranks.
    """
    doubled = np.rint(2 * ranks).astype(np.intp)
    reach = int(np.sort(doubled)[-size:].sum()) if size else 0
    ways = np.zeros((size + 1, reach + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        # From the right side to the left, so that a rank is used once.
        ways[1:, rank:] += ways[:-1, : reach + 1 - rank].copy()
    chances: Array = ways[size] / ways[size].sum()
    return chances


def tail(chances: Array, doubled: int, alternative: str) -> float:
    """p-value of the value ``doubled / 2`` under the distribution ``chances`` of doubled values.

    Two-sided: all values at least as far from the mean.
    """
    if alternative == "greater":
        p = chances[doubled:].sum()
    elif alternative == "less":
        p = chances[: doubled + 1].sum()
    else:
        values = np.arange(chances.size)
        mean = float(chances @ values)
        p = chances[np.abs(values - mean) >= abs(doubled - mean) - 1e-6].sum()
    return float(min(1.0, p))


def _select(
    low: float, high: float, k: int, count: Callable[[float], int], above: Callable[[float], float]
) -> float:
    """The k-th smallest value, by bisection on how many values are no larger.

    Args:
        low: below every value.
        high: no smaller than the k-th.
        above: the smallest value above its argument.
    """
    for step in itertools.count(1):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        # Bisecting towards 0 takes a thousand steps; long before, one value is left.
        if step % 16 == 0 and count(nearest := above(low)) >= k:
            return nearest
        if count(middle) >= k:
            high = middle
        else:
            low = middle
    return above(low)


def walsh_average(ordered: Array, k: int) -> float:
    """The k-th smallest (from 1) of the averages (d_i + d_j) / 2, i <= j, without making them all."""
    start = np.arange(ordered.size)

    def partner(value: float) -> Array:
        partners: Array = np.maximum(np.searchsorted(ordered, 2 * value - ordered, side="right"), start)
        return partners

    def count(value: float) -> int:
        return int((partner(value) - start).sum())

    def above(value: float) -> float:
        index = partner(value)
        inside = index < ordered.size
        return float((ordered[index[inside].astype(np.intp)] + ordered[inside]).min() / 2)

    low = float(np.nextafter(ordered[0], -np.inf))
    return _select(low, float(ordered[-1]), k, count, above)


def pairwise_difference(x: Array, y: Array, k: int) -> float:
    """The k-th smallest (from 1) of the differences x_i − y_j; both sorted."""

    def count(value: float) -> int:
        return int(np.searchsorted(x, y + value, side="right").sum())

    def above(value: float) -> float:
        index = np.searchsorted(x, y + value, side="right")
        inside = index < x.size
        return float((x[index[inside]] - y[inside]).min())

    spread = float(abs(x).max() + abs(y).max())
    return _select(
        float(x[0] - y[-1]) - 1e-9 * (1 + spread), float(x[-1] - y[0]) + 1e-9 * (1 + spread), k, count, above
    )
