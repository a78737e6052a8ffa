"""Exact intervals of a difference of two proportions that agree with the exact tests of no difference.

A confidence distribution stands for each unknown proportion, and the bounds are quantiles of the difference of
independent draws from two of them (Fay, Proschan and Brittain 2015, unpaired; Fay and Lumbard 2021, paired). At 0 the
interval's tail is the one-sided p of Fisher's test, or of McNemar's exact test: both say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from bedside.stats.arrays import Array

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


def _lower_bound(successes_x: int, n_x: int, successes_y: int, n_y: int, tail: float) -> float:
    """The lower bound of the first proportion minus the second."""
    second = _quantiles(successes_y + 1, n_y - successes_y)
    _, weights = _quantile_points()

    def distribution(value: float) -> float:
        return float(weights @ _below(successes_x, n_x - successes_x + 1, value + second))

    return _quantile(distribution, tail)


def melded_bounds(
    successes_x: int, n_x: int, successes_y: int, n_y: int, *, level: float
) -> tuple[float, float]:
    """Bounds of the first of two independent proportions minus the second.

    Args:
        successes_x, n_x, successes_y, n_y: successes and sizes of the groups, sizes above 0.
        level: nominal coverage, half of the rest at each end.

    Source:
        Fay, Proschan and Brittain (2015), Biometrics 71:146–156.
    """
    tail = (1 - level) / 2
    low = _lower_bound(successes_x, n_x, successes_y, n_y, tail)
    high = -_lower_bound(successes_y, n_y, successes_x, n_x, tail)
    return low, high


def _paired_lower_bound(only_x: int, only_y: int, n: int, tail: float) -> float:
    """The lower bound of the share in x minus the share in y, of ``n`` pairs.

    The share of x among discordant pairs is drawn low; so is the share of discordant pairs where x leads, which is
    drawn high where y leads: that makes the difference least.
    """
    discordant = only_x + only_y
    chances, weights = _quantile_points()
    # The chance that y leads; the integral is taken apart there, where what is integrated jumps.
    behind = float(_below(only_x, only_y + 1, np.array(0.5)))
    losing = _leads(only_x, only_y, behind * chances)
    winning = _leads(only_x, only_y, behind + (1 - behind) * chances)

    def distribution(value: float) -> float:
        if value >= 0:
            ratio = np.divide(value, winning, out=np.full(winning.size, np.inf), where=winning > 0)
            return behind + (1 - behind) * float(weights @ _below(discordant, n - discordant + 1, ratio))
        ratio = np.divide(value, losing, out=np.full(losing.size, np.inf), where=losing < 0)
        return behind * float(weights @ (1 - _below(discordant + 1, n - discordant, ratio)))

    return _quantile(distribution, tail)


def _leads(only_x: int, only_y: int, chances: Array) -> Array:
    """Lower quantiles of twice the share of x among discordant pairs, less 1."""
    from scipy.special import betaincinv

    if only_x == 0:
        return np.full(chances.size, -1.0)
    leads: Array = 2 * betaincinv(only_x, only_y + 1, chances) - 1
    return leads


def paired_melded_bounds(only_x: int, only_y: int, n: int, *, level: float) -> tuple[float, float]:
    """Bounds of the share of ones in x minus that in y, of pairs.

    Args:
        only_x, only_y: pairs in which only one of the two is 1.
        n: all pairs, above 0.
        level: nominal coverage, half of the rest at each end.

    Source:
        Fay and Lumbard (2021), Statistics in Medicine 40:1147–1159.
    """
    tail = (1 - level) / 2
    return _paired_lower_bound(only_x, only_y, n, tail), -_paired_lower_bound(only_y, only_x, n, tail)
