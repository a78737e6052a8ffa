"""Test and retest: how well each person agrees with themselves on what they were shown twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bedside.analysis.drift import Retest, retests
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.ratings.names import person_name
from bedside.reports.number_text import DASH, between, bounded_record, decimal, interval_words, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import chance_notes
from bedside.stats.result import Result


def retest_table(shown: Sequence[Retest]) -> Table:
    """The table of retests already computed."""
    reasons = dict.fromkeys(retest.kappa.missing for retest in shown if retest.kappa.missing)
    return Table(
        name="retest",
        title="People beside themselves",
        columns=(
            Column("Rater", "left"), Column("Units"), Column("Same"), Column("95 % CI"), Column("κ"),
            Column("95 % CI"), Column("Second − first [95 % CI]"),
        ),
        rows=tuple(
            Row(tuple(Cell(text, record=position) for text in _texts(retest)), retest.facts.title)
            for position, retest in enumerate(shown)
        ),
        notes=(
            "Each person's first and second ratings of what they were shown twice without being told. Same: share of "
            "units given the same twice. On ordered scales κ has quadratic weights. Second − first: mean shift, over "
            "cases; intervals leave out whole cases, too. Two people can't be expected to agree better than each does "
            "with themselves.",
            *(f"{DASH} κ: {reason}." for reason in reasons),
            *chance_notes(_chances(shown)),
        ),
        records=tuple(map(_record, shown)),
    )  # fmt: skip


def _chances(shown: Sequence[Retest]) -> dict[str, set[float]]:
    """Title of each metric → the chances of the units rated twice."""
    chances: dict[str, set[float]] = {}
    for retest in shown:
        chances.setdefault(retest.facts.title, set()).update(retest.chances)
    return chances


def _texts(retest: Retest) -> tuple[str, ...]:
    return (
        person_name(retest.rater),
        f"{retest.units:,}",
        decimal(retest.same.estimate),
        _between(retest.same),
        decimal(retest.kappa.estimate),
        _between(retest.kappa),
        _shift_words(retest.shift),
    )


def _shift_words(shift: Result | None) -> str:
    if shift is None or shift.estimate is None:
        return DASH
    interval = f" {interval_words(shift.interval)}" if shift.interval else ""
    return signed(shift.estimate, 2) + interval


def _between(result: Result) -> str:
    return DASH if result.interval is None else between(result.interval.low, result.interval.high)


def _record(retest: Retest) -> dict[str, Any]:
    record: dict[str, Any] = {
        "metric": retest.metric,
        "rater": retest.rater,
        "units": retest.units,
        "transcripts": retest.transcripts,
        "cases": retest.cases,
    }
    for name, result in (("same", retest.same), ("kappa", retest.kappa), ("shift", retest.shift)):
        record |= bounded_record(name, result)
        record[f"{name}_missing"] = None if result is None else result.missing
    return record


def _build(view: RatingsView, seed: int) -> Table | None:
    try:
        return retest_table(retests(view, seed=seed))
    except NothingError:
        return None


TABLE = TableKind("retest", "People beside themselves", 31, _build, shown="always")
