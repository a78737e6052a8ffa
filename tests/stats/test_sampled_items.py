"""Items drawn with unequal chances: against direct sums, textbook formulas, and samples of a known population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedside.stats import sampled_means
from bedside.stats.many_raters import fleiss_kappa, gwet_ac, mean_pairwise_kappa, percent_agreement
from bedside.stats.reliability import icc, krippendorff_alpha
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems, sampled_items
from bedside.stats.two_raters import bias, bland_altman, correlation, mean_absolute_error
from benchmarks.agreement_coverage import DESIGNS, STATISTICS, coverage
from tests.stats.results import ends

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
STATISTIC_OF_CELLS: list[Callable[..., Result]] = [
    lambda cells, **how: mean_pairwise_kappa(cells, scale=SCALE, **how),
    lambda cells, **how: gwet_ac(cells, scale=SCALE, weights="quadratic", **how),
    lambda cells, **how: fleiss_kappa(cells, scale=SCALE, weights="linear", **how),
    lambda cells, **how: krippendorff_alpha(cells, metric="ordinal", scale=SCALE, **how),
    lambda cells, **how: krippendorff_alpha(cells, metric="nominal", scale=SCALE, **how),
    lambda cells, **how: krippendorff_alpha(cells, metric="interval", **how),
    lambda cells, **how: icc(cells, **how),
]


def rated(items: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(items, 1))
    return np.clip(np.round(3 + latent + 0.7 * rng.normal(size=(items, 3))), 1, 5)


def test_a_mean_and_its_error_are_those_of_stratified_sampling() -> None:
    """Cochran (1977), 5.2 and 5.3: Σ W_h · mean_h and Σ W_h² s_h² / n_h, without correction for finite strata."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(1, 1, 12), rng.normal(4, 2, 30)])
    strata = np.repeat([0, 1], [12, 30])
    sample = sampled_items(np.where(strata == 0, 0.6, 0.05), strata=strata, clusters=np.arange(42), sizes=[20, 600])
    result = sampled_means.mean(values, sample)
    shares = np.array([20, 600]) / 620
    means = [values[strata == h].mean() for h in (0, 1)]
    variances = [values[strata == h].var(ddof=1) / (strata == h).sum() for h in (0, 1)]
    assert result.estimate == pytest.approx(shares @ means)
    # A ratio's jackknife is not linear, but the weights of strata are fixed: here it is exact.
    assert result.standard_error == pytest.approx(np.sqrt(shares**2 @ variances))


def test_degrees_of_freedom_are_satterthwaites() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(1, 1, 6), rng.normal(4, 2, 9)])
    strata = np.repeat([0, 1], [6, 9])
    sample = sampled_items(np.where(strata == 0, 0.5, 0.1), strata=strata, clusters=np.arange(15))
    left_out = np.array([np.average(values, weights=rows) for block in sample.weights_left_out() for rows in block])
    error, freedom = sample.error(float(np.average(values, weights=sample.weights)), left_out)
    weights = np.array([12, 90]) / 102
    parts = [
        (weights[h] ** 2 * values[strata == h].var(ddof=1) / (strata == h).sum(), (strata == h).sum() - 1)
        for h in (0, 1)
    ]
    assert error == pytest.approx(np.sqrt(sum(part for part, _ in parts)))
    assert freedom == pytest.approx(sum(p for p, _ in parts) ** 2 / sum(p**2 / df for p, df in parts))


def two_way(items: int, seed: int) -> SampledItems:
    """Cases of two items each, of two systems, so that each case is of two strata; some items are missing."""
    rng = np.random.default_rng(seed)
    crisis = np.arange(items) // 2 < items // 6
    strata = 2 * crisis + np.arange(items) % 2
    everything = sampled_items(np.where(crisis, 0.5, 0.1), strata=strata, clusters=np.arange(items) // 2)
    return everything.of(rng.random(items) < 0.9)


def test_weights_without_a_cluster_are_those_of_a_sample_drawn_without_it() -> None:
    sample = two_way(36, 2)
    rows = np.concatenate(list(sample.weights_left_out()))
    totals = np.bincount(sample.strata, weights=sample.weights)
    assert rows.shape == (sample.cluster_count, sample.weights.size)
    for cluster, row in enumerate(rows):
        assert (row[sample.clusters == cluster] == 0).all()
        assert np.bincount(sample.strata, weights=row) == pytest.approx(totals)
    parts = np.random.default_rng(3).normal(size=(sample.weights.size, 4))
    assert sample.sums_left_out(parts) == pytest.approx(rows @ parts)


@pytest.mark.parametrize("place", range(len(STATISTIC_OF_CELLS)))
def test_a_statistic_is_that_of_the_sample_without_each_cluster_in_turn(place: int) -> None:
    """The jackknife, slowly: a table in which each item stands as often as it weighs, without each case."""
    statistic = STATISTIC_OF_CELLS[place]
    cells = rated(12, 4)
    strata = np.repeat([0, 1], [4, 8])
    sample = sampled_items(np.where(strata == 0, 0.5, 0.25), strata=strata, clusters=np.arange(12) // 2)
    result = statistic(cells, clusters=sample)

    def weighted(weights: Any) -> float:
        # One or two, and without one of two or four cases twice or four thirds of that.
        counts = np.round(3 * weights / sample.weights.min()).astype(int)
        estimate = statistic(cells[np.repeat(np.arange(12), counts)], interval="percentile", resamples=1).estimate
        assert estimate is not None
        return estimate

    if place == len(STATISTIC_OF_CELLS) - 1 or 3 <= place <= 5:
        assert result.estimate == pytest.approx(icc_or_alpha(place, cells, sample.weights), abs=1e-9)
    else:
        assert result.estimate == pytest.approx(weighted(sample.weights), abs=1e-9)
        left_out = np.array([weighted(row) for block in sample.weights_left_out() for row in block])
        error, _ = sample.error(weighted(sample.weights), left_out)
        assert result.standard_error == pytest.approx(error, rel=1e-9)


def icc_or_alpha(place: int, cells: Any, weights: Any) -> float:
    """The two whose formula has n − 1, from weighted sums written out."""
    if place == 6:
        n, k = weights.sum(), cells.shape[1]
        grand = np.average(cells.mean(axis=1), weights=weights)
        items = k * weights @ (cells.mean(axis=1) - grand) ** 2 / (n - 1)
        by_rater = np.average(cells, axis=0, weights=weights)
        raters = n * ((by_rater - grand) ** 2).sum() / (k - 1)
        rest = cells - cells.mean(axis=1, keepdims=True) - by_rater + grand
        error = weights @ (rest**2).sum(axis=1) / ((n - 1) * (k - 1))
        return float((items - error) / (items + (k - 1) * error + k * (raters - error) / n))
    counts = np.stack([(cells == level).sum(axis=1) for level in SCALE], axis=1).astype(float)
    used = weights @ counts
    ranks = np.cumsum(used) - used / 2
    distance = {
        3: (ranks[:, None] - ranks) ** 2, 4: 1 - np.eye(5), 5: (np.array(SCALE)[:, None] - SCALE) ** 2,
    }[place]  # fmt: skip
    pairs = sum(
        w * (np.outer(row, row) - np.diag(row)) / (row.sum() - 1) for w, row in zip(weights, counts, strict=True)
    )
    n = used.sum()
    observed = (pairs * distance).sum() / n
    expected = ((np.outer(used, used) - np.diag(used)) * distance).sum() / (n * (n - 1))
    return float(1 - observed / expected)


def test_with_one_chance_and_stratum_statistics_are_those_without_a_design() -> None:
    cells = rated(40, 5)
    cases = np.arange(40) // 2
    alike = sampled_items(np.full(40, 0.3), strata=np.zeros(40), clusters=cases)
    for statistic in STATISTIC_OF_CELLS:
        mine, theirs = statistic(cells, clusters=alike), statistic(cells, clusters=cases)
        assert mine.estimate == pytest.approx(theirs.estimate, abs=1e-12)
        # Around the estimate, where the other is around the mean of the jackknife's values.
        assert ends(mine) == pytest.approx(ends(theirs), abs=0.01)
    rho = sampled_means.rank_correlation(cells[:, 0], cells[:, 1], alike)
    assert rho.estimate == pytest.approx(correlation(cells[:, 0], cells[:, 1]).estimate)


def test_strata_with_one_cluster_are_joined() -> None:
    sample = sampled_items(
        [0.5, 0.5, 0.1, 0.1, 0.2], strata=[0, 0, 1, 1, 2], clusters=["a", "b", "c", "d", "e"], sizes=[4, 20, 5]
    )
    # The fifth stands with the smallest other one.
    assert sample.sizes.tolist() == [9, 20]
    assert len(set(sample.strata[[0, 1, 4]])) == 1
    assert sample.weights.sum() == pytest.approx(5)
    alone = sampled_items([0.5], strata=[0], clusters=["a"])
    assert sampled_means.mean([1.0], alone).interval is None


def test_missing_values_and_ones_without_spread() -> None:
    sample = sampled_items([0.5, 0.5, 0.1, 0.1], strata=[0, 0, 1, 1], clusters=range(4))
    assert sampled_means.share([None] * 4, sample).missing == "no values"
    assert sampled_means.mean([None] * 4, sample).missing == "no values"
    same = sampled_means.share([1, 1, 1, 1], sample)
    assert (same.estimate, same.interval) == (1.0, None)
    assert sampled_means.rank_correlation([1, 1, 1, 1], [1, 2, 3, 4], sample).estimate is None
    assert sampled_means.limit_of_agreement([1, None, None, None], sample, multiplier=1.96).estimate is None
    three = sampled_means.mean([1, 2, None, 4], sample)
    assert (three.n, three.dropped) == (3, 1)
    assert percent_agreement(rated(4, 2), clusters=sample).interval is not None


def test_limits_of_agreement_lie_around_the_weighted_bias() -> None:
    rng = np.random.default_rng(6)
    strata = np.repeat([0, 1], [20, 20])
    a, b = rng.normal(np.where(strata == 0, 2.0, 0.0), 1.0), np.zeros(40)
    sample = sampled_items(np.where(strata == 0, 0.9, 0.1), strata=strata, clusters=np.arange(40))
    result = bland_altman(a, b, clusters=sample)
    weights = np.where(strata == 0, 1 / 0.9, 1 / 0.1)
    mean = np.average(a, weights=weights)
    spread = np.sqrt(np.average((a - mean) ** 2, weights=weights) * 40 / 39)
    assert result.estimate == pytest.approx(mean)
    assert result.interval == bias(a, b, clusters=sample).interval
    for name, sign in (("lower limit", -1), ("upper limit", 1)):
        limit, low, high = (result.details[name + end] for end in ("", ", low", ", high"))
        assert limit == pytest.approx(mean + sign * 1.96 * spread)
        assert limit is not None
        assert low is not None
        assert high is not None
        assert low < limit < high
    assert mean_absolute_error(a, b, clusters=sample).estimate == pytest.approx(np.average(np.abs(a), weights=weights))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(STATISTICS))
def test_intervals_hold_the_agreement_of_all(name: str) -> None:
    """The bound is three standard errors of a share of 95 % below it; the benchmark has 2,000 studies a cell."""
    runs = 80
    for design in DESIGNS:
        if design.per == 50 and (design.systems == 2 or design.missing or design.unweighted):
            share, _ = coverage(design, STATISTICS[name], runs)
            assert (share < 0.8) if design.unweighted else (share > 0.877), design.name
