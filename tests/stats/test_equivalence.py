"""Two one-sided tests against statsmodels, published score intervals, slow likelihoods and simulated studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import nct, ttest_ind
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from bedside.core.errors import DataError
from bedside.stats import crossed_raters, equivalence
from bedside.stats.equivalence import CASES, CASES_ONE_SIDED, CHANCE, CHANCE_ONE_SIDED, NOT_ABOVE, NOT_BELOW
from bedside.stats.proportion_scores import (
    miettinen_nurminen_interval,
    miettinen_nurminen_statistic,
    tango_interval,
    tango_statistic,
)
from bedside.stats.result import Result
from tests.stats.results import ends, interval_of

RNG = np.random.default_rng(3)
X = RNG.normal(3, 1, 24)
Y = X + RNG.normal(0.1, 0.5, 24)


def test_means_are_statsmodels_tests() -> None:
    paired = equivalence.paired_means(X, Y, margin=0.4)
    p, below, above = ttost_paired(X, Y, -0.4, 0.4)
    assert (paired.p, paired.details[NOT_BELOW], paired.details[NOT_ABOVE]) == (p, below[1], above[1])
    unpaired = equivalence.unpaired_means(X, Y[:15], margin=0.4)
    p, below, above = ttost_ind(X, Y[:15], -0.4, 0.4, usevar="unequal")
    assert (unpaired.p, unpaired.details[NOT_BELOW], unpaired.details[NOT_ABOVE]) == (p, below[1], above[1])


def test_standardised_means_are_welch_tests_of_moved_values() -> None:
    """Each side is scipy's test against the values of y, moved by the margin times their influence on its deviation."""
    y = Y[:15]
    sd = y.std(ddof=1)
    result = equivalence.standardised_means(X, y, margin=0.4)
    for side, name, way in ((1, NOT_ABOVE, "less"), (-1, NOT_BELOW, "greater")):
        influence = ((y - y.mean()) ** 2 - sd**2) / (2 * sd)
        moved = y + side * 0.4 * (sd + influence - influence.mean())
        assert result.details[name] == pytest.approx(ttest_ind(X, moved, equal_var=False, alternative=way).pvalue)
    assert result.p in (result.details[NOT_ABOVE], result.details[NOT_BELOW])
    assert result.estimate == pytest.approx(hedges_correction(14) * (X.mean() - y.mean()) / sd)
    assert equivalence.standardised_means(X, [2] * 9, margin=0.4).missing == "the values of y don't vary"


def hedges_correction(df: int) -> float:
    """Hedges' correction, from scipy: a non-central t has the mean of its parameter over it."""
    return float(1 / nct.mean(df, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "n_x", "n_y"), [(0.3, 60, 30), (1.5, 30, 100)])
def test_standardised_means_claim_no_more_than_they_should(ratio: float, n_x: int, n_y: int) -> None:
    """At the margin, whatever the ratio of the deviations, 5 % are called alike; of equal groups 90 % hold 0."""
    rng = np.random.default_rng(8)
    draws = 600
    false = [
        equivalence.standardised_means(side * 0.5 + ratio * rng.normal(size=n_x), rng.normal(size=n_y), margin=0.5).p
        for side in (1, -1)
        for _ in range(draws // 2)
    ]
    assert np.mean(np.array(false) < 0.05) < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / draws)
    held = [
        ends(equivalence.standardised_means(ratio * rng.normal(size=n_x), rng.normal(size=n_y), margin=0.5))
        for _ in range(draws // 2)
    ]
    assert abs(np.mean([low < 0 < high for low, high in held]) - 0.9) < 3 * np.sqrt(0.09 / (draws // 2))


def ones(count: int, n: int) -> list[int]:
    return [1] * count + [0] * (n - count)


@pytest.mark.parametrize(
    "test",
    [
        lambda margin: equivalence.paired_means(X, Y, margin=margin),
        lambda margin: equivalence.unpaired_means(X, Y[:15], margin=margin),
        lambda margin: equivalence.paired_proportions(ones(20, 30), ones(16, 30)[::-1], margin=margin),
        lambda margin: equivalence.unpaired_proportions(ones(20, 30), ones(16, 35), margin=margin),
        lambda margin: equivalence.mean_difference(
            crossed_raters.paired_difference(X.reshape(8, 3), Y.reshape(8, 3)), margin=margin
        ),
        lambda margin: equivalence.paired_means([2] * 9, [2] * 9, margin=margin, span=4),
        lambda margin: equivalence.standardised_means(X, Y[:15], margin=margin),
    ],
)
def test_p_and_interval_never_disagree(test: Any) -> None:
    """At the margin that a bound of the interval touches, p of that side is alpha."""
    interval = test(0.5).interval
    if interval.low < 0:
        assert test(-interval.low).details[NOT_BELOW] == pytest.approx(0.05, abs=1e-6)
    assert test(interval.high).details[NOT_ABOVE] == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(
    ("only_x", "only_y", "n", "level", "low", "high"),
    [
        # Fagerland, Lydersen and Laake (2014), airway hyper-responsiveness of Bentur et al.
        (1, 7, 21, 0.95, -0.517, -0.026),
        # R: PropCIs::scoreci.mp(25, 28, 618, 0.9), which is the second count less the first.
        (28, 25, 618, 0.90, -0.0148, 0.0247),
    ],
)
def test_tango_interval_is_the_published_one(
    only_x: int, only_y: int, n: int, level: float, low: float, high: float
) -> None:
    interval = tango_interval(only_x, only_y, n, level=level)
    digits = 3 if n == 21 else 4
    assert (round(interval.low, digits), round(interval.high, digits)) == (low, high)


@pytest.mark.parametrize(
    ("only_x", "only_y", "n", "difference"), [(5, 2, 30, -0.2), (5, 2, 30, 0.4), (0, 4, 25, 0.1), (3, 0, 9, 0.05)]
)
def test_tango_statistic_is_the_score_of_the_likelihood(only_x: int, only_y: int, n: int, difference: float) -> None:
    def unlikely(share_y: float) -> float:
        shares = (share_y + difference, share_y, 1 - 2 * share_y - difference)
        counts = (only_x, only_y, n - only_x - only_y)
        logs = np.log(np.maximum(shares, 1e-300))
        return -float(sum(count * log for count, log in zip(counts, logs, strict=True) if count))

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    share = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
    variance = (2 * share + difference - difference**2) / n
    score = ((only_x - only_y) / n - difference) / np.sqrt(variance)
    assert tango_statistic(only_x, only_y, n, difference) == pytest.approx(score, rel=1e-5)


def test_no_case_differing_is_wilsons_bound() -> None:
    """Of no discordant pair, Tango's bound is Wilson's of none among n."""
    high = proportion_confint(0, 50, alpha=0.1, method="wilson")[1]
    interval = tango_interval(0, 0, 50, level=0.9)
    assert (-interval.low, interval.high) == pytest.approx((high, high))


def test_miettinen_nurminen_is_the_published_interval() -> None:
    """Newcombe (1998), method 6, examples a, c and e."""
    for ones_x, n_x, ones_y, n_y, low, high in (
        (56, 70, 48, 80, 0.0528, 0.3382), (9, 10, 3, 10, 0.1700, 0.8406), (5, 56, 0, 29, -0.0326, 0.1933),
    ):  # fmt: skip
        interval = miettinen_nurminen_interval(ones_x=ones_x, n_x=n_x, ones_y=ones_y, n_y=n_y)
        assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("ones_x", "n_x", "ones_y", "n_y", "difference"), [(7, 20, 9, 31, -0.3), (0, 12, 5, 9, 0.2), (12, 12, 5, 9, 0.6)]
)
def test_miettinen_nurminen_is_the_score_of_the_likelihood(
    ones_x: int, n_x: int, ones_y: int, n_y: int, difference: float
) -> None:
    def unlikely(share_y: float) -> float:
        parts = ((ones_x, n_x, share_y + difference), (ones_y, n_y, share_y))
        return -float(sum(k * np.log(max(p, 1e-300)) + (n - k) * np.log(max(1 - p, 1e-300)) for k, n, p in parts))

    bounds = (max(0.0, -difference) + 1e-12, min(1.0, 1 - difference) - 1e-12)
    y = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
    x, n = y + difference, n_x + n_y
    variance = (x * (1 - x) / n_x + y * (1 - y) / n_y) * n / (n - 1)
    score = (ones_x / n_x - ones_y / n_y - difference) / np.sqrt(variance)
    assert miettinen_nurminen_statistic(
        ones_x=ones_x, n_x=n_x, ones_y=ones_y, n_y=n_y, difference=difference
    ) == pytest.approx(score, rel=1e-4)


def test_the_chance_is_what_simulated_studies_reach() -> None:
    """Paired means: statsmodels' tests on 4,000 studies of systems that don't differ."""
    pattern = np.linspace(-1, 1, 12)
    spread = float(pattern.std(ddof=1))
    result = equivalence.paired_means(pattern, np.zeros(12), margin=0.4)
    studies = np.random.default_rng(5).normal(0, spread, (12, 4000))
    _, below, above = ttost_paired(studies, np.zeros_like(studies), -0.4, 0.4)
    both = float(np.mean(np.maximum(below[1], above[1]) < 0.05))
    assert result.details[CHANCE] == pytest.approx(both, abs=0.025)
    assert result.details[CHANCE_ONE_SIDED] == pytest.approx(float(np.mean(below[1] < 0.05)), abs=0.025)


def test_the_cases_needed_reach_the_planned_power() -> None:
    result = equivalence.paired_means(X, Y, margin=0.2)
    spread = float(np.std(X - Y, ddof=1))
    needed, one_sided = int(result.details[CASES] or 0), int(result.details[CASES_ONE_SIDED] or 0)
    rng = np.random.default_rng(8)
    for n, both in ((needed, True), (one_sided, False)):
        studies = rng.normal(0, spread, (n, 4000))
        _, below, above = ttost_paired(studies, np.zeros_like(studies), -0.2, 0.2)
        reached = np.mean((np.maximum(below[1], above[1]) if both else below[1]) < 0.05)
        assert reached == pytest.approx(0.8, abs=0.025)


def test_the_chance_of_proportions_is_what_simulated_studies_reach() -> None:
    rng = np.random.default_rng(9)
    paired = equivalence.paired_proportions_from_table([[360, 60], [60, 120]], margin=0.05)
    counts = rng.multinomial(600, (0.1, 0.1, 0.8), size=1500)
    shown = [min(tango_statistic(b, c, 600, -0.05), -tango_statistic(b, c, 600, 0.05)) > 1.6449 for b, c, _ in counts]
    assert paired.details[CHANCE] == pytest.approx(np.mean(shown), abs=0.05)
    unpaired = equivalence.unpaired_proportions(ones(60, 100), ones(60, 100), margin=0.2)
    drawn = rng.binomial(100, 0.6, size=(1500, 2))
    shown = [
        miettinen_nurminen_statistic(ones_x=a, n_x=100, ones_y=b, n_y=100, difference=-0.2) > 1.6449 for a, b in drawn
    ]
    assert unpaired.details[CHANCE_ONE_SIDED] == pytest.approx(np.mean(shown), abs=0.05)


def test_at_the_margin_it_is_shown_in_five_of_a_hundred() -> None:
    """Levels 1 to 5 whose true difference is the margin: 20 cases, 3,000 studies."""
    rng = np.random.default_rng(4)
    steps = rng.choice((-1.0, 0.0, 1.0), size=(20, 3000), p=(0.4, 0.5, 0.1))
    _, below, _ = ttost_paired(steps, np.zeros_like(steps), -0.3, 0.3)
    assert np.mean(below[1] < 0.05) < 0.065
    drawn = rng.multinomial(40, (0.05, 0.15, 0.8), size=1500)
    assert np.mean([tango_statistic(b, c, 40, -0.1) > 1.6449 for b, c, _ in drawn]) < 0.065


def test_cases_that_all_differ_alike_have_an_exact_bound() -> None:
    """59 cases alike are had in 5 % of samples where 5 % of all cases differ by the whole scale."""
    result = equivalence.paired_means([3] * 59, [3] * 59, margin=0.2, span=4)
    # Were a share s of cases different, none of 59 would be in (1 − s)^59 of all samples.
    share = interval_of(result).high / 4
    assert (1 - share) ** 59 == pytest.approx(0.05)
    assert result.p == pytest.approx((1 - 0.2 / 4) ** 59)
    assert result.details[CASES] == 59
    unknown = equivalence.paired_means([3] * 59, [3] * 59, margin=0.2)
    assert (unknown.p, unknown.interval) == (None, None)
    assert "the scale's ends are not known" in (unknown.missing or "")


@pytest.mark.parametrize("margin", [0, -1, float("nan")])
def test_a_margin_is_above_zero(margin: float) -> None:
    with pytest.raises(DataError, match="`margin`"):
        equivalence.paired_means(X, Y, margin=margin)


def results_without_a_word() -> list[Result]:
    nothing: list[float] = []
    return [
        equivalence.paired_means(nothing, nothing, margin=1),
        equivalence.paired_means([1], [2], margin=1),
        equivalence.unpaired_means([1], [2, 3], margin=1),
        equivalence.unpaired_means([1, 1], [2, 2], margin=1),
        equivalence.paired_proportions(nothing, nothing, margin=0.1),
        equivalence.unpaired_proportions(nothing, [1], margin=0.1),
        equivalence.mean_difference(crossed_raters.paired_difference([[1, 2]] * 4, [[1, 1]] * 4), margin=1),
    ]


def test_what_can_not_be_tested_has_a_reason() -> None:
    for result in results_without_a_word():
        assert (result.p, result.interval) == (None, None)
        assert result.missing


@pytest.mark.parametrize(("x", "y"), [(ones(1, 1), ones(1, 1)), (ones(0, 3), ones(3, 3)), (ones(0, 5), ones(0, 5))])
def test_proportions_at_the_ends_have_intervals(x: list[int], y: list[int]) -> None:
    for test in (equivalence.paired_proportions, equivalence.unpaired_proportions):
        result = test(x, y, margin=0.1)
        assert -1 <= interval_of(result).low <= (result.estimate or 0) <= interval_of(result).high <= 1
        assert 0 <= (result.p or 0) <= 1
