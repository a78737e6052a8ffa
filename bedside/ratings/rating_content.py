"""The content of a file or data frame of ratings, as its form is shown it."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import polars as pl

from bedside.core.errors import BedsideError, InputError
from bedside.ratings.names import rates_pair, rates_unit, second_ids
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.rubric_metrics import SHARES
from bedside.ratings.table import COLUMNS, KEY, ROW_SCHEMA, SCHEMA
from bedside.ratings.table_columns import TableColumns, table_columns
from bedside.transcripts.file_kinds import foreign_archive, foreign_kind
from bedside.transcripts.json_source import JsonSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading_account import FileAccount
from bedside.transcripts.table_rows import TABLE_ENDINGS, RawTable, raw_tables
from bedside.transcripts.text_table import (
    MOST_TEXT,
    Places,
    TextTable,
    held_rows,
    parquet_table,
    text_column,
    text_table,
)
from bedside.transcripts.typed_rows import check_parquet_size, is_parquet, parquet_records, parquet_schema

#: What the account calls answers that are no single label or number.
SETS = "answers of several labels"
#: Rows that are looked at for two rows of column names.
_FIRST_ROWS = 3
#: Place and cells of each row.
Rows = Sequence[tuple[str, list[str]]]
#: Column names and rows.
Table = tuple[list[str], TextTable]


class RatingContent:
    """What a form is shown of a file or data frame.

    Args:
        reading: what the user said.
        place: the file, for messages.
        account: what was understood of it; the form fills it in.
        table: column names and rows, all as text; None where it is no table.

    Attributes:
        first: the first JSON value, or row of Parquet; None where there is none.
    """

    first: Any = None

    def __init__(self, reading: RatingReading, place: str, account: FileAccount, table: Table | None = None) -> None:
        self.reading = reading
        self.place = place
        self.account = account
        self._table = table

    @cached_property
    def table(self) -> Table | None:
        """Column names and rows, all as text; None where it is no table."""
        return self._table

    @cached_property
    def typed_tables(self) -> list[tuple[str, Rows]]:
        """Worksheet and rows of each table that is read, as it was typed, without what is above the column names."""
        return []

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """The first rows of the first table as it was typed, below what is above its column names."""
        return []

    @cached_property
    def columns(self) -> TableColumns | None:
        """Which column of the table holds what; None where it is no table."""
        if self.table is None:
            return None
        header, rows = self.table
        return table_columns(header, rows, self.reading, self.place)

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Place and content of each JSON object, or row of Parquet.

        Raises:
            InputError: one can't be read, or is none.
        """
        return iter(())

    def with_table(self, header: list[str], rows: Rows) -> RatingContent:
        """The same content with another table, which a form made of it."""
        table = rows if isinstance(rows, TextTable) else held_rows(rows, len(header), self.place)
        return RatingContent(self.reading, self.place, self.account, (header, table))

    def without_ratings(self) -> InputError:
        """The message for what holds no rating."""
        left = ", ".join(f"{count:,} {noun}" for noun, count in self.account.left_out.items())
        return InputError(
            ("it holds no rating" if self.place == FRAME else "the file holds no rating")
            + (f"; left out: {left}" if left else ""),
            where=self.place,
            todo="a rating is one label or one number: ask what may have several as a question each, and export again"
            if SETS in self.account.left_out
            else "see the docs on ratings and runs",
        )

    def twice(self) -> str:
        """What to do where somebody rates an item twice."""
        # Columns that no form asked for say nothing of the table.
        columns = vars(self).get("columns")
        if columns is None or self.table is None:
            return "remove one of the rows"
        return str(columns.twice(self.table[1]))

    def unclaimed(self) -> BedsideError:
        """The message for what is of no form."""
        if self.columns is None:
            return InputError(
                "this is of no form that ratings are read from",
                where=self.place,
                todo="give a table with the columns item, rater, metric and value, or name the form with `form`",
            )
        if self.table is not None and not len(self.table[1]):
            return self.without_ratings()
        names = self.columns.names.keys()
        needed = ("item", "rater", "value") if self.columns.rated or names & {"rater", "value"} else ("item",)
        for name in needed:
            if name not in names:
                return self.columns.missing(name)
        return self.columns.without_ratings("no column holds ratings")


def frame_content(frame: Frame, reading: RatingReading) -> RatingContent:
    """The content of a data frame: all as text, and nothing an empty string.

    Named levels of a pandas index are columns too, as a pivoted table has them.

    Raises:
        InputError: two columns have one name.
    """
    columns = _columns(frame)
    cells = pl.DataFrame({str(at): text_column(column, _text) for at, column in enumerate(columns.values())})
    places = Places(_ROW, pl.int_range(cells.height, eager=True))
    return RatingContent(reading, FRAME, FileAccount(), (list(columns), TextTable(cells, places)))


class FileContent(RatingContent):
    """The content of a file.

    Args:
        path: the file.
        reading: what the user said.

    Raises:
        InputError: it is packed, or of another form that isn't read.
    """

    def __init__(self, path: Path, reading: RatingReading) -> None:
        options = ReadOptions(sheet=reading.sheet, header_row=reading.header_row, encoding=reading.encoding)
        self._source = JsonSource(path, path.stem, options=options)
        foreign = foreign_kind(self._source, TABLE_ENDINGS) or foreign_archive(self._source)
        if foreign is not None:
            raise foreign
        super().__init__(reading, str(path), self._source.account)
        self._parquet = path.suffix.lower() == ".parquet" or is_parquet(self._source)

    @cached_property
    def first(self) -> Any:
        """The first JSON value, or row of Parquet; None where there is none."""
        if self._parquet:
            return next((row for _, row in self.records()), None)
        return None if self._source.json is None else self._source.json.first

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """As of any content."""
        if self._parquet:
            check_parquet_size(self._source, MOST_TEXT)
            for number, row in parquet_records(self._source):
                yield f"{self.place}: row {number}", row
            return
        for where, _, value in self._source.json_values():
            if isinstance(value, InputError):
                raise value
            if not isinstance(value, dict):
                raise InputError("this is no JSON object", where=where, todo="mend or remove it")
            yield where, value

    @cached_property
    def table(self) -> Table | None:
        """Column names and rows, all as text; None where the file is no table."""
        if self._parquet:
            schema = parquet_schema(self._source)
            if any(dtype.is_nested() for dtype in schema.values()):
                return None
            return list(schema), parquet_table(self._source)
        return None if self._source.json is not None else text_table(self._source, self.reading.struck)

    @property
    def sample(self) -> tuple[list[str], list[list[str]]]:
        """Column names and some rows of the first table; nothing where it is none."""
        if self._source.json is not None:
            return [], []
        first = raw_tables(self._source)[0] if self._parquet else self._raw_tables[0]
        return first.names, first.below

    @cached_property
    def _raw_tables(self) -> list[RawTable]:
        if self._parquet or self._source.json is not None:
            return []
        return raw_tables(self._source, self.reading.struck)

    @cached_property
    def typed_tables(self) -> list[tuple[str, Rows]]:
        """As of any content."""
        return [(raw.sheet, [*_readable(self._typed(raw))]) for raw in self._raw_tables]

    def _typed(self, raw: RawTable) -> Iterator[tuple[str, list[str] | InputError]]:
        top = self._top(raw)
        for number, row in raw.numbered():
            if number >= top:
                yield f"{raw.place}:{number}", row
            else:
                self.account.count_left_out("rows above the column names", f"{raw.place}:{number}")

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """As of any content."""
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


def _readable(rows: Iterable[tuple[str, list[str] | InputError]]) -> Iterator[tuple[str, list[str]]]:
    """The rows; InputError where one can't be read."""
    for where, row in rows:
        if isinstance(row, InputError):
            raise row
        yield where, row


if TYPE_CHECKING:
    import pandas

    #: A data frame of ratings.
    Frame: TypeAlias = pandas.DataFrame | pl.DataFrame | pl.LazyFrame
else:
    # pandas need not be installed, nor is it imported where nobody uses it.
    Frame = pl.DataFrame | pl.LazyFrame

#: What a data frame is called in messages.
FRAME = "the data frame"
_ROW = f"{FRAME}: row "


def is_frame(value: object) -> TypeGuard[Frame]:
    """Whether it is a data frame of pandas or Polars."""
    # What pandas made is only there where pandas was imported.
    pandas = sys.modules.get("pandas")
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or (
        pandas is not None and isinstance(value, pandas.DataFrame)
    )


def row_place(row: int) -> str:
    """The place of a row, for messages; rows count from 0, as they do in data frames."""
    return f"{_ROW}{row}"


def is_ratings_table(frame: Frame) -> bool:
    """Whether a frame has all columns of the ratings table; round and chance may be left out."""
    names = frame.collect_schema().names() if isinstance(frame, pl.LazyFrame) else frame.columns
    return set(ROW_SCHEMA) <= set(map(str, names))


def ratings_table(frame: Frame) -> pl.DataFrame:
    """The ratings table that a frame with all its columns is, checked row by row.

    Raises:
        InputError: a column or a row holds something else than ratings have there, or a rating stands there twice.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        # None stands for each of the things that pandas has for nothing.
        cells_of = {
            name: [None if _is_nothing(cell) else cell for cell in cells] for name, cells in _columns(frame).items()
        }
        frame = pl.DataFrame(cells_of, strict=False)
    design = {"round": pl.lit(""), "drawn": pl.lit(None)}
    frame = frame.with_columns(**{name: none for name, none in design.items() if name not in frame.columns})
    try:
        table = (
            frame.select(*COLUMNS)
            .cast(SCHEMA)
            .with_columns(pl.col("value", "drawn").fill_nan(None), pl.col("round").fill_null(""))
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"a column holds something else than the ratings table does ({str(error).splitlines()[0]})",
            where=FRAME,
            todo="see the docs on ratings and runs",
        ) from error
    for fault, words, todo in _faults():
        rows = table.with_row_index("row").filter(fault)["row"]
        if rows.len():
            raise InputError(words, where=row_place(rows[0]), todo=todo)
    return table


def _faults() -> list[tuple[pl.Expr, str, str]]:
    """What is wrong with a row of a ratings table, in an expression and in words, and what to do."""
    needed = [
        (pl.col(name).is_null(), f"the row has no {name}", f"fill the column {name}")
        for name in ("transcript_id", "unit", "metric", "rater", "replicate")
    ]
    values = pl.sum_horizontal(pl.col(name).is_not_null() for name in ("value", "label", "error"))
    share = pl.col("label").replace_strict(SHARES, default=None, return_dtype=pl.Float64())
    preferred = pl.col("error").is_not_null() & (values == 1) | share.eq_missing(pl.col("value")) & (values == 2)
    return [
        *needed,
        (
            ~rates_unit(),
            "the unit is neither a transcript nor a turn nor a pair",
            "write transcript, turn:INDEX or pair:ID",
        ),
        (
            rates_pair() & ~pl.col("metric").str.contains(r".\.preference$"),
            "a pair is rated by something else than a preference",
            "end the metric's name in .preference",
        ),
        (second_ids() == pl.col("transcript_id"), "a transcript is paired with itself", "name another one"),
        (~pl.col("rater").str.contains(":", literal=True), "the rater is of no kind", "write human:NAME"),
        (~pl.col("drawn").fill_null(0).is_between(0, 1), "a chance lies between 0 and 1", "mend the column drawn"),
        (pl.col("replicate") < 0, "the replicate is less than 0", "count passes from 0"),
        (
            rates_pair() & ~preferred,
            "a preference is first with the value 1, second with 0 or tie with 0.5, or has an error alone",
            "mend the row",
        ),
        (
            ~rates_pair() & (values != 1),
            "a rating has a value, a label or an error, and one of them only",
            "mend the row",
        ),
        (~pl.struct(KEY).is_first_distinct(), "the rating stands in a row above, too", "remove one of them"),
    ]


def _columns(frame: Frame) -> dict[str, pl.Series | list[Any]]:
    """The cells of each column, by its name."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return {column.name: column for column in frame}
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if levels:
        frame = frame.reset_index(level=levels)
    names = [str(name).strip() for name in frame.columns]
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise InputError(f"two columns are called {doubled[0]!r}", where=FRAME, todo="rename one of them")
    return {name: frame.iloc[:, place].tolist() for place, name in enumerate(names)}


def _text(cell: Any) -> str:
    return "" if _is_nothing(cell) else str(cell)


def _is_nothing(cell: Any) -> bool:
    # pandas' own two are told by their names, for it need not be installed.
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in {"NAType", "NaTType"}
    )
