"""What shape has a distribution? Skewness and D'Agostino's test of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import clean, constant
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

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    present, dropped = clean(values)
    n = present.size
    details: dict[str, float | None] = {}
    if n:
        details = {"mean": float(present.mean()), "standard deviation": float(present.std(ddof=1)) if n > 1 else None}
    blank = Result(
        name="skewness", method=f"{'adjusted ' if adjusted else ''}skewness with D'Agostino's test, {alternative}", n=n,
        dropped=dropped, details=details, options={"adjusted": adjusted, "alternative": alternative},
    )  # fmt: skip
    if n < 3 or constant(present):
        return blank.no_value("fewer than three values" if n < 3 else "all values are equal")
    result = replace(blank, estimate=float(stats.skew(present, axis=0, bias=not adjusted, nan_policy="propagate")))
    if n < 8:
        return replace(result, missing="no p-value: fewer than eight values")
    tested = stats.skewtest(present, axis=0, nan_policy="propagate", alternative=alternative)
    return replace(result, statistic=float(tested.statistic), p=float(tested.pvalue))
