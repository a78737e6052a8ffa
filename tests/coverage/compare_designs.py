"""Two systems or more that don't differ: how often ``bedside compare`` finds that they do, and its intervals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.rater_effects import CONFOUNDED
from tests.coverage.drawn_ratings import JUDGE, PEOPLE, Values, levels, rated
from tests.coverage.replicates import AT_MOST, Check, Design, Rows, Study, compares, covers, finds, notes_of

DIFFERENCE: tuple[Check, ...] = (finds(), covers())
#: Standard deviations of a latent rating: of cases, of what a system makes of a case, of a transcript, of an error.
CASE, BY_SYSTEM, TRANSCRIPT, ERROR = 0.7, 0.45, 0.4, 0.38


def latent(
    rng: np.random.Generator, cases: int, *, systems: int = 2, transcripts: int = 1, raters: int = 1,
    shared: bool = True,
) -> Values:  # fmt: skip
    """Values of systems that don't differ: systems × cases × transcripts × raters, of standard deviation 1.

    Args:
        rng: what draws.
        cases: of each system.
        systems, transcripts, raters: how many; transcripts of each case and system.
        shared: whether systems have the same cases.
    """
    own = rng.normal(0, CASE, (1 if shared else systems, cases, 1, 1))
    of_system = rng.normal(0, BY_SYSTEM, (systems, cases, 1, 1))
    talk = rng.normal(0, TRANSCRIPT, (systems, cases, transcripts, 1))
    values: Values = own + of_system + talk + rng.normal(0, ERROR, (systems, cases, transcripts, raters))
    return values


def ordinal(
    rng: np.random.Generator,
    cases: int,
    *,
    systems: int = 2,
    transcripts: int = 1,
    raters: int = 1,
    shared: bool = True,
) -> Study:
    """Levels 1 to 5 by judges, each of several passes."""
    values = levels(latent(rng, cases, systems=systems, transcripts=transcripts, raters=raters, shared=shared))
    return Study(rated(values, raters=[(JUDGE, number) for number in range(raters)], cases=_cases(values, shared)))


def yes_or_no(rng: np.random.Generator, cases: int, *, share: float, shared: bool = True) -> Study:
    """Zeros and ones, one transcript a case."""
    values = (latent(rng, cases, shared=shared) > _cut(share)).astype(float)
    return Study(rated(values, cases=_cases(values, shared), metric="danger"), asked={"metrics": "danger"})


def _cut(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - share))


def _cases(values: Values, shared: bool) -> Values | None:
    if shared:
        return None
    systems, cases = values.shape[:2]
    numbers: Values = np.arange(systems * cases).reshape(systems, cases)
    return numbers


def skewed(rng: np.random.Generator, cases: int) -> Study:
    """Counts such as words: a few cases have most of them."""
    values = np.round(np.exp(2.5 + 0.8 * latent(rng, cases)))
    return Study(rated(values, metric="seconds"), asked={"metrics": "seconds"})


def unequal_arms(
    rng: np.random.Generator, few: int, many: int, spread: tuple[float, float] = (1.0, 1.0), skewed: bool = False
) -> Study:
    """Cases of their own, more of the second system.

    Args:
        rng: what draws.
        few, many: cases of each system.
        spread: how much either system's values spread.
        skewed: whether a few cases have most of it, as of words or seconds.
    """
    values = np.full((2, many, 1, 1), np.nan)
    for arm, cases in enumerate((few, many)):
        drawn = rng.normal(size=cases)
        if skewed:  # log-normal, of mean 0 and standard deviation 1
            drawn = (np.exp(0.8 * drawn) - np.exp(0.32)) / np.sqrt(np.exp(1.28) - np.exp(0.64))
        values[arm, :cases, 0, 0] = 50 + 10 * spread[arm] * drawn
    return Study(rated(values, cases=_cases(values, False), metric="seconds"), asked={"metrics": "seconds"})


def lost(rng: np.random.Generator, cases: int, share: float) -> Study:
    """Ratings that failed, whatever they would have been: of two passes a transcript."""
    values = levels(latent(rng, cases, raters=2))
    values[rng.random(values.shape) < share] = np.nan
    return Study(rated(values, raters=[(JUDGE, 0), (JUDGE, 1)], kept=True))


def partly_shared(rng: np.random.Generator, cases: int, shared: int, transcripts: int = 1) -> Study:
    """Some of the cases are both systems'."""
    both = latent(rng, cases, transcripts=transcripts)
    alone = latent(rng, cases, transcripts=transcripts, shared=False)
    numbers = np.stack([np.arange(cases), np.arange(cases)])
    numbers[1, shared:] += cases
    values = np.where(np.arange(cases)[None, :, None, None] < shared, both, alone)
    return Study(rated(levels(values), cases=numbers))


def uneven(rng: np.random.Generator, cases: int) -> Study:
    """Cases of their own, of one to eight transcripts each."""
    values = levels(latent(rng, cases, transcripts=8, shared=False))
    values[np.arange(8)[None, None, :, None] >= rng.integers(1, 9, (2, cases, 1, 1))] = np.nan
    return Study(rated(values, cases=_cases(values, False)))


def by_people(rng: np.random.Generator, cases: int, people: int, taste: float, shared: bool = True) -> Study:
    """People rate all; each has a taste for a system, which means nothing for others."""
    values = latent(rng, cases, raters=people, shared=shared)
    values += rng.normal(0, 0.4, people) + rng.normal(0, taste, (2, 1, 1, people))
    levels_given = np.clip(np.round(3 + values), 1, 5)
    return Study(rated(levels_given, raters=PEOPLE[:people], cases=_cases(values, shared)))


def by_other_people(rng: np.random.Generator, cases: int) -> Study:
    """Two people rate one system, and two others the other; some are more severe."""
    values = latent(rng, cases, raters=4) + rng.normal(0, 0.4, 4)
    values[0, ..., 2:] = values[1, ..., :2] = np.nan
    return Study(rated(np.clip(np.round(3 + values), 1, 5), raters=PEOPLE[:4]))


def without_cases(rng: np.random.Generator, cases: int) -> Study:
    """Five transcripts a case, which the table doesn't name."""
    frame = rated(levels(latent(rng, cases, transcripts=5)))
    return Study(frame.with_columns(case_id=pl.lit(None, dtype=pl.String())))


def _warns_of_people(rows: Rows, truth: Any) -> bool:
    return any(CONFOUNDED in row["note"] for row in rows[notes_of("comparison")])


def careful_of(why: str) -> tuple[Check, ...]:
    """Checks of a test that finds less than 5 % for a known reason."""
    return finds(limits=AT_MOST, why=why), covers(limits=(0.93, 1.0), why=why)


PEOPLE_FEW = "the quasi-F of few people is careful"
#: Checks of designs whose test can't reach 5 %, by their names.
CAREFUL: dict[str, tuple[Check, ...]] = {
    **dict.fromkeys(
        ("paired, 8 cases, levels", "paired, 60 cases, yes in 10 %", "unpaired, 60 + 60 cases, yes in 10 %"),
        careful_of("of few cases, or few that differ, p has few values"),
    ),
    "40 cases, 3 people with tastes": careful_of(PEOPLE_FEW),
}


def compare_designs() -> Iterator[Design]:
    """Two systems by ``bedside compare``, and several."""
    two = {
        "paired, 20 cases, levels": partial(ordinal, cases=20),
        "paired, 8 cases, levels": partial(ordinal, cases=8),
        "paired, 40 cases, levels": partial(ordinal, cases=40),
        "paired, 30 cases, yes or no": partial(yes_or_no, cases=30, share=0.5),
        "paired, 60 cases, yes in 10 %": partial(yes_or_no, cases=60, share=0.1),
        "paired, 25 cases, skewed counts": partial(skewed, cases=25),
        "paired, 12 cases of 5 transcripts": partial(ordinal, cases=12, transcripts=5),
        "paired, 20 cases, 3 passes": partial(ordinal, cases=20, raters=3),
        "paired, 20 cases, a third of ratings lost": partial(lost, cases=20, share=1 / 3),
        "unpaired, 25 + 25 cases, levels": partial(ordinal, cases=25, shared=False),
        "unpaired, 8 + 8 cases, levels": partial(ordinal, cases=8, shared=False),
        "unpaired, 12 + 48 cases, alike": partial(unequal_arms, few=12, many=48),
        "unpaired, 12 + 48 cases, skewed alike": partial(unequal_arms, few=12, many=48, skewed=True),
        "unpaired, 12 + 48 cases, the fewer spread twice as much": partial(
            unequal_arms, few=12, many=48, spread=(2.0, 1.0)
        ),
        "unpaired, 12 + 48 cases, the more spread twice as much": partial(
            unequal_arms, few=12, many=48, spread=(1.0, 2.0)
        ),
        "unpaired, 40 + 40 cases, yes or no": partial(yes_or_no, cases=40, share=0.5, shared=False),
        "unpaired, 60 + 60 cases, yes in 10 %": partial(yes_or_no, cases=60, share=0.1, shared=False),
        "unpaired, 12 + 12 cases of 1 to 8 transcripts": partial(uneven, cases=12),
        "partly shared, 6 of 20 cases": partial(partly_shared, cases=20, shared=6),
        "partly shared, 10 of 20 cases of 5 transcripts": partial(partly_shared, cases=20, shared=10, transcripts=5),
        "20 cases, 5 people with tastes": partial(by_people, cases=20, people=5, taste=0.3),
        "40 cases, 3 people with tastes": partial(by_people, cases=40, people=3, taste=0.3),
    }
    for name, draw in two.items():
        yield Design(name, compares(), draw, CAREFUL.get(name, DIFFERENCE))
    yield from _with_limits()


def _with_limits() -> Iterator[Design]:
    """Studies that claim less, or more, than 5 % of false findings, as the answer says."""
    careful = finds(limits=AT_MOST, why="where people have no tastes, raters like them would be as alike")
    none = partial(by_people, cases=10, people=3, taste=0.0)
    yield Design("10 cases, 3 people without tastes", compares(), none, (careful,))
    of_these = finds(limits=(0.05, 0.6), why="it is about these raters, as the table says")
    two, three = partial(by_people, cases=20, people=2, taste=0.3), partial(by_people, cases=40, people=3, taste=0.3)
    yield Design("20 cases, 2 people with tastes", compares(), two, (of_these,))
    yield Design("40 cases, 3 people with tastes, raters averaged first", compares(test="t"), three, (of_these,))
    own = partial(by_people, cases=25, people=5, taste=0.3, shared=False)
    yield Design("25 + 25 cases, 5 people with tastes", compares(), own, careful_of(PEOPLE_FEW))
    why = "means of few skewed values that spread more are not known so well by any test"
    means = finds(limits=(0.035, 0.15), why=why), covers(limits=(0.85, 0.97), why=why)
    unequal = partial(unequal_arms, few=12, many=48, spread=(2.0, 1.0), skewed=True)
    yield Design("unpaired, 12 + 48 cases, skewed, the fewer spread twice as much", compares(), unequal, means)
    others = finds(limits=(0.05, 0.6), why="a difference of people looks like one of systems, of which it warns")
    warns = Check("warns that other people rated each system", _warns_of_people, (0.99, 1.0))
    each = partial(by_other_people, cases=40)
    yield Design("40 cases, other people for each system", compares(), each, (others, warns))
    unnamed = finds(limits=(0.05, 0.6), why="without the names of cases every transcript counts as one")
    nameless = partial(without_cases, cases=12)
    yield Design("12 cases of 5 transcripts, cases not named", compares(), nameless, (unnamed,))
