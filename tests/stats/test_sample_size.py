"""How many items are needed? Against the studies themselves, numerical integration and scipy's tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bedside.core.errors import DataError
from bedside.stats import sample_size as planning
from bedside.stats._kappa_parts import penalties
from bedside.stats.arrays import Alternative
from bedside.stats.crossed_raters import paired_difference
from bedside.stats.generalisability import RaterStudy, rater_study
from bedside.stats.rater_models import rater_model
from bedside.stats.sample_size import (
    FEW_RATERS,
    MOST_CASES,
    SMALL_PILOT,
    RatedLevels,
    _before_rounding,
    cases_for_raters,
)
from bedside.stats.two_raters import kappa_from_counts


@pytest.mark.parametrize(("effect", "alpha"), [(2, 0.0025), (2, 0.001), (5, 1e-5), (10, 0.001)])
def test_pairs_for_a_large_difference(effect: float, alpha: float) -> None:
    """Where scipy has no number for a far tail, the search goes on; against the t distribution's own simulation."""
    plan = planning.pairs_for_difference(effect, 1, alpha=alpha)
    assert plan.n is not None
    powers = []
    for n in (plan.n - 1, plan.n):
        rng = np.random.default_rng(7)
        z, chi = rng.normal(effect * np.sqrt(n), 1, 40_000), rng.chisquare(n - 1, 40_000)
        powers.append(np.mean(np.abs(z / np.sqrt(chi / (n - 1))) > stats.t.isf(alpha / 2, n - 1)))
    assert powers[0] < 0.81
    assert powers[1] > 0.79
    assert plan.reached == pytest.approx(powers[1], abs=0.01)


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3, 0.001])
def test_fewest_signed_rank_pairs_are_the_first_that_can_be_significant(alternative: Alternative, alpha: float) -> None:
    fewest = planning.fewest_signed_rank_pairs(alpha, alternative)
    smallest = [
        stats.wilcoxon(np.arange(1, n + 1), alternative=alternative, method="exact").pvalue
        for n in (fewest - 1, fewest)
    ]
    assert smallest[1] <= alpha < smallest[0]


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("effect", [0.9, 1.2, 2.5])
def test_few_signed_rank_pairs_keep_their_power(effect: float, alternative: Alternative) -> None:
    """By the studies themselves, tested with scipy; and from that number on the power doesn't fall below again."""
    plan = planning.pairs_for_difference(effect, 1, test="wilcoxon", alternative=alternative)
    assert plan.simulations
    assert plan.n is not None
    studies = np.random.default_rng(8).normal(effect, 1, size=(2000, plan.n + 2))
    for n in (plan.n, plan.n + 1, plan.n + 2):
        tested = stats.wilcoxon(studies[:, :n], alternative=alternative, axis=1, method="exact")
        power = float((tested.pvalue <= 0.05).mean())
        assert power > 0.8 - 0.03
        if n == plan.n:
            assert plan.reached == pytest.approx(power, abs=0.03)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_raters_who_miss_by_a_little_have_the_kappa_and_the_shares(weights: str) -> None:
    """The joint shares against numerical integration, and against the ratings that are drawn."""
    shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    table = planning.expected_table(0.6, shares, disagreement="near", weights=weights)
    assert table.sum(axis=0) == pytest.approx(shares, abs=1e-6)
    assert kappa_from_counts(np.round(table * 1e7), weights=weights, interval="analytic").estimate == (
        pytest.approx(0.6, abs=1e-4)
    )
    model = rater_model(0.6, shares, "near", penalties(weights, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))[0])
    edges = np.concatenate([[-np.inf], stats.norm.ppf(np.cumsum(shares)[:-1]), [np.inf]])

    def both(place: float, first: int, second: int) -> float:
        root, spread = np.sqrt(model.strength), np.sqrt(1 - model.strength)
        chances = np.diff(stats.norm.cdf((edges - root * place) / spread))
        return float(stats.norm.pdf(place) * chances[first] * chances[second])

    for first, second in ((0, 0), (0, 4), (1, 2), (2, 2)):
        assert table[first, second] == pytest.approx(quad(both, -9, 9, args=(first, second), limit=200)[0], abs=1e-6)
    drawn = model.draw(np.random.default_rng(2), 100_000, 3)
    for first, second in ((0, 1), (1, 2)):
        counts = np.zeros((5, 5))
        np.add.at(counts, (drawn[:, first], drawn[:, second]), 1)
        assert counts / 100_000 == pytest.approx(table, abs=0.006)


def test_near_misses_need_fewer_items_where_levels_are_weighted() -> None:
    shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    near, guessing = (
        planning.items_for_kappa(0.6, 0.1, shares=shares, weights="quadratic", disagreement=disagreement).n
        for disagreement in ("near", "guessing")
    )
    assert guessing == 343
    assert near == pytest.approx(160, abs=8)
    # Two levels have no near and far: the two are one.
    same = [
        planning.items_for_kappa(0.6, 0.1, shares=[0.3, 0.7], disagreement=disagreement).n
        for disagreement in ("near", "guessing")
    ]
    assert same[0] == same[1]


@pytest.mark.parametrize("seed", range(3))
def test_simulated_items_are_the_least_that_keep_to_the_half_width(seed: int) -> None:
    """By all simulations together: the search ended at .101 for .100, at the size that it had simulated last."""
    found = planning.simulated_items_for_kappa(
        0.6, 0.2, shares=[0.3, 0.7], raters=3, scale=(0, 1), simulations=40, seed=seed
    )
    assert found.n is not None
    assert found.reached is not None
    assert found.reached <= 0.2 < found.reached * np.sqrt(found.n / (found.n - 1))


def known(parts: Sequence[float]) -> RaterStudy:
    """A pilot that leaves nothing open."""
    cases, raters, both, repeats = parts
    drawn = np.tile(np.array(parts)[:, None], 2000)
    return RaterStudy(
        cases=9, raters=9, ratings=81, of_cases=cases, of_raters=raters, of_both=both, of_repeats=repeats, drawn=drawn
    )


@pytest.mark.parametrize("levels", [None, RatedLevels((1.0, 2.0, 3.0, 4.0, 5.0), 4.0, 1.2)])
def test_so_many_cases_with_raters_show_a_difference(levels: RatedLevels | None) -> None:
    """In studies that are drawn apart, of ratings on a scale near its end too, the test finds it in 80 %."""
    parts = [0.6, 0.04, 0.5, 0.4]
    plan = cases_for_raters(known(parts), raters=5, repeats=2, difference=0.5, levels=levels)
    assert plan.n is not None
    assert plan.single <= 1.05 * plan.n
    assert (plan.low, plan.high) == pytest.approx((plan.single, plan.single), rel=0.15)
    rng, shown = np.random.default_rng(4), []
    for _ in range(400):
        tables = []
        common = rng.normal(size=(plan.n, 1, 1)) * np.sqrt(1.2 - sum(parts) / 2)
        for mean in (4.25, 3.75):
            shapes = ((plan.n, 1, 1), (1, 5, 1), (plan.n, 5, 1), (plan.n, 5, 2))
            own = sum(np.sqrt(part / 2) * rng.normal(size=shape) for part, shape in zip(parts, shapes, strict=True))
            tables.append((mean + common + own).mean(axis=2))
        test = paired_difference(*tables)
        assert test.p is not None
        shown.append(test.p < 0.05 and (test.estimate or 0) > 0)
    assert np.mean(shown) > 0.76
    assert levels or np.mean(shown) == pytest.approx(0.8, abs=0.05)


def test_an_interval_is_as_narrow_as_planned() -> None:
    plan = cases_for_raters(known([1.0, 0.05, 0.5, 0.0]), raters=6, half_width=0.4, power=0.9)
    rng, narrow = np.random.default_rng(6), []
    for _ in range(400):
        values = rng.normal(size=(plan.n or 0, 1)) + np.sqrt(0.05) * rng.normal(size=6)
        values = values + np.sqrt(0.5) * rng.normal(size=values.shape)
        interval = paired_difference(values, np.zeros_like(values)).interval
        narrow.append(interval is not None and interval.high - interval.low <= 0.8)
    assert np.mean(narrow) == pytest.approx(0.9, abs=0.04)


def test_ratings_keep_mean_and_variance_when_they_are_rounded() -> None:
    scale = np.array([1.0, 2.0, 3.0, 4.0, 5.0], dtype=np.float64)
    centre, variance, slope = _before_rounding(4.4, np.array([0.3, 0.7]), scale)
    latent = np.random.default_rng(0).normal(centre, np.sqrt(variance), size=(200_000, 2))
    rated = np.clip(np.round(latent), 1, 5)
    assert rated.mean(axis=0) == pytest.approx([4.4, 4.4], abs=0.01)
    assert rated.var(axis=0) == pytest.approx([0.3, 0.7], rel=0.02)
    assert ((latent - centre) * rated).mean(axis=0) / variance == pytest.approx(slope, rel=0.02)


def test_why_no_number_of_cases_will_do() -> None:
    assert cases_for_raters(known([1.0, 1.0, 0.5, 0.0]), raters=4, difference=0.5).missing == FEW_RATERS
    rows, columns = np.indices((12, 3))
    values = np.random.default_rng(2).normal(size=(12, 1)) + np.random.default_rng(3).normal(size=(12, 3))
    plan = cases_for_raters(rater_study(rows.ravel(), columns.ravel(), values.ravel()), raters=4, difference=0.6)
    assert (plan.n, plan.missing) == (None, SMALL_PILOT)
    assert plan.low < plan.single < MOST_CASES < plan.high
    for arguments in (
        {"raters": 2},
        {"raters": 3, "repeats": 0},
        {"raters": 3, "power": 1.0},
        {"raters": 3, "difference": 0.0},
    ):
        with pytest.raises(DataError):
            cases_for_raters(known([1.0, 1.0, 0.5, 0.0]), **{"difference": 0.5, **arguments})  # type: ignore[arg-type]
