"""What a seed draws follows from values alone: the order of cases and their names change no interval and no p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedside.stats import (
    bradley_terry,
    change,
    intervals,
    matched_shares,
    paired,
    preference_shares,
    sample_size,
    two_raters,
)
from bedside.stats.result import Result
from tests.stats.results import ends

RNG = np.random.default_rng(3)
N = 40
X, Y = RNG.integers(1, 6, N).astype(float), RNG.integers(1, 6, N).astype(float)
CASES = np.array([f"case {number}" for number in RNG.integers(0, 14, N)])
ORDER = RNG.permutation(N)
#: Cases under other names, in another order of letters.
NAMES = {case: f"p{number}" for case, number in zip(np.unique(CASES), RNG.permutation(14) + 10, strict=False)}
RENAMED = np.array([NAMES[case] for case in CASES])


def numbers(result: Result) -> list[Any]:
    bounds = (None, None) if result.interval is None else (result.interval.low, result.interval.high)
    return [result.estimate, *bounds, result.p, result.standard_error]


CLUSTERED: dict[str, Callable[[Any, Any, Any], Result]] = {
    "percent agreement": lambda x, y, cases: two_raters.percent_agreement(x, y, clusters=cases),
    "mean absolute error": lambda x, y, cases: two_raters.mean_absolute_error(x, y, clusters=cases),
    "kappa": lambda x, y, cases: two_raters.kappa(
        x, y, scale=(1, 2, 3, 4, 5), weights="quadratic", interval="bca", resamples=500, clusters=cases
    ),
    "mean": lambda x, y, cases: intervals.mean_bootstrap(x, clusters=cases),
    "changes": lambda x, y, cases: change.mean_percentage_change(x, y, clusters=cases),
    "first": lambda x, y, cases: preference_shares.first_share((x > 3).astype(float), clusters=cases),
}
PAIRED: dict[str, Callable[[Any, Any], Result]] = {
    "change": change.percentage_change,
    "changes": change.mean_percentage_change,
    "permutation": lambda x, y: paired.permutation(x, y, interval="inverted"),
    "bootstrap": lambda x, y: paired.permutation(x, y, interval="bca"),
    "mean": lambda x, y: intervals.mean_bootstrap(x),
}


@pytest.mark.parametrize("name", CLUSTERED)
def test_neither_the_order_nor_the_names_of_cases_change_an_interval(name: str) -> None:
    statistic = CLUSTERED[name]
    before = numbers(statistic(X, Y, CASES))
    assert numbers(statistic(X, Y, RENAMED)) == pytest.approx(before, abs=1e-9, nan_ok=True)
    assert numbers(statistic(X[ORDER], Y[ORDER], RENAMED[ORDER])) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("name", PAIRED)
def test_the_order_of_pairs_changes_no_number(name: str) -> None:
    assert numbers(PAIRED[name](X[ORDER], Y[ORDER])) == pytest.approx(numbers(PAIRED[name](X, Y)), abs=1e-9)


@pytest.mark.parametrize("interval", ["inverted", "bca"])
def test_systems_that_change_places_turn_the_sign_and_nothing_else(interval: Any) -> None:
    one, other = (paired.permutation(x, y, interval=interval) for x, y in ((X, Y), (Y, X)))
    assert one.p == other.p
    low, high = ends(one)
    assert (-high, -low) == pytest.approx(ends(other))
    less = paired.permutation(Y, X, alternative="less")
    assert paired.permutation(X, Y, alternative="greater").p == less.p


def test_other_metrics_beside_it_change_no_test() -> None:
    alone = paired.permutation(X, Y, interval="bca")
    beside = paired.permutations(np.column_stack([Y, X, RNG.random(N)]), np.column_stack([X, Y, X]), interval="bca")[1]
    assert numbers(beside) == numbers(alone)


def test_names_of_groups_and_cases_change_no_test_of_shares() -> None:
    had, of = RNG.integers(0, 3, (12, 3)), np.full((12, 3), 3)
    had[:, 0] += 1
    rows, columns = RNG.permutation(12), [2, 0, 1]
    before = matched_shares.shares_test(had, of).p
    assert matched_shares.shares_test(had[rows][:, columns], of).p == before


def test_the_order_of_a_pilot_changes_no_power() -> None:
    power = sample_size.simulated_power(X - Y + 1, 20).reached
    assert sample_size.simulated_power((X - Y + 1)[ORDER], 20).reached == power


def test_neither_the_order_of_cases_nor_that_of_systems_changes_the_test_of_strengths() -> None:
    shares = RNG.integers(0, 3, (30, 3, 3)) / 2
    shares[:, range(3), range(3)] = np.nan
    systems = [2, 0, 1]
    before = bradley_terry.strengths(shares, ["a", "b", "c"]).differences
    turned = shares[RNG.permutation(30)][:, systems][:, :, systems]
    after = bradley_terry.strengths(turned, ["c", "a", "b"]).differences
    assert after[0, 1].p == before[0, 2].p
    assert after[1, 2].p == before[0, 1].p
