"""What is missing, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.ratings.table import missing_counts
from bedside.ratings.values import cause, causes, is_failure, kinds_of_reasons
from bedside.reports.columns import Block, Column, Part, Table, grid_of
from bedside.reports.notes import note
from bedside.reports.table_kind import TableKind

_TITLE = "Missing values and why"
#: Of counts by metric, rater and cause; the records have each reason by itself.
COLUMNS = Block((
    Column("Metric", "left", value=lambda row: row.whole.facts(row.part["metric"]).title),
    Column("Rater", "left", value=lambda row: row.part["rater"]),
    Column("Reason", "left", value=lambda row: row.part["error"]),
    Column("n", value=lambda row: row.part["n"]),
))  # fmt: skip


@note("missing.causes", "n")
def by_cause(failures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many values each cause took; nothing where there is one row for it all."""
    if len(failures) > 1:
        told = "; ".join(f"{reason}: {counted(count, 'value')}" for reason, count in causes(failures))
        yield f"By cause: {told}."


@note("missing.not asked")
def not_asked(rows: Sequence[Part]) -> Iterator[str]:
    """What needs a model that nobody named."""
    if rows:
        titles = ", ".join(sorted({row.whole.facts(row.part["metric"]).title for row in rows}))
        errors = {row.part["error"] for row in rows}
        asked = "; ".join(sorted({error.partition(": ")[2] or error for error in errors}))
        yield f"Not computed, and not counted as missing, as no model is named ({asked}): {titles}."


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Counts of missing ratings by metric, rater and cause; None where nothing is missing. The table's records have
    each reason by itself, also of what nobody asked for, which stands in a note alone."""
    counts = missing_counts(view.ratings.lazy())
    if not counts:
        return None
    failures = [row for row in counts if is_failure(row["error"])]
    others = [Part(view, row) for row in counts if not is_failure(row["error"])]
    shown = kinds_of_reasons({**row, "error": cause(row["error"])} for row in failures)
    table = grid_of("missing", _TITLE, [Part(view, row) for row in shown], (COLUMNS,),
                    notes=(*by_cause.texts(failures), *not_asked.texts(others)))  # fmt: skip
    return replace(table, records=tuple(counts))


TABLE = TableKind(
    "missing", _TITLE, 90, build, heading="Missing", shown="always", beside_published=True, averages=False
)
