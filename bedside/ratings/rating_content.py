"""The content of a file or data frame of ratings, as its form is shown it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bedside.ratings.frames import FRAME, Frame, frame_rows
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.table_columns import TableColumns, table_columns
from bedside.support.errors import BedsideError, InputError
from bedside.transcripts.file_account import FileAccount
from bedside.transcripts.json_source import JsonSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.table_rows import RawTable, raw_tables, table
from bedside.transcripts.typed_rows import (
    is_parquet,
    parquet_height,
    parquet_records,
    parquet_rows,
    parquet_schema,
)

#: Most rows of a table, and letters of text.
_MOST_ROWS, _MOST_TEXT = 2_000_000, 2**30

#: Rows that are looked at for two rows of column names.
_FIRST_ROWS = 3

#: Place and cells of each row.
Rows = list[tuple[str, list[str]]]


class TypedTable(NamedTuple):
    """A table as it was typed.

    Attributes:
        sheet: the worksheet's name; empty for a file without any.
        rows: all its rows.
    """

    sheet: str
    rows: Rows


class RatingContent:
    """What a form is shown of a file or data frame.

    Args:
        reading: what the user said.
        place: the file, for messages.

    Attributes:
        account: what was understood of it; the form fills it in.
    """

    def __init__(self, reading: RatingReading, place: str) -> None:
        self.reading = reading
        self.place = place
        self.account: FileAccount = FileAccount()

    @cached_property
    def table(self) -> tuple[list[str], Rows] | None:
        """Column names and rows, all as text; None where it is no table."""
        return None

    @cached_property
    def typed_tables(self) -> list[TypedTable]:
        """The tables that are read, each as it was typed, column names and what stands above them too."""
        return []

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """The first rows of the first table as it was typed."""
        return []

    @cached_property
    def columns(self) -> TableColumns | None:
        """Which column of the table holds what; None where it is no table."""
        if self.table is None:
            return None
        header, rows = self.table
        return table_columns(header, rows, self.reading, self.place)

    @property
    def first(self) -> Any:
        """The first JSON value; None where it is no JSON."""
        return None

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Place and content of each JSON object.

        Raises:
            InputError: one can't be read, or is none.
        """
        return iter(())

    def with_table(self, header: list[str], rows: Rows) -> RatingContent:
        """The same content with another table, which a form made of it."""
        return _MadeTable(self, header, rows)

    def without_ratings(self) -> InputError:
        """The message for what holds no rating."""
        return InputError(
            "it holds no rating" if self.place == FRAME else "the file holds no rating",
            where=self.place,
            todo="see the docs on ratings and runs",
        )

    def unclaimed(self) -> BedsideError:
        """The message for what is of no form."""
        if self.columns is None:
            return InputError(
                "this is of no form that ratings are read from",
                where=self.place,
                todo="give a table with the columns item, rater, metric and value, or name the form with `form`",
            )
        if self.table is not None and not self.table[1]:
            return self.without_ratings()
        for name in ("item", "rater", "value"):
            if (
                name != "item"
                and not self.columns.rated
                and not {"rater", "value"} & self.columns.names.keys()
            ):
                break
            if name not in self.columns.names:
                return self.columns.missing(name, self.place)
        return self.columns.without_ratings("no column holds ratings", self.place)


class _MadeTable(RatingContent):
    """A table that a form made of another."""

    def __init__(self, content: RatingContent, header: list[str], rows: Rows) -> None:
        super().__init__(content.reading, content.place)
        self.account = content.account
        self._table = header, rows

    @cached_property
    def table(self) -> tuple[list[str], Rows] | None:
        """Column names and rows."""
        return self._table


class FrameContent(RatingContent):
    """The content of a data frame.

    Args:
        frame: the data frame.
        reading: what the user said.
    """

    def __init__(self, frame: Frame, reading: RatingReading) -> None:
        super().__init__(reading, FRAME)
        self._frame = frame

    @cached_property
    def table(self) -> tuple[list[str], Rows] | None:
        """Column names and rows, all as text."""
        return _of_records(frame_rows(self._frame))


class FileContent(RatingContent):
    """The content of a file.

    Args:
        path: the file.
        reading: what the user said.
    """

    def __init__(self, path: Path, reading: RatingReading) -> None:
        super().__init__(reading, str(path))
        self.path = path
        options = ReadOptions(sheet=reading.sheet, header_row=reading.header_row, encoding=reading.encoding)
        self._source = JsonSource(path, path.stem, options=options)
        self._parquet = path.suffix.lower() == ".parquet" or is_parquet(self._source)
        self.account: FileAccount = self._source.account

    @cached_property
    def first(self) -> Any:
        """The first JSON value; None where it is no JSON. A row of Parquet is one, too."""
        if self._parquet:
            return next((row for _, row in self.records()), None)
        return None if self._source.json is None else self._source.json.first

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Place and content of each JSON object, or row of Parquet.

        Raises:
            InputError: one can't be read, or is none.
        """
        if self._parquet:
            self._check_height()
            for number, row in parquet_records(self._source):
                yield f"{self.path}: row {number}", row
            return
        for where, _, value in self._source.json_values():
            if isinstance(value, InputError):
                raise value
            if not isinstance(value, dict):
                raise InputError("this is no JSON object", where=where, todo="mend or remove it")
            yield where, value

    @cached_property
    def table(self) -> tuple[list[str], Rows] | None:
        """Column names and rows, all as text; None where the file is no table."""
        if self._parquet:
            self._check_height()
            schema = parquet_schema(self._source)
            if any(dtype.is_nested() for dtype in schema.values()):
                return None
            numbered = parquet_rows(self._source)
            next(numbered)  # the names of the columns
            return list(schema), _held(
                ((f"{self.path}: row {number}", row) for number, row in numbered), self.place
            )
        if self._source.json is not None:
            return None
        header, rows = table(self._source, self.reading.struck)
        return header, _held(rows, self.place)

    @property
    def sample(self) -> tuple[list[str], list[list[str]]]:
        """Column names and some rows of the first table; nothing where it is none."""
        if self._source.json is not None:
            return [], []
        first = raw_tables(self._source)[0] if self._parquet else self._raw_tables[0]
        return first.names, first.below

    def _check_height(self) -> None:
        if parquet_height(self._source) > _MOST_ROWS:
            raise _too_large(self.place)

    @cached_property
    def _raw_tables(self) -> list[RawTable]:
        if self._parquet or self._source.json is not None:
            return []
        return raw_tables(self._source, self.reading.struck)

    @cached_property
    def typed_tables(self) -> list[TypedTable]:
        """The tables that are read, each as it was typed, without what is above the column names."""
        return [TypedTable(raw.sheet, _held(self._typed(raw), self.place)) for raw in self._raw_tables]

    def _typed(self, raw: RawTable) -> Iterator[tuple[str, list[str] | InputError]]:
        top = self._top(raw)
        for number, row in raw.numbered():
            if number >= top:
                yield f"{raw.place}:{number}", row
            else:
                self.account.leave("rows above the column names", f"{raw.place}:{number}")

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """The first rows of the first table as it was typed, below what is above its column names."""
        if not self._raw_tables:
            return []
        raw = self._raw_tables[0]
        rows = (row for number, row in raw.numbered() if number >= self._top(raw) and isinstance(row, list))
        return list(islice(rows, _FIRST_ROWS))

    def _top(self, raw: RawTable) -> int:
        """Number of the first row that may name columns: a title is alone in its row."""
        if self.reading.header_row is not None:
            return self.reading.header_row
        several = (number for number, row in raw.sample if len({cell.strip() for cell in row} - {""}) > 1)
        return next(several, 1)


def _held(rows: Iterable[tuple[str, list[str] | InputError]], place: str) -> Rows:
    """The rows in memory.

    Raises:
        InputError: one can't be read, or they are too many.
    """
    held: Rows = []
    letters = 0
    for where, row in rows:
        if isinstance(row, InputError):
            raise row
        held.append((where, row))
        letters += sum(map(len, row))
        if len(held) > _MOST_ROWS or letters > _MOST_TEXT:
            raise _too_large(place)
    return held


def _too_large(place: str) -> InputError:
    return InputError(
        f"the file has more than {_MOST_ROWS:,} rows or {_MOST_TEXT // 2**20} MB of text",
        where=place,
        todo="split it",
    )


def _of_records(records: Iterator[tuple[str, Mapping[str, str]]]) -> tuple[list[str], Rows]:
    header: list[str] = []
    rows: Rows = []
    for where, record in records:
        header = header or list(record)
        rows.append((where, list(record.values())))
    return header, rows
