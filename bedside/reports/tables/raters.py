"""How severe each person is beside the others."""

from __future__ import annotations

from bedside.analysis.rater_effects import people_of, rater_severities
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.rater_effects import severity_table
from bedside.reports.table import Table
from bedside.reports.table_kind import TableKind


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """People's deviations from each other; None where no metric was rated by two of them."""
    by_metric = people_of(view, view.metrics())
    severities = rater_severities(view, [name for name in view.metrics() if len(by_metric.get(name, ())) > 1])
    return severity_table(severities) if severities else None


TABLE = TableKind("raters", "How people rate beside each other", 35, build)
