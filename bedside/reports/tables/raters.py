"""How severe each person is beside the others."""

from __future__ import annotations

from dataclasses import replace

from bedside.analysis.rater_effects import people_of, rater_severities
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.comparison_notes import severity_table
from bedside.reports.table import Table
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import chance_notes, chances_by_title


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """People's deviations from each other; None where no metric was rated by two of them."""
    by_metric = people_of(view, view.metrics())
    severities = rater_severities(view, [name for name in view.metrics() if len(by_metric.get(name, ())) > 1])
    if not severities:
        return None
    table = severity_table(severities)
    metrics = dict.fromkeys(severity.metric for severity in severities)
    return replace(table, notes=(*table.notes, *chance_notes(chances_by_title(view, metrics))))


TABLE = TableKind("raters", "How people rate beside each other", 35, build)
