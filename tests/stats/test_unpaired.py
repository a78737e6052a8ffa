from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from bedside.stats import effects, unpaired
from bedside.stats.arrays import Alternative, Array
from tests.reference import statistics as published
from tests.stats.results import ALTERNATIVES, ends, estimate, interval_of

group = st.lists(st.integers(1, 5), min_size=1, max_size=20)


def rank_sum_by_definition(x: list[int], y: list[int], alternative: str) -> float:
    """Every way to choose the first group, counted one by one."""
    ranks = stats.rankdata(np.concatenate([x, y]))
    observed = ranks[: len(x)].sum()
    sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(ranks.size), len(x))])
    mean = sums.mean()
    if alternative == "greater":
        return float((sums >= observed - 1e-9).mean())
    if alternative == "less":
        return float((sums <= observed + 1e-9).mean())
    return float((np.abs(sums - mean) >= abs(observed - mean) - 1e-9).mean())


def test_permeability_published() -> None:
    greater = unpaired.mann_whitney(
        published.PERMEABILITY_X, published.PERMEABILITY_Y, method="exact", alternative="greater"
    )
    both = unpaired.mann_whitney(published.PERMEABILITY_X, published.PERMEABILITY_Y, method="exact")
    assert greater.statistic == 35
    assert greater.p == pytest.approx(0.1272061, abs=5e-8)
    assert both.p == pytest.approx(0.2544123, abs=5e-8)
    assert both.estimate == pytest.approx(0.305)
    # R: wilcox.test(x, y, conf.int = TRUE): −0.15, 0.76.
    assert ends(both) == pytest.approx((-0.15, 0.76))
    assert both.effect is not None
    assert both.effect.estimate == pytest.approx(0.40)


def test_ties_published() -> None:
    def run(**options: Any) -> float | None:
        result = unpaired.mann_whitney(published.TIED_X, published.TIED_Y, **options)
        assert result.statistic == 44
        return result.p

    assert run(method="exact") == pytest.approx(0.0873348873, abs=5e-11)
    assert run(continuity=False) == pytest.approx(0.0546639359, abs=5e-11)
    assert run() == pytest.approx(0.0626750414, abs=5e-11)
    assert run(method="monte-carlo", resamples=40_000) == pytest.approx(0.0873348873, abs=0.006)
    # The order observed counts as one of the permutations.
    apart = unpaired.mann_whitney(range(20), range(30, 50), method="monte-carlo", resamples=99)
    assert apart.p == pytest.approx(1 / 100)


def test_binary_published() -> None:
    result = unpaired.mann_whitney([1] * 355 + [0] * 787, [1] * 356 + [0] * 786)
    assert result.statistic == 651_511
    assert round(result.p or 0, 4) == 0.9640
    assert result.details["standard deviation of x"] == pytest.approx(0.4631, abs=1e-4)
    assert result.details["standard deviation of y"] == pytest.approx(0.4634, abs=1e-4)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_exact_by_definition(alternative: Alternative) -> None:
    rng = np.random.default_rng(1)
    for m, n in ((4, 6), (6, 4), (1, 8), (5, 5)):
        x, y = rng.integers(1, 5, m), rng.integers(1, 6, n)
        ours = unpaired.mann_whitney(x, y, method="exact", alternative=alternative)
        if ours.p is not None:
            assert ours.p == pytest.approx(rank_sum_by_definition(list(x), list(y), alternative), abs=1e-12)


def test_exact_without_ties_against_scipy() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(size=45)
    ours = unpaired.mann_whitney(x, y, method="exact")
    assert ours.p == pytest.approx(stats.mannwhitneyu(x, y, method="exact").pvalue, rel=1e-9)


def test_summary_published() -> None:
    # SMOG of 1142 against 1142 texts; the publication says −31.95 from unrounded data.
    result = unpaired.t_test_from_summary(11.50, 1.26, 1142, 13.33, 1.47, 1142, equal_variances=True)
    assert result.statistic == pytest.approx(-31.94, abs=0.005)
    assert unpaired.t_test_from_summary(11.50, 1.26, 1142, 13.33, 1.47, 1142).statistic == pytest.approx(
        result.statistic
    )


def test_sleep_published() -> None:
    result = unpaired.t_test(published.SLEEP_FIRST, published.SLEEP_SECOND)
    assert result.statistic == pytest.approx(-1.8608, abs=5e-5)
    assert result.details["degrees of freedom"] == pytest.approx(17.776, abs=5e-4)
    assert result.p == pytest.approx(0.07939, abs=5e-6)
    assert ends(result) == pytest.approx((-3.3654832, 0.2054832), abs=1e-6)


@pytest.mark.parametrize("equal_variances", [True, False])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_t_against_scipy(equal_variances: bool, alternative: Alternative) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=12), 2 * rng.normal(size=19) + 1
    ours = unpaired.t_test(x, y, equal_variances=equal_variances, alternative=alternative)
    theirs = stats.ttest_ind(x, y, equal_var=equal_variances, alternative=alternative)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


@settings(max_examples=80, deadline=None)
@given(group, group)
def test_shift_delta_and_symmetry(x: list[int], y: list[int]) -> None:
    one, other = unpaired.mann_whitney(x, y), unpaired.mann_whitney(y, x)
    gaps = [a - b for a in x for b in y]
    assert one.estimate == pytest.approx(np.median(gaps), abs=1e-12)
    assert one.effect is not None
    assert other.effect is not None
    delta = estimate(one.effect)
    assert delta == pytest.approx(np.mean(np.sign(gaps)), abs=1e-12)
    assert (one.statistic or 0) + (other.statistic or 0) == len(gaps)
    assert one.p == other.p or one.p == pytest.approx(other.p, abs=1e-12)
    if one.effect.interval is not None:
        low, high = ends(one.effect)
        assert -1 <= low <= delta <= high <= 1
        assert low == pytest.approx(-ends(other.effect)[1], abs=1e-12)
    if one.p is not None:
        theirs = stats.mannwhitneyu(x, y, method="asymptotic", use_continuity=True, alternative="two-sided")
        assert one.statistic == theirs.statistic
        assert one.p == pytest.approx(theirs.pvalue)


def test_cliffs_delta_variance_by_definition() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(1, 6, 14), rng.integers(1, 6, 11)
    dominance = np.sign(x[:, None] - y[None, :])
    delta, m, n = dominance.mean(), 14, 11
    variance = (
        n**2 * ((dominance.mean(1) - delta) ** 2).sum()
        + m**2 * ((dominance.mean(0) - delta) ** 2).sum()
        - ((dominance - delta) ** 2).sum()
    ) / (m * n * (m - 1) * (n - 1))
    z = stats.norm.ppf(0.975)
    half = z * np.sqrt(variance) * np.sqrt((1 - delta**2) ** 2 + z**2 * variance)
    low = (delta - delta**3 - half) / (1 - delta**2 + z**2 * variance)
    effect = effects.cliffs_delta(x, y)
    assert interval_of(effect).low == pytest.approx(low, abs=1e-12)


def test_fisher_against_scipy() -> None:
    for table in ([[8, 2], [1, 5]], [[3, 9], [4, 4]]):
        for alternative in ALTERNATIVES:
            ours = unpaired.fisher_exact(table, alternative=alternative)
            assert ours.p == pytest.approx(stats.fisher_exact(table, alternative=alternative)[1])
    empty = unpaired.fisher_exact([[5, 0], [3, 0]])
    assert empty.p is None
    assert "same in all cases" in (empty.missing or "")


@pytest.mark.parametrize("method", ["asymptotic", "exact"])
@settings(max_examples=60, deadline=None)
@given(group, group)
def test_a_shift_without_an_interval_says_why(method: Any, x: list[int], y: list[int]) -> None:
    """As of pairs: where all differences are one number, an interval of no width would claim to know it."""
    result = unpaired.mann_whitney(x, y, method=method)
    gaps = {a - b for a in x for b in y}
    assert (result.interval is None) == (result.missing is not None)
    if len(gaps) == 1:
        assert result.interval is None
        assert "no interval" in (result.missing or "")
        assert (result.p is None) == (gaps == {0})


def studentised(x: Array, y: Array, axis: int = -1) -> Array:
    """Welch's t, infinite where the groups differ and neither varies."""
    gap = x.mean(axis) - y.mean(axis)
    error = np.sqrt(x.var(axis, ddof=1) / x.shape[axis] + y.var(axis, ddof=1) / y.shape[axis])
    with np.errstate(divide="ignore", invalid="ignore"):
        t: Array = gap / np.where(error < 1e-9, 0.0, error)
    return t


def mid_p_of_all_splits(x: Array, y: Array, alternative: str) -> float:
    """By scipy's permutation test, splits as far out as the data counting half."""
    every = stats.permutation_test((x, y), studentised, vectorized=True, n_resamples=np.inf)
    t, null = float(every.statistic), np.asarray(every.null_distribution)
    if alternative == "two-sided":
        t, null = abs(t), np.abs(null)
    if alternative == "less":
        t, null = -t, -null
    alike = np.isclose(null, t, rtol=1e-9, atol=1e-12)
    return float(((null > t) & ~alike).mean() + alike.mean() / 2)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("m", "n"), [(2, 5), (4, 4), (6, 3), (5, 6)])
def test_studentised_permutation_is_scipys_of_all_splits(alternative: Alternative, m: int, n: int) -> None:
    rng = np.random.default_rng(m)
    levels: Array = rng.integers(1, 6, m + n).astype(np.float64)
    skewed: Array = rng.lognormal(size=m + n)
    for values in (levels, skewed):
        x, y = values[:m], values[m:] + 1
        ours = unpaired.permutation(x, y, alternative=alternative)
        assert f"all {math.comb(m + n, m)} splits" in ours.method
        assert ours.p == pytest.approx(mid_p_of_all_splits(x, y, alternative), abs=1e-12)
        assert ours.statistic == pytest.approx(float(studentised(x, y)))
    drawn, every = (unpaired.permutation(range(8), range(2, 10), resamples=most) for most in (10_000, 20_000))
    assert "all" not in drawn.method
    assert drawn.p == pytest.approx(every.p, abs=0.015)


def test_studentised_permutation_of_the_sleep_data() -> None:
    """Welch's t −1.8608 and its p .0794 are published; normal data's permutation is close to it."""
    ours = unpaired.permutation(published.SLEEP_FIRST, published.SLEEP_SECOND, resamples=200_000)
    assert "all 184756 splits" in ours.method
    assert ours.statistic == pytest.approx(-1.8608, abs=5e-5)
    assert ours.p == pytest.approx(0.0794, abs=0.003)
    assert ends(ours) == pytest.approx((-3.365483, 0.205483), abs=0.06)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("m", "n"), [(9, 30), (14, 14), (30, 9), (5, 5)])
def test_studentised_intervals_invert_their_test(alternative: Alternative, m: int, n: int) -> None:
    rng = np.random.default_rng(m + n)
    x, y = 2 * rng.exponential(size=m), rng.exponential(size=n)
    level = 0.95 if alternative == "two-sided" else 0.9

    def p(shift: float) -> float:
        return unpaired.permutation(x - shift, y, alternative=alternative, resamples=2000, seed=4).p or 0.0

    low, high = ends(unpaired.permutation(x, y, alternative=alternative, level=level, resamples=2000, seed=4))
    if alternative != "less":
        assert p(low - 1e-6) <= 0.05 < p(low + 1e-6)
    if alternative != "greater":
        assert p(high + 1e-6) <= 0.05 < p(high - 1e-6)


def test_studentised_permutations_hang_on_values_alone() -> None:
    """Not on which group is x, the order of cases, other samples beside, or where the scale's 0 lies."""
    rng = np.random.default_rng(6)
    samples = [(rng.lognormal(size=m), rng.lognormal(size=n)) for m, n in ((9, 20), (12, 12), (20, 9), (9, 20))]
    for (x, y), result in zip(samples, unpaired.permutations(samples, resamples=500, seed=3), strict=True):
        low, high = ends(result)
        for other, expected in (
            ((x[::-1], rng.permutation(y)), (low, high)), ((y, x), (-high, -low)), ((-x, -y), (-high, -low)),
            ((x + 7, y + 7), (low, high)),
        ):  # fmt: skip
            same = unpaired.permutation(*other, resamples=500, seed=3)
            assert same.p == pytest.approx(result.p, abs=1e-12)
            assert ends(same) == pytest.approx(expected, abs=1e-7)


def test_studentised_permutation_without_spread_or_cases() -> None:
    apart = unpaired.permutation([1.0] * 4, [2.0] * 4)
    assert apart.p == pytest.approx(1 / 70)
    assert apart.interval is None
    assert apart.missing == "no interval: the values within the groups don't vary"
    assert unpaired.permutation([1.0] * 4, [1.0] * 5).missing == "no p-value and no interval: all values are equal"
    single = unpaired.permutation([1.0], [2.0, 3.0, 4.0])
    assert (single.p, single.estimate) == (None, -2)
    few = unpaired.permutation([1.0, 2.0], [5.0, 6.0])
    assert few.p == pytest.approx(1 / 6)
    assert few.missing == "no interval: too few values for 95%"
    far = unpaired.permutation(range(20), range(100, 120), resamples=99)
    assert far.p == pytest.approx(0.5 / 100)
    assert far.remarks == ("p is the smallest that 99 splits can give",)


def test_studentised_permutation_where_the_smaller_arm_spreads_more() -> None:
    """Of 400 studies without a difference; a permutation of plain means finds 18 %, Mann–Whitney's test 10 %."""
    rng = np.random.default_rng(8)
    studies = [(2 * rng.normal(size=12), rng.normal(size=48)) for _ in range(400)]
    found = sum((result.p or 1) <= 0.05 for result in unpaired.permutations(studies, resamples=500))
    assert 8 <= found <= 34
