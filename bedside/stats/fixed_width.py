"""Is an interval narrow enough to stop? Half-widths that ratings that happen to be alike don't make too small.

A study that stops as soon as its interval is narrow enough stops most easily where its variance is estimated too low
(Anscombe 1953; Chow and Robbins 1965): by ratings that happen to be alike, or before a rare level was seen often. So
the decision, and it alone, is made as if a few items more had come that nobody has seen. What they could add to the
variance shrinks with the square of the number of items, and so costs few ratings.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

import numpy as np

from bedside.stats._kappa_parts import kappa_values, penalties, rated_items
from bedside.stats.arrays import Array, Scale, levels
from bedside.stats.confidence_sequences import error_with_unseen
from bedside.stats.reliability import krippendorff_alpha
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems
from bedside.stats.stratified_means import JudgedUnits

#: Items of either kind that are taken to be unseen: four in all, as Agresti and Coull's (1998) successes and failures.
UNSEEN = 2.0
#: Levels of alpha that unseen ratings are taken from, at most: evenly from the ratings in order.
_MOST_LEVELS = 8


def reach(result: Result, unseen: float) -> float | None:
    """Half the width of a result's interval, as if its variance were larger by what is unseen (in the squared unit of
    the estimate); None without an interval."""
    bounds, error = result.interval, result.standard_error
    if bounds is None:
        return None
    return (bounds.high - bounds.low) / 2 * (float(np.sqrt(1 + unseen / error**2)) if error else 1.0)


def unseen_in_kappa(ratings: Any, *, scale: Scale, weights: str | Any = "quadratic", clusters: Any = None) -> float:
    """Variance that unseen items could add to the mean pairwise kappa, as a square of kappa.

    On two unseen items (:data:`UNSEEN`) raters agree on the level that they have used least, on two others by chance
    alone. An item counts by the square of how far it would move kappa, and moves it for as many of the pairs of raters
    as rate an item.

    Args:
        ratings: items × raters; None or NaN where missing.
        scale: all levels.
        weights: as for :func:`bedside.stats.many_raters.mean_pairwise_kappa`.
        clusters: how items were drawn with unequal chances; anything else changes nothing.
    """
    items = rated_items(ratings, scale, fewest=2)
    disagreement, _ = penalties(weights, levels(items.scale))
    k, squares, shared = disagreement.shape[0], [], []
    by_item = clusters.of(items.kept).weights if isinstance(clusters, SampledItems) else np.ones(items.n)
    for first, second in combinations(range(items.raters), 2):
        both = (items.codes[:, first] >= 0) & (items.codes[:, second] >= 0)
        cells = items.codes[both, first] * k + items.codes[both, second]
        table = np.bincount(cells, weights=by_item[both], minlength=k * k).reshape(k, k).astype(np.float64)
        more = table + np.eye(k * k).reshape(k * k, k, k)
        moves = kappa_values(more, disagreement).reshape(k, k) - kappa_values(table[None], disagreement)
        if not np.isnan(moves).any():
            squares.append(_unseen(moves, table.sum(axis=1), table.sum(axis=0)))
            shared.append(float(both.mean()))
    return float(np.mean(squares) * np.mean(shared)) if squares else 0.0


def unseen_in_alpha(
    ratings: Any, *, metric: Literal["nominal", "ordinal", "interval", "ratio"], scale: Scale | None = None
) -> float:
    """Variance that unseen items could add to Krippendorff's alpha; arguments as for
    :func:`~bedside.stats.reliability.krippendorff_alpha`, unseen items as for :func:`unseen_in_kappa`, rated by two."""
    items = rated_items(ratings, scale, fewest=2)
    used = np.bincount(items.codes[items.codes >= 0], minlength=len(items.scale)).astype(np.float64)
    places = np.flatnonzero(used) if scale is None else np.arange(used.size)
    if places.size > _MOST_LEVELS:
        middles = (np.arange(_MOST_LEVELS) + 0.5) / _MOST_LEVELS * used.sum()
        places = np.unique(np.searchsorted(np.cumsum(used), middles))
    table = np.asarray(ratings, dtype=object)

    def alpha(*pair: Any) -> float:
        rows = np.vstack([table, [*pair, *[None] * (items.raters - 2)]]) if pair else table
        estimate = krippendorff_alpha(rows, metric=metric, scale=scale).estimate
        return np.nan if estimate is None else estimate

    taken = [items.scale[place] for place in places.tolist()]
    moves = np.array([[alpha(first, second) for second in taken] for first in taken]) - alpha()
    return 0.0 if np.isnan(moves).any() else _unseen(moves, used[places], used[places])


def unseen_in_mean(units: JudgedUnits, ends: tuple[float, float]) -> float:
    """Variance that two unseen cases in each cell, one at each end of the scale, could add to the mean of people's
    ratings, by the cell's share of the units; cells without ratings count for nothing."""
    squared = 0.0
    for cell in np.unique(units.cells[units.labelled]):
        rated = units.labelled & (units.cells == cell)
        cases = np.unique(units.cases[rated]).size
        error = error_with_unseen(None, [float(units.human[rated].mean())], [cases], ends)
        squared += (float((units.cells == cell).mean()) * error) ** 2
    return squared


def _unseen(moves: Array, rows: Array, columns: Array) -> float:
    """Sum of the squared moves by unseen items, from those by its two levels and how often raters have used each."""
    rarest = int((rows + columns).argmin())
    by_chance = float(rows @ moves**2 @ columns) / float(rows.sum() * columns.sum())
    return UNSEEN * (float(moves[rarest, rarest]) ** 2 + by_chance)
