"""What is missing, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.ratings.table import missing_counts
from bedside.ratings.values import cause, causes, is_failure, kinds_of_reasons
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Counts of missing ratings by metric, rater and cause; None where nothing is missing. The table's records have
    each reason by itself, also of what nobody asked for, which stands in a note alone."""
    counts = missing_counts(view.ratings.lazy())
    if not counts:
        return None
    failures = [row for row in counts if is_failure(row["error"])]
    rows = []
    for row in kinds_of_reasons({**row, "error": cause(row["error"])} for row in failures):
        cells = (view.facts(row["metric"]).title, row["rater"], row["error"], f"{row['n']:,}")
        rows.append(Row(tuple(map(Cell, cells))))
    return Table(
        name="missing",
        title="Missing values and why",
        columns=(Column("Metric", "left"), Column("Rater", "left"), Column("Reason", "left"), Column("n")),
        rows=tuple(rows),
        notes=(
            *_by_cause(failures),
            *_not_asked(view, [row for row in counts if not is_failure(row["error"])]),
        ),
        records=tuple(counts),
    )


def _by_cause(failures: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """How many values each cause took; nothing where there is one row for it all."""
    if len(failures) < 2:
        return ()
    told = "; ".join(f"{reason}: {counted(count, 'value')}" for reason, count in causes(failures))
    return (f"By cause: {told}.",)


def _not_asked(view: RatingsView, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What needs a model that nobody named."""
    if not rows:
        return ()
    titles = ", ".join(sorted({view.facts(row["metric"]).title for row in rows}))
    asked = "; ".join(sorted({row["error"].partition(": ")[2] or row["error"] for row in rows}))
    return (f"Not computed, and not counted as missing, as no model is named ({asked}): {titles}.",)


TABLE = TableKind(
    "missing",
    "Missing values and why",
    90,
    build,
    heading="Missing",
    shown="always",
    beside_published=True,
    averages=False,
)
