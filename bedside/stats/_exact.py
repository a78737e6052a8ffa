"""Exact distributions of rank sums, right with ties, and exact intervals of a difference of two proportions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np

from bedside.stats.arrays import Array

# -- Exact distributions of rank sums -------------------------------------------------------------------


def signed_rank_distribution(ranks: Array) -> Array:
    """P(W+ = s/2) for s = 0, 1, … when every rank is positive or negative with even odds.

    Args:
        ranks: ranks above 0; midranks where tied.
    """
    doubled = np.rint(2 * ranks).astype(np.intp)
    chances: Array = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        moved = 0.5 * chances
        moved[rank:] += 0.5 * chances[:-rank]
        chances = moved
    return chances


def rank_sum_distribution(ranks: Array, size: int) -> Array:
    """P(rank sum = s/2) for s = 0, 1, … of ``size`` ranks drawn from all ranks without replacement.

    The shift algorithm of Streitberg and Röhmel (1986): ways to reach each sum with each number of ranks.
    """
    doubled = np.rint(2 * ranks).astype(np.intp)
    reach = int(np.sort(doubled)[-size:].sum()) if size else 0
    ways = np.zeros((size + 1, reach + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        # From the right side to the left, so that a rank is used once.
        ways[1:, rank:] += ways[:-1, : reach + 1 - rank].copy()
    chances: Array = ways[size] / ways[size].sum()
    return chances


def tail(chances: Array, doubled: int, alternative: str) -> float:
    """p-value of the value ``doubled / 2`` under the distribution ``chances`` of doubled values.

    Two-sided: all values at least as far from the mean.
    """
    if alternative == "greater":
        p = chances[doubled:].sum()
    elif alternative == "less":
        p = chances[: doubled + 1].sum()
    else:
        values = np.arange(chances.size)
        mean = float(chances @ values)
        p = chances[np.abs(values - mean) >= abs(doubled - mean) - 1e-6].sum()
    return float(min(1.0, p))


def _select(low: float, high: float, k: int, count: Callable[[float], int], above: Callable[[float], float]) -> float:
    """The k-th smallest value, by bisection on how many values are no larger.

    Args:
        low: below every value.
        high: no smaller than the k-th.
        above: the smallest value above its argument.
    """
    for step in itertools.count(1):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        # Bisecting towards 0 takes a thousand steps; long before, one value is left.
        if step % 16 == 0 and count(nearest := above(low)) >= k:
            return nearest
        if count(middle) >= k:
            high = middle
        else:
            low = middle
    return above(low)


def walsh_average(ordered: Array, k: int) -> float:
    """The k-th smallest (from 1) of the averages (d_i + d_j) / 2, i <= j, without making them all."""
    start = np.arange(ordered.size)

    def partner(value: float) -> Array:
        partners: Array = np.maximum(np.searchsorted(ordered, 2 * value - ordered, side="right"), start)
        return partners

    def count(value: float) -> int:
        return int((partner(value) - start).sum())

    def above(value: float) -> float:
        index = partner(value)
        inside = index < ordered.size
        return float((ordered[index[inside].astype(np.intp)] + ordered[inside]).min() / 2)

    low = float(np.nextafter(ordered[0], -np.inf))
    return _select(low, float(ordered[-1]), k, count, above)


def pairwise_difference(x: Array, y: Array, k: int) -> float:
    """The k-th smallest (from 1) of the differences x_i − y_j; both sorted."""

    def count(value: float) -> int:
        return int(np.searchsorted(x, y + value, side="right").sum())

    def above(value: float) -> float:
        index = np.searchsorted(x, y + value, side="right")
        inside = index < x.size
        return float((x[index[inside]] - y[inside]).min())

    spread = float(abs(x).max() + abs(y).max())
    return _select(
        float(x[0] - y[-1]) - 1e-9 * (1 + spread), float(x[-1] - y[0]) + 1e-9 * (1 + spread), k, count, above
    )


# -- Exact intervals of a difference of two proportions that agree with the exact tests of no difference ---
# A confidence distribution stands for each unknown proportion, and the bounds are quantiles of the difference of
# independent draws from two of them (Fay, Proschan and Brittain 2015, unpaired; Fay and Lumbard 2021, paired). At 0 the
# interval's tail is the one-sided p of Fisher's test, or of McNemar's exact test: both say the same.

#: Points of the integrals; 400 give six digits and more.
_POINTS = 400


@cache
def _quantile_points() -> tuple[Array, Array]:
    """Probabilities in 0 … 1 and their weights: Gauss and Legendre's, crowded towards both ends."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    v = (nodes + 1) / 2
    # Quantiles of a beta distribution change fastest at the ends, where this map is flat.
    return v**3 * (10 - 15 * v + 6 * v**2), weights / 2 * 30 * v**2 * (1 - v) ** 2


def _below(successes: int, failures: int, value: Array) -> Array:
    """P(B <= value) of the beta distribution with these parameters; a parameter of 0 puts it all at an end."""
    from scipy.special import betainc

    inside = np.clip(value, 0.0, 1.0)
    if successes == 0:
        chances: Array = np.where(value >= 0, 1.0, 0.0)
    elif failures == 0:
        chances = np.where(value >= 1, 1.0, 0.0)
    else:
        chances = betainc(successes, failures, inside)
    return chances


def _quantiles(successes: int, failures: int) -> Array:
    """The quantiles at the points of :func:`_quantile_points`."""
    from scipy.special import betaincinv

    chances, _ = _quantile_points()
    if successes == 0 or failures == 0:
        return np.full(chances.size, 0.0 if successes == 0 else 1.0)
    quantiles: Array = betaincinv(successes, failures, chances)
    return quantiles


def _quantile(distribution: Callable[[float], float], chance: float) -> float:
    """The value in −1 … 1 at which a distribution function reaches ``chance``."""
    from scipy.optimize import brentq

    if distribution(-1.0) >= chance:
        return -1.0
    if distribution(1.0) < chance:
        return 1.0
    return float(brentq(lambda value: distribution(value) - chance, -1.0, 1.0, xtol=1e-10))


def _lower_bound(successes_x: int, n_x: int, successes_y: int, n_y: int, tail: float, mid: bool) -> float:
    """The lower bound of the first proportion minus the second."""
    _, weights = _quantile_points()
    # The first is drawn low and the second high; for mid-p in half of the draws the other way round.
    draws = [
        (successes_x + up, n_x - successes_x + 1 - up, _quantiles(successes_y + 1 - up, n_y - successes_y + up))
        for up in range(1 + mid)
    ]

    def distribution(value: float) -> float:
        return float(np.mean([weights @ _below(hits, misses, value + second) for hits, misses, second in draws]))

    return _quantile(distribution, tail)


def melded_bounds(
    successes_x: int, n_x: int, successes_y: int, n_y: int, *, level: float, mid: bool = False
) -> tuple[float, float]:
    """Bounds of the first of two independent proportions minus the second.

    Args:
        successes_x, n_x, successes_y, n_y: successes and sizes of the groups, sizes above 0.
        level: nominal coverage, half of the rest at each end.
        mid: whether they go with the mid-p of Fisher's test.

    Source:
        Fay, Proschan and Brittain (2015), Biometrics 71:146–156.
    """
    tail = (1 - level) / 2
    low = _lower_bound(successes_x, n_x, successes_y, n_y, tail, mid)
    high = -_lower_bound(successes_y, n_y, successes_x, n_x, tail, mid)
    return low, high


def _paired_lower_bound(only_x: int, only_y: int, n: int, tail: float, mid: bool) -> float:
    """The lower bound of the share in x minus the share in y, of ``n`` pairs.

    The share of x among discordant pairs is drawn low; so is the share of discordant pairs where x leads, which is
    drawn high where y leads: that makes the difference least. For mid-p each is drawn the other way in half of the
    draws.
    """
    discordant = only_x + only_y
    chances, weights = _quantile_points()
    draws = []
    for up in range(1 + mid):
        of_x, of_y = only_x + up, only_y + 1 - up
        # The chance that y leads; the integral is taken apart there, where what is integrated jumps.
        behind = float(_below(of_x, of_y, np.array(0.5)))
        losing, winning = (_leads(of_x, of_y, part) for part in (behind * chances, behind + (1 - behind) * chances))
        draws.append((behind, losing, winning))

    def share_below(ratio: Array, up: int) -> Array:
        """P(share of discordant pairs <= ratio), drawn low, or drawn high."""
        bounds = [_below(discordant + end, n - discordant + 1 - end, ratio) for end in {up, 1 - up if mid else up}]
        below: Array = np.mean(bounds, axis=0)
        return below

    def distribution(value: float) -> float:
        total = 0.0
        for behind, losing, winning in draws:
            if value >= 0:
                ratio = np.divide(value, winning, out=np.full(winning.size, np.inf), where=winning > 0)
                total += behind + (1 - behind) * float(weights @ share_below(ratio, 0))
            else:
                ratio = np.divide(value, losing, out=np.full(losing.size, np.inf), where=losing < 0)
                total += behind * float(weights @ (1 - share_below(ratio, 1)))
        return total / len(draws)

    return _quantile(distribution, tail)


def _leads(of_x: int, of_y: int, chances: Array) -> Array:
    """Quantiles of twice the share of x among discordant pairs, less 1, by these parameters of a beta distribution."""
    from scipy.special import betaincinv

    if of_x == 0 or of_y == 0:
        return np.full(chances.size, -1.0 if of_x == 0 else 1.0)
    leads: Array = 2 * betaincinv(of_x, of_y, chances) - 1
    return leads


def paired_melded_bounds(only_x: int, only_y: int, n: int, *, level: float, mid: bool = False) -> tuple[float, float]:
    """Bounds of the share of ones in x minus that in y, of pairs.

    Args:
        only_x, only_y: pairs in which only one of the two is 1.
        n: all pairs, above 0.
        level: nominal coverage, half of the rest at each end.
        mid: whether they go with the mid-p of McNemar's test.

    Source:
        Fay and Lumbard (2021), Statistics in Medicine 40:1147–1159.
    """
    tail = (1 - level) / 2
    return _paired_lower_bound(only_x, only_y, n, tail, mid), -_paired_lower_bound(only_y, only_x, n, tail, mid)
