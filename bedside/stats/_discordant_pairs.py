"""The tests and intervals of discordant pairs of zeros and ones."""

from __future__ import annotations

import numpy as np

from bedside.stats._melded import paired_melded_bounds
from bedside.stats.result import Interval


def discordance_test(only_x: int, only_y: int, method: str) -> tuple[float, float]:
    """Statistic and p-value of discordant pairs, of which there is at least one."""
    from scipy.stats import binom
    from statsmodels.stats import contingency_tables

    differ = only_x != only_y
    tested = contingency_tables.mcnemar(
        [[0, only_x], [only_y, 0]],
        exact=method in ("exact", "mid-p"),
        # Of equal counts there is nothing that the correction could take away.
        correction=method == "corrected" and differ,
    )
    statistic, p = float(tested.statistic), float(tested.pvalue)
    if method == "mid-p" and differ:
        p -= float(binom.pmf(statistic, only_x + only_y, 0.5))
    return statistic, p


def discordance_tail(only_x: int, only_y: int, alternative: str) -> float:
    """One-sided exact p of discordant pairs."""
    from scipy.stats import binom

    leading = only_x if alternative == "greater" else only_y
    return float(binom.sf(leading - 1, only_x + only_y, 0.5))


def discordance_interval(only_x: int, only_y: int, n: int, interval: str, level: float) -> Interval:
    """Bonett and Price's or the melded interval of the share of ones in x minus that in y."""
    if interval == "bonett-price":
        return _bonett_price(only_x, only_y, n, level)
    return Interval(
        *paired_melded_bounds(only_x, only_y, n, level=level), level, "melded, exact (Fay and Lumbard)"
    )


def _bonett_price(only_x: int, only_y: int, n: int, level: float) -> Interval:
    """Bonett and Price's (2012) interval of a difference of paired proportions."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    adjusted_x, adjusted_y = (only_x + 1) / (n + 2), (only_y + 1) / (n + 2)
    centre = adjusted_x - adjusted_y
    half = z * float(np.sqrt((adjusted_x + adjusted_y - centre**2) / (n + 2)))
    return Interval(max(-1.0, centre - half), min(1.0, centre + half), level, "Bonett and Price")
