"""Has a rater changed? Levels that it gives now against those that it gave before, on a sample drawn by strata."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.stats._resampling import aligned
from bedside.stats.arrays import vector
from bedside.stats.equivalence import mean_difference, paired_means
from bedside.stats.intervals import t_interval
from bedside.stats.result import Result

#: Names of what the details hold: p of the two one-sided tests, and the ends of their interval.
EQUIVALENCE, ALIKE_LOW, ALIKE_HIGH = "p equivalence", "equivalence low", "equivalence high"
#: The greatest number of anchors that is looked at for a plan.
_MOST_ANCHORS = 100_000


def rater_change(
    before: Any,
    now: Any,
    *,
    margin: float,
    strata: Any = None,
    sizes: Any = None,
    clusters: Any = None,
    span: float | None = None,
    alpha: float = 0.05,
) -> Result:
    """The mean change of a rater's values over all that a sample stands for, with its test and its test of no change.

    Args:
        before, now: values of the same units, one for each unit; None or NaN where missing.
        margin: change below which the rater counts as the same, above 0, in the unit of the values.
        strata: the stratum that each unit was drawn in; one for all unless given.
        sizes: for each unit, how many units its stratum has in all; strata count by what was drawn unless given.
        clusters: for each unit the case that it belongs to; each stands alone unless given.
        span: the largest value possible less the smallest one; without it there is no interval where all units change
            by the same amount, or none does.
        alpha: level of the test, and of each of the two one-sided ones.

    The estimate is the stratified mean of now − before. Its error is by case, about each stratum's own mean: where
    strata are levels given before, a rater that wavers moves towards the middle in each of them, and on the whole it
    doesn't. ``p`` is the t test's that nothing changed; ``details`` has p and the ends of the two one-sided tests that
    the change lies within ± margin.

    Raises:
        DataError: unequal lengths, a stratum larger in the sample than it is, or an impossible margin.
    """
    x, y = vector(before, "values before"), vector(now, "values now")
    if x.size != y.size:
        raise DataError(f"{counted(x.size, 'value')} before and {y.size} now", todo="give both of each unit")
    kept = ~np.isnan(x) & ~np.isnan(y)
    cells = _numbered(np.zeros(x.size) if strata is None else aligned(strata, x.size), kept)
    cases = _numbered(np.arange(x.size) if clusters is None else aligned(clusters, x.size), kept)
    deltas = (y - x)[kept]
    blank = Result(
        name="change of the rater", method=f"stratified mean of now − before, t by case, margin ± {margin:g}",
        n=deltas.size, dropped=int((~kept).sum()), options={"margin": margin, "alpha": alpha},
    )  # fmt: skip
    if deltas.size < 2:
        return blank.no_value("fewer than two units have both values")
    drawn = np.bincount(cells)
    loads = np.ones(deltas.size) if sizes is None else vector(sizes, "sizes")[kept] / drawn[cells]
    if (loads < 1 - 1e-9).any():
        raise DataError("more units of a stratum were drawn than it has", where="`sizes`")
    loads = loads / loads.sum()
    estimate = float(loads @ deltas)
    means = np.bincount(cells, deltas) / drawn
    alone = drawn[cells] == 1  # a stratum of one unit says nothing of how far its units vary
    spread = np.sqrt(drawn[cells] / np.maximum(drawn[cells] - 1, 1))
    residuals = np.where(alone, deltas - estimate, (deltas - means[cells]) * spread)
    totals = np.bincount(cases, loads * residuals)
    error = float(np.sqrt((totals**2).sum()))
    loads_of_cases = np.bincount(cases, loads)
    df = max(1.0, float(1 / (loads_of_cases**2).sum()) - (drawn > 1).sum())
    if not error:
        return _all_alike(blank, estimate, int(1 / (loads_of_cases**2).sum()), span)
    details: dict[str, Any] = {"degrees of freedom": df}
    result = replace(blank, estimate=estimate, standard_error=error, details=details)
    alike = mean_difference(result, margin=margin, alpha=alpha)
    details |= _alike(alike)
    from scipy.special import stdtr

    p = 2 * float(stdtr(df, -abs(estimate) / error))
    return replace(result, interval=t_interval(estimate, error, df, 1 - alpha, "t by case"), p=p, details=details)


def _all_alike(blank: Result, estimate: float, cases: int, span: float | None) -> Result:
    """The result where all units change alike: its interval is by the exact bound of the share of cases that could
    change otherwise, and its test is of signs."""
    margin, alpha = blank.options["margin"], blank.options["alpha"]
    p = min(1.0, 2 * 0.5**cases) if estimate else 1.0
    now, before = np.full(max(cases, 2), estimate), np.zeros(max(cases, 2))
    alike, both = (paired_means(now, before, margin=margin, alpha=level, span=span) for level in (alpha, alpha / 2))
    return replace(
        blank, method=alike.method if alike.interval else blank.method, estimate=estimate, interval=both.interval, p=p,
        details=_alike(alike), missing=alike.missing,
    )  # fmt: skip


def _alike(tested: Result) -> dict[str, float | None]:
    """What the details hold of two one-sided tests; None where there is no interval."""
    ends = tested.interval
    return {EQUIVALENCE: tested.p, ALIKE_LOW: ends.low if ends else None, ALIKE_HIGH: ends.high if ends else None}


def _numbered(names: Any, kept: Any) -> Any:
    return np.unique(np.asarray(names)[kept].astype(str), return_inverse=True)[1]


def anchors_for_change(
    change: float, *, spread: float, strata: int = 1, alpha: float = 0.05, power: float = 0.8
) -> int:
    """How many anchors find a mean change of a rater with this power; enough, too, to show that nothing changed.

    Args:
        change: the least change to be found, and the margin of no change, in the unit of the values.
        spread: standard deviation of what one unit changes by.
        strata: how many the anchors are drawn in.
        alpha: level of the test, and of each of the two one-sided ones.
        power: of both.

    The t test's power is exact for normal changes; two one-sided tests are reckoned with the quantile of each side.

    Raises:
        DataError: a change or spread that isn't above 0.
    """
    from scipy.special import nctdtr, ndtri, stdtrit

    if not (change > 0 and spread > 0):
        raise DataError("a change and a spread must be above 0", where="`change`", todo="give numbers above 0")
    alike = ((ndtri(1 - alpha) + ndtri((1 + power) / 2)) * spread / change) ** 2 + strata
    n = max(3, strata + 2, int(np.ceil(alike)))
    while n < _MOST_ANCHORS:
        df, moved = n - strata, change / spread * np.sqrt(n)
        if 1 - nctdtr(df, moved, stdtrit(df, 1 - alpha / 2)) >= power:
            break
        n += max(1, n // 100)
    return n
