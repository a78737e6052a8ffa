"""Maps of levels against slow direct computation and known truth; the choice and the held-out figures against the
house's kappa."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest

from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.tuning.label_split import LabelledUnit
from bedside.tuning.tuned_judge import (
    CandidateLevels,
    LevelTable,
    RatedUnits,
    case_folds,
    choose,
    equipercentile,
    held_out_figures,
    isotonic,
    level_table,
    mapped,
    mean_kappa,
    ordinal,
    people_table,
    unmapped,
)

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)
Fit = Callable[[LevelTable], tuple[int, ...] | None]
MAPS: tuple[Fit, ...] = (isotonic, ordinal, equipercentile)


def rated_units(people: np.ndarray[Any, Any], weights: Any = None, cases: Any = None) -> RatedUnits:
    """Units that are cases of their own and weigh alike, unless it is said."""
    size = len(people)
    cases = np.arange(size) if cases is None else cases
    return RatedUnits(people, cases.astype(str), np.ones(size) if weights is None else weights, LEVELS)


def everywhere(size: int) -> np.ndarray[Any, Any]:
    return np.ones(size, dtype=bool)


def ratings(seed: int, n: int = 200) -> tuple[np.ndarray[Any, Any], ...]:
    random = np.random.default_rng(seed)
    quality = random.normal(0, 1, n)
    people = np.clip(np.round(quality[:, None] * 1.2 + 3 + random.normal(0, 0.5, (n, 3))), 1, 5)
    people[random.random(people.shape) < 0.2] = np.nan
    people[:, 0] = np.where(np.isnan(people).all(axis=1), 3.0, people[:, 0])
    judge = np.clip(np.round(quality * 0.6 + 3.5 + random.normal(0, 0.4, n)), 1, 5)
    return judge, people, random.uniform(0.5, 3, n)


@pytest.mark.parametrize("seed", range(5))
def test_the_isotonic_map_is_the_best_rising_function_on_the_scale(seed: int) -> None:
    judge, people, weights = ratings(seed)
    table = level_table(judge, people, weights, LEVELS)
    positions = isotonic(table)
    assert positions is not None
    seen = np.flatnonzero(table.totals)
    means = np.full(5, np.nan)
    means[seen] = [table.votes[k] @ table.levels / table.totals[k] for k in seen]

    def loss(values: np.ndarray[Any, Any]) -> float:
        return float((table.totals[seen] * (values - means[seen]) ** 2).sum())

    # Pool adjacent violators by trying every rising function on a fine grid of blocks of means.
    best = min(
        (
            np.concatenate([
                np.full(len(block), np.average(means[seen][block], weights=table.totals[seen][block]))
                for block in blocks
            ])
            for blocks in cuts(seen.size)
        ),
        key=lambda values: loss(values) if (np.diff(values) >= -1e-12).all() else np.inf,
    )  # fmt: skip
    nearest = [int(np.abs(np.array(LEVELS) - value).argmin()) for value in best]
    assert [positions[k] for k in seen] == nearest


def cuts(size: int) -> Iterator[list[list[int]]]:
    """Every way to cut so many places into blocks."""
    for count in range(size):
        for bounds in combinations(range(1, size), count):
            yield [list(range(low, high)) for low, high in pairwise([0, *bounds, size])]


@pytest.mark.parametrize("fit", MAPS)
@pytest.mark.parametrize("seed", range(4))
def test_a_map_never_turns_the_order_round_and_stays_on_the_scale(fit: Fit, seed: int) -> None:
    judge, people, weights = ratings(seed, 30)
    positions = fit(level_table(judge, people, weights, LEVELS))
    assert positions is not None
    assert list(positions) == sorted(positions)
    assert set(positions) <= set(range(5))


def test_a_shift_by_a_level_is_undone_by_every_map() -> None:
    people = np.repeat(np.array([1.0, 2.0, 3.0, 4.0]), 30)[:, None]
    table = level_table(people[:, 0] + 1, people, np.ones(120), LEVELS)
    assert [(fit(table) or ())[1:] for fit in MAPS] == [(0, 1, 2, 3)] * 3
    assert unmapped(table) == (0, 1, 2, 3, 4)


def test_equipercentile_gives_the_judge_peoples_distribution() -> None:
    judge, people, weights = ratings(9, 4000)
    table = level_table(judge, people, weights, LEVELS)
    recorded = mapped(judge, equipercentile(table) or (), LEVELS)
    given = table.votes.sum(axis=0) / table.votes.sum()
    # A map moves whole levels, so that it can't give it wholly: it comes about as near as any rising map does.
    shares = [np.average(recorded == level, weights=weights) for level in LEVELS]

    def distance(own: np.ndarray[Any, Any]) -> float:
        return float(np.abs(np.cumsum(own) - np.cumsum(given)).sum())

    said = table.totals / table.totals.sum()
    every = [
        distance(np.bincount(positions, weights=said, minlength=5))
        for positions in combinations_with_replacement(range(5), 5)
    ]
    assert distance(np.array(shares)) <= sorted(every)[5]


def test_each_unit_has_one_vote_by_its_weight() -> None:
    people = np.array([[1.0, np.nan, 2.0], [4.0, 4.0, 5.0], [np.nan, 3.0, np.nan]])
    table = level_table(np.array([2.0, 2.0, np.nan]), people, np.array([1.0, 3.0, 1.0]), LEVELS)
    assert isinstance(table, LevelTable)
    np.testing.assert_allclose(table.votes[1], [0.5, 0.5, 0, 2, 1])
    np.testing.assert_allclose(table.votes.sum(), 4)


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_goes_by_the_houses_kappa(seed: int) -> None:
    judge, people, _ = ratings(seed, 60)
    judge[3] = np.nan
    cells = np.column_stack([people, judge]).astype(object)
    cells[np.isnan(np.column_stack([people, judge]))] = None
    house = mean_pairwise_kappa(cells, scale=LEVELS, pairs=[(0, 3), (1, 3), (2, 3)]).estimate
    assert mean_kappa(judge, rated_units(people), everywhere(60)) == pytest.approx(house)


def test_weighted_kappa_is_that_of_repeated_units() -> None:
    judge, people, _ = ratings(2, 40)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted = rated_units(people, times.astype(float))
    repeated = rated_units(np.repeat(people, times, axis=0), cases=np.repeat(np.arange(40), times))
    assert mean_kappa(judge, weighted, everywhere(40)) == pytest.approx(
        mean_kappa(np.repeat(judge, times), repeated, everywhere(times.sum()))
    )


def test_folds_are_of_whole_cases_and_nearly_equal() -> None:
    cases = np.repeat(np.arange(23), 3).astype(str)
    folds = case_folds(cases, 4)
    assert all(len(set(folds[cases == case])) == 1 for case in set(cases))
    sizes = [len(set(cases[folds == fold])) for fold in range(5)]
    assert max(sizes) - min(sizes) <= 1


def test_what_there_is_stays_where_nothing_gains() -> None:
    people = np.tile(np.arange(1.0, 6.0), 8)[:, None]
    perfect = CandidateLevels(people[:, 0], everywhere(40))
    choice = choose(rated_units(people), [perfect, perfect], seed=0)
    assert (choice.candidate, choice.level_map) == (0, "none")


def test_a_candidate_is_tried_only_where_it_may_be() -> None:
    people = np.tile(np.arange(1.0, 6.0), 8)[:, None]
    half = np.arange(40) < 20
    noise = np.random.default_rng(0).integers(1, 6, 40).astype(float)
    # Perfect where it was made from, noise elsewhere: its perfection doesn't count.
    cheat = CandidateLevels(np.where(half, people[:, 0], noise), ~half)
    trials = choose(rated_units(people), [CandidateLevels(noise, everywhere(40)), cheat], seed=0).trials
    own = next(trial for trial in trials if trial.candidate == 1 and trial.level_map == "none")
    assert own.units == 20
    assert own.gain == pytest.approx(0)


def labelled_units(
    count: int, people: int = 3, *, weighted: bool = False
) -> tuple[list[LabelledUnit], np.ndarray[Any, Any]]:
    random = np.random.default_rng(2)
    quality = random.normal(0, 1, count)
    made = []
    for number in range(count):
        ratings: dict[str, float | str] = {
            f"human:{person}": float(np.clip(round(3 + quality[number] + random.normal(0, 0.5)), 1, 5))
            for person in range(people)
            if person == 0 or random.random() < 0.8
        }
        stratum = number % 2 if weighted else 0
        made.append(
            LabelledUnit(
                transcript=f"t{number}", unit="transcript", case_id=f"c{number // 4}", case=f"c{number // 4}",
                ratings=ratings, reasons={}, consensus=None, weight=(1.0, 5.0)[stratum], stratum=stratum,
            )
        )  # fmt: skip
    return made, quality


def judged(quality: np.ndarray[Any, Any], shift: float) -> np.ndarray[Any, Any]:
    noise = np.random.default_rng(7).normal(0, 0.6, quality.size)
    return np.asarray(np.clip(np.round(3 + quality + shift + noise), 1, 5))


def test_the_figures_are_the_houses() -> None:
    labelled, quality = labelled_units(40)
    before, after = judged(quality, 1.2), judged(quality, 0.0)
    before[3] = np.nan
    figures = held_out_figures(labelled, before, after, LEVELS)
    table = people_table(labelled)
    cases = np.array([unit.case for unit in labelled])
    people = table.astype(object)
    people[np.isnan(table)] = None
    assert figures.ceiling == mean_pairwise_kappa(people, scale=LEVELS, clusters=cases)
    assert figures.before.interval is not None
    kept, units = np.arange(40) != 3, rated_units(table, cases=cases)
    both = mean_kappa(after, units, kept) - mean_kappa(before, units, kept)
    assert figures.gain.estimate == pytest.approx(both)
    assert figures.shown
    assert figures.people == 3


def test_units_weigh_as_they_were_drawn() -> None:
    labelled, quality = labelled_units(80, weighted=True)
    before, after = judged(quality, 1.2), judged(quality, 0.0)
    figures = held_out_figures(labelled, before, after, LEVELS)
    weights = np.array([unit.weight for unit in labelled])
    cases = np.array([unit.case for unit in labelled])
    weighted = rated_units(people_table(labelled), weights, cases)
    assert figures.after.estimate == pytest.approx(mean_kappa(after, weighted, everywhere(80)))
    assert figures.before.estimate == pytest.approx(mean_kappa(before, weighted, everywhere(80)))
    alike = rated_units(people_table(labelled), cases=cases)
    assert abs(mean_kappa(after, alike, everywhere(80)) - (figures.after.estimate or 0)) > 1e-4
    assert figures.gain.interval is not None


def test_one_person_has_no_ceiling_and_no_change_is_no_gain() -> None:
    labelled, quality = labelled_units(40, people=1)
    figures = held_out_figures(labelled, judged(quality, 0.5), judged(quality, 0.5), LEVELS)
    assert figures.ceiling.estimate is None
    assert figures.ceiling.missing == "one person rated"
    assert figures.gain.estimate == 0
    assert not figures.shown
