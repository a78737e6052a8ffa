"""Tests of interaction against statsmodels, scipy and data whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind
from statsmodels.stats.multivariate import test_mvmean as mean_of_vectors
from statsmodels.stats.oneway import anova_oneway

from bedside.stats.interactions import between_cases, within_cases


@pytest.mark.parametrize("levels", [3, 5])
def test_within_cases_is_hotelling_of_contrasts(levels: int) -> None:
    draw = np.random.default_rng(levels)
    table = draw.normal(size=(14, levels)) @ draw.normal(size=(levels, levels)) + np.arange(levels) / 3
    result = within_cases(table)
    reference = mean_of_vectors(table[:, :-1] - table[:, -1:])
    assert result.estimate == pytest.approx(reference.t2)
    assert result.statistic == pytest.approx(reference.statistic)
    assert result.p == pytest.approx(reference.pvalue)
    assert result.n == 14


def test_two_levels_are_the_paired_t_test_of_the_difference_of_differences() -> None:
    draw = np.random.default_rng(0)
    table = draw.normal(size=(9, 2))
    assert within_cases(table).p == pytest.approx(ttest_1samp(table[:, 0] - table[:, 1], 0).pvalue)
    gaps = np.vstack([table, [[np.nan, 1.0]]])
    result = within_cases(gaps)
    assert (result.n, result.dropped, result.p) == (9, 1, within_cases(table).p)


def test_what_cannot_be_tested_says_why() -> None:
    assert within_cases(np.zeros((5, 1))).missing == "there is one level only"
    assert within_cases(np.zeros((2, 3))).missing == "2 cases have all 3 levels, and the test needs 3"
    assert within_cases(np.full((6, 2), 0.3)).p == 1.0
    # All six differences are the same: of 64 ways to choose their signs, two are as far apart.
    same = within_cases(np.column_stack([np.full(6, 0.3), np.full(6, 0.1)]))
    assert (same.p, same.missing) == (2 / 64, "the differences are all the same")
    assert between_cases([[1.0], [2.0, 3.0]], [[1.0, 2.0], [1.0, 2.0]]).missing is not None


def test_between_cases_is_welch() -> None:
    draw = np.random.default_rng(1)
    a = [draw.normal(size=size) for size in (8, 12, 20)]
    zeros = [np.zeros(size) for size in (5, 6, 7)]
    # Where one system does not vary, the interaction is the one-way analysis of the other.
    reference = anova_oneway(a, use_var="unequal")
    result = between_cases(a, zeros)
    assert result.statistic == pytest.approx(reference.statistic)
    assert result.p == pytest.approx(reference.pvalue)
    two = ttest_ind(a[0], a[1], equal_var=False)
    assert between_cases(a[:2], zeros[:2]).p == pytest.approx(two.pvalue)


@pytest.mark.parametrize(("cases", "levels"), [(10, 2), (10, 3), (20, 4)])
def test_the_error_rate_is_as_said_whatever_the_levels_share(cases: int, levels: int) -> None:
    """Levels correlate and differ in spread; systems differ, and by the same at each level."""
    draw = np.random.default_rng(levels)
    rejected = 0
    runs = 600
    for _ in range(runs):
        case = draw.normal(size=(cases, 1))
        own = draw.normal(size=(cases, levels)) * np.linspace(0.5, 2, levels)
        rejected += (within_cases(0.7 + case + own).p or 0) <= 0.05
    # Three standard errors of a share of 5 % in 600 runs.
    assert abs(rejected / runs - 0.05) < 0.027
