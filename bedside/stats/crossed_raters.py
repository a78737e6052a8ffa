"""Do two systems differ for raters like these? The quasi-F of cases × raters, both drawn from many.

Averaging raters first and testing over cases answers for these very raters: what one of them likes about a system
doesn't shrink with more cases. Here raters are drawn as cases are (Winer 1971; Clark 1973).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.stats.arrays import Alternative, Array, chosen, matrix
from bedside.stats.intervals import t_interval
from bedside.stats.result import Result

#: With fewer, how much raters differ in what they make of two systems can't be told.
FEWEST_RATERS = 3
#: Names of what the details hold.
DF, SD_RATERS = "degrees of freedom", "standard deviation of raters"


def paired_difference(x: Any, y: Any, *, level: float = 0.95) -> Result:
    """The mean difference of two systems rated by the same raters on the same cases, for cases and raters like these.

    Args:
        x, y: each system's values, cases × raters; a case without the value of some rater under one of the systems is
            left out and counted. At least two cases and :data:`FEWEST_RATERS` raters must stay.
        level: nominal coverage of the t interval.

    Statistic: ``F' = I · J · mean² / (MS_case + MS_rater − MS_error)`` of the differences x − y; its error is never
    less than MS_case, nor than MS_rater, for no source of variation is negative. The critical value of its root is
    Cochran's: that of t with I − 1 and with J − 1 degrees of freedom, weighted by MS_case and MS_rater. ``details``
    has the degrees of freedom at which t has it, and the standard deviation of what raters make of the difference, 0
    where they differ no more than by chance. Satterthwaite's degrees of freedom reject too much with three raters: in
    8 % of null data of 100 cases at 5 %, where Cochran's critical value stays below 6.5 % (``benchmarks/``).

    Source: Clark (1973), "The language-as-fixed-effect fallacy"; Cochran (1964), "Approximate significance levels of
    the Behrens–Fisher test".
    """
    left, right = matrix(x, "x"), matrix(y, "y")
    deltas = left - right
    complete = ~np.isnan(deltas).any(axis=1)
    deltas = deltas[complete]
    cases, raters = deltas.shape
    blank = Result(
        name="mean difference",
        method=f"quasi-F of cases × raters, paired by case, {raters} raters, Cochran's critical value",
        n=cases, dropped=int((~complete).sum()), options={"level": level},
    )  # fmt: skip
    reason = _too_few(cases, raters)
    if reason is not None:
        return blank.no_value(reason)
    by_case, by_rater, error = _mean_squares(deltas)
    size = cases * raters
    return _quasi_f(
        blank, float(deltas.mean()),
        added=((by_case / size, cases - 1), (by_rater / size, raters - 1)), taken=error / size,
        spread=float(np.sqrt(max(0.0, (by_rater - error) / cases))),
    )  # fmt: skip


def unpaired_difference(x: Any, y: Any, *, level: float = 0.95) -> Result:
    """The same where each system has cases of its own, all rated by the same raters.

    Args:
        x, y: each system's values, cases × raters, the raters in the same order.
        level: nominal coverage.

    The variance of the mean difference is the sum over both systems of ``(MS_case − MS_error) / (I · J)``, and the
    variance over raters of their own differences, over J; where cases pair it is that of :func:`paired_difference`.
    """
    left, right = matrix(x, "x"), matrix(y, "y")
    kept = [table[~np.isnan(table).any(axis=1)] for table in (left, right)]
    raters = kept[0].shape[1]
    blank = Result(
        name="mean difference",
        method=f"quasi-F of cases within systems × raters, {raters} raters, Cochran's critical value",
        n=sum(len(table) for table in kept),
        dropped=len(left) + len(right) - sum(len(table) for table in kept), options={"level": level},
    )  # fmt: skip
    reason = _too_few(min(map(len, kept)), raters)
    if reason is not None:
        return blank.no_value(reason)
    added, taken = [], 0.0
    for table in kept:
        cases = len(table)
        by_case, _, error = _mean_squares(table)
        added.append((by_case / (cases * raters), cases - 1))
        taken += error / (cases * raters)
    own = kept[0].mean(axis=0) - kept[1].mean(axis=0)
    added.append((float(own.var(ddof=1)) / raters, raters - 1))
    spread = float(np.sqrt(max(0.0, own.var(ddof=1) - raters * taken)))
    return _quasi_f(blank, float(own.mean()), added=added, taken=taken, spread=spread)


def asked_for(difference: Result, *, alternative: Alternative = "two-sided", level: float = 0.95) -> Result:
    """A difference of :func:`paired_difference` or :func:`unpaired_difference`, tested as asked.

    Args:
        difference: the result.
        alternative: ``"greater"``: the first system is higher on average.
        level: nominal coverage of the interval, which is two-sided whatever the alternative.
    """
    from scipy.special import stdtr

    chosen("alternative", alternative, ("two-sided", "greater", "less"))
    estimate, error, df = difference.estimate, difference.standard_error, difference.details.get(DF)
    if estimate is None or error is None or df is None:
        return difference
    above, below = float(stdtr(df, -estimate / error)), float(stdtr(df, estimate / error))
    return replace(
        difference,
        method=f"{difference.method}, {alternative}",
        interval=t_interval(estimate, error, df, level, "t of the quasi-F"),
        p={"two-sided": 2 * min(above, below), "greater": above, "less": below}[alternative],
        options={**difference.options, "alternative": alternative, "level": level},
    )


def _too_few(cases: int, raters: int) -> str | None:
    if raters < FEWEST_RATERS:
        return f"raters like these need {FEWEST_RATERS} raters or more"
    return "fewer than two cases that all raters rated" if cases < 2 else None


def _mean_squares(table: Array) -> tuple[float, float, float]:
    """Mean squares of cases, raters and error of a table of cases × raters without gaps."""
    cases, raters = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns[None, :] + mean
    return (
        raters * float(rows.var(ddof=1)),
        cases * float(columns.var(ddof=1)),
        float((rest**2).sum()) / ((cases - 1) * (raters - 1)),
    )


def _quasi_f(blank: Result, difference: float, *, added: Any, taken: Any, spread: float) -> Result:
    """The result of a difference whose variance is some mean squares less others.

    Args:
        blank: what was tested.
        difference: the estimate.
        added, taken: what makes up the variance, that of raters last, and what is taken from it; what is added has its
            degrees of freedom.
        spread: standard deviation of what raters make of the difference.
    """
    from scipy.special import stdtr

    *cases, (raters, _) = added
    by_cases = sum(part for part, _ in cases)
    # No source of variation is negative: what stays is at least the error of the other.
    variance = max(by_cases + raters - taken, by_cases, raters)
    result = replace(blank, estimate=difference)
    if variance <= 1e-24 + 1e-20 * difference**2:
        return replace(result, missing="no interval and no p-value: values don't vary over cases and raters")
    df = _cochran_df(added)
    error = float(np.sqrt(variance))
    t = difference / error
    return replace(
        result,
        interval=t_interval(difference, error, df, blank.options["level"], "t of the quasi-F"),
        statistic=t**2,
        p=float(2 * stdtr(df, -abs(t))),
        standard_error=error,
        details={DF: df, SD_RATERS: spread},
    )


def _cochran_df(parts: Any) -> float:
    """The degrees of freedom at which t has Cochran's critical value: the parts' own at 5 %, weighted by them."""
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    present = [(part, df) for part, df in parts if part > 0]
    low, high = min(df for _, df in present), max(df for _, df in present)
    critical = sum(part * stdtrit(df, 0.975) for part, df in present) / sum(part for part, _ in present)
    # Of a part that is next to nothing, rounding leaves the mean at or outside the other's value.
    for end, side in ((low, 1), (high, -1)):
        if side * (stdtrit(end, 0.975) - critical) <= 0:
            return float(end)
    return float(brentq(lambda df: stdtrit(df, 0.975) - critical, low, high))
