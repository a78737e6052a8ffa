"""Nothing changes with length, or changes by a known amount; and no condition matters for how systems compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

import bedside
from tests.coverage.compare_designs import DIFFERENCE
from tests.coverage.drawn_ratings import JUDGE, DrawnRun, Values, new_run, opened, rated, table_of
from tests.coverage.replicates import LEVEL, Check, Design, Question, Rows, Study, compares, covers, finds, notes_of

TRENDS = Question(("compare", "--over", "messages"), bedside.trend, {"metrics": "seconds"})
DRIFTS = Question(("compare", "--over", "length"), bedside.drift, {"metrics": "seconds"})


def no_trend(rng: np.random.Generator, cases: int, each: int) -> Study:
    """Values and numbers of messages that have nothing in common; both are alike within a case."""

    def by_case(mean: float, sd: float) -> Values:
        alike: Values = rng.normal(size=(1, cases, 1, 1)) + rng.normal(size=(1, cases, each, 1))
        return np.asarray(mean + sd * np.sqrt(0.5) * alike)

    messages = rated(np.maximum(2, np.round(by_case(24, 8))), metric="turns", raters=("algorithm:turns@1",))
    return Study(pl.concat([rated(by_case(50, 10), metric="seconds"), messages]))


# -- Runs with factors ----------------------------------------------------------------------------------


@cache
def run_of(name: str, systems: str, cases: int, *factors: tuple[str, tuple[Any, ...]], repeats: int = 1) -> DrawnRun:
    """A run of each system on each case at each combination of factors' levels."""
    cells: list[dict[str, Any]] = [{}]
    for factor, own in factors:
        cells = [{**cell, factor: level} for cell in cells for level in own]
    talks = [
        {"id": f"{system}{case:02}.{number:02}.{repeat}", "system": system, "case_id": f"c{case:02}", "factors": cell}
        for system in systems
        for case in range(cases)
        for number, cell in enumerate(cells)
        for repeat in range(repeats)
    ]
    return opened(new_run(name, talks))


def of_run(drawn: DrawnRun, values: Values, truth: Any = 0.0) -> Study:
    """A judge's values of all transcripts, in the order of their names; NaN where there is none."""
    index = drawn.run.index.sort("id")
    return drawn.study(
        table_of(index["id"], index["system"], index["case_id"], JUDGE, values.ravel(), metric="seconds", kept=True),
        truth,
    )


def lengths(rng: np.random.Generator, cases: int, change: float) -> Study:
    """Each case at two lengths, at the longer lower by a share."""
    drawn = run_of(f"lengths {cases}", "A", cases, ("target_length", (20, 80)))
    case = 50 + 8 * rng.normal(size=(cases, 1))
    values = case * np.array([1.0, 1 - change]) + 5 * rng.normal(size=(cases, 2))
    return of_run(drawn, values, -100 * change)


PERSONAS = ("calm", "curt", "cross")


def by_persona(rng: np.random.Generator, cases: int, lost: float, matters: Sequence[float] = (6.0, 0.0, -6.0)) -> Study:
    """Two systems with three personas of each case; of the second system conversations with the last are lost."""
    drawn = run_of(f"personas {cases}", "AB", cases, ("persona", PERSONAS))
    case = rng.normal(0, 6, (1, cases, 1)) + rng.normal(0, 3, (2, cases, 1))
    values = 50 + case + np.array(matters) + rng.normal(0, 3, (1, cases, 3)) + rng.normal(0, 4, (2, cases, 3))
    values[1, rng.random(cases) < lost, 2] = np.nan
    return of_run(drawn, values)


def two_conditions(rng: np.random.Generator, cases: int, more: float) -> Study:
    """Two systems with two personas of each case, where one system may be better with one of them only.

    Args:
        rng: what draws.
        cases: how many.
        more: by how much the first system is better with the second persona.
    """
    drawn = run_of(f"conditions {cases}", "AB", cases, ("persona", PERSONAS[:2]))
    case = rng.normal(0, 6, (1, cases, 1)) + rng.normal(0, 3, (2, cases, 1))
    # The first system varies more.
    values = (
        50
        + case
        + rng.normal(0, 3, (1, cases, 2))
        + np.array([8.0, 5.0])[:, None, None] * rng.normal(size=(2, cases, 2))
    )
    values[0, :, 1] += more
    return of_run(drawn, values)


def incidental(rng: np.random.Generator, cases: int) -> Study:
    """Two transcripts of a case and system; who was on duty, and when, came about by chance."""
    drawn = incidental_run(cases)
    case = rng.normal(0, 6, (1, cases, 1)) + rng.normal(0, 3, (2, cases, 1))
    return of_run(drawn, 50 + case + rng.normal(0, 4, (2, cases, 2)))


@cache
def incidental_run(cases: int) -> DrawnRun:
    """A run whose factors nobody planned."""
    rng = np.random.default_rng(5)
    talks = [
        {
            "id": f"{system}{case:02}.{number}", "system": system, "case_id": f"c{case:02}",
            "factors": {"duty": str(rng.choice(["anna", "ben"])), "weekday": str(rng.choice(["mon", "tue", "wed"]))},
        }
        for system in "AB" for case in range(cases) for number in range(2)
    ]  # fmt: skip
    return opened(new_run("incidental", talks))


def unequal_repeats(rng: np.random.Generator, cases: int) -> Study:
    """Three repeats of each case by both systems, of which two of the second system's failed on half of the cases."""
    drawn = run_of("repeats", "AB", cases, ("repeat", (1, 2, 3)))
    case = rng.normal(0, 5, (1, cases, 1)) + rng.normal(0, 4, (2, cases, 1))
    values = 50 + case + rng.normal(0, 8, (2, cases, 3))
    values[1, ::2, 1:] = np.nan
    return of_run(drawn, values)


def groups(rng: np.random.Generator, cases: int) -> Study:
    """Conversations of one system in two groups, of cases of their own."""
    talks_of = cases // 2
    drawn = groups_run(cases)
    case = rng.normal(0, 6, (2, talks_of, 1))
    return of_run(drawn, 50 + case + rng.normal(0, 4, (2, talks_of, 2)))


@cache
def groups_run(cases: int) -> DrawnRun:
    """A run whose cases are of one of two wards, two conversations each."""
    talks = [
        {"id": f"{ward}{case:02}.{number}", "system": "A", "case_id": f"{ward}{case:02}", "factors": {"ward": ward}}
        for ward in ("east", "west")
        for case in range(cases // 2)
        for number in range(2)
    ]
    return opened(new_run("groups", talks))


def _warns(rows: Rows, truth: Any) -> bool:
    return any("Warning: how systems compare depends on persona" in row["note"] for row in rows[notes_of("comparison")])


DEPENDS = Check("warns that the difference depends on the condition", _warns, LEVEL)


def length_designs() -> Iterator[Design]:
    """By ``bedside compare`` over messages and lengths, and of runs with conditions."""
    trend = finds("finds a trend", table="length", p="p", messages="trend")
    yield Design("trend, 40 transcripts", TRENDS, partial(no_trend, cases=40, each=1), (trend,))
    yield Design("trend, 15 cases of 4 transcripts", TRENDS, partial(no_trend, cases=15, each=4), (trend,))
    change = covers("the change's interval holds it", table="drift", ends=("low", "high"))
    yield Design("drift over lengths, 12 cases", DRIFTS, partial(lengths, cases=12, change=0.0), (change,))
    yield Design(
        "drift over lengths, 30 cases, lower by 10 %", DRIFTS, partial(lengths, cases=30, change=0.1), (change,)
    )
    of_runs = compares(metrics="seconds")
    both = (*DIFFERENCE, DEPENDS)
    yield Design("12 cases, 3 personas", of_runs, partial(by_persona, cases=12, lost=0.0), both)
    yield Design(
        "20 cases, 3 personas, half of a hard one's lost", of_runs, partial(by_persona, cases=20, lost=0.5), both
    )
    power = replace(DEPENDS, limits=(0.3, 1.0), why="its power, where one system is 7 better with one persona")
    of_two = partial(two_conditions, cases=20)
    yield Design("20 cases, 2 personas", of_runs, partial(of_two, more=0.0), (DEPENDS,))
    yield Design("20 cases, 2 personas, one of which matters", of_runs, partial(of_two, more=7.0), (power,))
    yield Design("20 cases of 2, factors that came about", of_runs, partial(incidental, cases=20), DIFFERENCE)
    yield Design("16 cases of 3 repeats, some failed", of_runs, partial(unequal_repeats, cases=16), DIFFERENCE)
    yield Design(
        "2 groups of 20 cases of 2", compares(metrics="seconds", groups="ward"), partial(groups, cases=40), DIFFERENCE
    )
