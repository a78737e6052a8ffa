from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from bedside.stats import _blocks, effects, paired
from bedside.stats.arrays import Alternative, Array
from bedside.stats.result import Result
from tests.reference import statistics as published
from tests.stats.results import ALTERNATIVES, ends, estimate

Zeros = Literal["pratt", "wilcox"]
likert = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


def signed_rank_by_definition(d: Array, zeros: str, alternative: str) -> float:
    """Every way to sign the ranks, counted one by one."""
    if zeros == "wilcox":
        d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))[d != 0]
    observed = ranks[d[d != 0] > 0].sum()
    sums = np.array([np.dot(ranks, signs) for signs in product((0, 1), repeat=ranks.size)])
    middle = ranks.sum() / 2
    if alternative == "greater":
        return float((sums >= observed - 1e-9).mean())
    if alternative == "less":
        return float((sums <= observed + 1e-9).mean())
    return float((np.abs(sums - middle) >= abs(observed - middle) - 1e-9).mean())


def test_wilcoxon_published() -> None:
    result = paired.wilcoxon(
        published.DEPRESSION_FIRST, published.DEPRESSION_SECOND, method="exact", alternative="greater"
    )
    assert result.statistic == 40
    assert result.p == pytest.approx(0.01953125, abs=1e-12)
    two = paired.wilcoxon(published.DEPRESSION_FIRST, published.DEPRESSION_SECOND)
    assert two.estimate == pytest.approx(0.46)  # Hollander and Wolfe's pseudo-median
    # R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE): 0.010, 0.786 at 96.1 %.
    assert ends(two) == pytest.approx((0.01, 0.786))


@pytest.mark.parametrize("zeros", get_args(Zeros))
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_exact_wilcoxon_by_definition(zeros: Zeros, alternative: Alternative) -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        x, y = rng.integers(1, 6, 11), rng.integers(1, 6, 11)
        result = paired.wilcoxon(x, y, zeros=zeros, method="exact", alternative=alternative)
        assert result.p == pytest.approx(
            signed_rank_by_definition((x - y).astype(float), zeros, alternative), abs=1e-12
        )


@pytest.mark.parametrize("zeros", get_args(Zeros))
@pytest.mark.parametrize("continuity", [True, False])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_asymptotic_wilcoxon_against_scipy(zeros: Zeros, continuity: bool, alternative: Alternative) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(1, 6, 80).astype(float), rng.integers(1, 6, 80).astype(float)
    ours = paired.wilcoxon(x, y, zeros=zeros, method="asymptotic", continuity=continuity, alternative=alternative)
    theirs = stats.wilcoxon(
        x, y, zero_method=zeros, correction=continuity, alternative=alternative, method="asymptotic"
    )
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_wilcoxon_exact_without_ties_against_scipy() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    ours = paired.wilcoxon(x, np.zeros(40))
    assert ours.options["method"] == "exact"
    assert ours.p == pytest.approx(stats.wilcoxon(x, method="exact").pvalue, abs=1e-12)
    assert paired.wilcoxon(rng.normal(size=51), np.zeros(51)).options["method"] == "asymptotic"


def test_rounding_noise_makes_no_ranks() -> None:
    # 0.3 − 0.2 and 0.2 − 0.1 differ in the last digit, as do 0.1 + 0.2 and 0.3.
    x, y = [0.3, 0.2, 0.1 + 0.2, 0.9], [0.2, 0.1, 0.3, 0.3]
    exact = paired.wilcoxon(x, y, zeros="wilcox")
    whole = paired.wilcoxon([3, 2, 3, 9], [2, 1, 3, 3], zeros="wilcox")
    assert (exact.statistic, exact.p) == (whole.statistic, whole.p)
    assert exact.details["pairs without difference"] == 1


def test_pseudo_median_is_that_of_all_walsh_averages() -> None:
    rng = np.random.default_rng(6)
    for n in (4, 7, 30, 60):
        d = rng.integers(-6, 7, n) / 4
        averages = sorted((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
        result = paired.wilcoxon(d, np.zeros(n))
        assert result.estimate == pytest.approx(np.median(averages), abs=1e-12)
        if result.interval is not None:
            assert any(abs(result.interval.low - value) < 1e-12 for value in averages)


def test_t_published() -> None:
    result = paired.t_test(published.SLEEP_FIRST, published.SLEEP_SECOND)
    assert result.statistic == pytest.approx(-4.0621, abs=5e-5)
    assert result.p == pytest.approx(0.002833, abs=5e-7)
    assert result.estimate == pytest.approx(-1.58)
    assert ends(result) == pytest.approx((-2.4598858, -0.7001142), abs=1e-6)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_t_against_scipy(alternative: Alternative) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=25), rng.normal(size=25)
    ours = paired.t_test(x, y, alternative=alternative)
    theirs = stats.ttest_rel(x, y, alternative=alternative)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_permutation_takes_all_patterns_of_few_pairs() -> None:
    d = np.array([1.0, 2, -1, 3, 2, 0.5, 1, 4])
    sums = np.array([np.dot(d, signs) for signs in product((-1, 1), repeat=8)])
    result = paired.permutation(d, np.zeros(8))
    assert result.p == pytest.approx((np.abs(sums) >= abs(d.sum()) - 1e-9).mean(), abs=1e-15)
    assert "all 256" in result.method
    greater = paired.permutation(d, np.zeros(8), alternative="greater")
    assert greater.p == pytest.approx((sums >= d.sum() - 1e-9).mean(), abs=1e-15)
    less = paired.permutation(d, np.zeros(8), alternative="less")
    assert less.p == pytest.approx((sums <= d.sum() + 1e-9).mean(), abs=1e-15)


def test_permutation_against_scipy_within_monte_carlo_error() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(1, 6, 60), rng.integers(1, 6, 60)
    ours = paired.permutation(x, y, seed=1)
    theirs = stats.permutation_test(
        ((x - y).astype(float),), lambda d, axis: d.mean(axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=20_000, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert ours.p == pytest.approx(theirs.pvalue, abs=5 * np.sqrt(theirs.pvalue / 10_000))


def test_permutation_has_plus_one() -> None:
    x = np.arange(1.0, 31)
    result = paired.permutation(x, np.zeros(30), resamples=999)
    assert result.p == pytest.approx(1 / 1000)
    assert result.remarks == ("p is the smallest that 999 flips can give",)


def test_permutations_share_one_null_and_drop_by_column() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    x[3, 1] = np.nan
    table = paired.permutations(x, y, seed=5, interval="bca")
    assert [result.n for result in table] == [40, 39, 40]
    assert [result.dropped for result in table] == [0, 1, 0]
    for column in (0, 2):
        alone = paired.permutation(x[:, column], y[:, column], seed=5, interval="bca")
        assert alone.p == table[column].p
        assert ends(alone) == pytest.approx(ends(table[column]), abs=1e-12)
    assert table[1].estimate == pytest.approx(np.nanmean(x[:, 1] - y[:, 1]))


def test_bootstrap_intervals_against_scipy() -> None:
    rng = np.random.default_rng(10)
    d = rng.exponential(size=50)
    kinds: dict[Literal["bca", "percentile"], str] = {"bca": "BCa", "percentile": "percentile"}
    for kind, name in kinds.items():
        ours = paired.permutation(d, np.zeros(50), resamples=40_000, interval=kind).interval
        theirs = stats.bootstrap(
            (d,), np.mean, n_resamples=40_000, method=name, rng=np.random.default_rng(1)
        ).confidence_interval
        assert ends(ours) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_results_do_not_depend_on_the_memory_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(30, 4)), rng.normal(size=(30, 4))
    whole = paired.permutations(x, y, resamples=500, interval="bca", seed=3)
    monkeypatch.setattr(_blocks, "BUDGET_BYTES", 8 * 700)
    pieces = paired.permutations(x, y, resamples=500, interval="bca", seed=3)
    assert [piece.p for piece in pieces] == [result.p for result in whole]
    for piece, result in zip(pieces, whole, strict=True):
        # The same draws; sums of matrix products may differ in the last digit.
        assert ends(piece) == pytest.approx(ends(result), abs=1e-12)


@pytest.mark.parametrize(
    ("method", "statistic", "p"),
    [
        ("exact", 86, 3.715936e-05), ("mid-p", 86, 2.893390e-05),
        ("chi-squared", 17.355932, 3.099293e-05), ("corrected", 16.817797, 4.1146e-05),
    ],
)  # fmt: skip
def test_mcnemar_published(method: Any, statistic: float, p: float) -> None:
    result = paired.mcnemar_from_table(published.APPROVAL, method=method)
    assert result.statistic == pytest.approx(statistic, abs=1e-6)
    assert result.p == pytest.approx(p, rel=1e-5)
    assert result.estimate == pytest.approx(0.04)
    assert result.standard_error == pytest.approx(0.00954921, abs=1e-8)
    assert result.effect is not None
    assert result.effect.estimate == pytest.approx(150 / 86)


def test_mcnemar_from_values_equals_that_from_the_table() -> None:
    x = [1] * 944 + [0] * 656
    y = [1] * 794 + [0] * 150 + [1] * 86 + [0] * 570
    from_values = paired.mcnemar([*x, 1, None], [*y, None, 0])
    assert from_values.p == paired.mcnemar_from_table(published.APPROVAL).p
    assert (from_values.n, from_values.dropped) == (1600, 2)


def test_mcnemar_against_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    for table in ([[10, 5], [2, 7]], [[1, 12], [12, 3]], [[0, 6], [0, 1]]):
        exact = paired.mcnemar_from_table(table, method="exact")
        assert exact.p == pytest.approx(mcnemar(table, exact=True).pvalue)
        plain = paired.mcnemar_from_table(table, method="chi-squared")
        assert plain.p == pytest.approx(mcnemar(table, exact=False, correction=False).pvalue)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(likert)
def test_swapping_systems_mirrors_everything(values: list[tuple[int, int]]) -> None:
    x, y = np.array(values).T
    tests: tuple[Callable[[Array, Array], Result], ...] = (
        paired.wilcoxon, paired.t_test, partial(paired.permutation, resamples=200),
    )  # fmt: skip
    for test in tests:
        one, other = test(x, y), test(y, x)
        assert one.n == other.n == len(values)
        if one.p is not None:
            assert one.p == pytest.approx(other.p, abs=1e-12)
            assert 0 <= one.p <= 1
        else:
            assert other.p is None
            assert one.missing
        assert estimate(one) == pytest.approx(-estimate(other), abs=1e-12)
        if one.interval is not None:
            low, high = ends(one)
            assert low == pytest.approx(-ends(other)[1], abs=1e-9)
            assert low - 1e-9 <= estimate(one) <= high + 1e-9


@settings(max_examples=60, deadline=None)
@given(likert, st.sampled_from(["pratt", "wilcox"]))
def test_rank_biserial_by_definition(values: list[tuple[int, int]], zeros: str) -> None:
    x, y = np.array(values).T
    d = (x - y).astype(float)
    effect = effects.rank_biserial(x, y, zeros=zeros)
    if not d.any():
        assert effect.estimate is None
        return
    kept = d if zeros == "pratt" else d[d != 0]
    ranks = stats.rankdata(np.abs(kept)) * np.sign(kept)
    assert effect.estimate == pytest.approx(ranks.sum() / np.abs(ranks).sum(), abs=1e-12)
    if effect.interval is not None:
        assert -1 <= effect.interval.low <= estimate(effect) <= effect.interval.high <= 1
