"""What is missing, and why."""

from __future__ import annotations

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.missing_reasons import kinds_of_reasons
from bedside.ratings.table import missing_counts
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Counts of missing ratings by metric, rater and kind of reason; None where nothing is missing. The table's records
    have each reason by itself."""
    counts = missing_counts(view.ratings.lazy())
    if not counts:
        return None
    rows = []
    for row in kinds_of_reasons(counts):
        cells = (view.facts(row["metric"]).title, row["rater"], row["error"], f"{row['n']:,}")
        rows.append(Row(tuple(map(Cell, cells))))
    return Table(
        name="missing",
        title="Missing values and why",
        columns=(Column("Metric", "left"), Column("Rater", "left"), Column("Reason", "left"), Column("n")),
        rows=tuple(rows),
        records=tuple(counts),
    )


TABLE = TableKind("missing", "Missing values and why", 90, build)
