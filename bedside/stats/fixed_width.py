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
from bedside.stats.reliability import alpha_of_codes
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems

#: Items of either kind that are taken to be unseen: four in all, as Agresti and Coull's (1998) successes and failures.
UNSEEN = 2.0
#: Levels of alpha that unseen ratings are taken from, at most: evenly from the ratings in order.
_MOST_LEVELS = 8


def reach(result: Result, unseen: float) -> float | None:
    """Half the width of a 95 % interval, as if the variance were larger by what is unseen; None without an interval.

    Args:
        result: with its interval and standard error.
        unseen: variance that unseen items could add, in the squared unit of the estimate.
    """
    bounds, error = result.interval, result.standard_error
    if bounds is None:
        return None
    half = (bounds.high - bounds.low) / 2
    return half if not error else float(half * np.sqrt(1 + unseen / error**2))


def items_needed(reached: float, items: int, half_width: float) -> int:
    """Items in all with which the half-width is the one asked for, if items go on to vary as they do."""
    return int(np.ceil(items * (reached / half_width) ** 2 - 1e-9))


def unseen_in_kappa(ratings: Any, *, scale: Scale, weights: str | Any = "quadratic", clusters: Any = None) -> float:
    """Variance that unseen items could add to the mean pairwise kappa, as a square of kappa.

    Two unseen items (:data:`UNSEEN`) are ones on which raters agree on the level that they have used least; two others
    are ones on which they agree by chance alone. Each counts by the square of how far it would move kappa, for every
    pair of raters; an item is rated by as many of the pairs as those at hand are.

    Args:
        ratings: items × raters; None or NaN where missing.
        scale: all levels.
        weights: as for :func:`bedside.stats.many_raters.mean_pairwise_kappa`.
        clusters: how items were drawn with unequal chances; anything else changes nothing.
    """
    items = rated_items(ratings, scale, fewest=2)
    disagreement, _ = penalties(weights, levels(items.scale))
    k = disagreement.shape[0]
    by_item = clusters.of(items.kept).weights if isinstance(clusters, SampledItems) else np.ones(items.n)
    squares, pairs, rated = 0.0, 0, 0.0
    for first, second in combinations(range(items.raters), 2):
        both = (items.codes[:, first] >= 0) & (items.codes[:, second] >= 0)
        cells = items.codes[both, first] * k + items.codes[both, second]
        table = np.bincount(cells, weights=by_item[both], minlength=k * k).reshape(k, k)
        more = table + np.eye(k * k).reshape(k * k, k, k)
        moves = kappa_values(more, disagreement).reshape(k, k) - kappa_values(table[None], disagreement)
        if np.isnan(moves).any():
            continue
        squares += _unseen(moves, table.sum(axis=1), table.sum(axis=0))
        pairs += 1
        rated += float(both.mean())
    # The mean over pairs moves by a pair's part of it; pairs that share an item move together.
    return squares / pairs * rated / pairs if pairs else 0.0


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
    alpha = alpha_of_codes(items, metric)

    def moved(first: int, second: int) -> float:
        row = np.full((1, items.raters), -1)
        row[0, :2] = first, second
        return alpha(row) - alpha(None)

    moves = np.array([[moved(first, second) for second in places] for first in places])
    return 0.0 if not moves.size or np.isnan(moves).any() else _unseen(moves, used[places], used[places])


def _unseen(moves: Array, rows: Array, columns: Array) -> float:
    """Sum of the squared moves by unseen items: those agreed on at the rarest level, and those agreed on by chance.

    Args:
        moves: of one item more, by its two levels.
        rows, columns: how often either rater has used each level.
    """
    rarest = int((rows + columns).argmin())
    by_chance = float(rows @ moves**2 @ columns) / float(rows.sum() * columns.sum())
    return UNSEEN * (float(moves[rarest, rarest]) ** 2 + by_chance)
