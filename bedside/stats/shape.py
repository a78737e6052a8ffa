"""What shape has a distribution? Skewness and D'Agostino's test of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.stats.arrays import chosen, clean, constant
from bedside.stats.paired import ALTERNATIVES
from bedside.stats.result import Result


def skewness(values: Any, *, adjusted: bool = False, alternative: str = "two-sided") -> Result:
    """Skewness with D'Agostino's (1970) test that it is zero; the statistic is its normal deviate z.

    Args:
        values: numbers; None or NaN where missing.
        adjusted: the estimate corrected for small samples (G1) instead of the plain third standardised moment
            (g1). The test is the same.
        alternative: ``"greater"``: skewed to the right.

    The test needs eight values.
    """
    from scipy import stats

    chosen("alternative", alternative, ALTERNATIVES)
    there, dropped = clean(values)
    n = there.size
    words = f"{'adjusted ' if adjusted else ''}skewness with D'Agostino's test, {alternative}"
    options = {"adjusted": adjusted, "alternative": alternative}
    details: dict[str, float | None] = {}
    if n:
        details = {
            "mean": float(there.mean()),
            "standard deviation": float(there.std(ddof=1)) if n > 1 else None,
        }
    if n < 3 or constant(there):
        reason = "fewer than three values" if n < 3 else "all values are equal"
        return Result(
            name="skewness",
            method=words,
            n=n,
            dropped=dropped,
            details=details,
            options=options,
            missing=reason,
        )
    estimate = float(stats.skew(there, axis=0, bias=not adjusted, nan_policy="propagate"))
    if n < 8:
        return Result(
            name="skewness", method=words, estimate=estimate, n=n, dropped=dropped, details=details, options=options,
            missing="no p-value: fewer than eight values",
        )  # fmt: skip
    found = stats.skewtest(there, axis=0, nan_policy="propagate", alternative=alternative)
    return Result(
        name="skewness", method=words, estimate=estimate, interval=None, statistic=float(found.statistic), p=float(found.pvalue), n=n, dropped=dropped,
        details=details, options=options,
    )  # fmt: skip


def differs_from_normal(values: Any) -> Result:
    """D'Agostino and Pearson's omnibus test of skewness and kurtosis; the statistic is their K², estimate none.

    The test needs twenty values for its kurtosis part to hold.
    """
    from scipy import stats

    there, dropped = clean(values)
    words = "D'Agostino and Pearson's test of normality"
    if there.size < 20 or constant(there):
        reason = "fewer than twenty values" if there.size < 20 else "all values are equal"
        return Result(name="K²", method=words, n=there.size, dropped=dropped, missing=reason)
    found = stats.normaltest(there, axis=0, nan_policy="propagate")
    value = float(found.statistic)
    return Result(
        name="K²",
        method=words,
        estimate=value,
        interval=None,
        statistic=value,
        p=float(found.pvalue),
        n=int(np.size(there)),
        dropped=dropped,
    )
