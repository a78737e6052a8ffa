"""What a table shows, before it is rendered to anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, Self

#: Shown where there is no value.
DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the text shown, and how it is marked.

    Attributes:
        text: as printed.
        bold: one of the best.
        marks: printed raised after the text, such as asterisks of a test.
        underline: the second best.
        record: position in the table's records of what the number comes from; None where the cell holds none.
        transcript: the id of the one that it is about, or the worst of several: a page links to it; empty for none.
    """

    text: str
    bold: bool = False
    marks: str = ""
    underline: bool = False
    record: int | None = None
    transcript: str = ""


def plainly(value: Any) -> str:
    """A text as it is, a count with commas between its thousands, yes or no; a dash where there is nothing."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column.

    Attributes:
        title: what stands in it.
        align: left or right.
        group: the heading it shares with the columns beside it.
        brief: whether it stands in the answer that a terminal shows.
    """

    title: str
    align: Literal["left", "right"] = "right"
    group: str | None = None
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Column(Heading):
    """One column: its head, and what it prints and records of what a row is about.

    Attributes:
        field: its name in the records; empty where they don't have it. A value with an interval has the names with
            ``_low`` and ``_high``, too.
        value: what is recorded: an attribute of what the row is about, dots for those of attributes, or what gives it;
            the attribute that is called as the field unless given.
        form: how the value is printed.
        text: what is printed, where it is more than the value.
        marks: what is printed raised after it.
        note: what the column is, below the table.
        dash: why a cell may be a dash; of a result the reason that it gives itself unless given.
        optional: whether it is left out where no row has a value.
        transcript: the id of the transcript that a cell is about.
    """

    field: str = ""
    value: str | Callable[[Any], Any] = ""
    form: Callable[[Any], str] = plainly
    text: Callable[[Any], str] | None = None
    marks: Callable[[Any], str] | None = None
    note: str = ""
    dash: str = ""
    optional: bool = False
    transcript: Callable[[Any], str] = lambda item: ""

    def heading(self) -> Heading:
        """Its head alone, as a table keeps it."""
        return Heading(self.title, self.align, self.group, self.brief)

    def value_of(self, item: Any) -> Any:
        """What it holds of what a row is about."""
        if callable(self.value):
            return self.value(item)
        path = self.value or self.field
        return attrgetter(path)(item) if path else None

    def text_of(self, item: Any) -> str:
        """What it prints of it."""
        return self.text(item) if self.text is not None else self.form(self.value_of(item))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What records have and the table doesn't print, in its place among the columns.

    Attributes:
        of: the names and values of what a row is about.
    """

    of: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of cells.

    Attributes:
        cells: one for each column.
        group: the heading it stands under.
        brief: whether it stands in the answer that a terminal shows.
    """

    cells: tuple[Cell, ...]
    group: str | None = None
    brief: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class TableContent:
    """What any rendering of a table shows.

    Attributes:
        name: short name, used for file names and labels.
        title: the caption.
        columns: in order.
        rows: in order; rows of one group stand together.
        notes: what the numbers are, below the table.
        records: the same content as plain records at full precision, for CSV and JSON. Where a record is one number of
            the table, its ``cell`` names it: ``empathy/sysA``.
        source_notes: those of the notes that are on a suite's source, not on what was done here.
    """

    name: str
    title: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()
    source_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep the heads of columns alone: a table is data, and equal to another that shows the same."""
        heads = tuple(column.heading() if isinstance(column, Column) else column for column in self.columns)
        object.__setattr__(self, "columns", heads)

    def groups(self) -> list[tuple[str | None, list[Row]]]:
        """The rows by group, in order."""
        groups: list[tuple[str | None, list[Row]]] = []
        for row in self.rows:
            if not groups or groups[-1][0] != row.group:
                groups.append((row.group, []))
            groups[-1][1].append(row)
        return groups

    def spans(self) -> list[tuple[str | None, int]]:
        """The headings that columns share, in order, each with its number of columns."""
        spans: list[tuple[str | None, int]] = []
        for column in self.columns:
            if spans and column.group is not None and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans

    def brief(self) -> Self:
        """The rows and columns of the answer, those without a value left out; all columns where none is marked."""
        rows = tuple(row for row in self.rows if row.brief)
        marked = [place for place, column in enumerate(self.columns) if column.brief]
        return replace(self, rows=rows).of_columns(marked or range(len(self.columns))).with_values()

    def with_values(self) -> Self:
        """The table without rows and columns that hold nothing but dashes beside the first, which names them."""
        held = [[place for place, cell in enumerate(row.cells) if not place or cell.text != DASH] for row in self.rows]
        rows = tuple(row for row, places in zip(self.rows, held, strict=True) if len(places) > 1 or len(row.cells) == 1)
        return replace(self, rows=rows).of_columns(sorted({0}.union(*held)))

    def of_columns(self, places: Sequence[int]) -> Self:
        """The table with these columns alone."""
        rows = (replace(row, cells=tuple(row.cells[place] for place in places)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=tuple(rows))
