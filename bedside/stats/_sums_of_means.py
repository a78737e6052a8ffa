"""Sums of means of random samples, with the error of each by cluster: what a mean over cells, and a difference, is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bedside.stats.arrays import Array, Indices


@dataclass(frozen=True, slots=True, eq=False)
class MeanPart:
    """The mean of a random sample, as a part of a sum.

    Attributes:
        clusters: numbers of the sampled clusters, the same number for the same cluster in all parts of a sum.
        errors: what each adds to the error of the sum; their squares sum to the part's variance.
        sizes: units of each cluster.
        added: variance that pseudo-labels add.
    """

    clusters: Indices
    errors: Array
    sizes: Array
    added: float = 0.0

    @property
    def variance(self) -> float:
        """Of the part, in the sum's squared units."""
        return float(self.errors @ self.errors) + self.added

    def spread(self) -> Array:
        """The part's variance by cluster, so that the squares sum to variance² / degrees of freedom.

        These are the clusters less one where all are of one size, and fewer where they are not.
        """
        squares = self.sizes**2
        shares = squares / squares.sum()
        effective = 1 / float(shares @ shares)
        spread: Array = self.variance * shares * np.sqrt(effective / max(effective - 1, 1.0))
        return spread


def mean_part(
    values: Array, clusters: Indices, factor: float, *, left_out: Array | None = None, added: float = 0.0
) -> MeanPart:
    """The mean of values, times a factor, as a part of a sum.

    Args:
        values: of the sampled units.
        clusters: the cluster of each, two different ones at least.
        factor: what the mean is multiplied with.
        left_out: by how much each value is further from the mean where what was tuned on it is tuned without it.
        added: variance that pseudo-labels add.

    The error of a cluster is the sum of its values' distances from the mean, over the number of values, and over the
    root of 1 − its share of them: with one value a cluster, that is the sample variance over n (Bell and McCaffrey's
    2002 CR2 for a mean).
    """
    numbers, member = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(member).astype(np.float64)
    distances = values - values.mean()
    if left_out is not None:
        distances = distances + left_out
    shares = sizes / values.size
    errors = factor * np.bincount(member, distances) / values.size / np.sqrt(1 - shares)
    return MeanPart(numbers, errors, sizes, added)


@dataclass(frozen=True, slots=True, eq=False)
class SumOfMeans:
    """A mean over cells, or the difference of two.

    Attributes:
        value: the sum.
        parts: what its error comes from.
    """

    value: float
    parts: tuple[MeanPart, ...]

    def __sub__(self, other: SumOfMeans) -> SumOfMeans:
        turned = tuple(replace(part, errors=-part.errors) for part in other.parts)
        return SumOfMeans(self.value - other.value, self.parts + turned)

    @property
    def variance(self) -> float:
        """The sum over clusters of the squares of their errors in all parts."""
        if not self.parts:
            return 0.0
        errors = np.concatenate([part.errors for part in self.parts])
        sums = np.bincount(self._clusters, errors)
        return float(sums @ sums) + sum(part.added for part in self.parts)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom, 1 at least; a cluster that is in several parts counts once."""
        if not self.parts:
            return float("inf")
        spread = np.bincount(self._clusters, np.concatenate([part.spread() for part in self.parts]))
        squares = float(spread @ spread)
        whole = sum(part.variance for part in self.parts)
        return max(whole**2 / squares, 1.0) if squares > 0 else float("inf")

    @property
    def _clusters(self) -> Indices:
        clusters: Indices = np.concatenate([part.clusters for part in self.parts])
        return clusters
