"""Several systems or measures at once: what is found in a family of tests, and which systems are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.leaderboard import standings
from bedside.analysis.ratings_view import open_ratings_view
from bedside.reports.tables.comparison import comparison_table
from tests.coverage.compare_designs import latent, ordinal
from tests.coverage.drawn_ratings import levels, rated
from tests.coverage.replicates import AT_MOST, Check, Design, Question, Rows, Study, compares, finds

_HOLM = "Holm's correction keeps to 5 % whatever holds, and tests of the same cases depend on one another"
ANY = finds("finds any difference, corrected", p="p_corrected", limits=AT_MOST, why=_HOLM)


@dataclass(frozen=True)
class Letters:
    """The letters of a leaderboard, as a table's records."""

    records: Sequence[Mapping[str, Any]]
    name: str = "letters"
    notes: Sequence[str] = ()


def letters(source: pl.DataFrame) -> Sequence[Any]:
    """The comparisons of a leaderboard, as ``bedside compare`` shows them, and the letters that come of them.

    A leaderboard is a table of a report, of simulated conversations.
    """
    view = open_ratings_view(source)
    (board,) = standings(view, "empathy")
    shown = [{"system": standing.system, "letters": standing.letters} for standing in board.systems]
    return [comparison_table(board.comparisons, order=view.order), Letters(shown)]


LETTERS = Question(("compare",), letters, unprinted=frozenset(("letters", "letters notes", "comparison notes")))


def _told_apart(rows: Rows, alike: Any) -> bool:
    """Whether two of the systems that are alike share no letter."""
    own = [set(row["letters"]) for row in rows["letters"] if row["system"] in alike]
    return any(not one & other for number, one in enumerate(own) for other in own[:number])


APART = Check("letters tell alike systems apart", _told_apart, AT_MOST, _HOLM)


def alike(rng: np.random.Generator, cases: int, systems: int, transcripts: int = 1) -> Study:
    """Systems that don't differ."""
    study = ordinal(rng, cases, systems=systems, transcripts=transcripts)
    return Study(study.source, [chr(65 + number) for number in range(systems)])


def one_better(rng: np.random.Generator, cases: int, systems: int) -> Study:
    """The first system is far better; the others don't differ."""
    values = latent(rng, cases, systems=systems)
    values[0] += 2
    return Study(rated(levels(values)), [chr(65 + number) for number in range(1, systems)])


def several_metrics(rng: np.random.Generator, cases: int, metrics: int) -> Study:
    """Two systems that don't differ on any of several measures, which are alike by case."""
    own = latent(rng, cases)
    names = ("empathy", "warmth", "clarity", "respect", "guidance", "structure")[:metrics]
    frames = [rated(levels(0.7 * own + 0.7 * latent(rng, cases)), metric=name) for name in names]
    return Study(pl.concat(frames))


def _all_hold(rows: Rows, truth: Any) -> bool | None:
    ends = [(row["difference_low"], row["difference_high"]) for row in rows["comparison"]]
    return None if any(low is None for low, _ in ends) else all(low <= 0 <= high for low, high in ends)


def many_systems_designs() -> Iterator[Design]:
    """Families of tests by ``bedside compare``, and the letters of a leaderboard."""
    three = {
        "3 systems, 20 cases": partial(ordinal, cases=20, systems=3),
        "3 systems, 12 cases of 5 transcripts": partial(ordinal, cases=12, systems=3, transcripts=5),
        "3 systems, 20 cases each": partial(ordinal, cases=20, systems=3, shared=False),
    }
    for name, draw in three.items():
        yield Design(name, compares(), draw, (finds("finds that not all are alike", table="overall"), ANY))
    yield Design("6 systems, 15 cases", LETTERS, partial(alike, cases=15, systems=6), (APART,), few=2)
    yield Design(
        "12 systems, 10 cases of 2", LETTERS, partial(alike, cases=10, systems=12, transcripts=2), (APART,), 1, 200
    )
    yield Design("5 systems, one far better, 20 cases", LETTERS, partial(one_better, cases=20, systems=5), (APART,), 3)
    measures = partial(several_metrics, cases=20, metrics=6)
    yield Design("2 systems, 6 measures, 20 cases", compares(), measures, (ANY,), 3)
    five, four = partial(ordinal, cases=20, systems=5), partial(ordinal, cases=20, systems=4)
    yield Design("5 systems beside a reference, 20 cases", compares(reference="A"), five, (ANY,), 3)
    all_hold = Check("all intervals hold the differences", _all_hold, (0.93, 1.0))
    name = "4 systems, intervals that hold all at once, 20 cases"
    yield Design(name, compares(adjusted_intervals=True), four, (all_hold,), 3)
