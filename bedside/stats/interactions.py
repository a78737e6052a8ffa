"""Does the difference of two systems depend on a condition? Tests of the interaction of system and condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.stats.arrays import Array, constant, differences as rounded_differences, matrix, vector
from bedside.stats.result import Result

#: Spread that is less than this part of the values is rounding.
_NOISE = 1e-10


def within_cases(differences: Any) -> Result:
    """Is the mean difference the same at each level, on cases that have all levels?

    Hotelling's T² of the differences between each level and the last: ``n · m' S⁻¹ m``, whose
    ``(n − q) / (q (n − 1))``-fold is F with ``q = levels − 1`` and ``n − q`` degrees of freedom. With two levels it is
    the paired t test of the difference of differences. Nothing is assumed of how the levels go together. Where the one
    difference of two levels is the same in all cases, p is that of the exact sign-flip test, ``2^(1 − n)``.

    Args:
        differences: cases in rows, levels in columns: system a minus system b; rows with NaN are left out.

    Source: Hotelling (1931), Annals of Mathematical Statistics 2, 360–378; Anderson (2003), Multivariate Statistical
    Analysis, section 5.3.5.
    """
    from scipy.stats import f

    table = matrix(differences, "differences")
    complete = table[~np.isnan(table).any(axis=1)]
    n, q = complete.shape[0], complete.shape[1] - 1
    blank = Result(
        name="Hotelling's T²",
        method="Hotelling's T² of differences between levels, paired by case",
        n=n,
        dropped=table.shape[0] - n,
    )
    if q < 1:
        return blank.no_value("there is one level only")
    if n <= q:
        return blank.no_value(f"{n} cases have all {q + 1} levels, and the test needs {q + 1}")
    contrasts = rounded_differences(complete[:, :-1], complete[:, -1:])
    means = contrasts.mean(axis=0)
    # What cancels in a mean leaves noise in the last digits, which is no spread.
    if np.linalg.matrix_rank(contrasts - means, tol=_NOISE * np.abs(contrasts).max()) < q:
        return _unvarying(blank, contrasts)
    covariance = np.atleast_2d(np.cov(contrasts, rowvar=False))
    squared = float(n * means @ np.linalg.solve(covariance, means))
    statistic = squared * (n - q) / (q * (n - 1))
    return replace(
        blank, estimate=squared, statistic=statistic, p=float(f.sf(statistic, q, n - q)),
        details={"numerator degrees of freedom": q, "denominator degrees of freedom": n - q},
    )  # fmt: skip


def _unvarying(blank: Result, contrasts: Array) -> Result:
    """The result where some difference between levels is the same in all cases."""
    if not np.any(contrasts):
        return replace(blank, estimate=0.0, statistic=0.0, p=1.0)
    if contrasts.shape[1] == 1:
        return replace(blank, p=2.0 ** (1 - contrasts.shape[0]), missing="the differences are all the same")
    return blank.no_value("differences between some levels are the same in all cases")


def between_cases(a: Sequence[Any], b: Sequence[Any]) -> Result:
    """Is the mean difference the same at each level, on cases that have one level each?

    The Welch–James test: ``(C m)' (C V C')⁻¹ (C m)`` of the differences between each level and the last, V the squared
    standard errors of the means, against F with Johansen's degrees of freedom. With two levels it is Welch's t test of
    the difference of differences.

    Args:
        a, b: the values of each system, a vector for each level in the same order; NaN where missing.

    Source: Johansen (1980), Biometrika 67, 85–92.
    """
    from scipy.stats import f

    cells = [vector(values, "values") for values in (*a, *b)]
    cells = [values[~np.isnan(values)] for values in cells]
    levels, q = len(a), len(a) - 1
    blank = Result(
        name="Welch–James statistic",
        method="Welch–James test of differences between levels",
        n=sum(values.size for values in cells),
    )
    if q < 1:
        return blank.no_value("there is one level only")
    if min(values.size for values in cells) < 2:
        return blank.no_value("a system has fewer than two values at some level")
    means = np.array([values.mean() for values in cells])
    squares = np.array([0.0 if constant(values) else values.var(ddof=1) / values.size for values in cells])
    of_levels = np.hstack([np.eye(q), -np.ones((q, 1))])
    contrast = np.hstack([of_levels, -of_levels])
    spread = contrast @ np.diag(squares) @ contrast.T
    if np.linalg.matrix_rank(spread) < q:
        return blank.no_value("the values do not vary")
    inverse = np.linalg.inv(spread)
    statistic = float((contrast @ means) @ inverse @ (contrast @ means))
    hat = np.diag(squares) @ contrast.T @ inverse @ contrast
    # Of a matrix with one row that isn't 0, the trace of the square is the square of the trace.
    shares = np.array([hat[cell, cell] ** 2 / (values.size - 1) for cell, values in enumerate(cells)])
    total = float(shares.sum())
    scale = q + 2 * total - 6 * total / (q + 2)
    freedom = q * (q + 2) / (3 * total)
    return replace(
        blank, estimate=statistic, statistic=statistic / scale, p=float(f.sf(statistic / scale, q, freedom)),
        details={"numerator degrees of freedom": q, "denominator degrees of freedom": freedom},
        options={"levels": levels},
    )  # fmt: skip
