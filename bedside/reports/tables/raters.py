"""How severe each person is beside the others."""

from __future__ import annotations

from collections.abc import Sequence

from bedside.analysis.rater_effects import RaterSeverity, people_of, rater_severities
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import person_name
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note
from bedside.reports.number_text import interval_words, number, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import chance_notes, chances_by_title

_TITLE = "How people rate beside each other"


def _rated(severity: RaterSeverity) -> str:
    return ", ".join(f"{system} {count}" if system else f"{count}" for system, count in severity.ratings)


COLUMNS = (
    recorded(
        cell=lambda severity: f"{severity.metric}/{person_name(severity.rater)}",
        metric="metric",
        rater="rater",
        mean="mean",
    ),
    Column("Rater", "left", text=lambda severity: person_name(severity.rater)),
    Column("Rated", "left", text=_rated),
    Column("Shared", field="n_shared", value="shared"),
    Column("Cases", field="n_cases", value="deviation.n"),
    Column("Mean", text=lambda severity: number(severity.mean, severity.facts.digits)),
    recorded(lambda severity: {f"n_{system or 'all'}": count for system, count in severity.ratings}),
    Column(
        "Deviation",
        field="deviation",
        value="deviation.estimate",
        text=lambda severity: signed(severity.deviation.estimate, severity.facts.digits),
        dash="nobody else rated the same",
    ),
    Column(
        "95 % CI",
        text=lambda severity: interval_words(severity.deviation.interval, severity.facts.digits),
        dash="fewer than two cases that others rated, too, or the same deviation on all of them",
    ),
    recorded(
        low=lambda severity: severity.deviation.interval.low if severity.deviation.interval else None,
        high=lambda severity: severity.deviation.interval.high if severity.deviation.interval else None,
        missing="deviation.missing",
    ),
)
NOTES = (
    Note(
        "raters.deviation",
        "Deviation: the person's level less the mean of the others', by a mixed model of who rated what. Raters and "
        "systems are fixed; units are random, and so are cases and raters × cases where a case has several units. The "
        "interval is t over cases. Above zero: gives higher values than the others.",
        ("Deviation", "95 % CI"),
    ),
    Note(
        "raters.rated",
        "Rated: units by system. Where people rated different systems, a difference of people looks like one of "
        "systems.",
        ("Rated",),
    ),
)


def severity_table(severities: Sequence[RaterSeverity], chances: Sequence[str] = ()) -> Table:
    """How each person rates beside the others, metric by metric.

    Args:
        severities: each person's, by metric.
        chances: notes on how the units were drawn.
    """
    notes: tuple[Note | str, ...] = (*NOTES, *chances)
    return table_of("raters", _TITLE, severities, COLUMNS, group=lambda severity: severity.facts.title, notes=notes)


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """People's deviations from each other; None where no metric was rated by two of them."""
    by_metric = people_of(view, view.metrics())
    severities = rater_severities(view, [name for name in view.metrics() if len(by_metric.get(name, ())) > 1])
    if not severities:
        return None
    metrics = dict.fromkeys(severity.metric for severity in severities)
    return severity_table(severities, chance_notes(chances_by_title(view, metrics)))


TABLE = TableKind("raters", _TITLE, 35, build, shown="always")
