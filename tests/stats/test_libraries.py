"""Which library computes what: the page names every statistic, and what it calls the same is the same."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import confusion_matrix, roc_auc_score
from statsmodels.stats import inter_rater
from statsmodels.stats.contingency_tables import Table2x2, mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import bedside.stats
from bedside.stats import (
    diagnostic_accuracy,
    effects,
    intervals,
    many_raters,
    paired,
    sample_size,
    two_raters,
    unpaired,
)
from bedside.stats.arrays import Alternative, Array
from tests.stats.results import ALTERNATIVES, ends

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
#: What only prepares the data or carries the answer.
NO_STATISTICS = {"arrays", "result"}
Sample = tuple[Any, Any]


def same(value: Any) -> Any:
    """Equal to a relative 1e-12."""
    return pytest.approx(value, rel=1e-12, abs=0.0)


def samples() -> Iterator[Sample]:
    """Pairs of every kind: few and many, tied, skewed, far from zero, tiny, hardly different, far apart."""
    rng = np.random.default_rng(17)
    for n in (2, 3, 8, 30, 300):
        x, y = rng.normal(size=(2, n))
        yield x, y
        yield np.arange(n) + 1.0, np.clip(np.round(3 + y), 1, 5)
        yield np.exp(3 * x), np.exp(3 * y)
        yield x + 1e9, y + 1e9
        yield 1e-9 * x + 1e-3, 1e-9 * y + 1e-3
        yield 1e-30 * x, 1e-30 * y
        yield x, x + 1e-6 * y
        yield x + 1000, y


SAMPLES = list(samples())


def test_the_page_names_every_statistic_and_no_other() -> None:
    there = set()
    for module_name in set(bedside.stats.__all__) - NO_STATISTICS:
        module = importlib.import_module(f"bedside.stats.{module_name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                there.add(f"{module_name}.{name}")
    modules = "|".join(sorted(bedside.stats.__all__))
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(rf"`((?:{modules})\.\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(there)


def by_definition(t: float, df: float, alternative: str) -> float:
    if alternative == "two-sided":
        return float(2 * special.stdtr(df, -abs(t)))
    return float(special.stdtr(df, -t if alternative == "greater" else t))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_t_is_that_of_the_formula_and_of_scipy(alternative: Alternative) -> None:
    at_once = paired.t_tests(SAMPLES, alternative=alternative)
    for (x, y), result in zip(SAMPLES, at_once, strict=True):
        assert result == paired.t_test(x, y, alternative=alternative)
        d = x - y
        t = d.mean() / (d.std(ddof=1) / np.sqrt(d.size))
        assert result.statistic == same(t)
        assert result.p == same(by_definition(t, d.size - 1, alternative))
        theirs = stats.ttest_rel(x, y)
        assert ends(result.interval) == same(tuple(theirs.confidence_interval(0.95)))
        assert ends(intervals.paired_difference_interval(d)) == same(ends(result.interval))
        assert ends(intervals.mean_t(d).interval) == same(ends(result.interval))


def test_samples_with_nothing_to_test_stand_among_the_others() -> None:
    x, y = SAMPLES[16]
    gone = x.copy()
    gone[0] = np.nan
    results = paired.t_tests([([], []), (x, y), (x, x), (gone, y), ([1], [0]), (y, x)])
    assert [result.p is None for result in results] == [True, False, True, False, True, False]
    assert [result.dropped for result in results] == [0, 0, 0, 1, 0, 0]
    assert results[3] == paired.t_test(gone, y)
    assert results[0].missing == "no pairs"
    assert results[2].missing == "no p-value and no interval: all differences are equal"
    assert paired.t_tests([]) == ()


@pytest.mark.parametrize("equal_variances", [True, False])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_unpaired_t_is_that_of_scipy_on_the_values(equal_variances: bool, alternative: Alternative) -> None:
    for x, y in SAMPLES:
        result = unpaired.t_test(x, y, equal_variances=equal_variances, alternative=alternative)
        with warnings.catch_warnings():
            # It warns where one of the groups doesn't vary, although the other does.
            warnings.simplefilter("ignore", RuntimeWarning)
            theirs = stats.ttest_ind(x, y, equal_var=equal_variances, alternative=alternative)
            both = stats.ttest_ind(x, y, equal_var=equal_variances).confidence_interval(0.95)
        assert result.statistic == same(theirs.statistic)
        assert result.p == same(theirs.pvalue)
        assert result.details["degrees of freedom"] == same(theirs.df)
        assert ends(result.interval) == same((both.low, both.high))
        if not equal_variances:
            assert ends(intervals.welch_interval(x, y)) == same((both.low, both.high))


@pytest.mark.parametrize(("only_x", "only_y"), [(0, 6), (5, 2), (6, 5), (7, 7), (1, 1), (400, 520), (9**6, 9**6 + 900)])
def test_mcnemar_is_that_of_the_formulas(only_x: int, only_y: int) -> None:
    n, least = only_x + only_y, min(only_x, only_y)
    exact = min(1.0, 2 * stats.binom.cdf(least, n, 0.5))
    middle = 1.0 if only_x == only_y else exact - stats.binom.pmf(least, n, 0.5)
    plain = (only_x - only_y) ** 2 / n
    less = max(0, abs(only_x - only_y) - 1) ** 2 / n
    table = [[3, only_x], [only_y, 4]]
    methods: dict[Literal["exact", "mid-p", "chi-squared", "corrected"], tuple[float, float]] = {
        "exact": (least, exact), "mid-p": (least, middle),
        "chi-squared": (plain, special.chdtrc(1, plain)), "corrected": (less, special.chdtrc(1, less)),
    }  # fmt: skip
    for method, expected in methods.items():
        result = paired.mcnemar_from_table(table, method=method)
        assert (result.statistic, result.p) == same(expected), method
        if method != "mid-p" and n < 10**6:
            theirs = mcnemar(table, exact=method == "exact", correction=method == "corrected" and only_x != only_y)
            assert (result.statistic, result.p) == same((theirs.statistic, theirs.pvalue)), method


def test_mcnemar_without_correction_of_equal_counts_is_why_none_is_asked_for() -> None:
    assert mcnemar([[3, 7], [7, 4]], exact=False, correction=True).statistic > 0
    assert paired.mcnemar_from_table([[3, 7], [7, 4]], method="corrected").p == 1


def test_odds_ratio_is_that_of_the_formula() -> None:
    for table in ([[10, 5], [7, 9]], [[1, 400], [300, 2]], [[10**9, 3], [4, 10**8]]):
        (a, b), (c, d) = table
        half = special.ndtri(0.975) * np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
        effect = effects.odds_ratio(table)
        assert effect.estimate == same(a * d / (b * c))
        log = np.log(a * d / (b * c))
        assert ends(effect.interval) == same((float(np.exp(log - half)), float(np.exp(log + half))))
        assert effect.estimate == Table2x2(table, shift_zeros=False).oddsratio


@pytest.mark.parametrize(("count", "n"), [(0, 7), (3, 7), (7, 7), (41, 5000), (2.3, 6.1)])
def test_intervals_of_shares_are_those_of_statsmodels(count: float, n: float) -> None:
    for level in (0.9, 0.95):
        theirs = proportion_confint(count, n, alpha=1 - level, method="wilson")
        assert intervals.wilson_bounds(count / n, n, level) == same(theirs)
    if 0 < count < n and count == int(count):
        low, high = proportion_confint(count, n, alpha=0.05, method="beta")
        own = effects.paired_odds_ratio(int(count), int(n - count)).interval
        assert ends(own) == same((low / (1 - low), high / (1 - high)))


@pytest.mark.parametrize("counts", [(0, 7, 3, 9), (7, 7, 1, 30), (41, 200, 60, 180)])
def test_differences_of_shares_are_those_of_statsmodels(counts: tuple[int, int, int, int]) -> None:
    a, n, b, m = counts
    for level in (0.9, 0.95):
        theirs = confint_proportions_2indep(*counts, method="newcomb", compare="diff", alpha=1 - level)
        ours = unpaired.fisher_exact([[a, n - a], [b, m - b]], level=level)
        assert ends(ours.interval) == pytest.approx(theirs, rel=1e-12, abs=1e-15)


def test_yes_told_from_no_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(23)
    for size in (5, 60):
        scores, truth = rng.integers(0, 8, size).astype(float), np.arange(size) % 2
        weights = rng.random(size) + 0.1
        area = diagnostic_accuracy.area_under_curve(scores, truth, weights=weights).estimate
        assert area == same(roc_auc_score(truth, scores, sample_weight=weights))
        counts = diagnostic_accuracy.diagnostic_accuracy(scores > 3, truth == 1, positive=True, weights=weights).counts
        theirs = confusion_matrix(truth == 1, scores > 3, sample_weight=weights)
        assert [[counts[a, b] for b in (False, True)] for a in (False, True)] == theirs.tolist()


def test_all_sign_patterns_are_those_of_scipy_but_for_rounding() -> None:
    rng = np.random.default_rng(18)

    def theirs(d: Array, alternative: str) -> float:
        tested = stats.permutation_test(
            (d,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative=alternative
        )
        return float(tested.pvalue)

    for n in (3, 6, 9):
        d = rng.integers(-4, 5, n).astype(float)
        d[0] = 1.0
        for alternative in ALTERNATIVES:
            ours = paired.permutation(d, np.zeros(n), alternative=alternative)
            assert ours.p == same(theirs(d, alternative))
    # The sum of these is 0 but for rounding, and its negative no less.
    balanced = np.array([0.1, 0.2, -0.3])
    assert paired.permutation(balanced, np.zeros(3), alternative="greater").p == 5 / 8
    assert theirs(balanced, "greater") == 4 / 8


@pytest.mark.parametrize("zeros", ["pratt", "wilcox"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_signed_ranks_are_those_of_scipy(zeros: Literal["pratt", "wilcox"], alternative: Alternative) -> None:
    for x, y in SAMPLES:
        if x.size < 30 or np.abs(x).max() > 1e6:
            continue
        x, y = np.round(x, 2), np.round(y, 2)
        if not np.count_nonzero(x - y):
            continue
        ours = paired.wilcoxon(x, y, zeros=zeros, method="asymptotic", alternative=alternative, shift=False)
        theirs = stats.wilcoxon(
            np.round(x - y, 2), zero_method=zeros, correction=True, alternative=alternative, method="asymptotic"
        )
        assert ours.p == same(theirs.pvalue)


def test_exact_ranks_with_ties_are_those_of_all_permutations() -> None:
    rng = np.random.default_rng(19)
    x, y = rng.integers(1, 6, 9).astype(float), rng.integers(1, 6, 9).astype(float)
    for alternative in ALTERNATIVES:
        signed = stats.wilcoxon(
            x, y, zero_method="pratt", alternative=alternative, method=stats.PermutationMethod(n_resamples=np.inf)
        )
        assert paired.wilcoxon(x, y, alternative=alternative).p == same(signed.pvalue)
    drawn = stats.mannwhitneyu(x[:6], y[:6], method=stats.PermutationMethod(n_resamples=np.inf))
    assert unpaired.mann_whitney(x[:6], y[:6], method="exact").p == same(drawn.pvalue)
    delta = effects.cliffs_delta(x, y).estimate
    assert delta == same(2 * stats.mannwhitneyu(x, y).statistic / 81 - 1)


def test_kappas_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(20)
    for size, k in ((40, 2), (300, 5)):
        latent = rng.normal(size=(size, 1))
        ratings = np.digitize(latent + 0.8 * rng.normal(size=(size, 3)), np.linspace(-1, 1, k - 1)) + 1
        levels = tuple(range(1, k + 1))
        joint = np.zeros((k, k))
        np.add.at(joint, (ratings[:, 0] - 1, ratings[:, 1] - 1), 1)
        gap = np.abs(np.subtract.outer(range(k), range(k)))
        for weights, penalties in (
            ("unweighted", gap > 0),
            ("linear", gap / gap.max()),
            ("quadratic", (gap / gap.max()) ** 2),
        ):
            ours = two_raters.kappa_from_counts(joint, scale=levels, weights=weights)
            theirs = inter_rater.cohens_kappa(joint, weights=penalties.astype(float))
            assert ours.estimate == same(theirs.kappa)
            assert ours.standard_error == same(theirs.std_kappa)
            assert ours.details["standard error under chance"] == same(theirs.std_kappa0)
        counts = np.stack([(ratings == level).sum(axis=1) for level in levels], axis=1)
        fleiss = many_raters.fleiss_kappa_from_counts(counts)
        assert fleiss.estimate == same(inter_rater.fleiss_kappa(counts))


def test_pearsons_interval_is_that_of_scipy() -> None:
    for x, y in SAMPLES:
        if x.size > 3:
            theirs = stats.pearsonr(x, y).confidence_interval(0.95)
            ours = two_raters.correlation(x, y, kind="pearson").interval
            if ours is not None:
                assert ends(ours) == same((theirs.low, theirs.high))


def test_simulated_power_counts_what_tests_one_by_one_find() -> None:
    pilot = np.array([0.0, 0.0, 0.0, 1.0, 0.5])
    for n, simulations in ((2, 200), (5, 100), (30, 50)):
        rng = np.random.default_rng(3)
        significant = 0
        for _ in range(simulations):
            drawn = pilot[rng.integers(0, pilot.size, size=n)]
            if np.ptp(drawn):
                significant += stats.ttest_1samp(drawn, 0.0).pvalue <= 0.05
        plan = sample_size.simulated_power(pilot, n, simulations=simulations, seed=3)
        assert plan.reached == significant / simulations
