"""Two groups that share some cases: the difference that a study shows, against statsmodels and simulated studies."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower, TTestPower

from bedside.stats.overlapping import detectable_difference, t_test


@pytest.mark.parametrize(("n_x", "n_y"), [(5, 5), (15, 15), (40, 40)])
def test_without_pairs_it_is_that_of_two_groups(n_x: int, n_y: int) -> None:
    expected = TTestIndPower().solve_power(effect_size=None, nobs1=n_x, ratio=n_y / n_x, alpha=0.05, power=0.8)
    assert detectable_difference(0, n_x, n_y) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_with_nothing_but_pairs_it_is_that_of_differences(correlation: float) -> None:
    expected = TTestPower().solve_power(effect_size=None, nobs=20, alpha=0.01, power=0.9)
    smallest = detectable_difference(20, 0, 0, correlation=correlation, alpha=0.01, power=0.9)
    assert smallest == pytest.approx(expected * np.sqrt(2 - 2 * correlation), rel=1e-4)


def test_too_few_cases_and_no_variation_have_none() -> None:
    assert detectable_difference(0, 1, 10) is None
    assert detectable_difference(1, 0, 0) is None
    assert detectable_difference(10, 0, 0, correlation=1.0) is None


def share_of_rejections(shared: int, alone: int, correlation: float, difference: float, runs: int) -> float:
    rng = np.random.default_rng(3)
    pairs = rng.multivariate_normal([difference, 0], [[1, correlation], [correlation, 1]], size=(runs, shared))
    others = rng.normal(size=(runs, 2, alone)) + np.array([difference, 0])[:, None]
    tests = [t_test(*pair.T, *other).p for pair, other in zip(pairs, others, strict=True)]
    return float(np.mean([p is not None and p <= 0.05 for p in tests]))


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "alone", "correlation"), [(3, 7, 0.0), (5, 5, 0.6), (12, 28, 0.6)])
def test_the_power_is_reached_and_null_data_are_rejected_in_a_twentieth(
    shared: int, alone: int, correlation: float
) -> None:
    smallest = detectable_difference(shared, alone, alone, correlation=correlation)
    assert smallest is not None
    # The correlation of few pairs is hardly known, which costs some power.
    assert share_of_rejections(shared, alone, correlation, smallest, 1000) == pytest.approx(0.8, abs=0.06)
    assert 0.025 <= share_of_rejections(shared, alone, correlation, 0.0, 1000) <= 0.065
