"""Gwet's AC as a function of how often each item counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.stats._kappa_arithmetic import chance_corrected
from bedside.stats._rated_items import pair_agreement
from bedside.stats._resampling import StatisticOfTotals
from bedside.stats.arrays import Array, Mask


@dataclass(frozen=True, slots=True)
class GwetParts:
    """What Gwet's AC takes from each distinct item.

    Attributes:
        several: whether it has two ratings or more, items.
        agreement_of_item: share of its agreeing pairs of raters, items; 0 where it has one rating.
        shares: of its ratings on each level, items × levels.
        factor: of the chance agreement.
    """

    several: Mask
    agreement_of_item: Array
    shares: Array
    factor: float

    @classmethod
    def of(cls, rows: Array, weights: Array) -> GwetParts:
        """From counts of raters (items × levels) and weights of agreement (levels × levels)."""
        k = weights.shape[0]
        several = rows.sum(axis=1) >= 2
        agreement = np.zeros(rows.shape[0])
        agreement[several] = pair_agreement(rows[several], weights)
        shares = rows / rows.sum(axis=1, keepdims=True)
        return cls(several, agreement, shares, weights.sum() / (k * (k - 1)))

    def statistic(self) -> StatisticOfTotals:
        """AC as a function of the weights of items."""
        several = self.several.astype(np.float64)
        ones = np.ones(several.size)
        return StatisticOfTotals(
            np.column_stack([self.shares, self.agreement_of_item, several, ones]),
            lambda sums: chance_corrected(*self._agreement(sums)),
        )

    def agreement(self, drawn: Array) -> tuple[Array, Array]:
        """Rows of weights of items → observed agreement (NaN where no item has two ratings) and that by chance."""
        return self._agreement(drawn @ self.statistic().parts)

    def _agreement(self, sums: Array) -> tuple[Array, Array]:
        """The same from sums over items of the statistic's parts."""
        pairable = sums[:, -2]
        observed = np.divide(
            sums[:, -3],
            pairable,
            out=np.full(pairable.size, np.nan),
            where=pairable > 0,
        )
        pooled = sums[:, :-3] / sums[:, -1:]
        return observed, self.factor * (pooled * (1 - pooled)).sum(axis=1)

    def squared_influence(self, multiplicity: Array, estimate: float, chance: float) -> float:
        """Sum over items of the squared difference of Gwet's linearised contribution from the estimate."""
        n = float(multiplicity.sum())
        pooled = multiplicity @ self.shares / n
        scaling = n / float(multiplicity @ self.several)
        of_item = scaling * (self.agreement_of_item - chance) * self.several / (1 - chance)
        chance_of_item = self.factor * self.shares @ (1 - pooled)
        influence = of_item - 2 * (1 - estimate) * (chance_of_item - chance) / (1 - chance)
        return float(multiplicity @ (influence - estimate) ** 2)
