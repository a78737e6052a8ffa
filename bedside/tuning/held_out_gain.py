"""What a tuning brought on the units that were held out: before, after, the paired difference, the human ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.stats.arrays import Array
from bedside.stats.result import Result
from bedside.tuning.label_split import LabelledUnit


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Agreement with people on the units that were held out: quadratic kappa with each person, the mean.

    Attributes:
        before, after: of the untuned judge and the tuned one, each with its interval by case.
        gain: after minus before, on the same units, with its interval by case.
        ceiling: of one person with the others; without an estimate where no two people rated the same.
        people: how many people rated.
    """

    before: Result
    after: Result
    gain: Result
    ceiling: Result
    people: int

    @property
    def shown(self) -> bool:
        """Whether the gain is shown: its whole interval lies above 0."""
        return self.gain.interval is not None and self.gain.interval.low > 0


def people_table(units: Sequence[LabelledUnit]) -> Array:
    """People's levels, units × people in the order of their names; NaN where a person gave none."""
    raters = sorted({rater for unit in units for rater in unit.ratings})
    return np.array([[float(unit.ratings.get(rater, np.nan)) for rater in raters] for unit in units])


def held_out_figures(
    units: Sequence[LabelledUnit], before: Array, after: Array, levels: Sequence[float]
) -> HeldOutFigures:
    """The figures of some units.

    Where they were drawn with unequal chances, the figures are of all that they stand for.

    Args:
        units: the units.
        before, after: the judge's level of each; NaN where there is none.
        levels: of the scale, ascending.
    """
    from bedside.stats.kappa_gain import kappa_gain
    from bedside.stats.many_raters import mean_pairwise_kappa

    people = _cells(people_table(units))
    clusters = _clusters(units)
    count = people.shape[1]

    def with_people(judge: Array) -> Result:
        return mean_pairwise_kappa(
            np.column_stack([people, _cells(judge)]),
            scale=levels,
            pairs=[(person, count) for person in range(count)],
            clusters=clusters,
        )

    if count > 1:
        ceiling = mean_pairwise_kappa(people, scale=levels, clusters=clusters)
    else:
        ceiling = Result(name="mean pairwise kappa", method="", missing="one person rated")
    return HeldOutFigures(
        before=with_people(before),
        after=with_people(after),
        gain=kappa_gain(_cells(after), _cells(before), people, scale=levels, clusters=clusters),
        ceiling=ceiling,
        people=count,
    )


def _cells(numbers: Array) -> Any:
    cells = numbers.astype(object)
    cells[np.isnan(numbers)] = None
    return cells


def _clusters(units: Sequence[LabelledUnit]) -> Any:
    """The case of each unit where units share one; where chances differ, how they were drawn."""
    from bedside.stats.sampled_items import sampled_items

    cases = np.array([unit.case for unit in units])
    if len({unit.weight for unit in units}) > 1:
        strata = np.unique([unit.stratum for unit in units], return_inverse=True)[1]
        return sampled_items([1 / unit.weight for unit in units], strata=strata, clusters=cases)
    return cases if len(set(cases.tolist())) < len(cases) else None
