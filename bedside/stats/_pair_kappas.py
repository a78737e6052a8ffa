"""Kappa of each pair of many raters, and its values without each item or cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.stats._kappa_parts import kappa_values, kappa_values_of_sums
from bedside.stats.arrays import Array, Indices, Mask
from bedside.stats.sampled_items import SampledItems


@dataclass(frozen=True, slots=True)
class PairKappas:
    """Kappa of pairs of raters, as a function of the weights of items.

    Attributes:
        codes: items × raters; −1 where missing.
        pairs: column numbers of the raters.
        penalties: for disagreement, levels × levels.
    """

    codes: Indices
    pairs: Sequence[tuple[int, int]]
    penalties: Array

    def of_all(self, multiplicity: Array) -> Array:
        """Kappa of each pair on all items, columns standing for so many each; NaN where it is undefined."""
        k = self.penalties.shape[0]
        joint = []
        for first, second in self.pairs:
            both = self._rated_by_both(first, second)
            cells = self.codes[both, first] * k + self.codes[both, second]
            joint.append(np.bincount(cells, weights=multiplicity[both], minlength=k * k))
        return kappa_values(np.stack(joint).astype(np.float64).reshape(-1, k, k), self.penalties)

    def values(self, drawn: Array) -> Array:
        """Rows of weights → rows × pairs; NaN where kappa is undefined."""
        k = self.penalties.shape[0]
        values = []
        for first, second in self.pairs:
            both = self._rated_by_both(first, second)
            pair_cells = self.codes[both, first] * k + self.codes[both, second]
            cells = np.zeros((pair_cells.size, k * k))
            cells[np.arange(pair_cells.size), pair_cells] = 1.0
            values.append(kappa_values((drawn[:, both] @ cells).reshape(-1, k, k), self.penalties))
        return np.stack(values, axis=1)

    def __call__(self, weights: Array) -> Array:
        """Rows of weights → the mean over the pairs on which kappa is defined; NaN where it is on none."""
        if len(weights) == 1:
            return _mean_of_defined(self.of_all(weights[0])[:, None])
        return _mean_of_defined(self.values(weights).T)

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """The mean without one of each column's equal items, or without each cluster: from sums over all others."""
        return _mean_of_defined(self._left_out(pair, multiplicity, member) for pair in self.pairs)

    def left_out_of(self, sample: SampledItems) -> Array:
        """The mean without each cluster of items that were drawn with unequal chances."""
        return _mean_of_defined(self._left_out_of(pair, sample) for pair in self.pairs)

    def constant_pairs(self, kappas: Array) -> list[bool]:
        """Of each pair, whether one of the two gives a single level to the items that both rated.

        Args:
            kappas: that of each pair; where one doesn't vary it is 0, so that no other is looked at.
        """
        constant = []
        for (first, second), kappa in zip(self.pairs, kappas, strict=True):
            if not abs(kappa) < 1e-9:
                constant.append(False)
                continue
            both = self._rated_by_both(first, second)
            codes = self.codes[both][:, [first, second]]
            constant.append(bool(codes.size and (codes == codes[0]).all(axis=0).any()))
        return constant

    def _rated_by_both(self, first: int, second: int) -> Mask:
        both: Mask = (self.codes[:, first] >= 0) & (self.codes[:, second] >= 0)
        return both

    def _left_out(self, pair: tuple[int, int], multiplicity: Array, member: Indices | None) -> Array:
        """A pair's kappa without each item or cluster.

        One item less of levels (r, c) takes 1 from n, its penalty from the sum of penalties, and from that expected by
        chance what row r and column c bring to it; a cluster takes its own counts of rows and columns.
        """
        k, (first, second) = self.penalties.shape[0], pair
        both = self._rated_by_both(first, second)
        row, column, weight = self.codes[both, first], self.codes[both, second], multiplicity[both]
        rows, columns = (np.bincount(codes, weights=weight, minlength=k) for codes in (row, column))
        n, penalty = weight.sum(), self.penalties[row, column]
        observed = weight @ penalty
        # An item that one of the two missed takes nothing away.
        fewer: Array = np.zeros(both.size)
        removed: Array = np.zeros(both.size)
        if member is None:
            by_row, by_column = self.penalties @ columns, rows @ self.penalties
            chance = np.zeros(both.size)
            fewer[both], removed[both] = 1.0, penalty
            chance[both] = by_row[row] + by_column[column] - penalty
            expected = rows @ self.penalties @ columns - chance
        else:
            cluster, clusters = member[both], int(member.max()) + 1
            own_rows, own_columns = (
                np.bincount(cluster * k + codes, minlength=clusters * k).reshape(clusters, k)
                for codes in (row, column)
            )
            fewer = own_rows.sum(axis=1).astype(np.float64)
            removed = np.bincount(cluster, weights=penalty, minlength=clusters).astype(np.float64)
            expected = (((rows - own_rows) @ self.penalties) * (columns - own_columns)).sum(axis=1)
        return kappa_values_of_sums(n - fewer, observed - removed, expected, float(self.penalties.max()))

    def _left_out_of(self, pair: tuple[int, int], sample: SampledItems) -> Array:
        """A pair's kappa without each cluster: from the weighted counts of its levels."""
        k, (first, second) = self.penalties.shape[0], pair
        both = np.flatnonzero(self._rated_by_both(first, second))
        cells = np.zeros((len(self.codes), k * k))
        cells[both, self.codes[both, first] * k + self.codes[both, second]] = 1.0
        return kappa_values(sample.sums_left_out(cells).reshape(-1, k, k), self.penalties)


def _mean_of_defined(values: Iterable[Array]) -> Array:
    """Arrays of values, one for each pair → their mean over the pairs on which it is defined; NaN where on none."""
    total: Array = np.zeros(1)
    count: Array = np.zeros(1)
    for of_pair in values:
        defined = ~np.isnan(of_pair)
        total = total + np.where(defined, of_pair, 0.0)
        count = count + defined
    means: Array = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
    return means
