"""How large is a difference: effect sizes of paired and unpaired groups, each with an interval.

All are positive where the first group is higher. What can't be computed carries its reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import deviate
from bedside.stats.arrays import clean, constant, differences, matrix, pairs
from bedside.stats.result import Effect, Interval, Result


def _dominance_bounds(delta: float, variance: float, smaller: int, level: float) -> tuple[float, float]:
    """Feng & Cliff's (2004) asymmetric bounds of a difference of two probabilities in −1 … 1.

    At −1 or 1 the variance is 0, and Wilson's bound for ``smaller`` agreeing cases stands in.
    """
    z2 = deviate(level) ** 2
    if abs(delta) == 1.0:
        bound = (smaller - z2) / (smaller + z2)
        return (bound, 1.0) if delta > 0 else (-1.0, -bound)
    half = np.sqrt(z2 * variance * ((1 - delta**2) ** 2 + z2 * variance))
    scale = 1 - delta**2 + z2 * variance
    middle = delta - delta**3
    return max(-1.0, float((middle - half) / scale)), min(1.0, float((middle + half) / scale))


def cliffs_delta(x: Any, y: Any, *, level: float = 0.95) -> Effect:
    """Cliff's delta, P(X > Y) − P(X < Y), −1 … 1; equal to the rank-biserial correlation of two groups.

    The interval is Feng & Cliff's (2004), from the unbiased variance of the dominances.
    """
    name = "Cliff's delta"
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    n, dropped = a.size + b.size, lost_a + lost_b
    if a.size == 0 or b.size == 0:
        return Effect(name=name, n=n, dropped=dropped, missing="a group has no values")
    sorted_a, sorted_b = np.sort(a), np.sort(b)
    below = np.searchsorted(sorted_b, a, side="left")
    above = b.size - np.searchsorted(sorted_b, a, side="right")
    rows = (below - above) / b.size
    over = a.size - np.searchsorted(sorted_a, b, side="right")
    under = np.searchsorted(sorted_a, b, side="left")
    columns = (over - under) / a.size
    delta = float((below - above).sum() / (a.size * b.size))
    if a.size < 2 or b.size < 2:
        return Effect(name=name, estimate=delta, n=n, dropped=dropped, missing="no interval: a group has one value")
    if constant(np.concatenate([a, b])):
        return Effect(name=name, estimate=delta, n=n, dropped=dropped, missing="no interval: all values are equal")
    untied = float((below + above).sum())
    cells = untied - a.size * b.size * delta**2
    variance = (b.size**2 * ((rows - delta) ** 2).sum() + a.size**2 * ((columns - delta) ** 2).sum() - cells) / (
        a.size * b.size * (a.size - 1) * (b.size - 1)
    )
    # The unbiased estimate can fall below what any data of this size have (Cliff 1996).
    variance = max(float(variance), (1 - delta**2) / (a.size * b.size - 1))
    bounds = _dominance_bounds(delta, variance, min(a.size, b.size), level)
    return Effect(
        name=name, estimate=delta, interval=Interval(*bounds, level, "Feng and Cliff 2004"), n=n, dropped=dropped
    )


def rank_biserial(x: Any, y: Any, *, zeros: str = "pratt", level: float = 0.95) -> Effect:
    """Matched-pairs rank-biserial correlation (Kerby 2014), (W+ − W−) / (W+ + W−), −1 … 1.

    The rank sums are those of the signed-rank test with the same treatment of zeros. The interval is Feng and
    Cliff's form with the jackknife variance over pairs.
    """
    name = "matched-pairs rank-biserial correlation"
    one_of(zeros, ("pratt", "wilcox"), "choice", DataError, where="`zeros`")
    a, b, dropped = pairs(x, y)
    d = differences(a, b)
    n = d.size
    if not d.any():
        return Effect(name=name, n=n, dropped=dropped, missing="no pairs" if n == 0 else "no pair differs")
    if zeros == "wilcox":
        d = d[d != 0]
    # W+ − W− is the sum of sign(d_i + d_j) over i <= j, also with ties, and with zeros ranked after Pratt.
    ordered = np.sort(d)
    signs = (
        d.size
        - np.searchsorted(ordered, -d, side="right").astype(np.float64)
        - np.searchsorted(ordered, -d, side="left")
    )
    still = float((d == 0).sum())
    excess = float(signs.sum() + np.sign(d).sum()) / 2
    total = (d.size * (d.size + 1) - still * (still + 1)) / 2
    estimate = excess / total
    if d.size < 3:
        return Effect(name=name, estimate=estimate, n=n, dropped=dropped, missing="no interval: fewer than three pairs")
    still_left = still - (d == 0)
    totals = (d.size * (d.size - 1) - still_left * (still_left + 1)) / 2
    if not totals.all():
        return Effect(name=name, estimate=estimate, n=n, dropped=dropped, missing="no interval: only one pair differs")
    left_out = (excess - signs) / totals
    variance = float((d.size - 1) / d.size * ((left_out - left_out.mean()) ** 2).sum())
    bounds = _dominance_bounds(estimate, variance, int(np.count_nonzero(d)), level)
    return Effect(
        name=name, estimate=estimate, interval=Interval(*bounds, level, "Feng and Cliff's form, jackknife"), n=n,
        dropped=dropped,
    )  # fmt: skip


def _noncentral_bounds(t: float, df: float, scale: float, level: float) -> tuple[float, float] | None:
    """Bounds of a standardised difference: the noncentral t's noncentrality inverted, times ``scale``."""
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtr

    def find(probability: float) -> float:
        def excess(noncentrality: float) -> float:
            value = float(nctdtr(df, noncentrality, t))
            return (value if np.isfinite(value) else float(stdtr(df, t - noncentrality))) - probability

        reach = 6.0 + abs(t) / 2
        return float(brentq(excess, t - reach, t + reach, xtol=1e-10))

    try:
        low, high = find((1 + level) / 2), find((1 - level) / 2)
    except ValueError:
        return None
    return low * scale, high * scale


def _standardised(
    name: str, estimate: float, t: float, df: float, scale: float, level: float, n: int, dropped: int
) -> Effect:
    bounds = _noncentral_bounds(t, df, scale, level)
    if bounds is None:
        return Effect(
            name=name, estimate=estimate, interval=None, n=n, dropped=dropped,
            missing="no interval: the noncentral t could not be inverted",
        )  # fmt: skip
    return Effect(name=name, estimate=estimate, interval=Interval(*bounds, level, "noncentral t"), n=n, dropped=dropped)


def cohens_dz(x: Any, y: Any, *, level: float = 0.95) -> Effect:
    """Cohen's dz: mean difference over the standard deviation of the differences (n − 1).

    The interval inverts the noncentral t distribution (differences assumed normal).
    """
    a, b, dropped = pairs(x, y)
    d = differences(a, b)
    if d.size < 2 or constant(d):
        reason = "fewer than two pairs" if d.size < 2 else "all differences are equal"
        return Effect(name="Cohen's dz", n=d.size, dropped=dropped, missing=reason)
    dz = float(d.mean() / d.std(ddof=1))
    root = float(np.sqrt(d.size))
    return _standardised("Cohen's dz", dz, dz * root, d.size - 1, 1 / root, level, d.size, dropped)


def cohens_d_from_summary(
    mean_x: float,
    sd_x: float,
    n_x: int,
    mean_y: float,
    sd_y: float,
    n_y: int,
    *,
    hedges: bool = False,
    level: float = 0.95,
) -> Effect:
    """Cohen's d from two groups' means, standard deviations (n − 1) and sizes; see :func:`cohens_d`."""
    from scipy.special import gammaln

    name = "Hedges' g" if hedges else "Cohen's d"
    n, df = n_x + n_y, n_x + n_y - 2
    if n_x < 2 or n_y < 2:
        return Effect(name=name, n=n, missing="a group has fewer than two values")
    pooled = np.sqrt(((n_x - 1) * sd_x**2 + (n_y - 1) * sd_y**2) / df)
    if pooled <= 1e-12 * max(abs(mean_x), abs(mean_y)):
        return Effect(name=name, n=n, missing="the values within the groups don't vary")
    d = float((mean_x - mean_y) / pooled)
    unit = float(np.sqrt(1 / n_x + 1 / n_y))
    correction = 1.0
    if hedges:
        correction = float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))
    return _standardised(name, d * correction, d / unit, df, unit * correction, level, n, 0)


def cohens_d(x: Any, y: Any, *, hedges: bool = False, level: float = 0.95) -> Effect:
    """Cohen's d: difference of the means over the pooled standard deviation; or Hedges' g.

    Args:
        hedges: multiply by the exact correction for small samples (Hedges 1981), which gives Hedges' g.

    The interval inverts the noncentral t distribution (normal data of equal variance).
    """
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    if a.size < 2 or b.size < 2:
        name = "Hedges' g" if hedges else "Cohen's d"
        return Effect(
            name=name, n=a.size + b.size, dropped=lost_a + lost_b, missing="a group has fewer than two values"
        )
    effect = cohens_d_from_summary(
        float(a.mean()), float(a.std(ddof=1)), a.size, float(b.mean()), float(b.std(ddof=1)), b.size,
        hedges=hedges, level=level,
    )  # fmt: skip
    return replace(effect, dropped=lost_a + lost_b)


def single_rating_d(difference: Result, *, spread: float, level: float = 0.95) -> Effect:
    """d of systems rated by several raters: the mean difference over the standard deviation of a single rating.

    ``d = difference / sqrt(σ²_case + σ²_rater + σ²_error)`` of what one rater gives one case under one system. Unlike
    Cohen's d of means over raters it doesn't grow with their number, so that it can be held against other studies'.

    Args:
        difference: a difference with its standard error, and in ``details`` its degrees of freedom, by
            :mod:`~bedside.stats.crossed_raters`.
        spread: that standard deviation.
        level: nominal coverage of the interval, which inverts the noncentral t of the difference.

    Source: Westfall, Kenny and Judd (2014), "Statistical power and optimal design in experiments in which samples of
    participants respond to samples of stimuli", Journal of Experimental Psychology: General 143, 2020–2045.
    """
    name = "d of single ratings (Westfall, Kenny and Judd)"
    estimate, error = difference.estimate, difference.standard_error
    df = difference.details.get("degrees of freedom")
    if estimate is None or error is None or df is None or spread <= 0:
        return Effect(name=name, n=difference.n, dropped=difference.dropped, missing="ratings don't vary")
    return _standardised(
        name, estimate / spread, estimate / error, df, error / spread, level, difference.n, difference.dropped
    )


def odds_ratio(table: Any, *, level: float = 0.95) -> Effect:
    """Sample odds ratio of a 2 × 2 table of counts ``[[a, b], [c, d]]``, ``ad / bc``, with Woolf's interval.

    A cell of 0 makes the ratio 0 or infinite: it is then missing.
    """
    counts = matrix(table, "table")
    n = int(counts.sum())
    if (counts <= 0).any():
        return Effect(name="odds ratio", n=n, missing="a cell of the table is empty")
    (a, b), (c, d) = counts
    ratio, half = a * d / (b * c), deviate(level) * np.sqrt((1 / counts).sum())
    return Effect(
        name="odds ratio",
        estimate=float(ratio),
        interval=Interval(float(ratio * np.exp(-half)), float(ratio * np.exp(half)), level, "Woolf"),
        n=n,
    )


def paired_odds_ratio(only_x: int, only_y: int, *, level: float = 0.95) -> Effect:
    """Odds ratio of matched pairs, b / c, with the exact interval of Clopper and Pearson for b of b + c.

    Args:
        only_x: pairs in which only x is 1 (b).
        only_y: pairs in which only y is 1 (c).
    """
    from scipy.special import betaincinv

    name = "odds ratio (matched pairs)"
    n = only_x + only_y
    if only_x == 0 or only_y == 0:
        reason = "no discordant pair" if n == 0 else "all discordant pairs go one way"
        return Effect(name=name, n=n, missing=reason)
    low = float(betaincinv(only_x, only_y + 1, (1 - level) / 2))
    high = float(betaincinv(only_x + 1, only_y, (1 + level) / 2))
    return Effect(
        name=name,
        estimate=only_x / only_y,
        interval=Interval(low / (1 - low), high / (1 - high), level, "exact (Clopper and Pearson)"),
        n=n,
    )
