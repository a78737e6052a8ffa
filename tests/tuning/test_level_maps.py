"""Maps of levels against slow direct computation and known truth; the choice against the house's kappa."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.tuning.tuned_judge import (
    CandidateLevels,
    LevelTable,
    RatedUnits,
    case_folds,
    choose,
    equipercentile,
    isotonic,
    level_table,
    mapped,
    mean_kappa,
    ordinal,
    unmapped,
)

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def ratings(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    means = np.array(
        [table.votes[k] @ table.levels / table.said[k] if table.said[k] else np.nan for k in range(5)]
    )
    seen = np.flatnonzero(table.said)

    def loss(values: np.ndarray) -> float:
        return float((table.said[seen] * (values - means[seen]) ** 2).sum())

    # Pool adjacent violators by trying every rising function on a fine grid of blocks of means.
    best = min(
        (
            np.concatenate([
                np.full(len(block), np.average(means[seen][block], weights=table.said[seen][block]))
                for block in blocks(cut, seen.size)
            ])
            for cut in cuts(seen.size)
        ),
        key=lambda values: loss(values) if (np.diff(values) >= -1e-12).all() else np.inf,
    )  # fmt: skip
    nearest = [int(np.abs(np.array(LEVELS) - value).argmin()) for value in best]
    assert [positions[k] for k in seen] == nearest


def cuts(size: int) -> list[tuple[int, ...]]:
    return [
        tuple(place for place in range(1, size) if number >> (place - 1) & 1)
        for number in range(2 ** (size - 1))
    ]


def blocks(cut: tuple[int, ...], size: int) -> list[list[int]]:
    bounds = [0, *cut, size]
    return [list(range(low, high)) for low, high in pairwise(bounds)]


@pytest.mark.parametrize("fit", [isotonic, ordinal, equipercentile])
@pytest.mark.parametrize("seed", range(4))
def test_a_map_never_turns_the_order_round_and_stays_on_the_scale(fit: object, seed: int) -> None:
    judge, people, weights = ratings(seed, 30)
    positions = fit(level_table(judge, people, weights, LEVELS))  # type: ignore[operator]
    assert list(positions) == sorted(positions)
    assert set(positions) <= set(range(5))


def test_a_shift_by_a_level_is_undone_by_every_map() -> None:
    people = np.repeat(np.array([1.0, 2.0, 3.0, 4.0]), 30)[:, None]
    table = level_table(people[:, 0] + 1, people, np.ones(120), LEVELS)
    for fit in (isotonic, ordinal, equipercentile):
        assert fit(table)[1:] == (0, 1, 2, 3)  # type: ignore[index]
    assert unmapped(table) == (0, 1, 2, 3, 4)


def test_equipercentile_gives_the_judge_peoples_distribution() -> None:
    judge, people, weights = ratings(9, 4000)
    table = level_table(judge, people, weights, LEVELS)
    recorded = mapped(judge, equipercentile(table) or (), LEVELS)
    given = table.votes.sum(axis=0) / table.votes.sum()
    # A map moves whole levels, so that it can't give it wholly: it comes about as near as any rising map does.
    shares = [np.average(recorded == level, weights=weights) for level in LEVELS]

    def distance(own: np.ndarray) -> float:
        return float(np.abs(np.cumsum(own) - np.cumsum(given)).sum())

    said = table.said / table.said.sum()
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
    units = RatedUnits(people, np.arange(60).astype(str), np.ones(60), LEVELS)
    cells = np.column_stack([people, judge]).astype(object)
    cells[np.isnan(np.column_stack([people, judge]))] = None
    house = mean_pairwise_kappa(cells, scale=LEVELS, pairs=[(0, 3), (1, 3), (2, 3)]).estimate
    assert mean_kappa(judge, units, np.ones(60, dtype=bool)) == pytest.approx(house)


def test_weighted_kappa_is_that_of_repeated_units() -> None:
    judge, people, _ = ratings(2, 40)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted = RatedUnits(people, np.arange(40).astype(str), times.astype(float), LEVELS)
    repeated = RatedUnits(
        np.repeat(people, times, axis=0),
        np.repeat(np.arange(40), times).astype(str),
        np.ones(times.sum()),
        LEVELS,
    )
    assert mean_kappa(judge, weighted, np.ones(40, dtype=bool)) == pytest.approx(
        mean_kappa(np.repeat(judge, times), repeated, np.ones(times.sum(), dtype=bool))
    )


def test_folds_are_of_whole_cases_and_nearly_equal() -> None:
    cases = np.repeat(np.arange(23), 3).astype(str)
    folds = case_folds(cases, 4)
    assert all(len(set(folds[cases == case])) == 1 for case in set(cases))
    sizes = [len(set(cases[folds == fold])) for fold in range(5)]
    assert max(sizes) - min(sizes) <= 1


def test_what_there_is_stays_where_nothing_gains() -> None:
    people = np.tile(np.arange(1.0, 6.0), 8)[:, None]
    units = RatedUnits(people, np.arange(40).astype(str), np.ones(40), LEVELS)
    everywhere = np.ones(40, dtype=bool)
    perfect = CandidateLevels(people[:, 0], everywhere)
    choice = choose(units, [perfect, perfect], seed=0)
    assert (choice.candidate, choice.level_map) == (0, "none")


def test_a_candidate_is_tried_only_where_it_may_be() -> None:
    people = np.tile(np.arange(1.0, 6.0), 8)[:, None]
    units = RatedUnits(people, np.arange(40).astype(str), np.ones(40), LEVELS)
    half = np.arange(40) < 20
    noise = np.random.default_rng(0).integers(1, 6, 40).astype(float)
    # Perfect where it was made from, noise elsewhere: its perfection doesn't count.
    cheat = CandidateLevels(np.where(half, people[:, 0], noise), ~half)
    trials = choose(units, [CandidateLevels(noise, np.ones(40, dtype=bool)), cheat], seed=0).trials
    own = next(trial for trial in trials if trial.candidate == 1 and trial.level_map == "none")
    assert own.units == 20
    assert own.gain == pytest.approx(0)
