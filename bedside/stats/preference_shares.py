"""Who is preferred how often, how much the place counts, and how often both orders give the same verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.stats._ratios import with_rate_interval
from bedside.stats._resampling import aligned, rows_in_order, sign_flips
from bedside.stats.arrays import Array, vector
from bedside.stats.result import Result
from bedside.stats.shares import share


def win_rate(firsts: Any, seconds: Any, *, level: float = 0.95) -> Result:
    """The share of wins that one system has of another, each case counting once and both orders the same.

    Args:
        firsts: of each case the mean share of the win, 0 … 1, that the system had where it was shown first; NaN where
            it wasn't.
        seconds: the same where it was shown second.
        level: nominal coverage.

    The interval is the jackknife's over cases on the logit scale, t with one degree of freedom less than cases; where
    each case is won or lost whole, Wilson's. Neither leaves 0 … 1.

    Raises:
        DataError: a share is outside 0 … 1, or the numbers of cases differ.
    """
    orders = np.stack([vector(firsts, "firsts"), vector(seconds, "seconds")])
    if np.nanmin(orders, initial=0.0) < 0 or np.nanmax(orders, initial=1.0) > 1:
        raise DataError("a share of a win lies between 0 and 1")
    counted = (~np.isnan(orders)).sum(axis=0)
    values = np.nansum(orders, axis=0) / np.maximum(counted, 1)
    blank = Result(
        name="win rate",
        method="mean over cases of the share of the win, both orders counting the same",
        options={"level": level},
    )
    return with_rate_interval(blank, values, (counted > 0).astype(np.float64), level=level)


def first_share(shares: Any, *, clusters: Any, level: float = 0.95, flips: int = 9999, seed: int = 0) -> Result:
    """Of the decided comparisons, the share that the one shown first won, and p that the place doesn't count.

    Args:
        shares: of each comparison the share of the win that the one shown first had: 1, 0, or 0.5 for a tie, which is
            left out and counted.
        clusters: the case of each.
        level: nominal coverage.
        flips: random sign flips of the test; all there are where that is fewer.
        seed: of the random ones.

    It says something of the place only where each two were shown in both orders the same number of times: else the
    better ones may have stood first more often. The interval is that of :func:`bedside.stats.shares.share` by cluster;
    p is of sign flips of the clusters' wins of the first less those of the second.

    Raises:
        DataError: not one cluster a comparison, or a share that is none of 1, 0 and 0.5.
    """
    won = vector(shares, "shares")
    if not np.isin(won[~np.isnan(won)], (0.0, 0.5, 1.0)).all():
        raise DataError("of one comparison the first has 1, 0 or 0.5 of the win")
    decided = np.where(won == 0.5, np.nan, won)
    result = share(decided, clusters=clusters, level=level)
    exact_method = f"{result.method}; sign flips by cluster"
    if result.estimate is None:
        return replace(result, name="share of the first", method=exact_method)
    kept = ~np.isnan(decided)
    _, member = np.unique(aligned(clusters, won.size)[kept].astype(str), return_inverse=True)
    surplus: Array = np.bincount(member, weights=decided[kept] - 0.5).astype(np.float64)
    exact = 2 ** min(surplus.size, 62) <= flips
    column, _ = rows_in_order(surplus[:, None], np.ones((surplus.size, 1), dtype=np.bool_))
    (p,), _ = sign_flips(column, resamples=flips, seed=seed, alternative="two-sided", exact=exact)
    how = "all there are" if exact else f"{flips:,} at random, seed {seed}"
    return replace(result, name="share of the first", method=f"{exact_method}, {how}", p=float(p))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderVerdicts:
    """Verdicts on pairs that were shown in both orders.

    Attributes:
        same: share with the same verdict in both: the same one won, or both were ties.
        reversed: share in which the other one won when the order changed.
        to_first, to_second: of the reversed, how many went to the one shown first each time, and to the second.
        with_tie: how many had a tie in one order only.
    """

    same: Result
    reversed: Result
    to_first: int
    to_second: int
    with_tie: int


def order_verdicts(shares: Any, swapped: Any, *, clusters: Any, level: float = 0.95) -> OrderVerdicts:
    """How often a pair's verdict is the same in both orders.

    Args:
        shares: of each pair the share of the win that the one shown first had in one order: 1, 0, or 0.5 for a tie.
        swapped: the same in the other order, of the one shown first there. NaN in either leaves the pair out.
        clusters: the case of each pair.
        level: nominal coverage.

    Raises:
        DataError: the numbers of pairs differ.
    """
    straight, crosswise = vector(shares, "shares"), vector(swapped, "swapped")
    if straight.size != crosswise.size:
        raise DataError(f"{counted(straight.size, 'pair')} can't stand beside {crosswise.size:,} in the other order")
    both = ~np.isnan(straight) & ~np.isnan(crosswise)
    same = straight + crosswise == 1
    turned = both & (straight == crosswise) & (straight != 0.5)

    def of(hits: Any, name: str) -> Result:
        values: Array = np.where(both, hits.astype(np.float64), np.nan)
        return replace(share(values, clusters=clusters, level=level), name=name)

    return OrderVerdicts(
        same=of(same, "same verdict in both orders"),
        reversed=of(turned, "reversed by the order"),
        to_first=int((turned & (straight == 1)).sum()),
        to_second=int((turned & (straight == 0)).sum()),
        with_tie=int((both & ~same & ~turned).sum()),
    )
