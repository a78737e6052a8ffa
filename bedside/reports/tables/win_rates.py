"""Win rates: systems two by two, when their conversations are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bedside.analysis.pair_preferences import SystemPreferences
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import Part, of_whole, parts_of, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, bounded_record, decimal, p_value, share_words
from bedside.reports.preference_notes import (
    PREFERENCE_RECORD,
    heading_of_part,
    left_out,
    preferences_of,
    with_preference_notes,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import BY_WHERE, BY_WITHIN

_TITLE = "Preferences: systems two by two"


def _count(name: str) -> Callable[[Part], str]:
    """A count of verdicts as printed; a dash where there is no case."""
    return lambda row: f"{getattr(row.part, name):,}" if row.part.cases else DASH


COLUMNS = (
    of_whole(PREFERENCE_RECORD),
    recorded(cell=lambda row: f"{row.whole.metric}@{row.whole.raters}/{row.part.a}-{row.part.b}",
             a="part.a", b="part.b", verdicts="part.conversations"),
    Column("Systems", "left", text=lambda row: f"{row.part.a} beside {row.part.b}"),
    Column("Cases", field="cases", value="part.cases", text=_count("cases")),
    Column("First better", field="better", value="part.better", text=_count("better")),
    Column("Second better", field="worse", value="part.worse", text=_count("worse")),
    Column("Tie", field="ties", value="part.ties", text=_count("ties")),
    Column("Depends on order", field="depends_on_order", value="part.unsettled", text=_count("unsettled")),
    recorded(one_order="part.one_order"),
    Column("First's share of wins [95 % CI]", field="wins", value="part.wins", form=share_words),
    recorded(interval=lambda row: row.part.wins.interval.method if row.part.wins.interval else None),
    Column("By strengths", field="expected", value="part.expected", form=decimal),
    Recorded(lambda row: bounded_record("difference", row.part.difference)),
    recorded(statistic="part.difference.statistic"),
    Column("p", field="p", value="part.difference.p", form=p_value),
    Column("p corrected", field="p_corrected", value="part.difference.p_adjusted", form=p_value),
    recorded(**{name: f"part.difference.{name}" for name in ("correction", "family_size", "method", "missing")}),
)  # fmt: skip
MEANING = Note(
    "win rates.meaning",
    "First and Second are the systems of the row, whichever was shown first. Better, Tie: verdicts of each "
    "person on two conversations that are the same in every order asked, over all its passes. Depends on order: those "
    "that change with it. Share of wins: a tie is half a win for each; cases and both orders count the same. Its "
    "interval is over cases and stays within 0 and 1. By strengths: the share that Bradley and Terry's model expects. "
    "Where it is far from the share of wins, no single strength describes the systems.",
)


@note("win rates.p", "p", "p corrected")
def tests(rows: Sequence[Part]) -> Iterator[str]:
    """How p came to be, and why there is none."""
    tested = [row.part.difference for row in rows if row.part.difference.p is not None]
    for method in dict.fromkeys(result.method.rpartition("; ")[2] for result in tested):
        sizes = sorted({result.family_size or 0 for result in tested})
        yield (
            f"p: {method}. It uses what comparisons with other systems say of the two. Corrected by Holm over "
            f"the pairs of a block ({' or '.join(map(str, sizes))})."
        )
    if any(row.part.difference.p is None and row.part.cases for row in rows):
        yield f"{DASH} p: under equal strengths nothing is left that could differ."


@note("win rates.one order")
def one_order(rows: Sequence[Part]) -> Iterator[str]:
    """Verdicts with the place in them."""
    alone, every = (sum(getattr(row.part, name) for row in rows) for name in ("one_order", "conversations"))
    if alone:
        yield (
            f"{alone:,} of {every:,} verdicts rest on one order, so that the place is in them; it is not in the "
            "strengths and p."
        )


def win_rate_table(shown: Sequence[SystemPreferences], view: RatingsView, levels: str = BY_WITHIN) -> Table:
    """The table of preferences already analysed.

    Args:
        shown: the preferences.
        view: the ratings they are of.
        levels: what shows the levels of a factor one by one.
    """
    table = table_of("win_rates", _TITLE, parts_of(shown, "pairs"), COLUMNS, group=heading_of_part,
                     notes=(MEANING, tests, one_order, *left_out.texts(shown)))  # fmt: skip
    systems = sorted({system.system for preferences in shown for system in preferences.systems})
    return with_preference_notes(table, view, systems, levels)


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return win_rate_table(shown, view, BY_WHERE) if shown else None


TABLE = TableKind("win_rates", _TITLE, 23, _build, shown="always", averages=False)
