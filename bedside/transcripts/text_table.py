"""Tables held as columns of text: what Polars reads as rows would be read is read by it, all else row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import numpy as np
import polars as pl

from bedside.core.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource
from bedside.transcripts.table_rows import delimiter, joined_table, raw_tables, table_kind
from bedside.transcripts.typed_rows import cell_text, parquet_frame, parquet_rows, too_much_text
from bedside.transcripts.workbook_rows import Struck

#: Most bytes of text of a table.
MOST_TEXT = 2**30
#: Rows that are read before they become columns; bytes that are read at once.
_BATCH, _PIECE = 20_000, 1 << 24
#: What :meth:`str.strip` takes for blanks.
BLANKS = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())


@dataclass(frozen=True, slots=True, eq=False)
class Places(Sequence[str]):
    """Where rows stand, for messages; a text is made of those that are asked for.

    Attributes:
        start: what all begin with.
        numbers: what follows it in each.
        ends: what each ends with; None where that is nothing.
    """

    start: str
    numbers: pl.Series
    ends: pl.Series | None = None

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return f"{self.start}{self.numbers[at]}{'' if self.ends is None else self.ends[at]}"

    def __len__(self) -> int:
        return len(self.numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def of(self, rows: pl.Series) -> Places:
        """The places of some rows."""
        return Places(self.start, self.numbers.gather(rows), None if self.ends is None else self.ends.gather(rows))


@dataclass(frozen=True, slots=True)
class TextTable(Sequence[tuple[str, list[str]]]):
    """Rows of a table, place and cells of each.

    Attributes:
        cells: the columns, each called by its position.
        places: where each row stands.
    """

    cells: pl.DataFrame
    places: Places

    @overload
    def __getitem__(self, at: int) -> tuple[str, list[str]]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[str, list[str]]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, list[str]] | list[tuple[str, list[str]]]:
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        return self.places[at], list(self.cells.row(at))

    def __len__(self) -> int:
        return self.cells.height

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        return zip(self.places, map(list, self.cells.iter_rows()), strict=True)

    def column(self, position: int) -> list[str]:
        """The cells of a column, without blanks around them."""
        return self.cells[str(position)].str.strip_chars(BLANKS).to_list()


def held_rows(rows: Iterable[tuple[str, list[str] | InputError]], width: int, place: str) -> TextTable:
    """Rows in memory.

    Args:
        rows: place and cells of each, or what is wrong with it.
        width: number of columns.
        place: of the table.

    Raises:
        InputError: one can't be read, or they hold too much text.
    """
    parts = [_columns([], [], width)]
    letters = 0
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        held: list[list[str]] = []
        for _, row in batch:
            if isinstance(row, InputError):
                raise row
            held.append(row)
            letters += sum(map(len, row))
        if letters > MOST_TEXT:
            raise too_much_text(place, MOST_TEXT)
        parts.append(_columns([where for where, _ in batch], held, width))
    table = pl.concat(parts, rechunk=True)
    return TextTable(table.drop("place"), Places("", table["place"]))


def _columns(places: list[str], rows: list[list[str]], width: int) -> pl.DataFrame:
    cells = zip(*rows, strict=True) if rows else [()] * width
    columns = {str(at): pl.Series(list(column), dtype=pl.String()) for at, column in enumerate(cells)}
    return pl.DataFrame({**columns, "place": pl.Series(places, dtype=pl.String())})


def text_column(column: pl.Series | Sequence[Any], text: Callable[[Any], str]) -> pl.Series:
    """A column as text; of one of Polars, ``text`` is asked once for each different value."""
    if not isinstance(column, pl.Series) or column.dtype.is_nested() or column.dtype in (pl.Object, pl.Null):
        return pl.Series(list(map(text, column)), dtype=pl.String())
    if column.dtype == pl.String:
        return column.fill_null("")
    known = column.unique(maintain_order=True).alias("value")
    texts = known.to_frame().with_columns(text=pl.Series(list(map(text, known)), dtype=pl.String()))
    return column.alias("value").to_frame().join(
        texts, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["text"]  # fmt: skip


def text_table(source: ByteSource, struck: Struck = "keep") -> tuple[list[str], TextTable]:
    """Column names and rows of a table (:func:`~bedside.transcripts.table_rows.table`), all in memory.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: there is no table, a row can't be read, or there is too much text.
    """
    tables = raw_tables(source, struck)
    names, rows = joined_table(source, tables)
    columns = _split(source, tables[0].header, len(names)) if table_kind(source) == "delimited" else None
    return names, held_rows(rows, len(names), source.name) if columns is None else columns


def _split(source: ByteSource, header: int, width: int) -> TextTable | None:
    """The rows below a header where no cell is quoted and all have as many; None where that isn't so."""
    pieces: list[bytes] = []
    size = 0
    with source.open() as file:
        while piece := source.unpacking(file.read, _PIECE):
            size += len(piece)
            if size > MOST_TEXT or b'"' in piece or b"\0" in piece:
                return None
            pieces.append(piece)
    data = b"".join(pieces)
    del pieces
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    start = 0
    for _ in range(header):
        start = data.find(b"\n", start) + 1
        if not start:
            return None
    data, mark = data[start:], delimiter(source)
    letters = np.frombuffer(data, dtype=np.uint8)
    ends, marks = (np.flatnonzero(letters == ord(sign)) for sign in ("\n", mark))
    ends = ends if data.endswith(b"\n") else np.append(ends, len(data))
    if not data or b"\r" in data or marks.size != ends.size * (width - 1):
        return None
    of_lines = marks.reshape(ends.size, width - 1)
    if width > 1 and not ((of_lines[1:, 0] > ends[:-1]) & (of_lines[:-1, -1] < ends[:-1])).all():
        return None
    lines = ends.size
    del letters, ends, marks, of_lines
    try:
        cells = pl.read_csv(
            data, has_header=False, separator=mark, quote_char=None,
            schema={str(at): pl.String() for at in range(width)},
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    del data
    return None if cells.height != lines else _numbered(cells.fill_null(""), f"{source.name}:", header + 1)


def parquet_table(source: ByteSource) -> TextTable:
    """The rows of a Parquet file.

    Raises:
        InputError: it can't be read, or holds too much text, or a row does.
    """
    frame = parquet_frame(source, MOST_TEXT)
    cells = pl.DataFrame({str(at): text_column(column, cell_text) for at, column in enumerate(frame)})
    table = _numbered(cells, f"{source.name}: row ", 1)
    if table is None:
        rows = ((f"{source.name}: row {number}", row) for number, row in islice(parquet_rows(source), 1, None))
        table = held_rows(rows, cells.width, source.name)
    return table


def _numbered(cells: pl.DataFrame, start: str, first: int) -> TextTable | None:
    """Rows that are numbered from the first on, without those that are blank; None where one is too long."""
    letters = cells.select(pl.sum_horizontal(pl.all().str.len_bytes()).alias("letters"))["letters"]
    if (letters > MAX_RECORD).any():
        return None
    numbers = pl.int_range(first, first + cells.height, dtype=pl.UInt32, eager=True)
    if (letters == 0).any():
        cells, numbers = cells.filter(letters > 0), numbers.filter(letters > 0)
    return TextTable(cells, Places(start, numbers))
