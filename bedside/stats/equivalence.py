"""Are two systems alike, or the new one no worse, but for a margin? Two one-sided tests and the interval they invert.

Differences are first minus second. The interval has the level 1 − 2 · alpha: it lies inside ± margin exactly where both
one-sided tests reject (Schuirmann 1987), so that p and interval never disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from bedside.core.errors import DataError, from_extra
from bedside.stats._blocks import fewest
from bedside.stats.arrays import Array, binary_pairs, clean, constant, counts_of_two, differences, pairs
from bedside.stats.intervals import t_interval, welch_error
from bedside.stats.proportion_scores import (
    miettinen_nurminen_interval,
    miettinen_nurminen_statistic,
    tango_interval,
    tango_statistic,
)
from bedside.stats.result import Interval, Result

#: The power that a number of cases is given for.
PLANNED_POWER = 0.8
#: Below this chance to show it of systems that don't differ at all, there are too few cases.
LEAST_CHANCE = 0.5
_MOST_CASES = 10**7
#: Names of what every result's details hold.
NOT_BELOW, NOT_ABOVE = "p not below", "p not above"
CHANCE, CHANCE_ONE_SIDED = "chance if equal", "chance if equal, one side"
CASES, CASES_ONE_SIDED = "cases needed", "cases needed, one side"


@dataclass(frozen=True, slots=True)
class _Precision:
    """How precisely a difference is known with ``n`` cases, were there no difference.

    Attributes:
        error: standard error of the difference.
        df: its degrees of freedom; None where the normal distribution stands for t.
        n: cases in all.
        at_margin: standard error that the test takes at the margin.
    """

    error: float
    df: float | None
    n: int
    at_margin: float

    def with_cases(self, n: int) -> _Precision:
        """The same with another number of cases."""
        shrunk = float(np.sqrt(self.n / n))
        df = None if self.df is None else max(1e-9, (self.df + 1) * n / self.n - 1)
        return _Precision(self.error * shrunk, df, n, self.at_margin * shrunk)


def paired_means(x: Any, y: Any, *, margin: float, alpha: float = 0.05, span: float | None = None) -> Result:
    """Two one-sided t tests of a mean difference within pairs; p is the larger of the two.

    Args:
        x, y: values of the pairs, one for each case; None or NaN where missing.
        margin: above 0, in the unit of the values.
        alpha: level of each one-sided test.
        span: the largest value possible less the smallest one. Where all pairs differ by the same amount, t has no
            error to go by; the interval then rests on the exact bound ``1 − alpha^(1/n)`` of the share of cases that
            could differ from all those seen, each by as much as the span allows. Without it there is no interval.

    ``details`` has the p of each test (:data:`NOT_BELOW` −margin, :data:`NOT_ABOVE` margin), the chance to show
    equivalence or one side of it were there no difference at all, and the cases that would raise it to
    :data:`PLANNED_POWER`.

    Raises:
        DataError: unequal lengths, or an impossible margin or alpha.
    """
    _check(margin, alpha)
    a, b, dropped = pairs(x, y)
    blank = Result(
        name="mean difference", method=f"two one-sided paired t tests, margin ± {margin:g}, alpha {alpha:g}",
        n=a.size, dropped=dropped, options={"margin": margin, "alpha": alpha, "span": span},
    )  # fmt: skip
    if a.size < 2:
        return blank.no_value("fewer than two pairs")
    deltas = differences(a, b)
    if constant(deltas):
        return _without_variation(blank, float(deltas.mean()), span)
    with from_extra("statistics", "two one-sided t tests need statsmodels"):
        from statsmodels.stats.weightstats import ttost_paired

    _, below, above = ttost_paired(a, b, -margin, margin)
    error = float(deltas.std(ddof=1) / np.sqrt(a.size))
    bounds = t_interval(float(deltas.mean()), error, a.size - 1, 1 - 2 * alpha, "t")
    result = replace(blank, estimate=float(deltas.mean()), interval=bounds, standard_error=error)
    precision = _Precision(error, a.size - 1.0, a.size, error)
    return _tested(result, float(below[1]), float(above[1]), precision)


def _without_variation(blank: Result, difference: float, span: float | None) -> Result:
    """The result of pairs that all differ by the same amount."""
    margin, alpha, n = blank.options["margin"], blank.options["alpha"], blank.n
    if span is None or abs(difference) > span:
        reason = "all pairs differ by the same amount, and the scale's ends are not known"
        return replace(blank, estimate=difference, missing=f"no interval: {reason}")
    unseen = 1 - alpha ** (1 / n)
    bounds = Interval(
        difference - unseen * (span + difference), difference + unseen * (span - difference), 1 - 2 * alpha,
        "exact bound of the share of unseen differences",
    )  # fmt: skip

    def tail(room: float, spread: float) -> float:
        return 1.0 if room <= 0 else float(max(0.0, 1 - room / spread) ** n) if spread > 0 else 0.0

    below, above = tail(margin + difference, span + difference), tail(margin - difference, span - difference)
    shown = float(unseen * span < margin)
    needed = 1 if margin >= span else int(np.ceil(np.log(alpha) / np.log1p(-margin / span)))
    return replace(
        blank,
        method=f"exact bound, margin ± {margin:g}, alpha {alpha:g}: all pairs differ by the same amount",
        estimate=difference, interval=bounds, p=max(below, above),
        details={
            NOT_BELOW: below, NOT_ABOVE: above, CHANCE: shown, CHANCE_ONE_SIDED: shown,
            CASES: float(needed), CASES_ONE_SIDED: float(needed),
        },
    )  # fmt: skip


def unpaired_means(x: Any, y: Any, *, margin: float, alpha: float = 0.05) -> Result:
    """Two one-sided Welch tests of the difference of two groups' means; arguments and details as for
    :func:`paired_means`, cases counted over both groups."""
    _check(margin, alpha)
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    blank = Result(
        name="mean difference", method=f"two one-sided Welch t tests, margin ± {margin:g}, alpha {alpha:g}",
        n=a.size + b.size, dropped=lost_a + lost_b, options={"margin": margin, "alpha": alpha},
    )  # fmt: skip
    if min(a.size, b.size) < 2:
        return blank.no_value("a group has fewer than two values")
    difference = float(a.mean() - b.mean())
    if constant(a) and constant(b):
        return replace(blank, estimate=difference, missing="no interval: values don't vary within the groups")
    with from_extra("statistics", "two one-sided t tests need statsmodels"):
        from statsmodels.stats.weightstats import ttost_ind

    _, below, above = ttost_ind(a, b, -margin, margin, usevar="unequal")
    error, df = welch_error(a.var(ddof=1) / a.size, a.size, b.var(ddof=1) / b.size, b.size)
    bounds = t_interval(difference, error, df, 1 - 2 * alpha, "t, Welch")
    result = replace(blank, estimate=difference, interval=bounds, standard_error=error)
    return _tested(result, float(below[1]), float(above[1]), _Precision(error, df, a.size + b.size, error))


def standardised_means(x: Any, y: Any, *, margin: float, alpha: float = 0.05) -> Result:
    """Two one-sided Welch tests of the difference of two means, in standard deviations of ``y``'s group (Glass's Δ with
    Hedges' correction); arguments and details as for :func:`paired_means`, the margin in standard deviations.

    The standard deviation is estimated, too: ``x`` is held against the values whose mean is ``y``'s, moved by the
    margin times each one's influence on mean and deviation. The interval inverts these tests. With few cases of very
    skewed values it claims too much: take logarithms, or thirty cases.
    """
    from scipy.special import gammaln, stdtr

    _check(margin, alpha)
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    blank = Result(
        name="standardised mean difference",
        method=f"two one-sided Welch t tests, margin ± {margin:g} standard deviations of y, alpha {alpha:g}",
        n=a.size + b.size, dropped=lost_a + lost_b, options={"margin": margin, "alpha": alpha},
    )  # fmt: skip
    if min(a.size, b.size) < 2:
        return blank.no_value("a group has fewer than two values")
    if constant(b):
        return blank.no_value("the values of y don't vary")
    difference, sd, rest = float(a.mean() - b.mean()), float(b.std(ddof=1)), b - b.mean()
    df = b.size - 1
    correction = float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))

    influence, of_a = rest**2 / sd - sd, a.var(ddof=1) / a.size

    def error_at(shift: float) -> tuple[float, float]:
        moved = rest + shift * influence / 2
        return welch_error(of_a, a.size, moved.var(ddof=1) / b.size, b.size)

    def tail(shift: float, side: int) -> float:
        """p of a difference above ``shift`` standard deviations (side 1), or below it (side −1)."""
        error, df = error_at(shift)
        return float(stdtr(df, side * (shift * sd - difference) / error))

    result = replace(blank, estimate=correction * difference / sd, interval=_inverted(tail, difference / sd, alpha))
    precision = _Precision(error_at(0.0)[0] / sd, error_at(0.0)[1], a.size + b.size, error_at(margin)[0] / sd)
    return _tested(result, tail(-margin, 1), tail(margin, -1), precision)


def _inverted(tail: Callable[[float, int], float], centre: float, alpha: float) -> Interval | None:
    """The shifts that neither of two one-sided tests rejects; None where one of them rejects none."""
    from scipy.optimize import brentq

    far = 100.0
    if max(tail(centre - far, 1), tail(centre + far, -1)) > alpha:
        return None
    low = brentq(lambda shift: tail(shift, 1) - alpha, centre - far, centre)
    high = brentq(lambda shift: tail(shift, -1) - alpha, centre, centre + far)
    return Interval(float(low), float(high), 1 - 2 * alpha, "t, Welch, tests inverted")


def mean_difference(difference: Result, *, margin: float, alpha: float = 0.05) -> Result:
    """Two one-sided t tests of a difference whose standard error and degrees of freedom are known.

    Args:
        difference: with ``estimate``, ``standard_error`` and ``details["degrees of freedom"]``, as
            :mod:`~bedside.stats.crossed_raters` gives it.
        margin, alpha: as for :func:`paired_means`, whose details the result has, too; but for the cases needed, which
            depend on the raters as well.
    """
    from scipy.special import stdtr

    _check(margin, alpha)
    blank = replace(
        difference,
        method=f"two one-sided t tests by the {difference.method}, margin ± {margin:g}, alpha {alpha:g}",
        interval=None, statistic=None, p=None, options={**difference.options, "margin": margin, "alpha": alpha},
    )  # fmt: skip
    estimate, error = difference.estimate, difference.standard_error
    df = difference.details.get("degrees of freedom")
    if estimate is None or not error or df is None:
        return replace(blank, missing=difference.missing or "the difference has no standard error")
    result = replace(blank, interval=t_interval(estimate, error, df, 1 - 2 * alpha, "t"))
    below, above = (float(stdtr(df, -(margin + side * estimate) / error)) for side in (1, -1))
    tested = _tested(result, below, above, _Precision(error, df, difference.n, error))
    return replace(tested, details={**tested.details, CASES: None, CASES_ONE_SIDED: None})


def paired_proportions(x: Any, y: Any, *, margin: float, alpha: float = 0.05) -> Result:
    """Zeros and ones of the same cases; see :func:`paired_proportions_from_table`.

    Raises:
        DataError: a value is neither 0 nor 1.
    """
    table, dropped = binary_pairs(x, y, "a difference of proportions")
    return replace(paired_proportions_from_table(table, margin=margin, alpha=alpha), dropped=dropped)


def paired_proportions_from_table(table: Any, *, margin: float, alpha: float = 0.05) -> Result:
    """Tango's (1998) score tests and score interval of the difference of two proportions of the same cases.

    Args:
        table: counts ``[[both, only x], [only y, neither]]``.
        margin: 0 … 1; ``alpha`` as for :func:`paired_means`, whose details the result has, too.
    """
    from scipy.special import ndtr

    _check(margin, alpha, largest=1.0)
    counts = counts_of_two(table, "a difference of paired proportions")
    only_x, only_y, n = int(counts[0, 1]), int(counts[1, 0]), int(counts.sum())
    blank = Result(
        name="difference of proportions",
        method=f"Tango's score tests of paired proportions, margin ± {margin:g}, alpha {alpha:g}",
        n=n, options={"margin": margin, "alpha": alpha},
    )  # fmt: skip
    if n == 0:
        return blank.no_value("no pairs")
    discordant = (only_x + only_y) / n
    result = replace(
        blank, estimate=(only_x - only_y) / n, interval=tango_interval(only_x, only_y, n, level=1 - 2 * alpha),
        standard_error=float(np.sqrt(max(0.0, discordant - ((only_x - only_y) / n) ** 2) / n)),
    )  # fmt: skip
    below = float(ndtr(-tango_statistic(only_x, only_y, n, -margin)))
    above = float(ndtr(tango_statistic(only_x, only_y, n, margin)))
    at_margin = margin / tango_statistic(discordant / 2, discordant / 2, 1, -margin)
    precision = _Precision(float(np.sqrt(discordant / n)), None, n, at_margin / float(np.sqrt(n)))
    return _tested(result, below, above, precision)


def unpaired_proportions(x: Any, y: Any, *, margin: float, alpha: float = 0.05) -> Result:
    """Miettinen and Nurminen's (1985) score tests and interval of two groups' proportions.

    Args:
        x, y: zeros and ones of each group; None or NaN where missing.
        margin, alpha: as for :func:`paired_means`, whose details the result has, too.

    Raises:
        DataError: a value is neither 0 nor 1.
    """
    from scipy.special import ndtr

    _check(margin, alpha, largest=1.0)
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    if not (np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all()):
        raise DataError("proportions need values of 0 and 1")
    n = a.size + b.size
    blank = Result(
        name="difference of proportions",
        method=f"Miettinen and Nurminen's score tests, margin ± {margin:g}, alpha {alpha:g}",
        n=n, dropped=lost_a + lost_b, options={"margin": margin, "alpha": alpha},
    )  # fmt: skip
    if min(a.size, b.size) == 0:
        return blank.no_value("a group has no values")
    groups = {"n_x": a.size, "n_y": b.size}
    counts = {"ones_x": int(a.sum()), "ones_y": int(b.sum()), **groups}
    result = replace(
        blank, estimate=float(a.mean() - b.mean()),
        interval=miettinen_nurminen_interval(**counts, level=1 - 2 * alpha),
        standard_error=float(np.sqrt(a.var() / a.size + b.var() / b.size)),
    )  # fmt: skip
    below = float(ndtr(-miettinen_nurminen_statistic(**counts, difference=-margin)))
    above = float(ndtr(miettinen_nurminen_statistic(**counts, difference=margin)))
    share = (a.sum() + b.sum()) / n
    alike = {"ones_x": share * a.size, "ones_y": share * b.size, **groups}
    error = float(np.sqrt(share * (1 - share) * (1 / a.size + 1 / b.size)))
    at_margin = margin / miettinen_nurminen_statistic(**alike, difference=-margin)
    return _tested(result, below, above, _Precision(error, None, n, at_margin))


def _check(margin: float, alpha: float, *, largest: float = float("inf")) -> None:
    if not (np.isfinite(margin) and margin > 0):
        raise DataError(f"a margin of {margin:g} allows nothing", where="`margin`", todo="give a number above 0")
    if margin >= largest:
        raise DataError(
            f"a margin of {margin:g} of a proportion allows anything", where="`margin`", todo="give one below 1"
        )
    if not 0 < alpha < 0.5:
        raise DataError(f"an alpha of {alpha:g} is impossible", todo="give one between 0 and .5")


def _tested(result: Result, below: float, above: float, precision: _Precision) -> Result:
    """The result with its p, and with what so many cases could have shown."""
    planned = (precision, result.options["margin"], result.options["alpha"])
    details = {
        **result.details, NOT_BELOW: below, NOT_ABOVE: above,
        CHANCE: _chance(*planned, both=True), CHANCE_ONE_SIDED: _chance(*planned, both=False),
        CASES: _cases(*planned, both=True), CASES_ONE_SIDED: _cases(*planned, both=False),
    }  # fmt: skip
    return replace(result, p=max(below, above), details=details)


@cache
def _chi_points() -> tuple[Array, Array]:
    """Upper tails of a distribution, and the weights of its quantiles there: Gauss and Legendre's 128 points."""
    nodes, weights = np.polynomial.legendre.leggauss(128)
    return (1 - nodes) / 2, weights / 2


@lru_cache(maxsize=256)  # as many numbers of cases are tried for one test and for both, and for each measure
def _spreads(df: float) -> Array:
    """A standard error over what it is in the mean square, at these points."""
    from scipy.special import chdtri

    return np.asarray(np.sqrt(chdtri(df, _chi_points()[0]) / df))


def _chance(precision: _Precision, margin: float, alpha: float, *, both: bool) -> float:
    """Chance of both one-sided tests, or of one, to reject where there is no difference.

    The estimate is normal around 0; its standard error varies as a chi with the degrees of freedom, over which the
    chance is averaged (of one test this is the non-central t's, of two Owen's Q).
    """
    from scipy.special import ndtr, ndtri, stdtrit

    spreads: Array = np.ones(1)
    weights: Array = np.ones(1)
    if precision.df is None:
        quantile = float(ndtri(1 - alpha))
    else:
        spreads, weights = _spreads(precision.df), _chi_points()[1]
        quantile = float(stdtrit(precision.df, 1 - alpha))
    room = margin - quantile * spreads * precision.at_margin
    if precision.error == 0:
        return float(room[0] > 0)
    inside = ndtr(room / precision.error)
    rejected = np.maximum(0.0, 2 * inside - 1) if both else inside
    return float(weights @ rejected)


def _cases(precision: _Precision, margin: float, alpha: float, *, both: bool) -> float | None:
    """Cases with which the chance reaches the planned power; None where no number in sight does."""
    cases = fewest(lambda n: _chance(precision.with_cases(n), margin, alpha, both=both) >= PLANNED_POWER, _MOST_CASES)
    return None if cases is None else float(cases)
