"""Score tests and intervals of the difference of two proportions: of the same cases, and of two groups of cases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bedside.stats._blocks import deviate
from bedside.stats.result import Interval


def tango_statistic(only_x: float, only_y: float, n: float, difference: float) -> float:
    """Tango's (1998) score statistic, standard normal where the proportions of x and y differ by ``difference``.

    Args:
        only_x, only_y: cases with a one in x only, and in y only; of ``n`` cases.
        difference: −1 … 1, of the null hypothesis.
    """
    gap = only_x - only_y - n * difference
    linear = -only_x - only_y + (2 * n - only_x + only_y) * difference
    constant_term = -only_y * difference * (1 - difference)
    root = float(np.sqrt(max(0.0, linear**2 - 8 * n * constant_term)))
    share = (root - linear) / (4 * n)
    variance = n * (2 * share + difference * (1 - difference))
    return _deviate(gap / n, variance / n**2)


def tango_interval(only_x: int, only_y: int, n: int, *, level: float = 0.95) -> Interval:
    """Tango's (1998) score interval of the difference of two proportions of the same ``n`` cases.

    Args:
        only_x, only_y: cases with a one in x only, and in y only.
        n: cases, one or more.
        level: nominal coverage.
    """
    return _inverted(lambda at: tango_statistic(only_x, only_y, n, at), (only_x - only_y) / n, level, "Tango's score")


def miettinen_nurminen_statistic(*, ones_x: float, n_x: int, ones_y: float, n_y: int, difference: float) -> float:
    """Miettinen and Nurminen's (1985) score statistic, standard normal where two groups' proportions differ so much.

    Args:
        ones_x, ones_y: ones in each group, of ``n_x`` and ``n_y`` values, at least one each.
        difference: −1 … 1, of the null hypothesis: x minus y.

    Their closed form of the restricted proportions is the root of a cubic. statsmodels' score test of a difference
    (0.15) restricts them otherwise: its interval of 56 of 70 less 48 of 80 is [.053, .344], the published one
    (Newcombe 1998) [.053, .338].
    """
    n = n_x + n_y
    quadratic = (n_x + 2 * n_y) * difference - n - ones_x - ones_y
    linear = (n_y * difference - n - 2 * ones_y) * difference + ones_x + ones_y
    constant_term = ones_y * difference * (1 - difference)
    shift = quadratic / (3 * n)
    q = shift**3 - quadratic * linear / (6 * n**2) + constant_term / (2 * n)
    radius = float(np.copysign(np.sqrt(max(0.0, shift**2 - linear / (3 * n))), q))
    angle = (np.pi + np.arccos(np.clip(q / radius**3, -1.0, 1.0))) / 3 if radius else 0.0
    share_y = float(np.clip(2 * radius * np.cos(angle) - shift, max(0.0, -difference), min(1.0, 1 - difference)))
    share_x = share_y + difference
    variance = (share_x * (1 - share_x) / n_x + share_y * (1 - share_y) / n_y) * n / (n - 1)
    return _deviate(ones_x / n_x - ones_y / n_y - difference, variance)


def miettinen_nurminen_interval(*, ones_x: int, n_x: int, ones_y: int, n_y: int, level: float = 0.95) -> Interval:
    """Miettinen and Nurminen's (1985) score interval of the difference of two groups' proportions.

    Arguments as for :func:`miettinen_nurminen_statistic`; ``level`` is the nominal coverage.
    """

    def statistic(at: float) -> float:
        return miettinen_nurminen_statistic(ones_x=ones_x, n_x=n_x, ones_y=ones_y, n_y=n_y, difference=at)

    return _inverted(statistic, ones_x / n_x - ones_y / n_y, level, "Miettinen and Nurminen's score")


def _deviate(gap: float, variance: float) -> float:
    if variance <= 1e-14:
        return 0.0 if abs(gap) <= 1e-12 else float(np.copysign(np.inf, gap))
    return float(gap / np.sqrt(variance))


def _inverted(statistic: Callable[[float], float], estimate: float, level: float, words: str) -> Interval:
    """The differences that a score test doesn't reject; its statistic falls as the difference rises."""
    from scipy.optimize import brentq

    z = deviate(level)

    def bound(end: float) -> float:
        if abs(estimate - end) <= 1e-12:
            return end
        # Infinities at the scale's ends would leave the search without a slope.
        return float(brentq(lambda at: np.clip(statistic(at), -1e6, 1e6) + end * z, estimate, end, xtol=1e-12))

    return Interval(bound(-1.0), bound(1.0), level, words)
