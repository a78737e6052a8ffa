"""How sure is a mean that is looked at while cases still come? Intervals and p-values that hold at every look.

A confidence sequence holds the true value at all looks at once, however many there are and whatever made one look, with
the chance that an interval has at one look alone. Its p-value stays below .05 at any look in at most 5 % of studies in
which nothing differs. Both count cases without their order, so that it doesn't matter which came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, clean
from bedside.stats.result import Interval, Result

#: For which level, and for how many cases where no plan says it, the sequence of an estimate is narrowest.
_LEVEL, USUAL_CASES = 0.95, 100
#: Strategies that the bets on a bounded mean are spread over; the same at each look, or they would bet in hindsight.
_STRATEGIES = 200
_CLOSE = 1e-12


def bounded_mean(values: Any, *, low: float, high: float, null: float = 0.0, level: float = 0.95) -> Result:
    """The mean of values between two ends, by bets against each mean that it might be.

    A mean m is left out once who bets against it has multiplied the stake by ``1/(1 − level)``. For values scaled to
    0 … 1 the wealth is ``∫ Π (b x/m + (1 − b)(1 − x)/(1 − m)) dB(b)`` with Beta(½, ½): of zeros and ones the
    beta-binomial mixture, and narrower where values vary less. It holds from the first case on, for any distribution.

    Args:
        values: one a case; None or NaN where missing.
        low, high: the ends that no value can pass.
        null: the mean that p is of.
        level: coverage at all looks at once.

    Raises:
        DataError: a value beyond an end.

    Source: Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86, 1–27
    (bets spread over fixed strategies); with Cover's weights, Orabona and Jun (2024), Tight concentrations and
    confidence sequences from the regret of universal portfolio, IEEE Transactions on Information Theory 70, 436–455.
    """
    from scipy.optimize import brentq

    present, dropped = clean(values)
    blank = Result(
        name="mean", method="confidence sequence by betting, of a scale with ends", n=present.size,
        dropped=dropped, options={"low": low, "high": high, "null": null, "level": level},
    )  # fmt: skip
    if not present.size:
        return blank.no_value("no values")
    if present.min() < low or present.max() > high:
        raise DataError(f"values go from {present.min():g} to {present.max():g}, beyond {low:g} to {high:g}")
    scaled, counts = np.unique((present - low) / (high - low), return_counts=True)
    mean, limit = float(scaled @ counts / present.size), float(-np.log1p(-level))

    def gap(m: float) -> float:
        return _log_wealth(scaled, counts, m) - limit

    # The wealth against the mean of the values is 1 at most, and grows to both sides.
    ends = []
    for end in (_CLOSE, 1 - _CLOSE):
        inside = min(max(mean, _CLOSE), 1 - _CLOSE)
        ends.append(brentq(gap, *sorted((inside, end)), xtol=1e-10) if gap(end) > 0 else round(end))
    interval = Interval(low + ends[0] * (high - low), low + ends[1] * (high - low), level, "betting, at every look")
    against = min(max((null - low) / (high - low), _CLOSE), 1 - _CLOSE)
    p = float(np.exp(-max(_log_wealth(scaled, counts, against), 0.0)))
    return replace(blank, estimate=float(present.mean()), interval=interval, p=p)


def _log_wealth(values: Array, counts: Any, mean: float) -> float:
    """The logarithm of what bets against a mean come to, on values of 0 … 1 that came so many times."""
    bets = np.sin((np.arange(_STRATEGIES) + 0.5) / _STRATEGIES * np.pi / 2)[:, None] ** 2
    logs = np.log(bets * values / mean + (1 - bets) * (1 - values) / (1 - mean)) @ counts
    return float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))


def any_estimate(
    estimate: float,
    standard_error: float,
    *,
    cases: float,
    planned: float = USUAL_CASES,
    df: float = np.inf,
    ends: tuple[float, float] = (-np.inf, np.inf),
    null: float = 0.0,
    level: float = 0.95,
) -> Result:
    """Any estimate with a standard error that falls as cases come, such as a difference of means.

    ``estimate ± SE · √((1 + 1/r) · 2 log(√(1 + r)/α))`` with r = n ρ², and ρ such that it is narrowest at the planned
    number of cases at 95 %: the asymptotic confidence sequence. With degrees of freedom it is that of Student's t,
    which holds from the second case on where values are normal, and is without ends while cases are too few:
    ``SE · √(df · u/(1 − u))`` with ``u = (1 + 1/r)(1 − (α/√(1 + r))^(2/(df + 1)))``.

    Args:
        estimate, standard_error: at this look; the error in the estimate's units, above 0.
        cases: that it rests on.
        planned: how many there will be; it must not depend on what was seen.
        df: degrees of freedom of the standard error.
        ends: that the true value can't pass, nor does the interval.
        null: the value that p is of.
        level: coverage at all looks at once.

    Returns:
        Without an interval where cases are too few for one; p is there all the same.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), Time-uniform central limit theory and asymptotic
    confidence sequences, Annals of Statistics 52, 2613–2640; of t: Lai (1976), Annals of Statistics 4, 265–280, as in
    Wang and Ramdas (2025), Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance,
    Sequential Analysis 44, 56–110.
    """
    r, alpha = cases / planned * _ratio_at_end(), 1 - level
    squared = ((estimate - null) / standard_error) ** 2
    if np.isinf(df):
        reach = np.sqrt((1 + 1 / r) * 2 * np.log(np.sqrt(1 + r) / alpha))
        log_wealth = r / (1 + r) * squared / 2
    else:
        part = (1 + 1 / r) * (1 - (alpha / np.sqrt(1 + r)) ** (2 / (df + 1)))
        reach = np.sqrt(df * part / (1 - part)) if part < 1 else np.inf
        log_wealth = -(df + 1) / 2 * np.log1p(-r / (1 + r) * squared / (df + squared))
    half, words = float(reach) * standard_error, "asymptotic" if np.isinf(df) else "t"
    low, high = max(estimate - half, min(ends[0], estimate)), min(estimate + half, max(ends[1], estimate))
    interval = Interval(low, high, level, f"{words}, at every look")
    return Result(
        name="estimate", method=f"confidence sequence ({words}), narrowest at {planned:g} cases", estimate=estimate,
        interval=interval if np.isfinite(half) else None,
        p=float(np.exp(-max(log_wealth - np.log1p(r) / 2, 0.0))), n=int(cases), standard_error=standard_error,
        options={"planned": planned, "df": df, "ends": ends, "null": null, "level": level},
        missing=None if np.isfinite(half) else "no interval: cases are too few for one that holds at every look",
    )  # fmt: skip


@cache
def _ratio_at_end() -> float:
    """n ρ² at the planned number of cases, where the sequence at 95 % is narrowest then."""
    from scipy.special import lambertw

    return float(-lambertw(-((1 - _LEVEL) ** 2) / np.e, -1).real - 1)


def error_with_unseen(
    standard_error: float | None, means: Sequence[float], cases: Sequence[int], ends: tuple[float, float] | None
) -> float:
    """The standard error of a mean, or of a difference of means, as if each had two cases more, one at each end of the
    scale: without them a few cases that happen to be alike would be taken for all.

    Args:
        standard_error: 0 or None where the cases don't vary.
        means, cases: each mean that it is of, and how many cases that has.
        ends: of the scale; None where one isn't known, and nothing is added.
    """
    squared = (standard_error or 0.0) ** 2
    if ends is not None:
        half, middle = (ends[1] - ends[0]) / 2, (ends[0] + ends[1]) / 2
        squared += sum(
            2 * (half**2 + (mean - middle) ** 2) / (n * (n + 1)) for mean, n in zip(means, cases, strict=True)
        )
    return float(np.sqrt(squared))
