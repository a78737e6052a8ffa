"""Change of a mean in per cent, against the published figures and scipy's t tests."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, strategies as st

from bedside.stats.change import mean_percentage_change, percentage_change
from tests.stats.results import ends


@pytest.mark.parametrize(("base", "change"), [(4.27, 4.22), (2.86, 55.59), (1.19, 273.95)])
def test_published_changes(base: float, change: float) -> None:
    spread = np.array([-0.3, 0.1, 0.2])
    found = percentage_change(base + spread, 4.45 + spread[::-1])
    assert round(found.estimate or 0, 2) == change
    assert found.n == 3


@pytest.mark.parametrize(("n", "mean"), [(5, 1.2), (12, 0.9), (40, 1.0)])
def test_the_interval_holds_what_a_t_test_keeps(n: int, mean: float) -> None:
    """Its ends are where scipy's t test of after − ratio · before has p = .05; at 0 that is the paired test."""
    rng = np.random.default_rng(n)
    before = rng.normal(4, 1, n)
    after = before * mean + rng.normal(0, 0.5, n)
    found = percentage_change(before, after)
    ratio = after.mean() / before.mean()
    assert found.estimate == pytest.approx(100 * (ratio - 1))

    def beyond(change: float) -> float:
        return float(scipy.stats.ttest_1samp(after - (1 + change / 100) * before, 0).pvalue) - 0.05

    low, high = ends(found)
    expected = [scipy.optimize.brentq(beyond, end, found.estimate) for end in (low - 5, high + 5)]
    assert (low, high) == pytest.approx(expected, abs=1e-6)
    assert (low <= 0 <= high) == (scipy.stats.ttest_rel(after, before).pvalue > 0.05)
    left = after - ratio * before
    assert found.standard_error == pytest.approx(100 * left.std(ddof=1) / np.sqrt(n) / before.mean())


@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_of_few_pairs_hold_the_change(skewed: bool) -> None:
    """A BCa bootstrap's held it in 91.5 % of studies of 12 normal pairs, and in 89.2 % of skewed ones."""
    rng = np.random.default_rng(8)
    held = []
    for _ in range(600):
        case = np.exp(rng.normal(0, 0.5, 12)) if skewed else rng.normal(50, 8, 12)
        error = rng.normal(size=(2, 12))
        pair = case * np.exp(0.25 * error) if skewed else case + 5 * error
        low, high = ends(percentage_change(pair[0], 0.9 * pair[1]))
        held.append(low <= -10 <= high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.025)


def test_a_mean_that_may_be_zero_has_no_interval() -> None:
    found = percentage_change([0.0, 0.0, 3.0], [1.0, 0.0, 2.0])
    assert found.estimate == pytest.approx(0)
    assert found.interval is None
    assert found.missing == "no interval: values before vary too much for so few pairs"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([], [], "no pairs"),
        ([None, 1.0], [2.0, None], "no pairs"),
        ([0.0, 0.0], [1.0, 2.0], "undefined: the mean before is zero"),
        ([-0.3, 0.1, 0.2], [1.0, 2.0, 3.0], "undefined: the mean before is zero"),
        ([-2.0, -1.0], [1.0, 2.0], "undefined: the mean before is below zero"),
    ],
)
def test_undefined_changes_are_missing(before: list[float], after: list[float], reason: str) -> None:
    found = percentage_change(before, after)
    assert found.estimate is None
    assert found.interval is None
    assert found.missing == reason


def test_one_pair_and_equal_pairs_have_no_interval() -> None:
    one = percentage_change([2.0, None], [3.0, 4.0])
    assert (one.estimate, one.interval, one.n, one.dropped) == (50.0, None, 1, 1)
    equal = percentage_change([2.0, 2.0, 2.0], [3.0, 3.0, 3.0])
    assert equal.estimate == 50
    assert equal.interval is None
    assert equal.missing == "no interval: all pairs change alike"


def test_the_mean_of_pairs_changes_can_have_the_other_sign() -> None:
    """+100 %, −50 % and −10 % by hand: mean 13.33 %, while the mean falls from 7 to 5.33; two pairs have no base."""
    before, after = [1.0, 10.0, 10.0, 0.0, -1.0, None], [2.0, 5.0, 9.0, 3.0, 1.0, 2.0]
    found = mean_percentage_change(before, after)
    assert found.estimate == pytest.approx(40 / 3)
    assert (found.n, found.dropped, found.details["without"]) == (3, 1, 2)
    assert (found.details["mean before"], found.details["mean after"]) == pytest.approx((7, 16 / 3))
    assert found.p == pytest.approx(scipy.stats.ttest_1samp([100, -50, -10], 0).pvalue)
    assert (percentage_change(before[:3], after[:3]).estimate or 0) < 0
    assert mean_percentage_change([0, 0], [1, 2]).missing == "undefined: no value before is above zero"
    assert mean_percentage_change([None], [1]).missing == "no pairs"


def test_pairs_of_a_cluster_count_each_and_are_drawn_together() -> None:
    """Two short and two long sessions make four pairs: +100, +200, 0 and +50 %, beside +10 and −30 % of two clients."""
    before, after = [1.0, 1.0, 2.0, 2.0, 10.0, 10.0, 0.0], [2.0, 3.0, 2.0, 3.0, 11.0, 7.0, 4.0]
    found = mean_percentage_change(before, after, clusters=list("aaaabcd"))
    assert (found.estimate, found.n) == pytest.approx((55, 6))
    assert (found.details["clusters"], found.details["without"]) == (3, 1)
    sums = np.array([350 - 4 * 55, 10 - 55, -30 - 55])
    error = np.sqrt(3 / 2 * (sums**2).sum()) / 6
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(55 / error, 2))
    alike = mean_percentage_change([1.0, 1.0] * 2, [1.1, 1.7] * 2, clusters=list("aabb"))
    assert alike.estimate == pytest.approx(40)
    assert (alike.p, alike.interval) == (None, None)
    assert alike.missing == "no interval: the means of all clusters of pairs are equal"


def test_the_interval_of_pairs_changes_equals_scipys() -> None:
    rng = np.random.default_rng(5)
    before = rng.uniform(1, 5, 40)
    after = before * rng.normal(1.1, 0.2, 40)
    found = mean_percentage_change(before, after)
    theirs = scipy.stats.ttest_1samp(100 * (after / before - 1), 0)
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert found.p == pytest.approx(theirs.pvalue)


value = st.none() | st.floats(-100, 100)


@given(st.lists(st.tuples(value, value), max_size=12))
def test_any_pairs_give_a_value_or_a_reason(pairs: list[tuple[float | None, float | None]]) -> None:
    found = percentage_change([x for x, _ in pairs], [y for _, y in pairs])
    there = [(x, y) for x, y in pairs if x is not None and y is not None]
    assert found.n == len(there)
    assert found.dropped == len(pairs) - len(there)
    if found.estimate is None:
        assert found.missing
        assert not there or sum(x for x, _ in there) <= 1e-11 * sum(abs(x) + abs(y) for x, y in there)
    else:
        x, y = np.mean([x for x, _ in there]), np.mean([y for _, y in there])
        # Where the first mean is next to nothing, numbers of this size are further apart than 1e-6.
        assert found.estimate == pytest.approx(100 * (y - x) / x, rel=1e-14, abs=1e-6)
        assert (found.interval is None) == (found.missing is not None)
