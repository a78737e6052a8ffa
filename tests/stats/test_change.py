"""Change of a mean in per cent, against the published figures and a slow bootstrap."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from bedside.stats.arrays import Array
from bedside.stats.change import mean_percentage_change, percentage_change
from tests.stats.results import ends


@pytest.mark.parametrize(("base", "change"), [(4.27, 4.22), (2.86, 55.59), (1.19, 273.95)])
def test_published_changes(base: float, change: float) -> None:
    spread = np.array([-0.3, 0.1, 0.2])
    found = percentage_change(base + spread, 4.45 + spread[::-1])
    assert round(found.estimate or 0, 2) == change
    assert found.n == 3


def test_interval_equals_scipys_bootstrap() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(4, 1, 40)
    after = before * 1.2 + rng.normal(0, 0.5, 40)

    def change(x: Array, y: Array, axis: int = -1) -> Any:
        return 100 * (y.mean(axis=axis) - x.mean(axis=axis)) / x.mean(axis=axis)

    methods: dict[str, Literal["bca", "percentile"]] = {"BCa": "bca", "percentile": "percentile"}
    for method, ours in methods.items():
        theirs = scipy.stats.bootstrap(
            (before, after), change, paired=True, vectorized=True, method=method, n_resamples=20_000, rng=1
        )
        found = percentage_change(before, after, interval=ours, resamples=20_000)
        assert found.estimate == pytest.approx(change(before, after))
        wide = theirs.confidence_interval.high - theirs.confidence_interval.low
        assert ends(found) == pytest.approx(
            (theirs.confidence_interval.low, theirs.confidence_interval.high), abs=0.03 * wide
        )
        assert found.standard_error == pytest.approx(theirs.standard_error, rel=0.03)


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
    assert equal.missing == "no interval: every resample gives the same value"


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


def test_the_interval_of_pairs_changes_equals_scipys_bootstrap() -> None:
    rng = np.random.default_rng(5)
    before = rng.uniform(1, 5, 40)
    after = before * rng.normal(1.1, 0.2, 40)
    found = mean_percentage_change(before, after, resamples=20_000)
    changes = 100 * (after / before - 1)
    theirs = scipy.stats.bootstrap((changes,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=0.03 * (theirs.high - theirs.low))


value = st.none() | st.floats(-100, 100)


@given(st.lists(st.tuples(value, value), max_size=12))
def test_any_pairs_give_a_value_or_a_reason(pairs: list[tuple[float | None, float | None]]) -> None:
    found = percentage_change([x for x, _ in pairs], [y for _, y in pairs], resamples=50)
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
