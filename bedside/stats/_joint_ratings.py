"""Two raters' ratings of the same items, and how many items each pair of levels was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._resampling import ResamplingPlan, Statistic, StatisticOfTotals, aligned
from bedside.stats.arrays import Array, Indices, Scale, coded, levels, scale_of
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class JointRatings:
    """Two raters' ratings of the items that both rated.

    Attributes:
        scale: the levels.
        x, y: positions in the scale of the first and the second rater's ratings, items.
        members: the cluster of each item; None without clusters.
        dropped: items that miss a rating.
    """

    scale: Scale
    x: Indices
    y: Indices
    members: Any
    dropped: int

    @property
    def cells(self) -> Indices:
        """The position of each item in the flattened joint counts."""
        return self.x * len(self.scale) + self.y

    def counts(self) -> JointCounts:
        """How many items each pair of levels was given."""
        k = len(self.scale)
        counts = np.bincount(self.cells, minlength=k * k).reshape(k, k).astype(np.float64)
        clustered = None if self.members is None else (self.cells, self.members)
        return JointCounts(counts, self.scale, self.dropped, clustered)


@dataclass(frozen=True, slots=True)
class JointCounts:
    """Counts of items by the first rater's level (row) and the second's (column).

    Attributes:
        counts: levels × levels.
        scale: the levels.
        dropped: items that miss a rating.
        clustered: the cell and the cluster of each item; None without clusters.
    """

    counts: Array
    scale: Scale
    dropped: int = 0
    clustered: tuple[Indices, Any] | None = None

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    def filled(self, blank: Result, estimate: float, statistic: Statistic, plan: ResamplingPlan) -> Result:
        """A result with its estimate and the interval of a statistic of joint counts (… × levels × levels)."""
        k = self.counts.shape[0]
        members = None
        if self.clustered is None:
            cells = np.flatnonzero(self.counts)
            multiplicity = self.counts.ravel()[cells]
        else:
            cells, members = self.clustered
            multiplicity = np.ones(cells.size)
        spread = np.zeros((cells.size, k * k))
        spread[np.arange(cells.size), cells] = 1.0
        return plan.filled(
            blank,
            estimate,
            StatisticOfTotals(spread, lambda sums: statistic(sums.reshape(-1, k, k))),
            multiplicity=multiplicity,
            members=members,
        )


def joint_ratings(a: Any, b: Any, scale: Scale | None, clusters: Any) -> JointRatings:
    """Two lists of ratings as codes, without the items that miss one.

    Raises:
        DataError: unequal lengths, or a rating off the scale.
    """
    first, second = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            f"two raters need two lists of equal length, not {first.shape} and {second.shape}",
            todo="give None where a rating is missing",
        )
    used: Any = scale_of(first, second) if scale is None else scale
    if scale is not None:
        levels(scale)
    x = coded(first, used, "ratings of the first rater")
    y = coded(second, used, "ratings of the second rater")
    both = (x >= 0) & (y >= 0)
    members = None if clusters is None else aligned(clusters, first.size)[both]
    return JointRatings(used, x[both], y[both], members, int(first.size - both.sum()))
