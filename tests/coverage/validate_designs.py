"""Judges that are no good, short by exactly the margin, or as good as a person: what ``bedside validate`` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

import bedside
from benchmarks.validate_error_rates import SKEWED, at_random, boundary, constant, on_levels, short_by
from tests.coverage.drawn_ratings import JUDGE, PEOPLE, Values, table_of
from tests.coverage.replicates import AT_MOST, Check, Design, Question, Study, covers

#: Draws a judge's values, people's (units × people), and the case of each unit.
Drawing = Callable[[np.random.Generator], tuple[Values, Values, Values]]
LET_IN = Check("lets the judge in", lambda rows, truth: rows["validation_1"][0]["may_stand_in"] is True, AT_MOST)


def validates(scale: str, epsilon: float = 0.2) -> Question:
    """``bedside validate``."""
    return Question(("validate",), bedside.validate, {"scales": scale, "epsilon": epsilon})


def judged(rng: np.random.Generator, draw: Drawing, truth: Any = 0.0) -> Study:
    """What a judge and people say of units, as a table of ratings."""
    judge, people, cases = draw(rng)
    values = np.column_stack([judge, people])
    unit, rater = (axis.ravel() for axis in np.indices(values.shape))
    ids, names = np.char.mod("t%04d", np.arange(len(judge))), np.char.mod("c%04d", cases.astype(int))
    raters = np.array([JUDGE, *PEOPLE[: people.shape[1]]])[rater]
    return Study(table_of(ids[unit], "A", names[unit], raters, values.ravel(), metric="danger"), truth)


def sensitive(rng: np.random.Generator, cases: int, turns: int, sensitivity: float) -> Study:
    """Two people who agree on what is so; the judge finds it as often as said, alike within a case, and clears 95 %."""
    truth = rng.random((cases, turns)) < 0.4
    rates = rng.beta(sensitivity * 7 / 3, (1 - sensitivity) * 7 / 3, (cases, 1))
    judge = (rng.random((cases, turns)) < np.where(truth, rates, 0.05)).astype(float).ravel()
    people = np.repeat(truth.astype(float).ravel()[:, None], 2, axis=1)
    return judged(rng, lambda _: (judge, people, np.repeat(np.arange(cases), turns)), sensitivity)


@cache
def planned_cases(prevalence: float, raters: int) -> int:
    """How many cases ``bedside plan judge`` names, of so many people."""
    (row,) = bedside.plan_judge(prevalence, raters=(raters,))[0].records
    return int(row["cases"])


def as_planned(rng: np.random.Generator, prevalence: float, raters: int, shortfall: float = 0.0) -> Study:
    """As many cases and people as are planned, and a judge as good as one of them but for a shortfall of its
    sensitivity beside a person."""

    def draw(rng: np.random.Generator) -> tuple[Values, Values, Values]:
        cases, found, flags = planned_cases(prevalence, raters), 0.8, 0.05
        finds = found - shortfall * (1 + (1 - prevalence) * flags / (prevalence * found))
        truth = rng.random((cases, 1)) < prevalence
        chance = np.where(truth, [finds, *[found] * raters], flags)
        said = (rng.random(chance.shape) < chance).astype(float)
        return said[:, 0], said[:, 1:], np.arange(cases)

    return judged(rng, draw)


def validate_designs() -> Iterator[Design]:
    """By ``bedside validate``."""
    let_in: dict[str, Drawing] = {
        "that always says no, danger in 10 %, 200 units": constant(200, 0.1),
        "that flags 10 % at random, danger in 10 %, 200 units": at_random(200, 0.1, 0.1),
        "that gives one of five levels, 150 units": on_levels(150, SKEWED, "constant"),
        "short by exactly ε: 300 cases, yes in 10 %, 3 people":
            partial(short_by, cases=300, turns=1, prevalence=0.1, raters=3, shortfall=0.2),
        "short by exactly ε: 100 cases, yes in 50 %, 2 people":
            partial(short_by, cases=100, turns=1, prevalence=0.5, raters=2, shortfall=0.2),
        "short by exactly ε: 80 cases of 5 units, yes in 30 %, 3 people":
            partial(short_by, cases=80, turns=5, prevalence=0.3, raters=3, shortfall=0.2),
        "that errs in 35 %, people in 10 %: 20 transcripts of 10 turns": boundary(20, 10, 0.3),
    }  # fmt: skip
    for name, draw in let_in.items():
        question = validates("1-5" if "levels" in name else "0,1")
        yield Design(f"a judge {name}", question, partial(judged, draw=draw), (LET_IN,), few=2)
    holds = covers(
        "the judge's sensitivity's interval holds it", table="accuracy_1", name="sensitivity", who="judge", level="1"
    )
    for cases, turns, found in ((40, 5, 0.8), (100, 1, 0.6)):
        sensitivity = partial(sensitive, cases=cases, turns=turns, sensitivity=found)
        yield Design(f"sensitivity {found}, {cases} cases of {turns}", validates("0,1"), sensitivity, (holds,), few=2)
    power = replace(LET_IN, limits=(0.77, 1.0), why="planned for a power of 80 %")
    for prevalence, raters in ((0.3, 3), (0.1, 2)):
        planned = partial(as_planned, prevalence=prevalence, raters=raters)
        name = f"cases as planned for {raters} people, yes in {100 * prevalence:.0f} %"
        yield Design(f"a judge as good as a person, {name}", validates("0,1"), planned, (power,), few=2)
        short = partial(planned, shortfall=0.2)
        yield Design(f"a judge short by exactly ε, {name}", validates("0,1"), short, (LET_IN,), few=2)
