"""Does a share differ between groups that have the same cases? A permutation test that keeps cases whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Seed, generator, seed_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesTest:
    """Shares of groups, and whether they differ.

    Attributes:
        shares: of each group; NaN where it has none of anything.
        p: that groups differ so much by chance; None where nothing could differ.
        method: how it was found, as one line.
    """

    shares: Array
    p: float | None
    method: str


def shares_test(counts: Any, of: Any, *, permutations: int = 9999, seed: Seed = 0) -> SharesTest:
    """Whether groups' shares differ, given that within a case it doesn't matter which group is which.

    The statistic is the sum over groups of the squared deviation of the group's share from that of all, times the
    group's number. Groups are permuted within each case together with all that the case has in them, so that several
    observations of a case (personas, repeats) are never taken for independent. With one observation a case and group
    it is the permutation test of Cochran's Q.

    Args:
        counts: cases × groups: how many had it.
        of: cases × groups: of how many.
        permutations: random ones.
        seed: of the random ones.

    Raises:
        DataError: the tables are of different shape, or a count is above its number.
    """
    had, all_of = np.asarray(counts, dtype=np.float64), np.asarray(of, dtype=np.float64)
    if had.ndim != 2 or had.shape != all_of.shape or (had > all_of).any() or (had < 0).any():
        raise DataError("counts must be cases × groups, and none above its number")
    sizes = all_of.sum(axis=0)
    with np.errstate(invalid="ignore"):
        shares = had.sum(axis=0) / sizes
    method = "permutation of groups within cases"
    if had.shape[1] < 2 or not (sizes > 0).all() or had.sum() in (0, all_of.sum()):
        return SharesTest(shares=shares, p=None, method=method)
    draws = generator(seed)
    seen = _statistic(had[None], all_of[None])[0]
    # Which orders are drawn follows from the numbers alone: neither cases nor groups have names here, or an order.
    within = np.lexsort((all_of, had), axis=1)
    had, all_of = (np.take_along_axis(table, within, axis=1) for table in (had, all_of))
    cases = np.lexsort((*all_of.T, *had.T))
    had, all_of = had[cases], all_of[cases]
    orders = np.argsort(draws.random((permutations, *had.shape)), axis=2)
    drawn = _statistic(np.take_along_axis(had[None], orders, axis=2), np.take_along_axis(all_of[None], orders, axis=2))
    p = (1 + int((drawn >= seen * (1 - 1e-9) - 1e-12).sum())) / (permutations + 1)
    return SharesTest(shares=shares, p=p, method=f"{method}, {permutations:,} at random, {seed_in_words(seed)}")


def _statistic(had: Array, of: Array) -> Array:
    """Of each permutation."""
    sizes = of.sum(axis=1)
    overall = had.sum() / of.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(sizes > 0, had.sum(axis=1) / sizes, overall)
    statistic: Array = (sizes * (shares - overall) ** 2).sum(axis=1)
    return statistic
