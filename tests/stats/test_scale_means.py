"""Means on a scale: Wilson's where values are 0 and 1, never off the scale, and covering the truth near its ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from bedside.stats import intervals
from bedside.stats.result import Interval
from bedside.stats.scale_means import scale_mean
from tests.soak import budget
from tests.stats.results import ends


def bounds(values: Any, **options: Any) -> Interval:
    interval = scale_mean(values, **options).interval
    assert interval is not None
    return interval


def test_zeros_and_ones_have_wilsons_interval() -> None:
    # Newcombe (1998), Statistics in Medicine 17.
    interval = bounds([1] * 81 + [0] * 182, low=0, high=1)
    assert ends(interval) == pytest.approx((0.2552885, 0.3662096), abs=5e-8)
    none = bounds([0] * 20, low=0, high=1)
    assert none.low == 0
    assert none.high == pytest.approx(0.1611252, abs=5e-8)
    clusters = [0, 0, 1, 1, 2, 2]
    clustered = bounds([0, 1, 1, 1, 0, 0], low=0, high=1, clusters=clusters)
    assert clustered == intervals.proportion([0, 1, 1, 1, 0, 0], clusters=clusters).interval


def test_an_end_solves_the_score_equation() -> None:
    """Where the mean would be the end itself, it lies z standard errors off: those of the end, not of the values."""
    values = np.array([5, 5, 4, 5, 3, 5, 5, 2.0])
    interval = bounds(values, low=1, high=5)
    place, error = (values.mean() - 1) / 4, values.std(ddof=1) / np.sqrt(8) / 4
    quantile = stats.t.ppf(0.975, 7)
    for end in (interval.low, interval.high):
        at = (end - 1) / 4
        variance = error**2 * at * (1 - at) / (place * (1 - place))
        assert (place - at) ** 2 == pytest.approx(quantile**2 * variance, rel=1e-9)


def test_equal_values_have_wilsons_bound_of_those_not_seen() -> None:
    unseen = 0.1611252  # Newcombe's bound of 0 of 20
    for value in (1, 3, 5):
        interval = bounds([value] * 20, low=1, high=5)
        assert ends(interval) == pytest.approx((value - unseen * (value - 1), value + unseen * (5 - value)), abs=1e-6)
    # Of twenty values in five cases there are five.
    clustered = bounds([4] * 20, low=1, high=5, clusters=np.repeat(np.arange(5), 4))
    alone = bounds([4] * 20, low=1, high=5)
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)
    # Cases whose values cancel out have nothing that varies either.
    cancelled = bounds([3, 5] * 5, low=1, high=5, clusters=np.repeat(np.arange(5), 2))
    assert cancelled == bounds([4] * 10, low=1, high=5, clusters=np.repeat(np.arange(5), 2))


def test_an_open_scale_has_students_interval_cut_at_its_end() -> None:
    values = [0.1, 0.2, 3.0]
    plain = intervals.mean_t(values).interval
    assert plain is not None
    assert plain.low < 0
    assert scale_mean(values).interval == plain
    cut = bounds(values, low=0)
    assert (cut.low, cut.high) == (0, plain.high)
    assert bounds([-value for value in values], high=0).high == 0
    assert scale_mean([2.0, 2.0], low=0).missing == "no interval: all values are equal"


def test_one_value_or_one_case_has_no_interval() -> None:
    assert scale_mean([4], low=1, high=5).missing == "no interval: only one value"
    assert scale_mean([4, 5], low=1, high=5, clusters=["a", "a"]).missing == "no interval: only one cluster"
    assert scale_mean([None], low=1, high=5).missing == "no values"
    assert scale_mean([4, None, 5], low=1, high=5).dropped == 1


def test_values_may_leave_the_scale_where_their_mean_does_not() -> None:
    # As the linearised values of a ratio of sums do.
    interval = bounds([0.4, 1.3, 1.0], low=0, high=1)
    assert 0 < interval.low < 0.9 < interval.high < 1


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_an_interval_holds_its_mean_and_stays_on_the_scale(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 4.9999999, 5.0]), min_size=2, max_size=12))
    members = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    for clusters in (None, members):
        result = scale_mean(values, low=1, high=5, clusters=clusters)
        if result.interval is None:
            assert clusters is not None
            assert len(set(members)) == 1
            continue
        assert result.estimate is not None
        assert 1 <= result.interval.low <= result.estimate <= result.interval.high <= 5
        assert result.interval.high > result.interval.low
        # Turned about, the scale has the interval turned about.
        turned = bounds([6 - value for value in values], low=1, high=5, clusters=clusters)
        assert ends(turned) == pytest.approx((6 - result.interval.high, 6 - result.interval.low), abs=1e-9)


#: Chances of the levels 1 to 5, and the least coverage that is promised.
_RATINGS = {
    "in the middle": ((0.1, 0.2, 0.4, 0.2, 0.1), 0.94),
    "near the end": ((0, 0, 0.1, 0.2, 0.7), 0.94),
    "at the end but for a tenth": ((0, 0, 0, 0.1, 0.9), 0.94),
    "at the end but for a twentieth": ((0, 0, 0, 0.05, 0.95), 0.94),
    "yes or no, one in ten": ((0.1, 0, 0, 0, 0.9), 0.935),
    "yes or no, one in thirty": ((0.03, 0, 0, 0, 0.97), 0.94),
    "all alike": ((0, 0.02, 0.96, 0.02, 0), 0.94),
    "one in thirty far away": ((0.03, 0, 0, 0.37, 0.6), 0.91),
}


def drawn(rng: np.random.Generator, chances: Any, cases: int, times: int, alike: float) -> Any:
    """Ratings of cases, several times each, of which a share is the case's own."""
    own = rng.choice(5, (cases, 1), p=chances) + 1.0
    again = rng.choice(5, (cases, times), p=chances) + 1.0
    return np.where(rng.random((cases, times)) < np.sqrt(alike), own, again)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("ratings", _RATINGS)
@pytest.mark.parametrize(("cases", "times"), [(3, 1), (5, 1), (10, 1), (20, 1), (40, 1), (5, 3), (10, 3), (20, 2)])
def test_coverage(ratings: str, cases: int, times: int) -> None:
    chances, least = _RATINGS[ratings]
    truth = float(np.dot(chances, range(1, 6)))
    rng = np.random.default_rng(20)
    clusters = None if times == 1 else np.repeat(np.arange(cases), times)
    runs = budget(100, 4000)
    covered = students = 0
    for _ in range(runs):
        values = drawn(rng, chances, cases, times, 0.4).ravel()
        interval = bounds(values, low=1, high=5, clusters=clusters)
        covered += interval.low - 1e-9 <= truth <= interval.high + 1e-9
        plain = intervals.mean_t(values, clusters=clusters).interval
        students += plain is not None and plain.low <= truth <= plain.high
    assert covered / runs >= least - 3 * np.sqrt(0.05 * 0.95 / runs)
    if ratings == "at the end but for a twentieth" and cases <= 10:
        assert students / runs < 0.8


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.98])
@pytest.mark.parametrize(("cases", "times"), [(8, 3), (20, 1), (20, 5), (60, 2)])
def test_coverage_of_rates(rate: float, cases: int, times: int) -> None:
    """Wilson's, and by cases whose own rates differ: Beta with intraclass correlation 0.2."""
    rng = np.random.default_rng(21)
    clusters = None if times == 1 else np.repeat(np.arange(cases), times)
    runs = budget(100, 4000)
    covered = 0
    for _ in range(runs):
        own = rng.beta(4 * rate, 4 * (1 - rate), (cases, 1))
        values = (rng.random((cases, times)) < own).ravel().astype(float)
        interval = bounds(values, low=0, high=1, clusters=clusters)
        covered += interval.low <= rate <= interval.high
    assert covered / runs >= 0.92 - 3 * np.sqrt(0.05 * 0.95 / runs)
