"""Statistics of several systems, families, intervals, shape, consensus and reading."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import cochrans_q

from bedside.stats import (
    _blocks,
    _resampling,
    consensus,
    effects,
    families,
    intervals,
    kappa_bands as reading,
    paired,
    several,
    shape,
    unpaired,
)
from bedside.stats.arrays import average_ranks
from bedside.stats.result import Result
from tests.reference import statistics as published
from tests.stats.results import ends, interval_of


def test_friedman_published() -> None:
    result = several.friedman(published.ROUNDING_TIMES)
    assert result.statistic == pytest.approx(11.142857, abs=5e-7)
    assert result.p == pytest.approx(0.003805041, abs=5e-10)
    assert result.estimate == pytest.approx(11.142857 / 44, abs=1e-7)


def test_kruskal_published() -> None:
    result = several.kruskal_wallis(published.MUCOCILIARY)
    assert result.statistic == pytest.approx(0.77143, abs=5e-6)
    assert result.p == pytest.approx(0.68, abs=5e-4)
    assert result.details["degrees of freedom"] == 2


@pytest.mark.parametrize("levels", [2, 5, 10_000])
def test_tests_of_several_against_scipy(levels: int) -> None:
    rng = np.random.default_rng(levels)
    table = rng.integers(levels, size=(17, 4)).astype(float)
    groups = [rng.integers(levels, size=size).astype(float) for size in (3, 8, 12)]
    for own, theirs in (
        (several.friedman(table), stats.friedmanchisquare(*table.T)),
        (several.kruskal_wallis(groups), stats.kruskal(*groups)),
    ):
        assert (own.statistic, own.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)
    assert average_ranks(groups[2]).tolist() == stats.rankdata(groups[2]).tolist()


def test_cochran_against_statsmodels_and_mcnemar() -> None:
    rng = np.random.default_rng(1)
    table = (rng.random((30, 4)) < (0.2, 0.4, 0.5, 0.7)).astype(int)
    result = several.cochran_q(table)
    theirs = cochrans_q(table)
    assert (result.statistic, result.p) == pytest.approx((theirs.statistic, theirs.pvalue))


@pytest.mark.parametrize(("method", "theirs"), [("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")])
def test_false_discovery_rates_are_those_of_scipy(method: str, theirs: str) -> None:
    p_values = np.random.default_rng(4).random(40) ** 3
    with_missing = np.insert(p_values, 7, np.nan)
    expected = np.insert(stats.false_discovery_control(p_values, method=theirs), 7, np.nan)
    assert families.adjusted(with_missing, method=method) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_pairwise_is_a_family() -> None:
    rng = np.random.default_rng(2)
    systems = {name: rng.normal(size=20) + shift for name, shift in (("a", 0), ("b", 1), ("c", 0.2))}
    found = several.pairwise(systems, paired.wilcoxon, name="systems", zeros="wilcox")
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    p = [paired.wilcoxon(systems[x], systems[y], zeros="wilcox").p for x, y in found]
    assert [result.p_adjusted for result in found.values()] == list(families.adjusted(p))
    assert {(result.family, result.family_size, result.correction) for result in found.values()} == {
        ("systems", 3, "holm")
    }


def test_corrections_published() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert families.adjusted(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert families.adjusted(p, method="bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert families.adjusted(p, method="benjamini-hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert families.adjusted(p, method="benjamini-yekutieli") == pytest.approx(
        [0.0416667, 0.0833333, 0.0833333, 0.0416667], abs=5e-8
    )


# statsmodels collects garbage at each correction, which takes a tenth of a second.
@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from(sorted(families.CORRECTIONS)))
def test_corrections_keep_order_and_only_raise(p: list[float], method: str) -> None:
    found = families.adjusted(p, method=method)
    assert (found >= np.array(p) - 1e-12).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(p)]) >= -1e-12).all()


def test_missing_p_values_do_not_count() -> None:
    results = [
        Result(name="a", method="", p=0.01),
        Result(name="b", method="", missing="no pairs"),
        Result(name="c", method="", p=0.04),
    ]
    found = families.family(results, "three")
    assert [result.p_adjusted for result in found] == [pytest.approx(0.02), None, pytest.approx(0.04)]
    assert {result.family_size for result in found} == {2}
    assert families.adjusted([]).size == 0


def test_wilson_published() -> None:
    # Newcombe (1998), Statistics in Medicine 17.
    for successes, n, low, high in ((81, 263, 0.2552885, 0.3662096), (0, 20, 0.0, 0.1611252)):
        interval = intervals.wilson(successes, n).interval
        assert ends(interval) == pytest.approx((low, high), abs=5e-8)
    assert intervals.proportion([0, 1, 1, None]).estimate == pytest.approx(2 / 3)


def test_all_resamples_published() -> None:
    # Efron and Tibshirani (1993): all 5 ** 5 resamples.
    result = intervals.mean_bootstrap([1, 2, 3, 4, 10], method="percentile")
    assert result.standard_error == pytest.approx(np.sqrt(2))
    assert ends(result) == pytest.approx((1.8, 7.2))
    means = [np.mean(draw) for draw in product([1, 2, 3, 4, 10], repeat=5)]
    assert interval_of(result).low == pytest.approx(np.quantile(means, 0.025))


def test_intervals_of_differences_are_those_of_the_t_tests() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(1, 2, 30), rng.normal(0, 1, 20)
    for bounds, tested in (
        (intervals.paired_difference_interval(x[:20] - y), paired.t_test(x[:20], y).interval),
        (intervals.welch_interval(x, y), unpaired.t_test(x, y).interval),
    ):
        assert tested is not None
        assert ends(bounds) == pytest.approx((tested.low, tested.high))
    assert intervals.paired_difference_interval(x[:1]) is None
    assert intervals.welch_interval(x, y[:1]) is None
    certain = intervals.welch_interval(np.ones(3), np.zeros(3))
    assert certain is not None
    assert certain.low == certain.high == 1


def test_mean_t_against_scipy_and_clusters() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=30)
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    ours = intervals.mean_t(values).interval
    assert ends(ours) == pytest.approx((theirs.low, theirs.high))
    # Copies within a cluster carry nothing new.
    copies = intervals.mean_t(np.repeat(values, 4), clusters=np.repeat(np.arange(30), 4)).interval
    assert ends(copies) == pytest.approx((theirs.low, theirs.high))
    again = intervals.mean_bootstrap(np.repeat(values, 4), clusters=np.repeat(np.arange(30), 4), seed=1).interval
    single = intervals.mean_bootstrap(values, seed=1).interval
    assert again is not None
    assert single is not None
    assert again.low == pytest.approx(single.low, abs=0.02)


def test_bootstrap_does_not_depend_on_the_memory_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).exponential(size=37)
    whole = intervals.mean_bootstrap(values, seed=2, resamples=300)
    monkeypatch.setattr(_blocks, "BUDGET_BYTES", 8 * 50)
    pieces = intervals.mean_bootstrap(values, seed=2, resamples=300)
    assert interval_of(pieces).low == pytest.approx(interval_of(whole).low, abs=1e-12)
    counts = _resampling.draw(np.array([50.0, 30, 20]), 7, np.random.default_rng(5))
    assert (counts.sum(axis=1) == 100).all()


def test_skewness_against_scipy() -> None:
    values = np.random.default_rng(6).exponential(size=40)
    result = shape.skewness(values)
    assert result.estimate == pytest.approx(stats.skew(values))
    assert result.p == pytest.approx(stats.skewtest(values).pvalue)
    # D'Agostino, Belanger and D'Agostino (1990): cholesterol, z 3.14 (√b1 1.02).
    cholesterol = [
        393, 353, 334, 336, 327, 300, 300, 308, 283, 285, 270, 270, 272, 278, 278, 263, 264, 267, 267, 267, 268, 254,
        254, 254, 256, 256, 258, 240, 243, 246, 247, 248, 230, 230, 230, 230, 231, 232, 232, 232, 234, 234, 236, 236,
        238, 220, 225, 225, 226, 210, 211, 212, 215, 216, 217, 218, 200, 202, 192, 198, 184, 167,
    ]  # fmt: skip
    found = shape.skewness(cholesterol)
    assert (round(found.estimate or 0, 2), round(found.statistic or 0, 2)) == (1.02, 3.14)
    assert shape.skewness(values, adjusted=True).estimate == pytest.approx(stats.skew(values, bias=False))


@pytest.mark.parametrize(("skewed", "z", "n"), [(-0.664, -6.556, 683), (0.191, 2.04, 683)])
def test_calm_its_skewness_and_z_go_together_at_one_value_a_client(skewed: float, z: float, n: int) -> None:
    """CALM-IT prints the first pair; at the same n its second γ has a p of .04, not below .0001 as printed."""
    normal = stats.norm.ppf((np.arange(n) + 0.5) / n)

    def bent(power: float) -> Any:
        return np.sign(skewed) * np.expm1(power * normal)

    power = optimize.brentq(lambda each: stats.skew(bent(each)) - skewed, 1e-3, 1.0)
    found = shape.skewness(bent(power))
    assert found.estimate == pytest.approx(skewed)
    assert found.statistic == pytest.approx(z, abs=0.006)
    assert found.p == pytest.approx(stats.skewtest(bent(power)).pvalue)


def test_standardised_differences() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0.5, 1, 20), rng.normal(0, 1, 25)
    d = effects.cohens_d(x, y)
    pooled = np.sqrt((19 * x.var(ddof=1) + 24 * y.var(ddof=1)) / 43)
    assert d.estimate == pytest.approx((x.mean() - y.mean()) / pooled)
    pingouin = pytest.importorskip("pingouin")
    assert effects.cohens_d(x, y, hedges=True).estimate == pytest.approx(
        pingouin.compute_effsize(x, y, eftype="hedges"), abs=1e-3
    )
    # At a bound the noncentral t puts 2.5 % beyond the t that was found.
    t = stats.ttest_ind(x, y).statistic
    unit = np.sqrt(1 / 20 + 1 / 25)
    assert stats.nct.cdf(t, 43, interval_of(d).low / unit) == pytest.approx(0.975, abs=1e-7)
    assert stats.nct.cdf(t, 43, interval_of(d).high / unit) == pytest.approx(0.025, abs=1e-7)
    dz = effects.cohens_dz(x[:20], y[:20])
    assert dz.estimate == pytest.approx((x - y[:20]).mean() / (x - y[:20]).std(ddof=1))


def test_odds_ratios_against_statsmodels_and_scipy() -> None:
    from statsmodels.stats.contingency_tables import Table2x2

    table = [[12, 5], [6, 14]]
    ours, theirs = effects.odds_ratio(table), Table2x2(np.array(table))
    assert ours.estimate == pytest.approx(theirs.oddsratio)
    assert ends(ours) == pytest.approx(theirs.oddsratio_confint(0.05))
    exact = stats.binomtest(9, 13).proportion_ci(0.95, method="exact")
    pair = effects.paired_odds_ratio(9, 4)
    assert ends(pair) == pytest.approx((exact.low / (1 - exact.low), exact.high / (1 - exact.high)))
    assert unpaired.fisher_exact(table).effect == ours


def test_one_sided_dominance_has_wilsons_bound() -> None:
    effect = effects.cliffs_delta([5, 6, 7, 8], [1, 2, 3])
    wilson = intervals.wilson(3, 3).interval
    assert wilson is not None
    assert interval_of(effect).low == pytest.approx(2 * wilson.low - 1)
    assert interval_of(effect).high == 1


def test_consensus() -> None:
    table = [[1, 1, 2], [1, 2, 3], [2, 2, None], [1, 2, None], [None, None, None], [3, None, None]]
    found = consensus.majority(table)
    assert found.values == (1, None, 2, None, None, 3)
    assert found.ties == (1, 3)
    assert found.unrated == (4,)
    assert found.raters == (3, 3, 2, 2, 0, 1)
    assert consensus.majority([["a", "b", "a"]]).values == ("a",)
    middle = consensus.median(table)
    assert middle.values == (1, 2, 2, 1.5, None, 3)
    assert middle.ties == (3,)
    assert consensus.mean(table).values[:2] == (pytest.approx(4 / 3), 2)
    settled = consensus.adjudicate(found, {1: 3})
    assert settled.values == (1, 3, 2, None, None, 3)
    assert (settled.ties, settled.adjudicated) == ((3,), (1,))


@pytest.mark.parametrize(
    ("kappa", "band"),
    [
        (-0.1, "poor"), (0.0, "poor"), (0.01, "slight"), (0.20, "slight"), (0.21, "fair"), (0.40, "fair"),
        (0.46, "moderate"), (0.60, "moderate"), (0.62, "substantial"), (0.80, "substantial"),
        (0.81, "almost perfect"), (1.0, "almost perfect"), (None, None),
    ],
)  # fmt: skip
def test_reading(kappa: float | None, band: str | None) -> None:
    assert reading.reading(kappa) == band


def test_shares_of_clustered_values() -> None:
    rng = np.random.default_rng(5)
    # Values that are copies within a cluster carry what single values do, but for t in place of z.
    ones = np.repeat(rng.random(40) < 0.3, 5).astype(int)
    clusters = np.repeat(np.arange(40), 5)
    copied = intervals.proportion(ones, clusters=clusters).interval
    share, error = ones.mean(), ones[::5].std(ddof=1) / np.sqrt(40)
    effective = share * (1 - share) / error**2 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 39)) ** 2
    assert copied is not None
    for bound in (copied.low, copied.high):
        # A score interval's bounds solve (share − p)² = z² p (1 − p) / n.
        squared = stats.norm.ppf(0.975) ** 2 * bound * (1 - bound) / effective
        assert (share - bound) ** 2 == pytest.approx(squared, rel=1e-9)
    assert intervals.proportion([1, 1, 1], clusters=[1, 1, 1]).missing == "no interval: only one cluster"
    nothing = intervals.proportion(np.zeros(40), clusters=np.repeat(np.arange(8), 5)).interval
    assert nothing is not None
    assert nothing.low == 0
    assert nothing.high > ends(intervals.wilson(0, 8))[1]


@pytest.mark.slow
def test_intervals_of_clustered_shares_cover_the_truth() -> None:
    rng = np.random.default_rng(6)
    cases, each, truth = 20, 5, 0.2
    clusters = np.repeat(np.arange(cases), each)
    covered = {True: 0, False: 0}
    for _ in range(600):
        chances = rng.beta(truth * 1.5, (1 - truth) * 1.5, cases)
        ones = (rng.random((cases, each)) < chances[:, None]).astype(int).ravel()
        for clustered in covered:
            interval = intervals.proportion(ones, clusters=clusters if clustered else None).interval
            assert interval is not None
            covered[clustered] += interval.low <= truth <= interval.high
    assert covered[True] / 600 >= 0.93
    assert covered[False] / 600 < 0.9
