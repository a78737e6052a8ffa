"""Win rates, the place and verdicts in both orders: by hand, and by simulations with known truth."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from bedside.stats.arrays import Array
from bedside.stats.preference_shares import first_share, order_verdicts, win_rate
from tests.soak import budget
from tests.stats.results import ends, interval_of

NAN = np.nan


def test_both_orders_count_the_same_and_each_case_once() -> None:
    rate = win_rate([1.0, 0.5, NAN, NAN, 1.0], [0.0, 0.5, 1.0, NAN, NAN])
    assert rate.estimate == pytest.approx(np.mean([0.5, 0.5, 1.0, 1.0]))
    assert rate.n == 4


def test_cases_won_whole_have_wilson_s_interval_and_stay_within_0_and_1() -> None:
    rate = win_rate([1.0] * 18 + [0.0] * 2, [1.0] * 18 + [0.0] * 2)
    assert ends(rate) == pytest.approx(proportion_confint(18, 20, method="wilson"))
    all_won = win_rate([1.0] * 12, [NAN] * 12)
    assert ends(all_won) == pytest.approx((proportion_confint(12, 12, method="wilson")[0], 1))
    assert ends(all_won)[1] == 1
    halves = win_rate([1.0] * 12, [0.0] * 12)
    assert halves.estimate == 0.5
    assert interval_of(halves).low < 0.3


def test_no_case_gives_no_rate() -> None:
    assert win_rate([NAN], [NAN]).estimate is None


def test_the_place_is_tested_by_case() -> None:
    """Each of ten cases decided once: sign flips are then the binomial test, by hand."""
    shares = [1.0] * 9 + [0.0] + [0.5] * 3
    first = first_share(shares, clusters=list(range(13)))
    assert (first.estimate, first.n, first.dropped) == (0.9, 10, 3)
    assert first.p == pytest.approx(2 * (comb(10, 9) + 1) / 2**10)
    assert ends(first) == pytest.approx(proportion_confint(9, 10, method="wilson"))
    together = first_share(shares * 3, clusters=[*range(13)] * 3)
    assert together.p == first.p
    assert first_share([0.5, 0.5], clusters=["a", "b"]).estimate is None


def test_verdicts_of_both_orders() -> None:
    #        same: i, j, tie    reversed: first, second    one tie   one order
    shares = [1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 1.0]
    swapped = [0.0, 1.0, 0.5, 1.0, 1.0, 0.0, 1.0, NAN]
    verdicts = order_verdicts(shares, swapped, clusters=list("abcdefgh"))
    assert verdicts.same.estimate == pytest.approx(3 / 7)
    assert verdicts.reversed.estimate == pytest.approx(3 / 7)
    assert (verdicts.to_first, verdicts.to_second, verdicts.with_tie) == (2, 1, 1)
    assert verdicts.same.n == 7


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(("cases", "edge", "spread"), [(20, 0.0, 0.6), (20, 2.5, 0.6), (40, 1.0, 1.5), (100, 3.0, 0.5)])
def test_win_rates_cover(cases: int, edge: float, spread: float) -> None:
    """Two systems in both orders, the first one preferred with .6 of equals, a fifth ties; up to a rate near 1."""
    repetitions = budget(200, 6000)
    rng = np.random.default_rng(cases)

    def orders(count: int) -> tuple[Array, Array]:
        quality = edge + rng.normal(0, spread, count)
        shares = []
        for place in (logit(0.6), -logit(0.6)):
            won = rng.random(count) < expit(quality + place)
            shares.append(np.where(rng.random(count) < 0.2, 0.5, won))
        return shares[0], shares[1]

    true = float(np.mean(orders(2_000_000)))
    covered = []
    for _ in range(repetitions):
        rate = win_rate(*orders(cases))
        low, high = ends(rate)
        assert 0 <= low <= high <= 1
        covered.append(low <= true <= high)
    slack = norm.ppf(0.999) * np.sqrt(0.05 * 0.95 / repetitions)
    assert 0.93 - slack <= np.mean(covered)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("place", [0.5, 0.6])
def test_the_place_s_share_covers_and_its_test_keeps_its_level(place: float) -> None:
    """Six pairs a case, and a place that counts more on some cases than on others."""
    repetitions = budget(150, 4000)
    rng = np.random.default_rng(3)

    def comparisons(cases: int) -> tuple[Array, Array]:
        own = logit(place) + rng.normal(0, 0.5, (cases, 1))
        quality = rng.normal(0, 1, (cases, 6))
        both = np.concatenate([expit(own + quality), expit(own - quality)], axis=1)
        won = np.where(rng.random(both.shape) < 0.2, 0.5, rng.random(both.shape) < both)
        return won.ravel(), np.repeat(np.arange(cases), 12)

    endless = comparisons(200_000)[0]
    true = float(endless[endless != 0.5].mean())
    covered, rejected = [], []
    for _ in range(repetitions):
        won, cases = comparisons(25)
        first = first_share(won, clusters=cases, flips=499)
        covered.append(interval_of(first).low <= true <= interval_of(first).high)
        rejected.append(first.p is not None and first.p < 0.05)
    slack = norm.ppf(0.999) * np.sqrt(0.05 * 0.95 / repetitions)
    assert 0.93 - slack <= np.mean(covered) <= 0.97 + slack
    if place == 0.5:
        assert np.mean(rejected) <= 0.055 + slack
