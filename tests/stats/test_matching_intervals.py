"""An interval beside a p comes from the same test: against slow scans of shifts, and by exact coverage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bedside.stats import overlapping, paired, unpaired
from bedside.stats._exact import melded_bounds, paired_melded_bounds
from bedside.stats.arrays import Alternative, Array
from bedside.stats.result import Result
from tests.stats.results import ALTERNATIVES, ends

RNG = np.random.default_rng(17)


def kept_shifts(changes: Array, p_at: Callable[[float], float], level: float) -> tuple[float, float] | None:
    """The hull of the gaps between neighbouring changes in which a test doesn't reject, one by one."""
    values = np.unique(np.round(changes, 9))
    kept = [(a, b) for a, b in pairwise(values) if p_at((a + b) / 2) > 1 - level + 1e-12]
    return (min(a for a, _ in kept), max(b for _, b in kept)) if kept else None


def signed_rank_by_enumeration(d: Array) -> float:
    ranks = stats.rankdata(np.abs(d))
    sums = np.array([ranks @ signs for signs in product((0, 1), repeat=d.size)])
    centre = ranks.sum() / 2
    return float((np.abs(sums - centre) >= abs(ranks[d > 0].sum() - centre) - 1e-9).mean())


@pytest.mark.parametrize("levels", [3, 5, 1000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_pseudo_medians_interval_is_what_the_exact_test_keeps(levels: int, level: float) -> None:
    for n in (7, 9):
        d = RNG.integers(-levels // 2, levels, n) / 4
        i, j = np.triu_indices(n)

        def p_at(shift: float, d: Array = d) -> float:
            return signed_rank_by_enumeration(d - shift)

        expected = kept_shifts((d[i] + d[j]) / 2, p_at, level)
        result = paired.wilcoxon(d, np.zeros(n), level=level)
        if np.unique(d).size > 1:
            assert expected is not None
            assert ends(result) == pytest.approx(expected)


@pytest.mark.parametrize("levels", [5, 1000])
def test_the_shifts_interval_is_what_the_rank_sum_test_keeps(levels: int) -> None:
    for m, n in ((6, 8), (20, 35)):
        x, y = RNG.integers(0, levels, m) / 4, RNG.integers(0, levels, n) / 4

        def p_at(shift: float, x: Array = x, y: Array = y) -> float:
            return float(stats.mannwhitneyu(x - shift, y, method="asymptotic").pvalue)

        expected = kept_shifts(np.subtract.outer(x, y).ravel(), p_at, 0.95)
        assert ends(unpaired.mann_whitney(x, y)) == pytest.approx(expected)


def test_the_asymptotic_signed_rank_interval_is_what_its_test_keeps() -> None:
    d = np.concatenate([RNG.integers(-3, 5, 60) / 2, RNG.normal(0.4, 1, 10)])
    i, j = np.triu_indices(d.size)

    def p_at(shift: float) -> float:
        return float(stats.wilcoxon(d - shift, correction=True, method="asymptotic").pvalue)

    expected = kept_shifts((d[i] + d[j]) / 2, p_at, 0.95)
    assert ends(paired.wilcoxon(d, np.zeros(d.size))) == pytest.approx(expected)


@pytest.mark.parametrize("n", [9, 30])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_sign_flips_reject_the_shifts_outside_their_interval(n: int, alternative: Alternative) -> None:
    x, y = RNG.normal(0.8, 1, n), RNG.normal(0, 1, n)
    level = 0.95 if alternative == "two-sided" else 0.9
    result = paired.permutation(x, y, interval="inverted", resamples=2000, alternative=alternative, level=level, seed=2)
    low, high = ends(result)
    for shift, inside in ((low - 1e-6, False), (low + 1e-6, True)):
        p = paired.permutation(x - shift, y, resamples=2000, alternative=alternative, seed=2).p
        assert ((p or 0) > 0.05) is inside
    if alternative == "two-sided":
        p = paired.permutation(x - high - 1e-6, y, resamples=2000, seed=2).p
        assert (p or 1) <= 0.05


@pytest.mark.parametrize(
    "test",
    [
        paired.wilcoxon,
        unpaired.mann_whitney,
        partial(unpaired.permutation, resamples=500),
        partial(paired.permutation, interval="inverted", resamples=500),
        partial(paired.permutation, interval="inverted", resamples=500, mid=True),
        partial(paired.permutation, interval="inverted", resamples=2**14, mid=True),
    ],
    ids=["wilcoxon", "mann-whitney", "splits", "permutation", "mid-p", "mid-p, all patterns"],
)
def test_an_interval_and_its_p_never_contradict_each_other_on_few_levels(test: Callable[[Any, Any], Result]) -> None:
    for _ in range(40):
        x, y = RNG.integers(1, 6, 14), np.clip(RNG.integers(1, 6, 14) - 1, 1, 5)
        result = test(x, y)
        if result.p is not None and result.interval is not None:
            low, high = ends(result)
            if low > 1e-12 or high < -1e-12:
                assert result.p <= 0.05
            if low < -1e-12 and high > 1e-12:
                assert result.p > 0.05


def test_melded_intervals_leave_out_zero_where_fishers_and_mcnemars_tests_reject() -> None:
    for _ in range(60):
        n_x, n_y = (int(n) for n in RNG.integers(3, 40, 2))
        x, y = int(RNG.integers(0, n_x + 1)), int(RNG.integers(0, n_y + 1))
        p = stats.fisher_exact([[x, n_x - x], [y, n_y - y]], alternative="greater")[1]
        if 1e-4 < p < 0.49:
            assert melded_bounds(x, n_x, y, n_y, level=1 - 2 * p)[0] == pytest.approx(0, abs=1e-6)
        only_x, only_y = int(RNG.integers(0, 12)), int(RNG.integers(1, 12))
        p = stats.binomtest(only_x, only_x + only_y, alternative="greater").pvalue
        if 1e-4 < p < 0.49:
            bounds = paired_melded_bounds(only_x, only_y, only_x + only_y + n_x, level=1 - 2 * p)
            assert bounds[0] == pytest.approx(0, abs=1e-6)


def test_mid_p_and_its_melded_interval_say_the_same_in_every_table() -> None:
    tables = [((only_x, pairs - only_x), 12) for pairs in range(1, 13) for only_x in range(pairs + 1)]
    results = [
        paired.mcnemar_from_table([[0, b], [c, n - b - c]], method="mid-p", interval="melded") for (b, c), n in tables
    ]
    results += [
        unpaired.fisher_exact([[x, 8 - x], [y, 12 - y]], sides="mid-p")
        for x, y in product(range(9), range(13)) if 0 < x + y < 20
    ]  # fmt: skip
    for result in results:
        low, high = ends(result)
        assert (low > 0 or high < 0) is bool(result.p is not None and result.p < 0.05), result
    for alternative in ALTERNATIVES[1:]:
        result = paired.mcnemar_from_table([[5, 9], [2, 4]], method="mid-p", alternative=alternative)
        exact = stats.binomtest(9, 11, alternative=alternative).pvalue
        assert result.p == pytest.approx(exact - stats.binom.pmf(9, 11, 0.5) / 2)


def test_melded_bounds_are_quantiles_of_drawn_differences() -> None:
    draws = np.random.default_rng(3)
    size = 400_000
    low = np.quantile(draws.beta(9, 2, size) - draws.beta(4, 9, size), 0.025)
    assert melded_bounds(9, 10, 3, 12, level=0.95)[0] == pytest.approx(low, abs=0.003)
    leads = 2 * draws.beta(6, 2, size) - 1
    low = np.quantile(leads * np.where(leads > 0, draws.beta(7, 6, size), draws.beta(8, 5, size)), 0.025)
    assert paired_melded_bounds(6, 1, 12, level=0.95)[0] == pytest.approx(low, abs=0.003)
    # For mid-p the first is drawn low and the second high in one half, and the other way round in the other.
    half = np.arange(size) % 2 == 0
    apart = np.where(
        half, draws.beta(9, 2, size) - draws.beta(4, 9, size), draws.beta(10, 1, size) - draws.beta(3, 10, size)
    )
    low = np.quantile(apart, 0.025)
    assert melded_bounds(9, 10, 3, 12, level=0.95, mid=True)[0] == pytest.approx(low, abs=0.003)
    leads = 2 * np.where(half, draws.beta(6, 2, size), draws.beta(7, 1, size)) - 1
    discordant = np.where(draws.random(size) < 0.5, draws.beta(7, 6, size), draws.beta(8, 5, size))
    low = np.quantile(leads * discordant, 0.025)
    assert paired_melded_bounds(6, 1, 12, level=0.95, mid=True)[0] == pytest.approx(low, abs=0.003)


def test_melded_intervals_cover_at_least_as_often_as_they_say() -> None:
    """Coverage by counting all tables, none drawn."""
    n_x, n_y = 7, 9
    bounds = {(x, y): melded_bounds(x, n_x, y, n_y, level=0.95) for x in range(n_x + 1) for y in range(n_y + 1)}
    for p_x, p_y in product((0.05, 0.3, 0.5, 0.9), repeat=2):
        chance = sum(
            stats.binom.pmf(x, n_x, p_x) * stats.binom.pmf(y, n_y, p_y)
            for (x, y), (low, high) in bounds.items()
            if low - 1e-9 <= p_x - p_y <= high + 1e-9
        )
        assert chance >= 0.95
    mid = {(x, y): melded_bounds(x, n_x, y, n_y, level=0.95, mid=True) for x, y in bounds}
    chances = [
        sum(
            stats.binom.pmf(x, n_x, p_x) * stats.binom.pmf(y, n_y, p_y)
            for (x, y), (low, high) in mid.items() if low - 1e-9 <= p_x - p_y <= high + 1e-9
        )
        for p_x, p_y in product((0.05, 0.3, 0.5, 0.9), repeat=2)
    ]  # fmt: skip
    assert min(chances) >= 0.93
    n = 10
    paired_bounds = {(b, c): paired_melded_bounds(b, c, n, level=0.95) for b in range(n + 1) for c in range(n + 1 - b)}
    for p_b, p_c in product((0.02, 0.15, 0.3, 0.45), repeat=2):
        chance = sum(
            stats.multinomial.pmf([b, c, n - b - c], n, [p_b, p_c, 1 - p_b - p_c])
            for (b, c), (low, high) in paired_bounds.items()
            if low - 1e-9 <= p_b - p_c <= high + 1e-9
        )
        assert chance >= 0.95


def test_one_sided_mcnemar_is_the_binomial_tail() -> None:
    table = [[5, 9], [2, 4]]
    for alternative in ALTERNATIVES[1:]:
        result = paired.mcnemar_from_table(table, alternative=alternative)
        assert result.p == pytest.approx(stats.binomtest(9, 11, alternative=alternative).pvalue)


def test_partly_shared_cases_between_welch_and_paired_t() -> None:
    x, y = RNG.normal(0.4, 1, 12), RNG.normal(0, 2, 15)
    welch = overlapping.t_test([], [], x, y)
    expected = stats.ttest_ind(x, y, equal_var=False)
    assert (welch.statistic, welch.p) == pytest.approx((expected.statistic, expected.pvalue))
    pairs = overlapping.t_test(x, y[:12], [], [])
    expected = stats.ttest_rel(x, y[:12])
    assert (pairs.statistic, pairs.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert ends(pairs) == pytest.approx(tuple(expected.confidence_interval()))
    one_sided = overlapping.t_test(x[:4], y[:4], x[4:], y[4:], alternative="greater")
    two_sided = overlapping.t_test(x[:4], y[:4], x[4:], y[4:])
    assert min(one_sided.p or 0, 1 - (one_sided.p or 0)) == pytest.approx((two_sided.p or 0) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [2, 4])
def test_partly_shared_cases_reject_as_often_as_they_say(shared: int) -> None:
    draws = np.random.default_rng(8)
    runs, n = 1500, 10
    case = draws.normal(size=(runs, 2 * n - shared, 1)) * 1.5
    values = np.round(np.clip(3 + case + draws.normal(size=(runs, 2 * n - shared, 2)), 1, 5))
    rejected = np.mean(
        [(overlapping.t_test(v[:shared, 0], v[:shared, 1], v[shared:n, 0], v[n:, 1]).p or 1) <= 0.05 for v in values]
    )
    assert 0.03 <= rejected <= 0.068
