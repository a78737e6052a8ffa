"""Maps of levels: what is recorded where a judge gives a level, learnt from people's ratings.

A judge that is lenient, or keeps to the middle of a scale, can be right about the order of conversations and wrong
about every level. A map never turns the order round, and its levels are those of the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.stats.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """How often people gave each level where the judge gave each, each unit with one vote however many people rated it.

    Attributes:
        levels: of the scale, ascending.
        votes: judge's levels × people's levels; sums of weights.
    """

    levels: Array
    votes: Array

    @property
    def said(self) -> Array:
        """How much weight each of the judge's levels has."""
        total: Array = self.votes.sum(axis=1)
        return total


#: A map as positions: for each of the judge's levels the one that is recorded; None where it can't be fitted.
Positions = tuple[int, ...]


def level_table(judge: Array, people: Array, weights: Array, levels: Sequence[float]) -> LevelTable:
    """The table of a judge's levels and people's.

    Args:
        judge: the judge's level of each unit, NaN where it gave none.
        people: units × people, NaN where a person gave none.
        weights: of the units.
        levels: of the scale, ascending.
    """
    scale = np.asarray(levels, dtype=np.float64)
    own = judge[:, None] == scale
    counts = (people[:, :, None] == scale).sum(axis=1).astype(np.float64)
    votes = counts / np.maximum(1.0, counts.sum(axis=1, keepdims=True)) * weights[:, None]
    return LevelTable(scale, own.astype(np.float64).T @ votes)


def unmapped(table: LevelTable) -> Positions:
    """Every level as it is."""
    return tuple(range(table.levels.size))


def isotonic(table: LevelTable) -> Positions | None:
    """The mean of what people say at each level, as a function that never falls, rounded to a level.

    Source: scikit-learn's isotonic regression (pool adjacent violators).
    """
    from sklearn.isotonic import IsotonicRegression

    seen = table.said > 0
    if seen.sum() < 2:
        return None
    means = table.votes[seen] @ table.levels / table.said[seen]
    fitted = IsotonicRegression(out_of_bounds="clip").fit(
        table.levels[seen], means, sample_weight=table.said[seen]
    )
    return _nearest(fitted.predict(table.levels), table.levels)


def ordinal(table: LevelTable) -> Positions | None:
    """The level that people reach at each level with a chance of a half: an ordinal regression on the judge's level.

    One logistic regression for each threshold of the scale (Frank and Hall 2001), with scikit-learn's penalty, so that
    a threshold that separates the two sides wholly has a finite slope.
    """
    from sklearn.linear_model import LogisticRegression

    seen = np.flatnonzero(table.said > 0)
    if seen.size < 2:
        return None
    middle = table.levels.mean()
    x = table.levels[seen][:, None] - middle
    reached = np.zeros((table.levels.size, table.levels.size - 1))
    for threshold in range(1, table.levels.size):
        above, below = table.votes[seen, threshold:].sum(axis=1), table.votes[seen, :threshold].sum(axis=1)
        if not above.sum() or not below.sum():
            reached[:, threshold - 1] = float(above.sum() > 0)
            continue
        # This solver is quick on a handful of rows, whatever else the machine does.
        model = LogisticRegression(solver="liblinear").fit(
            np.vstack([x, x]), np.repeat([1, 0], seen.size), sample_weight=np.concatenate([above, below])
        )
        reached[:, threshold - 1] = model.predict_proba(table.levels[:, None] - middle)[:, 1] > 0.5
    return tuple(np.maximum.accumulate(reached.sum(axis=1)).astype(int).tolist())


def equipercentile(table: LevelTable) -> Positions | None:
    """The level at which people stand where the judge's level stands among the judge's own: equipercentile linking.

    The middle of the judge's share of a level is looked up in the shares of people's levels. Source: Kolen and Brennan
    (2014), Test equating, scaling, and linking.
    """
    said, by_people = table.said, table.votes.sum(axis=0)
    if (said > 0).sum() < 2 or not by_people.sum():
        return None
    middles = (np.cumsum(said) - said / 2) / said.sum()
    bounds = np.cumsum(by_people) / by_people.sum()
    positions = np.minimum(np.searchsorted(bounds, middles - 1e-12), table.levels.size - 1)
    return tuple(np.maximum.accumulate(positions).astype(int).tolist())


#: How levels can be mapped, the plainest first.
LEVEL_MAPS: Mapping[str, Callable[[LevelTable], Positions | None]] = {
    "none": unmapped,
    "isotonic": isotonic,
    "ordinal": ordinal,
    "equipercentile": equipercentile,
}


def mapped(judge: Array, positions: Positions, levels: Sequence[float]) -> Array:
    """The judge's levels after a map; NaN stays NaN."""
    scale = np.asarray(levels, dtype=np.float64)
    place = np.searchsorted(scale, np.where(np.isnan(judge), scale[0], judge))
    recorded: Array = np.where(np.isnan(judge), np.nan, scale[np.asarray(positions)[place]])
    return recorded


def _nearest(values: Array, levels: Array) -> Positions:
    """The position of the level nearest to each value; of two as near, the lower."""
    return tuple(np.abs(values[:, None] - levels).argmin(axis=1).tolist())
