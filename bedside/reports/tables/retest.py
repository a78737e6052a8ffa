"""Test and retest: how well each person agrees with themselves on what they were shown twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bedside.analysis.agreement import Retest, retests
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.ratings.names import person_name
from bedside.reports.columns import Column, Table, interval_column, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, bounded_record, decimal, interval_words, signed
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import chance_notes


def _shift_words(retest: Retest) -> str:
    shift = retest.shift
    if shift is None or shift.estimate is None:
        return DASH
    interval = f" {interval_words(shift.interval)}" if shift.interval else ""
    return signed(shift.estimate, 2) + interval


def _figures(retest: Retest) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, result in (("same", retest.same), ("kappa", retest.kappa), ("shift", retest.shift)):
        record |= bounded_record(name, result) | {f"{name}_missing": None if result is None else result.missing}
    return record


COLUMNS = (
    recorded("metric", "rater"),
    Column("Rater", "left", value="rater", form=person_name),
    Column("Units", field="units"),
    recorded("transcripts", "cases"),
    Column("Same", value="same.estimate", form=decimal),
    interval_column("same"),
    Column("κ", value="kappa.estimate", form=decimal),
    interval_column("kappa"),
    Column("Second − first [95 % CI]", text=_shift_words),
    recorded(_figures),
)
MEANING = Note(
    "retest.meaning",
    "Each person's first and second ratings of what they were shown twice without being told. Same: share of "
    "units given the same twice. On ordered scales κ has quadratic weights. Second − first: mean shift, over "
    "cases; intervals leave out whole cases, too. Two people can't be expected to agree better than each does "
    "with themselves.",
)


@note("retest.missing", "κ")
def missing(shown: Sequence[Retest]) -> Iterator[str]:
    """Why there is no kappa."""
    yield from (f"{DASH} κ: {retest.kappa.missing}." for retest in shown if retest.kappa.missing)


@note("retest.chances")
def chances(shown: Sequence[Retest]) -> Iterator[str]:
    """What the chances of the units rated twice make of the figures."""
    by_title: dict[str, set[float]] = {}
    for retest in shown:
        by_title.setdefault(retest.facts.title, set()).update(retest.chances)
    yield from chance_notes(by_title)


def retest_table(shown: Sequence[Retest]) -> Table:
    """The table of retests already computed."""
    return table_of("retest", "People beside themselves", shown, COLUMNS, group=lambda retest: retest.facts.title,
                    notes=(MEANING, missing, chances))  # fmt: skip


def _build(view: RatingsView, seed: int) -> Table | None:
    try:
        return retest_table(retests(view, seed=seed))
    except NothingError:
        return None


TABLE = TableKind("retest", "People beside themselves", 31, _build, shown="always")
