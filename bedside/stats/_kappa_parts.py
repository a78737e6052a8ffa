"""What kappas are made of: weights of disagreement, ratings as codes, and agreement expected and seen, of pairs too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Array, Indices, Mask, Scale, coded, levels, matrix, rating_table, scale_of
from bedside.stats.sampled_items import SampledItems

# -- Weights of agreement between the levels of a scale -------------------------------------------------

WEIGHTS = ("unweighted", "linear", "quadratic")


def penalties(weights: str | Any, positions: Array) -> tuple[Array, str]:
    """Penalties for disagreement between levels, 0 on the diagonal, and what the weighting is called.

    Args:
        weights: ``"unweighted"``, ``"linear"``, ``"quadratic"``, or a square table of penalties for
            disagreement with zeros on its diagonal.
        positions: numeric positions of the scale's levels. Linear penalties are their distances, quadratic ones the
            squares of these: whole numbers where the positions are, so that sums of them are exact.

    Raises:
        DataError: unknown weights, or a table that doesn't fit.
    """
    if isinstance(weights, str):
        one_of(weights, WEIGHTS, "weighting", DataError, where="`weights`")
        if weights == "unweighted":
            return 1 - np.eye(positions.size), weights
        distance: Array = np.abs(positions[:, None] - positions[None, :])
        return distance if weights == "linear" else distance**2, weights
    table = matrix(weights, "weights")
    if table.shape != (positions.size, positions.size):
        raise DataError(f"a scale of {positions.size} levels needs penalties of {positions.size} × {positions.size}")
    if np.isnan(table).any() or (table < 0).any() or table.diagonal().any() or not table.any():
        raise DataError("penalties must be 0 on the diagonal, and 0 or more elsewhere with one above 0")
    return table, "custom penalties"


def agreement_weights(weights: str | Any, positions: Array) -> tuple[Array, str]:
    """Agreement weights (1 on the diagonal, 0 at the largest disagreement), and what they are called.

    With equally spaced levels, weighting by their positions equals weighting by their order. Arguments and errors as
    for :func:`penalties`.
    """
    by_levels, called = penalties(weights, positions)
    return 1 - by_levels / by_levels.max(), called


# -- Kappa of tables of joint counts --------------------------------------------------------------------


def kappa_values(joint: Array, penalties: Array) -> Array:
    """Weighted kappa of tables of joint counts (… × levels × levels); NaN where chance agreement is complete.

    Args:
        penalties: for disagreement, 0 on the diagonal, in any unit. With whole numbers all sums are exact, and so a
            kappa of 0 is 0 on every machine.
    """
    n = joint.sum(axis=(-2, -1))
    observed = (joint * penalties).sum(axis=(-2, -1))
    chance = ((joint.sum(axis=-1) @ penalties) * joint.sum(axis=-2)).sum(axis=-1)
    return kappa_values_of_sums(n, observed, chance, float(penalties.max()))


def kappa_values_of_sums(n: Array, observed: Array, chance: Array, largest: float) -> Array:
    """Weighted kappa from sums over items; NaN where chance agreement is complete.

    Args:
        n: number of items.
        observed: sum of the penalties of the items' pairs of levels.
        chance: sum over both levels of their penalty times how often each rater gives his.
        largest: the largest penalty.
    """
    together = n * observed
    defined = chance > 1e-12 * n**2 * largest
    values: Array = np.divide(chance - together, chance, out=np.full(together.shape, np.nan), where=defined)
    return values


def chance_corrected(observed: Array, chance: Array) -> Array:
    """Agreement corrected for chance, (observed − chance) / (1 − chance)."""
    room = 1 - chance
    defined = room > 1e-12
    values: Array = np.divide(observed - chance, room, out=np.full(observed.shape, np.nan), where=defined)
    return values


def kappa_variances(counts: Array, weights: Array) -> tuple[float, float]:
    """Large-sample variance of (weighted) kappa, and that under no agreement beyond chance.

    Fleiss, Cohen and Everitt (1969), with agreement weights.
    """
    n = counts.sum()
    share = counts / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    chance = float(rows @ weights @ columns)
    value = float(kappa_values(counts, 1 - weights))
    margin = (weights @ columns)[:, None] + (rows @ weights)[None, :]
    room = n * (1 - chance) ** 2
    spread = (share * (weights - margin * (1 - value)) ** 2).sum() - (value - chance * (1 - value)) ** 2
    null = (np.outer(rows, columns) * (weights - margin) ** 2).sum() - chance**2
    # A variance of 0 is left with the rounding of its terms.
    whole, chance_only = (0.0 if part < 1e-14 else float(part / room) for part in (spread, null))
    return whole, chance_only


# -- Ratings of items by several raters as codes --------------------------------------------------------

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
    table = rating_table(ratings)
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    if scale is not None:
        levels(scale)
    used: Any = scale_of(table) if scale is None else scale
    codes = coded(table, used)
    kept: Mask = (codes >= 0).sum(axis=1) >= (codes.shape[1] if fewest is None else fewest)
    return RatedItems(used, codes[kept], kept)


def level_counts(codes: Indices, k: int) -> Array:
    """How many raters put each item (row) on each of ``k`` levels (column)."""
    item, rater = np.nonzero(codes >= 0)
    cells = item * k + codes[item, rater]
    counts: Array = np.bincount(cells, minlength=codes.shape[0] * k).reshape(codes.shape[0], k).astype(np.float64)
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


# -- Kappa of each pair of many raters ------------------------------------------------------------------


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
                np.bincount(cluster * k + codes, minlength=clusters * k).reshape(clusters, k) for codes in (row, column)
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
