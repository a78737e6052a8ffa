"""Tuning in arrays: people and judges of known error, chosen on half the cases, shown on the other half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.stats.kappa_gain import kappa_gain
from bedside.stats.result import Result
from bedside.tuning.tuned_judge import CandidateLevels, RatedUnits, TuningChoice, choose, mapped, mean_kappa

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Design:
    """A study: ``cases`` with ``per_case`` units, rated by ``people``; labels are noise where ``signal`` is 0."""

    cases: int
    per_case: int = 2
    people: int = 2
    signal: float = 1.0
    case_spread: float = 0.6
    missing: float = 0.0


@dataclass(frozen=True)
class Judges:
    """Candidate judges: each sees ``quality × slope + bias`` with noise of its own."""

    slopes: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    biases: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    noises: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    shared: float = 0.5


def levels(values: np.ndarray) -> np.ndarray:
    return np.clip(np.round(values + 3), 1, 5)


def drawn(
    design: Design, judges: Judges, random: np.random.Generator, cases: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People's levels (units × people), judges' (judges × units), and each unit's case."""
    n = cases * design.per_case
    case = np.repeat(np.arange(cases), design.per_case)
    quality = random.normal(0, design.case_spread, cases)[case] + random.normal(0, 0.8, n)
    own = quality if design.signal else random.normal(0, 1, n)
    people = levels(own[:, None] + random.normal(0, 0.6, (n, design.people)))
    people[random.random(people.shape) < design.missing] = np.nan
    common = random.normal(0, judges.shared, n)
    said = np.stack(
        [
            levels(quality * slope + bias + common + random.normal(0, noise, n))
            for slope, bias, noise in zip(judges.slopes, judges.biases, judges.noises, strict=True)
        ]
    )
    return people, said, case


def tuned(design: Design, judges: Judges, seed: int) -> tuple[TuningChoice, Result]:
    """The choice on half of the cases, and the gain on the others."""
    random = np.random.default_rng(seed)
    people, said, case = drawn(design, judges, random, design.cases)
    half = case < design.cases // 2
    units = RatedUnits(people[half], case[half].astype(str), np.ones(int(half.sum())), LEVELS)
    everywhere = np.ones(int(half.sum()), dtype=bool)
    choice = choose(units, [CandidateLevels(row[half], everywhere) for row in said], seed=seed)
    after = mapped(said[choice.candidate][~half], choice.positions, LEVELS)
    cells = np.where(np.isnan(people[~half]), None, people[~half].astype(object))
    gain = kappa_gain(after, said[0][~half], cells, scale=LEVELS, clusters=case[~half].astype(str))
    return choice, gain


def true_gain(choice: TuningChoice, population: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    """By how much the chosen candidate agrees better in a population."""
    people, said, case = population
    units = RatedUnits(people, case.astype(str), np.ones(len(case)), LEVELS)
    everything = np.ones(len(case), dtype=bool)
    after = mapped(said[choice.candidate], choice.positions, LEVELS)
    return mean_kappa(after, units, everything) - mean_kappa(said[0], units, everything)
