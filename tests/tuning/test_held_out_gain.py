"""The held-out figures are the house's, and weigh units as they were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.tuning.label_split import LabelledUnit
from bedside.tuning.tuned_judge import RatedUnits, held_out_figures, mean_kappa, people_table

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def units(count: int, people: int = 3, *, weighted: bool = False) -> tuple[list[LabelledUnit], np.ndarray]:
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


def judged(quality: np.ndarray, shift: float) -> np.ndarray:
    noise = np.random.default_rng(7).normal(0, 0.6, quality.size)
    said: np.ndarray = np.clip(np.round(3 + quality + shift + noise), 1, 5)
    return said


def test_the_figures_are_the_houses() -> None:
    labelled, quality = units(40)
    before, after = judged(quality, 1.2), judged(quality, 0.0)
    before[3] = np.nan
    figures = held_out_figures(labelled, before, after, LEVELS)
    people = people_table(labelled).astype(object)
    people[np.isnan(people_table(labelled))] = None
    cases = np.array([unit.case for unit in labelled])
    house = mean_pairwise_kappa(people, scale=LEVELS, clusters=cases)
    assert figures.ceiling == house
    assert figures.before.interval is not None
    kept = np.arange(40) != 3
    units_of = RatedUnits(people_table(labelled), cases, np.ones(40), LEVELS)
    both = mean_kappa(after, units_of, kept) - mean_kappa(before, units_of, kept)
    assert figures.gain.estimate == pytest.approx(both)
    assert figures.shown
    assert figures.people == 3


def test_units_weigh_as_they_were_drawn() -> None:
    labelled, quality = units(80, weighted=True)
    before, after = judged(quality, 1.2), judged(quality, 0.0)
    figures = held_out_figures(labelled, before, after, LEVELS)
    weights = np.array([unit.weight for unit in labelled])
    cases = np.array([unit.case for unit in labelled])
    weighted = RatedUnits(people_table(labelled), cases, weights, LEVELS)
    everything = np.ones(80, dtype=bool)
    assert figures.after.estimate == pytest.approx(mean_kappa(after, weighted, everything))
    assert figures.before.estimate == pytest.approx(mean_kappa(before, weighted, everything))
    alike = RatedUnits(people_table(labelled), cases, np.ones(80), LEVELS)
    assert abs(mean_kappa(after, alike, everything) - (figures.after.estimate or 0)) > 1e-4
    assert figures.gain.interval is not None


def test_one_person_has_no_ceiling_and_no_change_is_no_gain() -> None:
    labelled, quality = units(40, people=1)
    figures = held_out_figures(labelled, judged(quality, 0.5), judged(quality, 0.5), LEVELS)
    assert figures.ceiling.estimate is None
    assert figures.ceiling.missing == "one person rated"
    assert figures.gain.estimate == 0
    assert not figures.shown
