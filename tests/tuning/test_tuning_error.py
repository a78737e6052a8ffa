"""How often tuning errs under designs that users have: gains where there are none, intervals that miss the truth.

People and judges of known error, in arrays; chosen on half the cases, shown on the other half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from bedside.stats.kappa_gain import kappa_gain
from bedside.stats.result import Result
from bedside.tuning.tuned_judge import CandidateLevels, RatedUnits, TuningChoice, choose, mapped, mean_kappa
from tests.soak import budget

Array = np.ndarray[Any, Any]
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


def levels(values: Array) -> Array:
    return np.asarray(np.clip(np.round(values + 3), 1, 5))


def drawn(design: Design, judges: Judges, random: np.random.Generator, cases: int) -> tuple[Array, Array, Array]:
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


def rated_units(people: Array, case: Array) -> tuple[RatedUnits, Array]:
    """The units, and that all of them are meant."""
    return RatedUnits(people, case.astype(str), np.ones(len(case)), LEVELS), np.ones(len(case), dtype=bool)


def tuned(design: Design, judges: Judges, seed: int) -> tuple[TuningChoice, Result]:
    """The choice on half of the cases, and the gain on the others."""
    random = np.random.default_rng(seed)
    people, said, case = drawn(design, judges, random, design.cases)
    half = case < design.cases // 2
    units, everywhere = rated_units(people[half], case[half])
    choice = choose(units, [CandidateLevels(row[half], everywhere) for row in said], seed=seed)
    after = mapped(said[choice.candidate][~half], choice.positions, LEVELS)
    cells = people[~half].astype(object)
    cells[np.isnan(people[~half])] = None
    gain = kappa_gain(list(after), list(said[0][~half]), cells, scale=LEVELS, clusters=case[~half].astype(str))
    return choice, gain


def true_gain(choice: TuningChoice, population: tuple[Array, Array, Array]) -> float:
    """By how much the chosen candidate agrees better in a population."""
    people, said, case = population
    units, everything = rated_units(people, case)
    after = mapped(said[choice.candidate], choice.positions, LEVELS)
    return mean_kappa(after, units, everything) - mean_kappa(said[0], units, everything)


SIZES = ((15, 2, 2), (15, 2, 3), (25, 2, 2), (50, 1, 2), (50, 2, 3))
DESIGNS = (*(Design(*size) for size in SIZES), Design(24, 2, 3, missing=0.3))
JUDGES = {
    "alike": Judges(),
    "compressed": Judges(slopes=(0.4,) * 4, biases=(0.8,) * 4, noises=(0.4,) * 4),
    "one is better": Judges(noises=(1.4, 1.2, 0.6, 1.0)),
}
pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_gain_is_reported_of_noise_in_one_run_of_twenty_at_most() -> None:
    runs = budget(6, 2000)
    shown = 0
    for number in range(runs):
        design = DESIGNS[number % len(DESIGNS)]
        judges = list(JUDGES.values())[number // len(DESIGNS) % len(JUDGES)]
        _, gain = tuned(replace(design, signal=0.0), judges, seed=10_000 + number)
        shown += gain.interval is not None and gain.interval.low > 0
    assert shown <= binom.ppf(0.9999, runs, 0.05)


def test_intervals_of_the_gain_cover_the_true_gain_of_what_was_chosen() -> None:
    runs = budget(6, 2000)
    truth = {
        (design, name): drawn(design, judges, np.random.default_rng(99), 10_000 // design.per_case)
        for design in DESIGNS[: budget(2, len(DESIGNS))]
        for name, judges in JUDGES.items()
    }
    covered = counted = 0
    for number in range(runs):
        (design, name), population = list(truth.items())[number % len(truth)]
        choice, gain = tuned(design, JUDGES[name], seed=number)
        if gain.interval is None:
            # What was chosen is what there was: both figures are the same, and the difference is 0.
            assert gain.estimate is None or abs(gain.estimate) < 1e-9 or gain.n < 12
            continue
        counted += 1
        covered += gain.interval.low <= true_gain(choice, population) <= gain.interval.high
    low, high = binom.ppf([0.0001, 0.9999], counted, [0.93, 0.97])
    assert low <= covered <= high


def test_a_judge_that_is_lenient_and_sure_is_repaired_and_the_gain_shown() -> None:
    runs = budget(3, 200)
    lenient = Judges(slopes=(1.0,), biases=(1.2,), noises=(0.2,), shared=0.0)
    gains = [tuned(Design(50, 2, 3), lenient, seed=number)[1] for number in range(runs)]
    shown = [gain.interval is not None and gain.interval.low > 0 for gain in gains]
    assert np.mean([gain.estimate for gain in gains if gain.estimate is not None]) > 0.1
    assert np.mean(shown) > 0.8
