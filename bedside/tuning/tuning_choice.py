"""Which of several candidates agrees best with people: chosen on training units, each judged by what it didn't see.

Arrays in, a choice out. What is learnt (a map of levels) is learnt on other cases than those it is tried on; a
candidate is tried only on units that nothing of it was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bedside.stats.arrays import Array, Mask
from bedside.tuning.level_maps import LEVEL_MAPS, Positions, level_table, mapped

#: Parts that the cases are divided into: a map that is tried on one is learnt on the others.
FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class RatedUnits:
    """Units that people rated, for a choice among candidates.

    Attributes:
        people: units × people, NaN where a person gave none.
        cases: the case of each unit.
        weights: how many each unit stands for.
        levels: of the scale, ascending.
    """

    people: Array
    cases: npt.NDArray[np.str_]
    weights: Array
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateLevels:
    """A candidate way of asking, and what the judge said by it.

    Attributes:
        judge: the judge's level of each unit; NaN where there is none.
        tried_on: units on which it may be tried: of no case that it was made from.
    """

    judge: Array
    tried_on: Mask


@dataclass(frozen=True, slots=True)
class Trial:
    """How one candidate did with one map.

    Attributes:
        candidate: its number; level_map: of :data:`~bedside.tuning.level_maps.LEVEL_MAPS`.
        kappa: mean quadratic kappa with each person; NaN where it is undefined.
        gain: by how much that is above the first candidate without a map, on the units that both were tried on.
        units: how many these are.
    """

    candidate: int
    level_map: str
    kappa: float
    gain: float
    units: int


@dataclass(frozen=True, slots=True)
class TuningChoice:
    """The candidate that is chosen.

    Attributes:
        candidate: its number; level_map: how its levels are mapped; positions: the map, learnt on all training units.
        trials: all that was tried, in order.
    """

    candidate: int
    level_map: str
    positions: Positions
    trials: tuple[Trial, ...]


def choose(units: RatedUnits, candidates: Sequence[CandidateLevels], *, seed: int) -> TuningChoice:
    """Choose among candidates, each with each map of levels.

    The first candidate without a map is what there is already: another is chosen only if it gains on it, and of equal
    ones the first.

    Args:
        units: training units.
        candidates: the first is what there is already.
        seed: of the division of cases.
    """
    folds = case_folds(units.cases, seed)
    trials = []
    for number, candidate in enumerate(candidates):
        for name in LEVEL_MAPS:
            recorded = _out_of_fold(units, candidate, name, folds)
            if recorded is not None:
                trials.append(_trial(units, candidates[0], candidate, recorded, number=number, name=name))
    best = trials[0]
    for trial in trials[1:]:
        if trial.gain > max(best.gain, 1e-9):
            best = trial
    positions = _fitted(
        units, candidates[best.candidate], best.level_map, np.ones(len(units.cases), dtype=bool)
    )
    assert positions is not None
    return TuningChoice(best.candidate, best.level_map, positions, tuple(trials))


def mean_kappa(judge: Array, units: RatedUnits, kept: Mask) -> float:
    """The mean over people of the quadratic kappa of a judge with each; NaN where it is undefined with all.

    Kappa is 1 − E(a − b)² / (V(a) + V(b) + (E a − E b)²): what the mean squared difference would be between ratings
    drawn independently stands below. Units weigh as they are drawn.
    """
    kappas = []
    for person in units.people.T:
        both = kept & ~np.isnan(judge) & ~np.isnan(person)
        if not both.any():
            continue
        weights = units.weights[both] / units.weights[both].sum()
        a, b = judge[both], person[both]
        mean_a, mean_b = weights @ a, weights @ b
        chance = weights @ (a - mean_a) ** 2 + weights @ (b - mean_b) ** 2 + (mean_a - mean_b) ** 2
        if chance > 1e-12:
            kappas.append(1 - (weights @ (a - b) ** 2) / chance)
    return float(np.mean(kappas)) if kappas else float("nan")


def case_folds(cases: npt.NDArray[np.str_], seed: int) -> npt.NDArray[np.intp]:
    """The fold of each unit: whole cases, as equal in number as they can be."""
    names, place = np.unique(cases, return_inverse=True)
    order = np.random.default_rng(seed).permutation(names.size)
    of_case = np.empty(names.size, dtype=np.intp)
    of_case[order] = np.arange(names.size) % min(FOLDS, names.size)
    return of_case[place]


def _trial(
    units: RatedUnits,
    first: CandidateLevels,
    candidate: CandidateLevels,
    recorded: Array,
    *,
    number: int,
    name: str,
) -> Trial:
    kept = candidate.tried_on & ~np.isnan(recorded)
    both = kept & ~np.isnan(first.judge)
    kappa, beside = mean_kappa(recorded, units, both), mean_kappa(first.judge, units, both)
    # A judge that says one thing of everything agrees no better than chance.
    gain = np.nan_to_num(kappa, nan=0.0) - np.nan_to_num(beside, nan=0.0)
    return Trial(number, name, mean_kappa(recorded, units, kept), float(gain), int(kept.sum()))


def _out_of_fold(
    units: RatedUnits, candidate: CandidateLevels, name: str, folds: npt.NDArray[np.intp]
) -> Array | None:
    """What is recorded of each unit by a map that was learnt on other folds; None where it can't be learnt."""
    recorded = np.full(candidate.judge.size, np.nan)
    for fold in np.unique(folds):
        within = folds == fold
        positions = _fitted(units, candidate, name, ~within)
        if positions is None:
            return None
        recorded[within] = mapped(candidate.judge[within], positions, units.levels)
    return recorded


def _fitted(units: RatedUnits, candidate: CandidateLevels, name: str, learnt: Mask) -> Positions | None:
    """A map learnt on some units."""
    kept = learnt & ~np.isnan(candidate.judge)
    table = level_table(candidate.judge[kept], units.people[kept], units.weights[kept], units.levels)
    return LEVEL_MAPS[name](table)
