"""Tables made from what their rows are about, and from columns that say what each prints, records and can lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.reports.notes import Note, NoteText, noted
from bedside.reports.number_text import ARROWS, CellNames, between, bounded_record, number, plain_words, share_words
from bedside.reports.table import Table as Table
from bedside.reports.table_content import DASH, Cell, Column as Column, Recorded as Recorded, Row
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


def interval_column(place: str) -> Column:
    """The interval of a result beside its value; ``place`` is the attribute that has the result, or None."""
    value = attrgetter(place)

    def ends_of(item: Any) -> str:
        result: Result | None = value(item)
        interval = result.interval if result else None
        return DASH if interval is None else between(interval.low, interval.high)

    return Column("95 % CI", text=ends_of)


def bounded(**places: str | Callable[[Any], Result | None]) -> Recorded:
    """Results that records have beside the columns, each with the ends of its interval.

    Args:
        places: by the name in the records, the attribute, dots for those of attributes, or what gives the result.
    """
    getters = {name: place if callable(place) else attrgetter(place) for name, place in places.items()}
    return Recorded(
        lambda item: {
            key: value for name, result in getters.items() for key, value in bounded_record(name, result(item)).items()
        }
    )


def ends(result: Result | None) -> dict[str, float | None]:
    """The ends of a result's interval, for records that hold one result."""
    interval = result.interval if result else None
    return {"low": interval.low if interval else None, "high": interval.high if interval else None}


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
    brief: Callable[[Item], bool] = lambda item: True,
    notes: Iterable[Note | str] = (),
) -> Table:
    """A table with a row and a record for each thing that it is about.

    Below it stand the notes, what its columns say of themselves, and why cells are empty.

    Args:
        name, title: as attributes of the table.
        items: what its rows are about, in order.
        columns: what is printed and recorded of each.
        group: the heading that a row stands under.
        brief: whether a row stands in the answer that a terminal shows.
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
                Cell(
                    row[place],
                    marks=column.marks(item) if column.marks else "",
                    record=at if place else None,
                    transcript=column.transcript(item),
                )
                for place, column in zip(kept, kept_columns, strict=True)
            ),
            group(item),
            brief(item),
        )
        for at, (item, row) in enumerate(zip(shown, texts, strict=True))
    ]
    return Table(
        name=name,
        title=title,
        columns=tuple(kept_columns),
        rows=tuple(rows),
        notes=(
            *noted(notes, shown),
            *_column_notes(kept_columns),
            *dash_texts(kept_columns, rows, shown),
            *_reasons_of_left(printed, kept, shown),
        ),
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


def _reasons_of_left(columns: Sequence[Column], kept: Sequence[int], items: Sequence[Any]) -> list[NoteText]:
    """Why columns that no row has a value in have none, as the results themselves say it."""
    left = [column for place, column in enumerate(columns) if place not in kept]
    values = [column.value_of(item) for column in left for item in items]
    reasons = dict.fromkeys(value.missing for value in values if isinstance(value, Result) and value.missing)
    return [NoteText(f"{DASH}: {reason}.", "dash") for reason in reasons]


def _column_notes(columns: Iterable[Column]) -> list[NoteText]:
    return [NoteText(column.note, "column", (column.title,)) for column in columns if column.note]


# -- Rows about metrics as raters gave them -------------------------------------------------------------


class MetricRow(NamedTuple):
    """A row about a metric as some raters gave it, mostly to a system.

    Attributes:
        part: the result: it has the metric's facts, its raters, and mostly a system.
        order: has the labels of systems.
        names: what cells and rows are called.
    """

    part: Any
    order: StudyOrder
    names: CellNames

    @classmethod
    def rows(cls, shown: Iterable[Any], order: StudyOrder = UNLISTED) -> list[MetricRow]:
        """A row for each result, in order; ``order`` has the labels of systems."""
        results = list(shown)
        names = CellNames(results)
        return [cls(result, order, names) for result in results]

    def heading(self) -> str:
        """The metric, and its raters where several groups rated it."""
        return self.names.title(self.part)

    def directed_heading(self) -> str:
        """The metric with an arrow towards better, and its raters where several groups rated it."""
        facts = self.part.facts
        return f"{facts.title}{ARROWS[facts.direction]}{self.names.raters(self.part)}"

    def system_label(self) -> str:
        """The system as the study calls it."""
        return self.order.system_label(self.part.system)

    def cell(self, *told_by: str) -> str:
        """What a cell is called; ``told_by`` is what it is of beside the metric and its raters."""
        return self.names(self.part, *told_by)

    @staticmethod
    def record(*names: str) -> Recorded:
        """What a record begins with: the cell's name, metric, raters, and what ``names`` say of the result."""
        return recorded(
            cell=lambda row: row.cell(*(getattr(row.part, name) for name in names)),
            **{name: f"part.{name}" for name in ("metric", "raters", *names)},
        )

    @staticmethod
    def number(name: str) -> Callable[[MetricRow], str]:
        """What prints a number of the result, an attribute with dots, with the decimals of its metric."""
        value = attrgetter(name)
        return lambda row: number(value(row.part), row.part.facts.digits)


# -- Tables in which one row has several records --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Columns beside each other that have one record in each row; none where they have no fields.

    Attributes:
        columns: what is printed and recorded.
        of: what they show of what a row is about; None where there is nothing to show, which prints dashes.
    """

    columns: Sequence[Column | Recorded]
    of: Callable[[Any], Any] = lambda item: item


def grid_of(
    name: str,
    title: str,
    items: Iterable[Item],
    blocks: Sequence[Block],
    *,
    group: Callable[[Item], str | None] = lambda item: None,
    notes: Iterable[Note | str] = (),
) -> Table:
    """A table with a row for each thing that it is about, and a record for each block of columns in it.

    Args:
        name, title, items, group, notes: as of :func:`table_of`.
        blocks: its columns, from left to right.
    """
    shown = list(items)
    columns = [_column_in(block, column) for block in blocks for column in block.columns if isinstance(column, Column)]
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for item in shown:
        cells: list[Cell] = []
        for block in blocks:
            part = block.of(item)
            record = {} if part is None else record_of(block.columns, part)
            printed = [column for column in block.columns if isinstance(column, Column)]
            texts = [DASH if part is None else column.text_of(part) for column in printed]
            cells += [Cell(text, record=len(records) if record else None) for text in texts]
            records += [record] if record else []
        rows.append(Row(tuple(cells), group(item)))
    said = (*noted(notes, shown), *_column_notes(columns), *dash_texts(columns, rows, shown))
    return Table(name, title, tuple(columns), tuple(rows), said, tuple(records))


def _column_in(block: Block, column: Column) -> Column:
    """A column of a block as one of the whole rows."""

    def shown(item: Any) -> str:
        part = block.of(item)
        return DASH if part is None else column.text_of(part)

    def value(item: Any) -> Any:
        part = block.of(item)
        return None if part is None else column.value_of(part)

    return replace(column, text=shown, value=value)


# -- Tables whose rows are of several kinds -------------------------------------------------------------


def by_kind(
    columns: Sequence[Column | Recorded], others: Mapping[type, Sequence[Column | Recorded]]
) -> tuple[Column | Recorded, ...]:
    """Columns of a table in which some rows are about something else than the others.

    Args:
        columns: of most rows; their titles are the table's.
        others: of rows about parts of other classes, as many that print.
    """

    def columns_of(row: Any) -> Sequence[Column | Recorded]:
        about = row.part if isinstance(row, Part | MetricRow) else row
        return next((own for kind, own in others.items() if isinstance(about, kind)), columns)

    def column_at(row: Any, place: int) -> Column:
        return [column for column in columns_of(row) if isinstance(column, Column)][place]

    printed = [column for column in columns if isinstance(column, Column)]
    return (
        Recorded(lambda row: record_of(columns_of(row), row)),
        *(
            replace(
                column,
                field="",
                text=lambda row, place=place: column_at(row, place).text_of(row),  # type: ignore[misc]
                value=lambda row, place=place: column_at(row, place).value_of(row),  # type: ignore[misc]
            )
            for place, column in enumerate(printed)
        ),
    )
