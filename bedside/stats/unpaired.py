"""Do two groups of different cases differ? Unpaired tests; each result carries estimate, interval and effect.

Differences are first group minus second. Missing values are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import blocks
from bedside.stats._exact import melded_bounds, rank_sum_distribution, tail
from bedside.stats._resampling import shift_of_groups
from bedside.stats.arrays import Alternative, Array, Seed, clean, constant, counts_of_two, generator, seed_in_words
from bedside.stats.effects import cliffs_delta, cohens_d, cohens_d_from_summary, odds_ratio
from bedside.stats.intervals import t_interval, welch_error
from bedside.stats.result import Effect, Interval, Result

ALTERNATIVES = ("two-sided", "greater", "less")
#: Why a test of two groups has no value.
EMPTY_GROUP = "a group has no values"
#: The exact rank-sum test is offered for up to this many values in both groups together.
MOST_EXACT_VALUES = 200


def mann_whitney(
    x: Any,
    y: Any,
    *,
    method: Literal["asymptotic", "exact", "monte-carlo"] = "asymptotic",
    continuity: bool = True,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    shift: bool = True,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Mann–Whitney U test; statistic U of the first group, estimate the Hodges–Lehmann shift.

    Args:
        method: ``"asymptotic"``: normal approximation with ties corrected; ``"exact"``: permutation
            distribution of the midranks (right with ties, two-sided by distance from the mean), for up to 200
            values; ``"monte-carlo"``: the same from random permutations, p = (as extreme + 1) / (drawn + 1).
        continuity: continuity correction of the normal approximation.
        alternative: ``"greater"``: the first group tends to be higher.
        resamples, seed: of the Monte Carlo method.
        shift: whether to find the shift and its interval, which take most of the time on thousands of values.

    The shift's interval lies between two ordered differences and inverts the test, ties as in the test; where the test
    isn't asymptotic the exact one on up to 50 values, else the normal approximation. It is two-sided whatever the
    alternative. Effect: Cliff's delta, which equals the rank-biserial correlation.
    """
    one_of(method, ("asymptotic", "exact", "monte-carlo"), "method", DataError)
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    n = a.size + b.size
    how, special = _rank_sum_method(method, continuity, resamples, seed)
    blank = Result(
        name="Hodges–Lehmann shift",
        method=f"Mann–Whitney U (of the first group), {alternative}, {how}",
        n=n,
        dropped=lost_a + lost_b,
        options={"method": method, "alternative": alternative, "shift": shift, "level": level, **special},
    )
    if a.size == 0 or b.size == 0:
        return blank.no_value(EMPTY_GROUP)
    if method == "exact" and n > MOST_EXACT_VALUES:
        raise DataError(
            f"the exact rank-sum test is limited to {MOST_EXACT_VALUES} values, not {n}",
            todo="use the monte-carlo or the asymptotic method",
        )
    result = replace(blank, effect=cliffs_delta(a, b, level=level), details=_described_groups(a, b))
    reason = None
    if shift:
        estimate, bounds, reason = shift_of_groups(a, b, level, exact=method != "asymptotic", continuity=continuity)
        result = replace(result, estimate=estimate, interval=bounds)
    u, p = _rank_sum_test(
        a, b, method=method, continuity=continuity, alternative=alternative, resamples=resamples, seed=seed
    )
    result = replace(result, statistic=u, p=p, missing=reason)
    if p is not None:
        return result
    return replace(result, interval=None, missing="no p-value and no interval: all values are equal")


def _rank_sum_method(method: str, continuity: bool, resamples: int, seed: Seed) -> tuple[str, dict[str, Any]]:
    """The method in words, and the options that it alone has."""
    if method == "asymptotic":
        how = f"asymptotic with{'' if continuity else 'out'} continuity correction, ties corrected"
        return how, {"continuity": continuity}
    if method == "exact":
        return "exact with ties", {}
    how = f"{resamples} permutations, {seed_in_words(seed)}"
    return how, {"resamples": resamples, "seed": seed}


def _rank_sum_test(
    a: Array, b: Array, *, method: str, continuity: bool, alternative: str, resamples: int, seed: Seed
) -> tuple[float, float | None]:
    """U of the first group and its p-value; None where all values are equal."""
    from scipy.stats import rankdata

    together = np.concatenate([a, b])
    ranks = rankdata(together, method="average")
    rank_sum = float(ranks[: a.size].sum())
    u = rank_sum - a.size * (a.size + 1) / 2
    if constant(together):
        return u, None
    if method == "asymptotic":
        return u, _asymptotic_p(a, b, continuity, alternative)
    if method == "exact":
        return u, tail(rank_sum_distribution(ranks, a.size), round(2 * rank_sum), alternative)
    return u, _monte_carlo_p(ranks, a.size, alternative, resamples=resamples, seed=seed)


def _asymptotic_p(a: Array, b: Array, continuity: bool, alternative: str) -> float:
    from scipy.stats import mannwhitneyu

    tested = mannwhitneyu(
        a, b, use_continuity=continuity, alternative=alternative, axis=0, method="asymptotic",
        nan_policy="propagate", keepdims=False,
    )  # fmt: skip
    return float(tested.pvalue)


def _described_groups(a: Array, b: Array) -> dict[str, float | None]:
    return {
        "n of x": float(a.size), "n of y": float(b.size), "mean of x": float(a.mean()), "mean of y": float(b.mean()),
        "median of x": float(np.median(a)), "median of y": float(np.median(b)),
        "standard deviation of x": float(a.std(ddof=1)) if a.size > 1 else None,
        "standard deviation of y": float(b.std(ddof=1)) if b.size > 1 else None,
    }  # fmt: skip


def _monte_carlo_p(ranks: Array, size: int, alternative: str, *, resamples: int, seed: Seed) -> float:
    """p of the sum of the first ``size`` ranks, by random permutations."""
    rng = generator(seed)
    mean = ranks.mean() * size
    observed = ranks[:size].sum() - mean
    ranks = np.sort(ranks)
    extreme = 0
    for rows in blocks(resamples, ranks.size):
        keys = rng.random((rows, ranks.size))
        first = np.argpartition(keys, size - 1, axis=1)[:, :size]
        sums = ranks[first].sum(axis=1) - mean
        if alternative == "two-sided":
            extreme += int((np.abs(sums) >= abs(observed) - 1e-6).sum())
        else:
            side = 1 if alternative == "greater" else -1
            extreme += int((side * sums >= side * observed - 1e-6).sum())
    return (extreme + 1) / (resamples + 1)


def t_test_from_summary(
    mean_x: float,
    sd_x: float,
    n_x: int,
    mean_y: float,
    sd_y: float,
    n_y: int,
    *,
    equal_variances: bool = False,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """Welch's (default) or Student's t test from means, standard deviations (n − 1) and sizes.

    Args:
        equal_variances: Student's test with the pooled variance instead of Welch's.
        alternative: ``"greater"``: the first mean is higher.

    The interval of the difference is two-sided whatever the alternative. Effect: Cohen's d.
    """
    x, y = _Moments(mean_x, sd_x, n_x), _Moments(mean_y, sd_y, n_y)
    effect = cohens_d_from_summary(mean_x, sd_x, n_x, mean_y, sd_y, n_y, level=level)
    return _compared_means(x, y, effect, equal_variances=equal_variances, alternative=alternative, level=level)


@dataclass(frozen=True, slots=True)
class _Moments:
    """A group's mean, standard deviation (n − 1) and number of values; 0 where there are too few for them."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Array) -> _Moments:
        """From the values."""
        return cls(
            float(values.mean()) if values.size else 0.0,
            float(values.std(ddof=1)) if values.size > 1 else 0.0,
            values.size,
        )


def _compared_means(
    x: _Moments, y: _Moments, effect: Effect, *, equal_variances: bool, alternative: Alternative, level: float
) -> Result:
    """The t test of two groups; its effect stands in the result unless a group is empty."""
    from scipy.stats import ttest_ind_from_stats

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    test = "Student's t test (equal variances)" if equal_variances else "Welch's t test"
    blank = Result(
        name="mean difference",
        method=f"{test}, {alternative}",
        n=x.n + y.n,
        options={"equal_variances": equal_variances, "alternative": alternative, "level": level},
    )
    if x.n < 1 or y.n < 1:
        return blank.no_value(EMPTY_GROUP)
    difference = x.mean - y.mean
    details: dict[str, float | None] = {
        "n of x": float(x.n), "n of y": float(y.n), "mean of x": x.mean, "mean of y": y.mean,
        "standard deviation of x": x.sd if x.n > 1 else None,
        "standard deviation of y": y.sd if y.n > 1 else None,
    }  # fmt: skip
    result = replace(blank, estimate=difference, effect=effect, details=details)
    small = x.n < 2 or y.n < 2
    if small or max(x.sd, y.sd) <= 1e-12 * max(abs(x.mean), abs(y.mean)):
        reason = "a group has fewer than two values" if small else "the values within the groups don't vary"
        return replace(result, missing=f"no p-value and no interval: {reason}")
    if equal_variances:
        df = float(x.n + y.n - 2)
        pooled = ((x.n - 1) * x.sd**2 + (y.n - 1) * y.sd**2) / df
        error = float(np.sqrt(pooled * (1 / x.n + 1 / y.n)))
    else:
        error, df = welch_error(x.sd**2 / x.n, x.n, y.sd**2 / y.n, y.n)
    tested = ttest_ind_from_stats(
        x.mean, x.sd, x.n, y.mean, y.sd, y.n, equal_var=equal_variances, alternative=alternative
    )
    return replace(
        result, interval=t_interval(difference, error, df, level, "t"), statistic=float(tested.statistic),
        p=float(tested.pvalue), standard_error=error, details={**details, "degrees of freedom": df},
    )  # fmt: skip


def t_test(
    x: Any,
    y: Any,
    *,
    equal_variances: bool = False,
    hedges: bool = False,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """Welch's (default) or Student's t test of two groups; see :func:`t_test_from_summary`.

    Args:
        hedges: give Hedges' g as the effect instead of Cohen's d.
    """
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    effect = cohens_d(a, b, hedges=hedges, level=level)
    result = _compared_means(
        _Moments.of(a), _Moments.of(b), effect,
        equal_variances=equal_variances, alternative=alternative, level=level,
    )  # fmt: skip
    return replace(result, dropped=lost_a + lost_b, effect=effect, options={**result.options, "hedges": hedges})


def fisher_exact(
    table: Any,
    *,
    sides: Literal["likelihood", "central"] = "likelihood",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """Fisher's exact test of a 2 × 2 table of counts, groups in rows, outcome (yes, no) in columns.

    Args:
        sides: how both sides make one p: ``"likelihood"`` adds all tables that are no likelier, ``"central"`` doubles
            the smaller side.
        alternative: ``"greater"``: a larger share of yes in the first group.
        level: nominal coverage of the interval, which is two-sided whatever the alternative.

    Estimate: difference of the two shares with Newcombe's (1998) interval; with ``"central"`` with the melded one (Fay,
    Proschan and Brittain 2015), which leaves out 0 exactly where the test rejects. Effect: sample odds ratio.
    """

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    one_of(sides, ("likelihood", "central"), "choice", DataError, where="`sides`")
    counts = counts_of_two(table, "Fisher's test")
    sizes = counts.sum(axis=1)
    n = int(sizes.sum())
    blank = Result(
        name="difference of proportions",
        method=f"Fisher's exact test, {alternative}" + (", central" if sides == "central" else ""),
        n=n,
        options={"sides": sides, "alternative": alternative, "level": level},
    )
    if not sizes.all():
        return blank.no_value(EMPTY_GROUP)
    first, second = counts[:, 0] / sizes
    result = replace(
        blank,
        estimate=float(first - second),
        interval=_shares_interval(counts, sides, level),
        effect=odds_ratio(counts, level=level),
        details={
            "share in x": float(first), "share in y": float(second),
            "n of x": float(sizes[0]), "n of y": float(sizes[1]),
        },
    )  # fmt: skip
    if not counts.sum(axis=0).all():
        return replace(result, missing="no p-value: the outcome is the same in all cases")
    return replace(result, p=_fisher_p(counts.astype(int), sides, alternative))


def _fisher_p(counts: npt.NDArray[np.int_], sides: str, alternative: str) -> float:
    from scipy import stats

    if sides == "central" and alternative == "two-sided":
        return min(1.0, 2 * min(_fisher_p(counts, sides, side) for side in ("greater", "less")))
    return float(stats.fisher_exact(counts, alternative=alternative)[1])


def _shares_interval(counts: Array, sides: str, level: float) -> Interval:
    """The interval of the first share minus the second."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    sizes = counts.sum(axis=1)
    if sides == "central":
        (x, y), (n_x, n_y) = counts[:, 0].astype(int), sizes.astype(int)
        bounds = melded_bounds(int(x), int(n_x), int(y), int(n_y), level=level)
        return Interval(*bounds, level, "melded, exact (Fay, Proschan and Brittain)")
    low, high = confint_proportions_2indep(
        counts[0, 0], sizes[0], counts[1, 0], sizes[1],
        method="newcomb", compare="diff", alpha=1 - level, correction=True,
    )  # fmt: skip
    return Interval(float(low), float(high), level, "Newcombe")
