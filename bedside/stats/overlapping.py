"""Do two groups differ of which some cases are the same and others aren't? All values count, and pairs as pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Alternative, Array, clean, constant, pairs
from bedside.stats.effects import cohens_d
from bedside.stats.intervals import t_interval
from bedside.stats.result import Effect, Result

ALTERNATIVES = ("two-sided", "greater", "less")


def t_test(
    x: Any, y: Any, only_x: Any, only_y: Any, *, alternative: Alternative = "two-sided", level: float = 0.95
) -> Result:
    """The t test of partially overlapping samples, variances not assumed equal (Derrick et al. 2017).

    ``t = (mean_1 − mean_2) / sqrt(s_1²/n_1 + s_2²/n_2 − 2 r s_1 s_2 n_c/(n_1 n_2))`` over all values of each group,
    with r the correlation within the n_c pairs (0 where it can't be computed), and
    ``(n_c − 1) + (γ − n_c + 1)/(n_a + n_b + 2 n_c) · (n_a + n_b)`` degrees of freedom, with γ Welch's and n_a, n_b the
    values without partner. With no pairs it is Welch's test, with nothing but pairs the paired t test.

    Args:
        x, y: values of the cases that both groups have, in the same order.
        only_x, only_y: values of the cases that one group alone has.
        alternative: ``"greater"``: the first group is higher on average.
        level: nominal coverage of the interval, which is two-sided whatever the alternative.

    Returns:
        Estimate: the difference of the means. Details hold the sizes, the pairs and their correlation.
    """
    from scipy.special import stdtr

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    a, b, lost = pairs(x, y)
    (alone_a, lost_a), (alone_b, lost_b) = clean(only_x, "only_x"), clean(only_y, "only_y")
    first, second = np.concatenate([a, alone_a]), np.concatenate([b, alone_b])
    blank = Result(
        name="mean difference",
        method=f"t test of partially overlapping samples (unequal variances), {alternative}",
        n=a.size + alone_a.size + alone_b.size,
        dropped=lost + lost_a + lost_b,
        options={"alternative": alternative, "level": level},
    )
    if not first.size or not second.size:
        return blank.no_value("a group has no values")
    difference = float(first.mean() - second.mean())
    correlation = _correlation(a, b)
    details: dict[str, float | None] = {
        "n of x": float(first.size), "n of y": float(second.size), "pairs": float(a.size),
        "mean of x": float(first.mean()), "mean of y": float(second.mean()),
        "correlation within pairs": correlation if a.size > 1 else None,
    }  # fmt: skip
    result = replace(blank, estimate=difference, details=details, effect=_effect(first, second, a.size, level))
    if min(first.size, second.size) < 2:
        return replace(result, missing="no p-value and no interval: a group has fewer than two values")
    error, df = _error(first, second, correlation, a.size)
    if error <= 1e-12 * max(abs(first.mean()), abs(second.mean()), 1e-300):
        return replace(result, missing="no p-value and no interval: the values within the groups don't vary")
    statistic = difference / error
    upper, lower = float(stdtr(df, -statistic)), float(stdtr(df, statistic))
    p = {"two-sided": 2 * min(upper, lower), "greater": upper, "less": lower}[alternative]
    return replace(
        result, statistic=statistic, p=p,
        interval=t_interval(difference, error, df, level, "t of partially overlapping samples"), standard_error=error,
        details={**details, "degrees of freedom": df},
    )  # fmt: skip


def detectable_difference(
    pairs: int, alone_x: int, alone_y: int, *, correlation: float = 0.0, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference of the means that the two-sided test finds with some power.

    Args:
        pairs: cases that both groups have.
        alone_x, alone_y: cases that one group alone has.
        correlation: within pairs, −1 … 1. With 0, nothing is gained from pairs: the safe answer where it isn't known.
        alpha: level of the test.
        power: the chance to find it.

    Returns:
        In standard deviations of the cases, the same in both groups, whose values are normal; by the noncentral t. None
        where a group has fewer than two cases, or where the cases can't differ, as in nothing but pairs that correlate
        perfectly.
    """
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    n_x, n_y = pairs + alone_x, pairs + alone_y
    if min(n_x, n_y) < 2:
        return None
    variance = 1 / n_x + 1 / n_y - 2 * correlation * pairs / (n_x * n_y)
    if variance <= 0:
        return None
    df = _degrees_of_freedom(1 / n_x, 1 / n_y, n_x, n_y, pairs)
    critical = float(stdtrit(df, 1 - alpha / 2))

    def shortfall(noncentrality: float) -> float:
        # scipy has NaN where next to nothing is left below.
        below = np.nan_to_num(nctdtr(df, noncentrality, [critical, -critical]))
        return float(below[0] - below[1]) - (1 - power)

    return float(brentq(shortfall, 0.0, 20 * critical)) * float(np.sqrt(variance))


def _correlation(a: Array, b: Array) -> float:
    """Pearson's correlation within pairs; 0 of fewer than two pairs and of values that don't vary."""
    if a.size < 2 or constant(a) or constant(b):
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _error(first: Array, second: Array, correlation: float, shared: int) -> tuple[float, float]:
    """Standard error of the difference and its degrees of freedom."""
    part_x, part_y = first.var(ddof=1) / first.size, second.var(ddof=1) / second.size
    together = 2 * correlation * np.sqrt(part_x * part_y) * shared / np.sqrt(first.size * second.size)
    error = float(np.sqrt(max(0.0, part_x + part_y - together)))
    if not part_x + part_y:
        return error, 1.0
    return error, _degrees_of_freedom(part_x, part_y, first.size, second.size, shared)


def _degrees_of_freedom(part_x: float, part_y: float, n_x: int, n_y: int, shared: int) -> float:
    """Of the test, from the squared standard errors of the two means and the values behind them."""
    welch = (part_x + part_y) ** 2 / (part_x**2 / (n_x - 1) + part_y**2 / (n_y - 1))
    alone = n_x + n_y - 2 * shared
    if not shared:
        return float(welch)
    return float((shared - 1) + (welch - shared + 1) / (alone + 2 * shared) * alone)


def _effect(first: Array, second: Array, shared: int, level: float) -> Effect:
    effect = cohens_d(first, second, level=level)
    if not shared or effect.estimate is None:
        return effect
    return replace(effect, interval=None, missing="no interval: some cases are in both groups")
