"""A table, whatever it is rendered to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from bedside.support.errors import DataError
from bedside.support.registry import nearest

if TYPE_CHECKING:
    import pandas
    import polars as pl


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the text shown, and how it is marked.

    Attributes:
        text: as printed.
        bold: one of the best.
        marks: printed raised after the text, such as asterisks of a test.
        underline: the second best.
        record: position in the table's records of what the number comes from; None where the cell holds none.
    """

    text: str
    bold: bool = False
    marks: str = ""
    underline: bool = False
    record: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, its alignment, and the heading it shares with the columns beside it."""

    title: str
    align: Literal["left", "right"] = "right"
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of cells; ``group`` is the heading it stands under."""

    cells: tuple[Cell, ...]
    group: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table ready to be rendered.

    Attributes:
        name: short name, used for file names and labels.
        title: the caption.
        columns: in order.
        rows: in order; rows of one group stand together.
        notes: what the numbers are, below the table.
        records: the same content as plain records at full precision, for CSV and JSON. Where a record is one number of
            the table, its ``cell`` names it: ``empathy/sysA``.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    records: tuple[Mapping[str, Any], ...] = field(default=())

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self.rows)} rows)"

    def __str__(self) -> str:
        from bedside.reports.render import markdown

        return markdown(self)

    def _repr_html_(self) -> str:
        from bedside.reports.render import html

        return html(self)

    def to_polars(self) -> pl.DataFrame:
        """The records, at full precision, as a Polars data frame."""
        import polars

        return polars.DataFrame([dict(record) for record in self.records], infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """The records, at full precision, as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from bedside.ratings.run import to_pandas

        return to_pandas(self.to_polars())

    def groups(self) -> list[tuple[str | None, list[Row]]]:
        """The rows by group, in order."""
        found: list[tuple[str | None, list[Row]]] = []
        for row in self.rows:
            if not found or found[-1][0] != row.group:
                found.append((row.group, []))
            found[-1][1].append(row)
        return found

    def spans(self) -> list[tuple[str | None, int]]:
        """The headings that columns share, in order, each with its number of columns."""
        found: list[tuple[str | None, int]] = []
        for column in self.columns:
            if found and column.group is not None and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found


class Tables(tuple[Table, ...]):
    """Tables that answer one question; each by its position or its name."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Table: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Table, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = next((table for table in self if table.name == key), None)
        if found is None:
            raise DataError(f"no table is called {key!r}", todo=nearest(key, [table.name for table in self]))
        return found

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)


#: Shown where there is no value.
DASH = "–"


def counted(count: int, what: str) -> str:
    """A number of things, in words that fit it."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def number(value: float | None, digits: int = 2) -> str:
    """A number as printed, with a true minus sign; a dash where there is none."""
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def decimal(value: float | None, digits: int = 2) -> str:
    """A number that can't exceed 1 (a share, kappa, p), printed without its leading zero."""
    return (
        number(value, digits).replace("0.", ".", 1)
        if value is not None and abs(value) < 1
        else number(value, digits)
    )


def p_value(value: float | None) -> str:
    """A p value to three decimals, or below .001."""
    if value is None:
        return DASH
    return "< .001" if value < 0.001 else decimal(value, 3)


def between(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval as printed."""
    if low is None or high is None:
        return DASH
    return f"[{decimal(low, digits)}, {decimal(high, digits)}]"
