"""A system that is worse by exactly the margin: how often it is shown to be no worse, or passes the gate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

import bedside
from tests.coverage.compare_designs import PEOPLE_FEW
from tests.coverage.drawn_ratings import PEOPLE, Values, rated
from tests.coverage.replicates import AT_MOST, Check, Design, Question, Study, compares, covers, finds

#: A level, and by how much it is off, in steps.
STEPS = (-1.0, 0.0, 1.0)
#: Of cases with each of the steps.
Shares = tuple[float, float, float]
NO_WORSE = finds("is shown to be no worse", table="margin", p="p_not_below")
HOLDS = Check("the 90 % interval holds it", covers(table="margin", ends=("low", "high")).happens, (0.87, 0.93))


def stepped(rng: np.random.Generator, cases: int, shares: Shares, transcripts: int, metric: str) -> pl.DataFrame:
    """Pairs of levels whose difference is a step down or up, or none."""
    difference = rng.choice(STEPS, size=(cases, transcripts), p=shares)
    base = rng.integers(2, 5, (cases, 1)) + np.zeros((cases, transcripts))
    return rated(np.stack([base + difference, base])[..., None], metric=metric)


def steps(rng: np.random.Generator, cases: int, shares: Shares, transcripts: int = 1) -> Study:
    """The same on one measure, with the mean difference."""
    return Study(stepped(rng, cases, shares, transcripts, "empathy"), float(np.dot(STEPS, shares)))


def yes_pairs(rng: np.random.Generator, cases: int, only_first: float, only_second: float) -> Study:
    """Zeros and ones of the same cases."""
    drawn = rng.choice(3, size=cases, p=(only_first, only_second, 1 - only_first - only_second))
    same = rng.random(cases) < 0.7
    values = np.stack([np.where(drawn == 0, 1, (drawn == 2) & same), np.where(drawn == 1, 1, (drawn == 2) & same)])
    return Study(rated(values.astype(float)[..., None, None], metric="danger"), only_first - only_second)


def own_cases(rng: np.random.Generator, cases: int, shift: float, share: float | None = None) -> Study:
    """Levels of cases of their own, the first system's lower by a shift of levels; or shares of ones."""
    numbers: Values = np.arange(2 * cases).reshape(2, cases)
    if share is None:
        first = rng.choice([1.0, 2, 3, 4, 5], cases, p=(0.1, 0.2, 0.4 + shift, 0.2, 0.1 - shift))
        second = rng.choice([1.0, 2, 3, 4, 5], cases, p=(0.1, 0.2, 0.4, 0.2, 0.1))
        return Study(rated(np.stack([first, second])[..., None, None], cases=numbers), -2 * shift)
    drawn = rng.random((2, cases)) < np.array([[share - shift], [share]])
    return Study(rated(drawn.astype(float)[..., None, None], cases=numbers, metric="danger"), -shift)


def by_people(rng: np.random.Generator, cases: int, people: int, shift: float) -> Study:
    """People rate the same cases, each with a taste for a system."""
    base = 50 + rng.normal(0, 6, (cases, 1))
    differences = (
        shift + rng.normal(0, 4.2, (cases, 1)) + rng.normal(0, 2.1, people) + rng.normal(0, 9, (cases, people))
    )
    values = np.stack([base + differences, base + np.zeros_like(differences)])[:, :, None, :]
    return Study(rated(values, raters=PEOPLE[:people], metric="seconds"), shift)


def two_measures(rng: np.random.Generator, cases: int, second: Shares) -> Study:
    """The new system is worse by the margin on the first of two measures; on the second as ``second`` says."""
    of_measures = {"empathy": (0.4, 0.5, 0.1), "partnership": second}
    return Study(pl.concat([stepped(rng, cases, shares, 1, name) for name, shares in of_measures.items()]))


def margin_designs() -> Iterator[Design]:
    """By ``bedside compare --margin`` and ``bedside gate``."""
    worse, equal = (0.4, 0.5, 0.1), (0.15, 0.7, 0.15)
    levels, danger = partial(steps, shares=worse), partial(yes_pairs, only_first=0.05, only_second=0.15)
    drawn = {
        "worse by the margin of .3, 20 pairs of levels": (partial(levels, cases=20), "empathy", 0.3),
        "worse by the margin of .3, 60 pairs of levels": (partial(levels, cases=60), "empathy", 0.3),
        "worse by the margin of .3, 15 pairs of 4 transcripts":
            (partial(levels, cases=15, transcripts=4), "empathy", 0.3),
        "worse by the margin of .2, 40 + 40 cases of levels":
            (partial(own_cases, cases=40, shift=0.1), "empathy", 0.2),
        "worse by the margin of .1, 40 pairs, yes or no": (partial(danger, cases=40), "danger", 0.1),
        "worse by the margin of .1, 100 pairs, yes or no": (partial(danger, cases=100), "danger", 0.1),
        "worse by the margin of .1, 60 + 60 cases, yes or no":
            (partial(own_cases, cases=60, shift=0.1, share=0.8), "danger", 0.1),
        "worse by the margin of 5, 30 cases, 3 people":
            (partial(by_people, cases=30, people=3, shift=-5.0), "seconds", 5.0),
    }  # fmt: skip
    for name, (draw, metric, margin) in drawn.items():
        question = compares(margin={metric: f"{margin:g}:higher"}, metrics=metric)
        checks = (NO_WORSE, HOLDS)
        if metric == "seconds":
            checks = (
                replace(NO_WORSE, limits=AT_MOST, why=PEOPLE_FEW),
                replace(HOLDS, limits=(0.87, 1.0), why=PEOPLE_FEW),
            )
        yield Design(name, question, draw, checks)
    alike = compares(margin={"empathy": "0.3:higher"})
    for cases in (20, 60):
        power = replace(NO_WORSE, limits=(0.3, 1.0), why="its power, where systems are alike")
        same = partial(steps, shares=(0.2, 0.6, 0.2), cases=cases)
        yield Design(f"alike, margin .3, {cases} pairs of levels", alike, same, (power,))
    passes = (Check("passes", lambda rows, truth: all(row["passed"] for row in rows["gate"]), AT_MOST),)
    one, two = gates("empathy"), gates("empathy", "partnership")
    yield Design("gate, worse by the margin, 30 pairs", one, partial(levels, cases=30), passes)
    name = "gate, worse by the margin on one of two measures, 60 pairs"
    yield Design(name, two, partial(two_measures, cases=60, second=equal), passes)
    name = "gate, worse by the margin on two measures, 30 pairs"
    yield Design(name, two, partial(two_measures, cases=30, second=worse), passes)


def gates(*metrics: str) -> Question:
    """``bedside gate``, with a margin of .3 on each."""
    margins = dict.fromkeys(metrics, "0.3:higher")
    return Question(("gate",), bedside.gate, {"baseline": "B", "margin": margins}, codes=(0, 1))
