"""How many items are needed? Against the studies themselves, numerical integration and scipy's tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bedside.stats import sample_size as planning
from bedside.stats._kappa_parts import penalties
from bedside.stats.arrays import Alternative
from bedside.stats.rater_models import rater_model
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
