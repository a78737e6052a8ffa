"""Tables made from what their rows are about, and from columns that say what each prints, records and can lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from bedside.reports.notes import Note, NoteText, noted
from bedside.reports.number_text import bounded_record, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import DASH, Cell, Column, Recorded, Row
from bedside.stats.result import Result

#: What a row of a table is about.
Item = TypeVar("Item")


class Part(NamedTuple):
    """A row about a part of something: of preferences a pair of systems, of a judge one metric.

    Attributes:
        whole: what it is a part of.
        part: what the row is about.
    """

    whole: Any
    part: Any


def parts_of(shown: Iterable[Any], name: str) -> list[Part]:
    """The parts of all of these, in order.

    Args:
        shown: what has parts.
        name: the attribute that holds them.
    """
    return [Part(whole, part) for whole in shown for part in getattr(whole, name)]


def recorded(*names: str | Callable[[Any], Mapping[str, Any]], **places: str | Callable[[Any], Any]) -> Recorded:
    """What records have beside the columns.

    Args:
        names: attributes of what a row is about, called so in the records too; or what gives several by name.
        places: of others, the attribute, dots for those of attributes, or what gives the value.
    """
    getters: dict[str, Callable[[Any], Any]] = {name: attrgetter(name) for name in names if isinstance(name, str)}
    getters |= {name: place if callable(place) else attrgetter(place) for name, place in places.items()}
    several = [name for name in names if not isinstance(name, str)]

    def record(item: Any) -> dict[str, Any]:
        by_name = {name: value(item) for name, value in getters.items()}
        return by_name | {name: value for of in several for name, value in of(item).items()}

    return Recorded(record)


def of_whole(fields: Recorded) -> Recorded:
    """What is recorded of the whole that a row is about a part of."""
    return Recorded(lambda row: fields.of(row.whole))


def table_of(
    name: str,
    title: str,
    items: Iterable[Item],
    columns: Sequence[Column | Recorded],
    *,
    group: Callable[[Item], str | None] = lambda item: None,
    notes: Iterable[Note | str] = (),
) -> Table:
    """A table with a row and a record for each thing that it is about.

    Below it stand the notes, what its columns say of themselves, and why cells are empty.

    Args:
        name, title: as attributes of the table.
        items: what its rows are about, in order.
        columns: what is printed and recorded of each.
        group: the heading that a row stands under.
        notes: entries of the catalogue that may hold of the items, and sentences already made.
    """
    shown = list(items)
    printed = [column for column in columns if isinstance(column, Column)]
    texts = [[column.text_of(item) for column in printed] for item in shown]
    kept = [
        place for place, column in enumerate(printed) if not column.optional or any(row[place] != DASH for row in texts)
    ]
    kept_columns = [printed[place] for place in kept]
    rows = [
        Row(
            tuple(
                Cell(row[place], marks=column.marks(item) if column.marks else "", record=at if place else None)
                for place, column in zip(kept, kept_columns, strict=True)
            ),
            group(item),
        )
        for at, (item, row) in enumerate(zip(shown, texts, strict=True))
    ]
    return Table(
        name=name,
        title=title,
        columns=tuple(column.heading() for column in kept_columns),
        rows=tuple(rows),
        notes=(*noted(notes, shown), *_column_notes(kept_columns), *dash_texts(kept_columns, rows, shown)),
        records=tuple(record_of(columns, item) for item in shown),
    )


def record_of(columns: Iterable[Column | Recorded], item: Any) -> Mapping[str, Any]:
    """What is recorded of a thing, by the names of fields."""
    record: dict[str, Any] = {}
    for column in columns:
        if isinstance(column, Recorded):
            record |= column.of(item)
        elif column.field:
            value = column.value_of(item)
            has_interval = isinstance(value, Result) or column.form in (share_words, plain_words)
            record |= bounded_record(column.field, value) if has_interval else {column.field: value}
    return record


def dash_texts(columns: Sequence[Column], rows: Sequence[Row], items: Sequence[Any]) -> tuple[NoteText, ...]:
    """A note on each reason for which some cell is a dash.

    Args:
        columns, rows: of the table.
        items: what the rows are about.
    """
    titles_by_reason: dict[tuple[str, bool], dict[str, None]] = {}
    for place, column in enumerate(columns):
        for row, item in zip(rows, items, strict=True):
            if row.cells[place].text != DASH:
                continue
            value = column.value_of(item)
            missing = value.missing if isinstance(value, Result) else None
            reason = missing or column.dash
            if reason:
                titles_by_reason.setdefault((reason, not missing), {})[column.title] = None
    return tuple(
        NoteText(f"{DASH}: {reason} ({', '.join(titles)})." if is_of_column else f"{DASH}: {reason}.", "dash",
                 tuple(titles))
        for (reason, is_of_column), titles in titles_by_reason.items()
    )  # fmt: skip


def _column_notes(columns: Iterable[Column]) -> list[NoteText]:
    return [NoteText(column.note, "column", (column.title,)) for column in columns if column.note]
