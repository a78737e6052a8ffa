"""Designs, questions and checks, and how replicates of a design are drawn, counted and kept.

A replicate is seeded by its design's name and its number: replicates can be counted in parts, in any order, by several
processes, and the parts are added up from a file of lines of JSON.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta

import bedside
from bedside.api.chosen_ratings import View
from bedside.core.errors import BedsideError

#: The rows of a command's tables, by the table's name: what ``--json`` prints.
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
#: Shares of replicates between which a level of 5 % and a coverage of 95 % must lie.
LEVEL, COVERS = (0.035, 0.065), (0.93, 0.97)
#: What must not happen in more than 5 %, and may happen less.
AT_MOST = (0.0, 0.065)
#: Replicates that are counted and kept at once: parts begin at its multiples, so that none overlap.
PART = 50


@dataclass(frozen=True)
class Study:
    """What was drawn.

    Attributes:
        source: ratings, as a question takes them.
        truth: what is true of it, as the design's checks take it.
        written: writes the source into a folder, and returns the path that is typed; None for ratings alone.
        asked: options that this study is asked with, besides its question's.
    """

    source: pl.DataFrame | View
    truth: Any = 0.0
    written: Callable[[Path], Path] | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write it for a command: the path to type."""
        if self.written is not None:
            return self.written(folder)
        assert isinstance(self.source, pl.DataFrame)
        # A file of ratings has labels among its values, and no units but turns.
        turns = pl.col("unit").str.strip_prefix("turn:").cast(pl.Int64(), strict=False)
        value = pl.coalesce("label", pl.col("value").cast(pl.String()))
        table = self.source.select(
            pl.col("transcript_id").alias("item"), "system", pl.col("case_id").alias("case"), turns.alias("turn"),
            "metric", "rater", "replicate", value.alias("value"),
        )  # fmt: skip
        of_turns = table["turn"].is_not_null().any()
        table.drop([] if of_turns else ["turn"]).write_csv(folder / "ratings.csv", null_value="NA")
        return folder / "ratings.csv"


def notes_of(table: str) -> str:
    """What a table's notes are called among rows."""
    return f"{table} notes"


@dataclass(frozen=True)
class Question:
    """A command and its function.

    Attributes:
        command: what is typed, such as ``("compare", "--preferences")``; nothing where only a report has the answer.
        ask: the function of bedside that it calls.
        options: its arguments, which are typed as options.
        codes: what the command may end with.
        unprinted: tables that only the function gives, as the command writes them elsewhere.
    """

    command: tuple[str, ...]
    ask: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    codes: tuple[int, ...] = (0,)
    unprinted: frozenset[str] = frozenset()

    def rows(self, study: Study) -> Rows:
        """The tables' rows and notes, without a command."""
        tables = self.ask(study.source, **self.options, **study.asked)
        notes = {notes_of(table.name): [{"note": note} for note in table.notes] for table in tables}
        return {table.name: table.records for table in tables} | notes

    def typed(self, study: Study, path: Path) -> list[str]:
        """What is typed for the same of a study that was written."""
        name, *words = self.command
        options = [word for item in {**self.options, **study.asked}.items() for word in _typed(*item)]
        return [name, str(path), *words, *options]


def _typed(name: str, value: Any) -> list[str]:
    """An argument as an option."""
    option = "--scale" if name == "scales" else f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        return [word for key, one in value.items() for word in (option, f"{key}={one}")]
    return [option, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]


@dataclass(frozen=True)
class Check:
    """What is counted of the answers to a question.

    Attributes:
        words: what happens, such as "finds a difference".
        happens: whether it does, by the rows and the study's truth; None where the answer doesn't say.
        limits: least and greatest share of the answers.
        why: of limits of its own, the reason for them.
    """

    words: str
    happens: Callable[[Rows, Any], bool | None]
    limits: tuple[float, float]
    why: str = ""


@dataclass(frozen=True)
class Design:
    """A kind of study, and what is asked of it.

    Attributes:
        name: what a study has; seeds its replicates.
        question: what is asked.
        draw: draws a study.
        checks: what is counted.
        few: replicates that ``make test`` draws.
        many: replicates at most that ``make soak`` draws.
    """

    name: str
    question: Question
    draw: Callable[[np.random.Generator], Study]
    checks: tuple[Check, ...]
    few: int = 5
    many: int = 2000

    def study(self, replicate: int) -> Study:
        """One of its studies."""
        return self.draw(np.random.default_rng([zlib.crc32(self.name.encode()), replicate]))

    def answers(self, replicate: int) -> dict[str, bool | None]:
        """What the checks say of one study; nothing where the question is refused."""
        study = self.study(replicate)
        try:
            rows = self.question.rows(study)
        except BedsideError:
            return {check.words: None for check in self.checks}
        return {check.words: check.happens(rows, study.truth) for check in self.checks}


# -- Counting -------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """How often something happened in how many answers, of how many replicates."""

    happened: int = 0
    answered: int = 0
    replicates: int = 0

    def add(self, happened: int, answered: int, replicates: int) -> None:
        """Add what was counted elsewhere."""
        self.happened += happened
        self.answered += answered
        self.replicates += replicates

    @property
    def share(self) -> float:
        """Of the answers."""
        return self.happened / self.answered if self.answered else float("nan")

    def error(self, outside: float = 0.05) -> tuple[float, float]:
        """Clopper and Pearson's interval of the share: what so many replicates leave open.

        Args:
            outside: the chance, at most, that the true share is not in it.
        """
        k, n = self.happened, self.answered
        low = beta.ppf(outside / 2, k, n - k + 1) if k else 0.0
        high = beta.isf(outside / 2, k + 1, n - k) if k < n else 1.0
        return float(low), float(high)

    def is_within(self, limits: tuple[float, float], outside: float = 0.05) -> bool:
        """Whether the share may lie within limits, for all that is known."""
        low, high = self.error(outside)
        return low <= limits[1] and high >= limits[0]


#: Tallies by design and check.
Tallies = dict[tuple[str, str], Tally]


def counted(design: Design, replicates: range) -> dict[str, tuple[int, int]]:
    """How often each check's words came true, and of how many answers."""
    counts = {check.words: [0, 0] for check in design.checks}
    for replicate in replicates:
        for words, happened in design.answers(replicate).items():
            counts[words][0] += happened is True
            counts[words][1] += happened is not None
    return {words: (happened, answered) for words, (happened, answered) in counts.items()}


def parts_in(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The parts that were counted, by design, each once: of those that begin at one replicate, the longest."""
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    parts = sorted(map(json.loads, lines), key=lambda part: int(part["replicates"]))
    longest = {(part["design"], part["first"]): part for part in parts}
    by_design: dict[str, list[dict[str, Any]]] = {}
    for (design, _), part in longest.items():
        by_design.setdefault(design, []).append(part)
    return by_design


def tallies(design: Design, parts: Iterable[Mapping[str, Any]]) -> dict[Check, Tally]:
    """The parts of a design added up."""
    sums = {check: Tally() for check in design.checks}
    for part in parts:
        for check, tally in sums.items():
            if check.words in part["counts"]:
                happened, answered = part["counts"][check.words]
                tally.add(happened, answered, part["replicates"])
    return sums


def count_up(design: Design, runs: int, file: Path) -> Iterator[dict[str, Any]]:
    """Count what is missing of the first ``runs`` replicates, a part after the other; each is kept in the file."""
    done = {part["first"]: part["replicates"] for part in parts_in(file).get(design.name, ())}
    for first in range(0, runs, PART):
        numbers = range(first, min(first + PART, runs))
        if done.get(first, 0) >= len(numbers):
            continue
        counts = counted(design, numbers)
        entry = {"design": design.name, "first": first, "replicates": len(numbers), "counts": counts}
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry, ensure_ascii=False) + "\n")
        yield entry


# -- Checks that many designs have ----------------------------------------------------------------------


def finds(
    words: str = "finds a difference", *, table: str = "comparison", p: str = "p", limits: tuple[float, float] = LEVEL,
    why: str = "", **of: Any,
) -> Check:  # fmt: skip
    """How often something is significant at 5 % that isn't there, in any of a table's rows.

    Args:
        words: what is found.
        table: its name.
        p: the column of p; a row without p finds nothing.
        limits, why: as of :class:`Check`.
        of: what the rows have that count, by column.
    """

    def happens(rows: Rows, truth: Any) -> bool:
        return any(row[p] is not None and row[p] <= 0.05 for row in chosen(rows, table, of))

    return Check(words, happens, limits, why)


def covers(
    words: str = "the difference's interval holds it", *, table: str = "comparison", name: str = "difference",
    ends: tuple[str, str] | None = None, limits: tuple[float, float] = COVERS, why: str = "",
    truth: Callable[[Any], float] = lambda truth: truth, **of: Any,
) -> Check:  # fmt: skip
    """How often the interval of the first of a table's rows holds the truth, of those that there are.

    Args:
        words: what holds what.
        table: its name.
        name: the column of the estimate, whose ends are named by it, unless ``ends`` names them.
        ends: the columns of the two ends.
        limits, why: as of :class:`Check`.
        truth: the value, of the study's truth.
        of: what the row has that counts, by column.
    """
    low, high = ends or (f"{name}_low", f"{name}_high")

    def happens(rows: Rows, known: Any) -> bool | None:
        row = next(iter(chosen(rows, table, of)), None)
        if row is None or row[low] is None or row[high] is None:
            return None
        return bool(row[low] - 1e-9 <= truth(known) <= row[high] + 1e-9)

    return Check(words, happens, limits, why)


def chosen(rows: Rows, table: str, of: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rows of a table that have these values."""
    return (row for row in rows[table] if all(row[name] == value for name, value in of.items()))


def compares(**options: Any) -> Question:
    """``bedside compare``."""
    return Question(("compare",), bedside.compare, options)
