"""When an interval is narrow enough to stop: what unseen items add, against items that are really added."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bedside.stats.confidence_sequences import error_with_unseen
from bedside.stats.fixed_width import UNSEEN, reach, unseen_in_alpha, unseen_in_kappa, unseen_in_mean
from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.stats.rater_models import rater_model
from bedside.stats.reliability import krippendorff_alpha
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import sampled_items
from bedside.stats.stratified_means import judged_units
from benchmarks.stopping_rule import DESIGNS, Design, half_as_frequent, planned_items, stopped
from tests.soak import budget


def result(low: float, high: float, error: float | None) -> Result:
    return Result(name="kappa", method="", interval=Interval(low, high, 0.95, "t"), standard_error=error)


def test_reach_is_the_half_width_with_what_is_unseen_in_the_variance() -> None:
    assert reach(result(0.4, 0.8, 0.1), 0.0) == pytest.approx(0.2)
    assert reach(result(0.4, 0.8, 0.1), 0.01) == pytest.approx(0.2 * 2**0.5)
    assert reach(result(0.4, 0.8, None), 0.01) == pytest.approx(0.2)
    assert reach(Result(name="kappa", method="", missing="no interval"), 0.01) is None


def table(raters: int = 2, items: int = 40, seed: int = 3) -> Any:
    model = rater_model(0.5, (0.6, 0.3, 0.1), "guessing", 1 - np.eye(3))
    return model.draw(np.random.default_rng(seed), items, raters) + 1.0


@pytest.mark.parametrize("weights", ["unweighted", "quadratic"])
def test_unseen_items_of_kappa_move_it_as_items_that_are_added_do(weights: str) -> None:
    ratings, scale = table(), (1.0, 2.0, 3.0)

    def kappa(rows: Any) -> float:
        return mean_pairwise_kappa(rows, scale=scale, weights=weights).estimate or 0.0

    def moved(first: float, second: float) -> float:
        return kappa(np.vstack([ratings, [first, second]])) - kappa(ratings)

    shares = [[(ratings[:, rater] == level).mean() for level in scale] for rater in range(2)]
    by_chance = sum(
        shares[0][a] * shares[1][b] * moved(scale[a], scale[b]) ** 2 for a, b in product(range(3), repeat=2)
    )
    # Level 3 is the rarest.
    expected = UNSEEN * (moved(3, 3) ** 2 + by_chance)
    assert unseen_in_kappa(ratings, scale=scale, weights=weights) == pytest.approx(expected, rel=1e-9)


def test_of_several_raters_it_is_that_of_their_pairs_and_an_item_is_rated_by_some_of_them() -> None:
    ratings, scale = table(raters=3, items=60), (1.0, 2.0, 3.0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    whole = np.mean([unseen_in_kappa(ratings[:, list(pair)], scale=scale) for pair in pairs])
    assert unseen_in_kappa(ratings, scale=scale) == pytest.approx(whole, rel=1e-9)
    missing = ratings.copy()
    for place, rater in enumerate((2, 1, 0)):
        missing[place::3, rater] = np.nan
    each = np.mean([unseen_in_kappa(missing[:, list(pair)], scale=scale) for pair in pairs])
    assert unseen_in_kappa(missing, scale=scale) == pytest.approx(each / 3, rel=1e-9)


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_unseen_items_of_alpha_move_it_as_items_that_are_added_do(metric: Any) -> None:
    ratings, scale = table(raters=3), (1.0, 2.0, 3.0)
    ratings[:, 2] = np.nan

    def alpha(rows: Any) -> float:
        return krippendorff_alpha(rows, metric=metric, scale=scale).estimate or 0.0

    def moved(first: float, second: float) -> float:
        return alpha(np.vstack([ratings, [first, second, np.nan]])) - alpha(ratings)

    shares = [(ratings[:, :2] == level).mean() for level in scale]
    by_chance = sum(shares[a] * shares[b] * moved(scale[a], scale[b]) ** 2 for a, b in product(range(3), repeat=2))
    expected = UNSEEN * (moved(3, 3) ** 2 + by_chance)
    assert unseen_in_alpha(ratings, metric=metric, scale=scale) == pytest.approx(expected, rel=1e-9)


def test_what_is_unseen_shrinks_with_the_square_of_the_items() -> None:
    ratings = table(items=200)
    few, many = (unseen_in_kappa(np.tile(ratings, (times, 1)), scale=(1, 2, 3)) for times in (1, 10))
    assert few / many == pytest.approx(100, rel=0.1)
    few, many = (unseen_in_alpha(np.tile(ratings, (times, 1)), metric="nominal") for times in (1, 10))
    assert few / many == pytest.approx(100, rel=0.1)


def test_few_ratings_of_a_rare_level_leave_much_unseen() -> None:
    """Of 100 items one rater says yes to two and the other to two others: kappa is −.02 with hardly any error."""
    ratings = np.zeros((100, 2))
    ratings[:2, 0] = ratings[2:4, 1] = 1
    kappa = mean_pairwise_kappa(ratings, scale=(0, 1), weights="unweighted")
    assert reach(kappa, 0.0) == pytest.approx(0.024, abs=0.005)
    assert reach(kappa, unseen_in_kappa(ratings, scale=(0, 1), weights="unweighted")) == pytest.approx(0.85, abs=0.25)


def test_where_nothing_varies_nothing_is_known_and_many_values_are_taken_from_their_range() -> None:
    same = np.ones((10, 2))
    assert unseen_in_kappa(same, scale=(1, 2)) == 0.0
    assert unseen_in_alpha(same, metric="nominal") == 0.0
    values = np.random.default_rng(2).normal(size=(60, 1)) + 0.3 * np.random.default_rng(3).normal(size=(60, 2))
    assert 1e-5 < unseen_in_alpha(values, metric="interval") < 1e-2


def test_items_that_stand_for_many_count_by_their_weight() -> None:
    ratings = table(items=60)
    common = ratings[:, 0] == 1
    sample = sampled_items(np.where(common, 0.9, 0.1), strata=common.astype(int), clusters=np.arange(60))
    plain = unseen_in_kappa(ratings, scale=(1, 2, 3))
    assert unseen_in_kappa(ratings, scale=(1, 2, 3), clusters=sample) != pytest.approx(plain, rel=0.01)
    alike = sampled_items(np.full(60, 0.5), strata=np.zeros(60, int), clusters=np.arange(60))
    assert unseen_in_kappa(ratings, scale=(1, 2, 3), clusters=alike) == pytest.approx(plain, rel=1e-9)


def test_unseen_cases_of_a_mean_stand_at_the_ends_of_each_cell() -> None:
    human = [1.0, 2, np.nan, np.nan, 5, 4, 4]
    units = judged_units(np.zeros(7), human, cells=[0, 0, 0, 0, 1, 1, 1])
    first, second = (error_with_unseen(None, [mean], [n], (1, 5)) for mean, n in ((1.5, 2), (13 / 3, 3)))
    assert unseen_in_mean(units, (1, 5)) == pytest.approx((4 / 7 * first) ** 2 + (3 / 7 * second) ** 2)
    whole = judged_units(np.zeros(3), human[4:])
    assert unseen_in_mean(whole, (1, 5)) == pytest.approx(second**2)


def design(start: str) -> Design:
    return next(design for design in DESIGNS if design.name.startswith(start))


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("start", ["yes in .1, κ .3", "mean of 5 levels, skewed"])
def test_a_study_that_stops_there_holds_the_truth_and_saves_ratings(start: str) -> None:
    """Without unseen items the first holds it in 75 % of studies. The plan is one for half as frequent a level."""
    chosen, rng, studies = design(start), np.random.default_rng(4), budget(120, 1000)
    planned = planned_items(chosen, half_as_frequent(chosen.shares))
    outcomes = [stopped(chosen, chosen.ratings(rng, int(2 * planned))) for _ in range(studies)]
    held = np.mean([outcome.held for outcome in outcomes])
    slack = 2.6 * (0.05 * 0.95 / studies) ** 0.5
    assert 0.94 - slack <= held <= 0.96 + slack
    assert np.mean([outcome.items for outcome in outcomes]) <= 0.8 * planned
    assert all(outcome.reached for outcome in outcomes)
    assert all(outcome.half_width <= chosen.within for outcome in outcomes)


@pytest.mark.slow
def test_a_look_at_every_item_stops_where_looks_that_skip_some_do() -> None:
    """Of 30 studies most stop at the same item, none far from it, and the rule holds at either."""
    chosen, rng = design("mean of 5 levels, skewed"), np.random.default_rng(6)
    cells = [chosen.ratings(rng, 300) for _ in range(30)]
    skipping = np.array([stopped(chosen, ratings).items for ratings in cells])
    every = np.array([stopped(chosen, ratings, every=True).items for ratings in cells])
    assert (every <= skipping).all()
    assert np.mean(skipping - every) <= 0.02 * np.mean(every)
