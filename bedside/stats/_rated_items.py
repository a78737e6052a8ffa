"""Ratings of items by several raters as codes, and how far pairs of raters agree on each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Indices, Mask, Scale, coded, levels, scale_of
from bedside.stats.sampled_items import SampledItems

#: Why a statistic has no value where no item has the ratings it needs, and where there is nothing but one level.
NO_PAIR = "no item has two ratings"
NO_COMPLETE_ITEM = "no item is rated by all raters"
ONE_LEVEL = "all raters put every item on one level"


@dataclass(frozen=True, slots=True)
class RatedItems:
    """Items that enough raters rated.

    Attributes:
        scale: the levels.
        codes: positions in the scale, kept items × raters; −1 where missing.
        kept: which of all items were rated often enough.
    """

    scale: Scale
    codes: Indices
    kept: Mask

    @property
    def n(self) -> int:
        """Number of items kept."""
        return self.codes.shape[0]

    @property
    def raters(self) -> int:
        """Number of raters."""
        return self.codes.shape[1]

    @property
    def dropped(self) -> int:
        """Number of items rated too rarely."""
        return int((~self.kept).sum())

    def level_counts(self) -> Array:
        """How many raters put each item (row) on each level (column)."""
        return level_counts(self.codes, len(self.scale))


def rated_items(ratings: Any, scale: Scale | None, *, fewest: int | None) -> RatedItems:
    """A table of items by raters without the items that too few raters rated.

    Args:
        scale: all levels; those that occur where None.
        fewest: ratings that an item needs; one of every rater where None.

    Raises:
        DataError: not a table of items by at least two raters, or a rating off the scale.
    """
    try:
        table = ratings if _is_numeric(ratings) else np.asarray(ratings, dtype=object)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2:
        raise DataError(
            "ratings must be a table of items by raters", todo="give None where a rating is missing"
        )
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    if scale is not None:
        levels(scale)
    used: Any = scale_of(table) if scale is None else scale
    codes = coded(table, used)
    kept: Mask = (codes >= 0).sum(axis=1) >= (codes.shape[1] if fewest is None else fewest)
    return RatedItems(used, codes[kept], kept)


def _is_numeric(ratings: Any) -> bool:
    """Whether the ratings are an array of floats already, NaN where missing."""
    return isinstance(ratings, np.ndarray) and ratings.dtype.kind == "f"


def level_counts(codes: Indices, k: int) -> Array:
    """How many raters put each item (row) on each of ``k`` levels (column)."""
    item, rater = np.nonzero(codes >= 0)
    cells = item * k + codes[item, rater]
    counts: Array = (
        np.bincount(cells, minlength=codes.shape[0] * k).reshape(codes.shape[0], k).astype(np.float64)
    )
    return counts


def merged(rows: Array, members: Any) -> tuple[Array, Array]:
    """Rows and how often each occurs; equal rows are merged unless they belong to clusters.

    Of items that were drawn with unequal chances, how many each stands for.
    """
    if isinstance(members, SampledItems):
        return rows, members.weights
    if members is not None:
        return rows, np.ones(rows.shape[0])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return distinct, counts.astype(np.float64)


def pair_agreement(counts: Array, weights: Array) -> Array:
    """Share of agreeing pairs of raters on each item (weighted); every item has at least two ratings."""
    raters = counts.sum(axis=1)
    agreeing: Array = (counts * (counts @ weights - 1)).sum(axis=1) / (raters * (raters - 1))
    return agreeing
