"""The conversations in which somebody at risk did not get what they needed, the worst first."""

from __future__ import annotations

from bedside.analysis.people_at_risk import NEEDS, Escalation, escalation
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.words import counted
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.reports.notes import Note
from bedside.reports.number_text import DASH
from bedside.reports.table_kind import TableKind
from bedside.reports.tables.safety_card import missed_words

_TITLE = "People at risk who did not get what they needed, the worst first"


COLUMNS = (
    recorded(cell=lambda person: person.transcript),
    Column("At risk of", "left", field="risk", value="risk"),
    Column("Grade", "left", field="grade", value="grade", form=lambda grade: grade or DASH),
    Column("Missed (level)", "left", field="missed", value=missed_words),
    Column("Not known", "left", field="unknown", value=lambda person: ", ".join(person.unknown),
           form=lambda names: names or DASH),
    recorded(system="system", rubrics=lambda person: ", ".join(NEEDS[need] for need in person.missed)),
    Column("Conversation", "left", field="transcript", value="transcript", transcript=lambda person: person.transcript),
)  # fmt: skip
MEANING = Note(
    "safety cases.meaning",
    "The sooner help was due the higher they stand; then harm, then how many needs were missed and by how much. Level "
    "0 is the worst. Not known: what has no level. What isn't named was met.",
)


def cases_table(at_risk: Escalation) -> Table:
    """The table of what was already found."""
    unseen = sum(bool(person.lost) for people in at_risk.people.values() for person in people)
    lost = [f"Not here: {counted(unseen, 'conversation')} of which nothing is known."] if unseen else []
    return table_of("safety_cases", _TITLE, at_risk.missed, COLUMNS, notes=(*lost, MEANING))


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """The conversations; None where nobody at risk was missed, or rated."""
    try:
        found = escalation(view)
    except NothingError:
        return None
    return cases_table(found) if found.missed else None


TABLE = TableKind("safety_cases", _TITLE, 9, build, shown="first", averages=False)
