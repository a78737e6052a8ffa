"""Items that were drawn with unequal chances: what each stands for, and statistics without each cluster of them.

A study that draws as many crises as routine cases rates crises too often. A figure of all cases weighs each item by how
many it stands for, and its error comes from how items vary within the strata that were drawn, not between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._blocks import blocks, sums_by_cluster
from bedside.stats.arrays import Array, Indices, Mask


@dataclass(frozen=True, slots=True, eq=False)
class SampledItems:
    """How items were drawn, one entry an item, made by :func:`sampled_items`.

    Attributes:
        weights: how many each stands for, scaled so that they sum to the number of items.
        strata: the stratum of each, 0, 1, 2 … Items of one case may be of several, as of two systems.
        sizes: of each stratum, how many it stands for.
        clusters: the cluster of each, 0, 1, 2 …, such as its case; each stratum has items of two clusters at least, if
            there are two clusters at all.
    """

    weights: Array
    strata: Indices
    sizes: Array
    clusters: Indices

    @property
    def cluster_count(self) -> int:
        """Number of clusters."""
        return int(self.clusters.max()) + 1 if self.clusters.size else 0

    def of(self, kept: Mask) -> SampledItems:
        """Some of the items, which stand for as many of each stratum as all of them do.

        A stratum with items of fewer than two clusters is joined with the smallest other one.
        """
        weights, clusters = self.weights[kept], np.unique(self.clusters[kept], return_inverse=True)[1]
        strata, sizes = _joined(self.strata[kept], self.sizes, clusters)
        sums = np.bincount(strata, weights=weights, minlength=sizes.size)
        weights = weights * (sizes / sums)[strata]
        return SampledItems(
            weights=weights * (weights.size / weights.sum()) if weights.size else weights,
            strata=strata,
            sizes=sizes,
            clusters=clusters.astype(np.intp),
        )

    def weighted_mean(self, values: Array) -> float:
        """The mean of values, one an item."""
        return float(self.weights @ values / self.weights.sum())

    def sums_left_out(self, parts: Array) -> Array:
        """Weighted sums without each cluster, the others of its strata standing for it: clusters × columns.

        Args:
            parts: what each item adds, items × columns.
        """
        pairs, scale = self._pairs()
        weighted = parts * self.weights[:, None]
        own = sums_by_cluster(weighted, pairs.member)
        by_stratum = sums_by_cluster(weighted, self.strata)[pairs.stratum]
        moved = (by_stratum - own) * scale[:, None] - by_stratum
        whole: Array = weighted.sum(axis=0) + sums_by_cluster(moved, pairs.cluster)
        return whole

    def weights_left_out(self) -> Iterator[Array]:
        """The weights without each cluster, in blocks of rows: clusters × items."""
        pairs, scale = self._pairs()
        start = 0
        for count in blocks(self.cluster_count, self.weights.size):
            rows = np.tile(self.weights, (count, 1))
            for pair in np.flatnonzero((pairs.cluster >= start) & (pairs.cluster < start + len(rows))):
                row = rows[pairs.cluster[pair] - start]
                row[self.strata == pairs.stratum[pair]] *= scale[pair]
            members = (self.clusters >= start) & (self.clusters < start + len(rows))
            rows[self.clusters[members] - start, np.flatnonzero(members)] = 0.0
            yield rows
            start += count

    def error(self, estimate: float, left_out: Array) -> tuple[float | None, float]:
        """The standard error of a statistic by strata, and its degrees of freedom.

        Args:
            estimate: on all items.
            left_out: without each cluster.

        Returns:
            The root of the sum over clusters of (n − 1) / n times the squared change without it, with n clusters in
            the stratum in which the cluster weighs most; None where a value is undefined or there is one cluster. The
            degrees of freedom are Satterthwaite's over strata, each with n − 1.
        """
        if left_out.size < 2 or np.isnan(left_out).any():
            return None, 1.0
        strata, counts, shares = self._shares()
        squares = shares * (left_out - estimate) ** 2
        by_stratum = np.bincount(strata, weights=squares, minlength=self.sizes.size)
        variance = float(by_stratum.sum())
        spread = float((by_stratum**2 / np.maximum(counts - 1, 1.0)).sum())
        return float(np.sqrt(variance)), variance**2 / spread if spread > 0 else float(left_out.size - 1)

    def bias(self, estimate: float, left_out: Array) -> float:
        """The jackknife's bias of a statistic by strata; arguments as for :meth:`error`."""
        return float((self._shares()[2] * (left_out - estimate)).sum())

    def _shares(self) -> tuple[Indices, Array, Array]:
        """The main stratum of each cluster, how many clusters each has, and (n − 1) / n of each cluster's."""
        strata = self._main_strata()
        counts = np.bincount(strata, minlength=self.sizes.size).astype(np.float64)
        shares = (counts[strata] - 1) / counts[strata]
        # A cluster that is alone in its main stratum counts as one of many.
        return strata, counts, np.where(shares > 0, shares, 1.0)

    def _pairs(self) -> tuple[_Pairs, Array]:
        """The pairs of cluster and stratum that items are of; and what the stratum's others weigh more without it."""
        count = self.sizes.size
        names, member = np.unique(self.clusters * count + self.strata, return_inverse=True)
        pairs = _Pairs(names // count, names % count, member)
        own = np.bincount(member, weights=self.weights, minlength=names.size)
        whole = np.bincount(self.strata, weights=self.weights, minlength=count)[pairs.stratum]
        scale: Array = np.divide(whole, whole - own, out=np.zeros(names.size), where=whole - own > 1e-12 * whole)
        return pairs, scale

    def _main_strata(self) -> Indices:
        """The stratum of each cluster in which it weighs most."""
        pairs, _ = self._pairs()
        own = np.bincount(pairs.member, weights=self.weights, minlength=pairs.cluster.size)
        order = np.lexsort((-pairs.stratum, own, pairs.cluster))
        last = np.flatnonzero(np.diff(pairs.cluster[order], append=-1))
        strata: Indices = pairs.stratum[order[last]]
        return strata


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The pairs of cluster and stratum that items are of, and the number of each item's pair."""

    cluster: Indices
    stratum: Indices
    member: Indices


def sampled_items(chances: Any, *, strata: Any, clusters: Any, sizes: Any = None) -> SampledItems:
    """Items that were drawn with these chances.

    Args:
        chances: with which each item was drawn, above 0 and at most 1.
        strata: the stratum of each, 0, 1, 2 …, each with one item at least.
        clusters: the cluster of each, which is drawn whole.
        sizes: how many items each stratum has, or in proportion to that; one over the chances, summed, unless given.

    Raises:
        DataError: a chance that is none, or lists of unequal length.
    """
    drawn, places = np.asarray(chances, dtype=np.float64), np.asarray(strata, dtype=np.intp)
    names = np.unique(np.asarray(clusters).astype(str), return_inverse=True)[1]
    if drawn.ndim != 1 or drawn.shape != places.shape or drawn.shape != names.shape:
        raise DataError("each item needs its chance, its stratum and its cluster")
    if not ((drawn > 0) & (drawn <= 1)).all():
        raise DataError("a chance lies above 0 and is at most 1", todo="leave out items that were not drawn")
    sums = np.bincount(places, weights=1 / drawn)
    counts: Array = np.asarray(sums if sizes is None else sizes, dtype=np.float64)
    if counts.shape != sums.shape or not (sums > 0).all() or not (counts > 0).all():
        raise DataError("each stratum needs its size, and items")
    everything = SampledItems(1 / drawn, places, counts, names.astype(np.intp))
    return everything.of(np.ones(drawn.size, dtype=np.bool_))


def _joined(strata: Indices, sizes: Array, clusters: Indices) -> tuple[Indices, Array]:
    """Strata that have items of two clusters at least, numbered from 0, with their sizes; empty ones are left out."""
    used, places = np.unique(strata, return_inverse=True)
    kept: Array = sizes[used].astype(np.float64)
    while used.size > 1:
        pairs = np.unique(np.column_stack([places, clusters]), axis=0)
        counts = np.bincount(pairs[:, 0], minlength=kept.size)
        few = np.flatnonzero(counts < 2)
        if not few.size:
            break
        smallest = few[np.argmin(kept[few])]
        others = np.delete(np.arange(kept.size), smallest)
        other = others[np.argmin(kept[others])]
        kept[other] += kept[smallest]
        places = np.where(places == smallest, other, places)
        places = places - (places > smallest)
        kept, used = np.delete(kept, smallest), np.delete(used, smallest)
    return places.astype(np.intp), kept
