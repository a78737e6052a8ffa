"""Blocks of rows of bounded memory, and sums of rows by cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bedside.stats.arrays import Array, Indices

# -- P-values of normal deviates ------------------------------------------------------------------------


def deviate(level: float) -> float:
    """The standard normal deviate within which, either way, a share ``level`` lies."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def two_sided(z: float) -> float:
    """Two-sided p of a standard normal deviate."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def rank_sum_tail(deviation: float, sd: float, continuity: bool, alternative: str) -> float:
    """p of a rank sum's deviation from its mean, by the normal approximation."""
    from scipy.special import ndtr

    step = 0.5 if continuity else 0.0
    if alternative == "two-sided":
        return float(min(1.0, 2 * ndtr(-max(0.0, abs(deviation) - step) / sd)))
    signed = deviation if alternative == "greater" else -deviation
    return float(ndtr(-(signed - step) / sd))


# -- How many are enough --------------------------------------------------------------------------------


def fewest(enough: Callable[[int], bool], most: int) -> int | None:
    """The least number above 1 that is enough, as all above it are; None where none up to ``most`` is."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# -- Blocks of rows of bounded memory -------------------------------------------------------------------

#: No matrix of resamples is larger than this.
BUDGET_BYTES = 64 * 2**20


def block_rows(width: int) -> int:
    """How many rows of ``width`` floats fit the budget, at least one."""
    return max(1, BUDGET_BYTES // (8 * max(1, width)))


def blocks(total: int, width: int) -> Iterator[int]:
    """Sizes of the blocks of rows that ``total`` rows are worked through in."""
    step = block_rows(width)
    for start in range(0, total, step):
        yield min(step, total - start)


def sums_by_cluster(rows: Array, member: Indices) -> Array:
    """Sums of the rows of each cluster, clusters × columns; ``member`` holds each row's cluster, from 0 on."""
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(int(member.max()) + 1))
    sums: Array = np.add.reduceat(rows[order], starts, axis=0)
    return sums
