"""Rows of tables, as text: of CSV, TSV and Parquet files, of records in JSON, and of the worksheets of XLSX files."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource
from bedside.transcripts.delimited_rows import (
    SAMPLE,
    delimited_rows,
    delimiter,
    first_line_mark,
    sampled_rows,
)
from bedside.transcripts.json_source import JsonSource
from bedside.transcripts.labelled_text import known_labels
from bedside.transcripts.parquet_rows import cell_text, is_parquet, parquet_rows
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.spans import Divider, NotDivisible, Owners, Span
from bedside.transcripts.workbook_rows import Oddity, Workbook

#: The column that says of which worksheet a row is, where several are read.
SHEET = "sheet"
#: Rows at a table's beginning that are shown to readers.
_SHOWN = 5
#: Names of worksheets that a message holds.
_NAMED = 8
#: What the account calls what stands above a header.
_ABOVE = "rows above the column names"
#: Most columns of a table of records.
_MOST_COLUMNS = 10_000

#: Place (``file:line``) and cells of each row; an error in place of a bad row.
Rows = Iterator[tuple[str, list[str] | InputError]]


@dataclass(frozen=True, slots=True)
class RawTable:
    """One table as it stands in its file, with whatever is above its header.

    Attributes:
        sheet: the worksheet's name; empty for a file without any.
        place: of the table, which a row's number follows.
        numbered: gives the number of each row that isn't blank, from 1 (of Parquet, of the names 0), and its cells.
        sample: the first rows, with their numbers.
        header: number of the row of column names.
        mark: what stands between the place and a row's number.
        oddities: gives what a worksheet has beside the values of its cells.
    """

    sheet: str
    place: str
    numbered: Callable[[], Iterator[tuple[int, list[str] | InputError]]]
    sample: Sequence[tuple[int, list[str]]]
    header: int
    mark: str = ":"
    oddities: Callable[[], Iterator[Oddity]] = field(default=lambda: iter(()))

    def place_of(self, number: int) -> str:
        """The place of a row."""
        return f"{self.place}{self.mark}{number}"

    @property
    def names(self) -> list[str]:
        """The names of the columns; none where the table has no header."""
        row = next((row for number, row in self.sample if number >= self.header), [])
        return _names(row)

    @property
    def holds_rows(self) -> bool:
        """Whether there are columns, and a row below their names."""
        return len(self.names) > 1 and any(number > self.header for number, _ in self.sample)


def is_workbook(source: ByteSource) -> bool:
    """Whether the file is packed as workbooks are."""
    return source.head[:2] == b"PK"


def is_delimited(source: ByteSource) -> bool:
    """Whether the file is a text of cells between delimiters."""
    return not (is_workbook(source) or is_parquet(source) or has_records(source))


def has_records(source: ByteSource) -> bool:
    """Whether the file is JSON of several objects: one a line, or as items of an array."""
    content = source.json if isinstance(source, JsonSource) else None
    return content is not None and content.form != "object" and isinstance(content.first, dict)


def raw_tables(
    source: ByteSource, as_seen: bool = False, struck: Literal["keep", "leave"] | None = None
) -> list[RawTable]:
    """The tables that are read: of a workbook those that ``sheet`` names, else the only one there is.

    What was chosen and what was left out is noted in the source's account.

    Args:
        source: the file.
        as_seen: whether merged cells of a worksheet count for all of their rectangle, and cells that are struck through
            are asked about, as :meth:`~bedside.transcripts.workbook_rows.Workbook.rows_as_seen` does.
        struck: what becomes of those then.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: there is no such worksheet, or the workbook can't be read.
    """
    if is_parquet(source):
        first = [(number, row) for number, row in parquet_rows(source, SAMPLE) if isinstance(row, list)]
        return [RawTable("", source.name, partial(parquet_rows, source), first, 0)]
    if isinstance(source, JsonSource) and has_records(source):
        numbered = partial(_record_rows, source)
        mark = ":" if source.json and source.json.form == "lines" else " item "
        first = [(number, row) for number, row in _record_rows(source, SAMPLE) if isinstance(row, list)]
        return [RawTable("", source.name, numbered, first, -1, mark)]
    if not is_workbook(source):
        mark = delimiter(source)
        sample = sampled_rows(source, mark)
        numbered = partial(delimited_rows, source, mark)
        return [RawTable("", source.name, numbered, sample, _header_number(source, sample))]
    by_name = worksheets(source)
    book = source.book
    tables = [by_name[name] for name in book.sheets]
    wanted = source.options.sheet
    chosen = [table for table in tables if table.holds_rows] or tables[:1]
    if wanted is not None and wanted != "all":
        names = [*book.sheets, *book.hidden]
        name = next((name for name in names if name == wanted), None) or next(
            (name for name in names if name.strip().casefold() == wanted.strip().casefold()), None
        )
        if name is None:
            raise InputError(
                f"the workbook has no worksheet {wanted!r:.60} (`sheet`)",
                where=source.name,
                todo=f"name one of {_listed(names)}, or all",
            )
        chosen = [by_name[name]]
    elif wanted is None and len(chosen) > 1:
        raise _several(source, chosen)
    if as_seen:
        chosen = [
            replace(table, numbered=partial(book.rows_as_seen, table.sheet, table.header, struck))
            for table in chosen
        ]
    source.account.sheets = [table.sheet for table in chosen]
    source.account.other_sheets = [
        name for name in (*book.sheets, *book.hidden) if name not in source.account.sheets
    ]
    return chosen


def worksheets(source: ByteSource) -> dict[str, RawTable]:
    """All worksheets of a workbook by their names, hidden ones last.

    Raises:
        InputError: the workbook can't be read.
    """
    if source.book is None:
        source.book = Workbook(source)
        source.worksheets = {
            name: _worksheet(source, source.book, name) for name in (*source.book.sheets, *source.book.hidden)
        }
    return source.worksheets


def _worksheet(source: ByteSource, book: Workbook, name: str) -> RawTable:
    sample = list(islice(book.rows(name), SAMPLE))
    place = source.name if len(book.sheets) == 1 else f"{source.name} sheet {name}"
    rows, oddities = partial(book.rows, name), partial(book.oddities, name)
    return RawTable(name, place, rows, sample, _header_number(source, sample), oddities=oddities)


def _record_rows(source: JsonSource, most: int | None = None) -> Iterator[tuple[int, list[str] | InputError]]:
    """Number and cells of each object, behind the names of the columns under the number -1: all keys in the order in
    which they come.

    Args:
        source: the file.
        most: objects that are looked at; None for all.
    """
    names: dict[str, None] = {}
    for _, _, value in islice(source.json_values(), most):
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
            if len(names) > _MOST_COLUMNS:
                raise InputError(
                    f"the records have more than {_MOST_COLUMNS:,} keys",
                    where=source.name,
                    todo="see that each is a row",
                )
    yield -1, list(names)
    for position, (where, _, value) in enumerate(islice(source.json_values(), most)):
        number = int(where.rpartition(":")[2]) if source.json and source.json.form == "lines" else position
        if isinstance(value, dict):
            row = [cell_text(value.get(name)) for name in names]
            if any(row):
                yield number, row
        else:
            problem = InputError(
                "this is no object, as the other rows are", where=where, todo="mend or remove it"
            )
            yield number, value if isinstance(value, InputError) else problem


def _several(source: ByteSource, tables: Sequence[RawTable]) -> AmbiguousError:
    names = [table.sheet for table in tables]
    first = f"`sheet={names[0]}` reads one of them"
    if len({frozenset(table.names) for table in tables}) == 1:
        return AmbiguousError(
            f"{len(names)} worksheets have the same columns, and may be read as one table or one alone: "
            f"{_listed(names)}",
            where=source.name,
            todo=f"`sheet=all` reads all of them, {first}",
        )
    return AmbiguousError(
        f"{len(names)} worksheets hold a table, each with its own columns: {_listed(names)}",
        where=source.name,
        todo=f"say which with `sheet=NAME`: {first}",
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def _names(row: Sequence[str]) -> list[str]:
    names = [name.strip() for name in row]
    while names and not names[-1]:
        names.pop()
    return names


def _header_number(source: ByteSource, sample: Sequence[tuple[int, list[str]]]) -> int:
    """Number of the row of column names: as the user says, or as is found.

    It is the first row, unless what stands above it has less than half of its cells, and no row has more.
    """
    if source.options.header_row is not None:
        return source.options.header_row
    if not sample:
        return 1
    filled = [sum(1 for cell in row if cell.strip()) for _, row in sample]
    if source.span is None:
        for at, (number, row) in enumerate(sample[:-1]):
            names = _names(row)
            if at and max(filled[:at]) >= max(2, (len(names) + 1) // 2):
                continue
            if len(names) > 1 and all(names) and len(names) >= max(filled):
                # Beside two columns, what is above must be a sentence: a header may lack the name of a column.
                above = sample[:at]
                if at == 0 or len(names) > 2 or all(" " in "".join(row).strip() for _, row in above):
                    return number
                break
    return sample[0][0]


def table(
    source: ByteSource, as_seen: bool = False, struck: Literal["keep", "leave"] | None = None
) -> tuple[list[str], Rows]:
    """Column names, and place (``file:line``) and cells of each row; an error in place of a bad row.

    Blank rows are left out; every row has as many cells as there are columns. Where several worksheets are read, their
    rows follow each other, with a column more: :data:`SHEET`. Arguments are those of :func:`raw_tables`.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: the file has no header, a column twice, or is no workbook; or worksheets differ in their columns.
    """
    tables = raw_tables(source, as_seen, struck)
    headed = [_headed(source, table) for table in tables]
    names, rows = headed[0]
    if len(headed) == 1:
        return names, rows
    for other, (columns, _) in zip(tables[1:], headed[1:], strict=True):
        if set(columns) != set(names):
            column = sorted(set(names) ^ set(columns))[0]
            raise InputError(
                f"the worksheets {tables[0].sheet!r} and {other.sheet!r} differ in their columns: {column!r} is in one "
                "only",
                where=source.name,
                todo="read one with `sheet=NAME`, or give them the same columns",
            )
    labelled = SHEET not in names
    return [*names, SHEET] if labelled else names, _joined(tables, headed, names, labelled)


def _joined(
    tables: Sequence[RawTable],
    headed: Sequence[tuple[list[str], Rows]],
    names: Sequence[str],
    labelled: bool,
) -> Rows:
    """The rows of several worksheets, their cells in the order of the first one's columns."""
    for raw, (columns, rows) in zip(tables, headed, strict=True):
        order = [columns.index(name) for name in names]
        for where, row in rows:
            if not isinstance(row, InputError):
                row = [row[at] for at in order] + ([raw.sheet] if labelled else [])
            yield where, row


def _headed(source: ByteSource, table: RawTable) -> tuple[list[str], Rows]:
    """Column names of a table, and the rows below them."""
    numbered = table.numbered()
    above: list[tuple[int, str]] = []
    for number, row in numbered:
        # Whether a row that can't be read stands above the column names, or is them, nobody but the user knows.
        if isinstance(row, InputError) and (number >= table.header or source.options.header_row is None):
            raise row
        if number < table.header or isinstance(row, InputError):
            above.append((number, row.what if isinstance(row, InputError) else " ".join(filter(None, row))))
            continue
        names = _names(row)
        doubled = sorted(name for name, times in Counter(names).items() if times > 1 and name)
        where = table.place_of(number)
        if doubled or not names:
            raise InputError(
                f"column {doubled[0]!r} stands twice in the header" if doubled else "the header is blank",
                where=where,
                todo="rename one of them, or say with `header_row=NUMBER` which row names the columns",
            )
        if above:
            source.account.header = number
            for place, text in above:
                _leave_above(source, text, table.place_of(place))
        rows = ((table.place_of(number), row) for number, row in numbered)
        return names, _of_width(rows, len(names), padded=is_workbook(source))
    if table.header > 1:
        raise InputError(
            f"the table has no row {table.header} (`header_row`)", where=table.place, todo="check the number"
        )
    raise InputError("the table has no header", where=table.place, todo="name the columns in its first row")


def _leave_above(source: ByteSource, text: str, where: str) -> None:
    """Note what stands above a header, such as a title.

    Raises:
        AmbiguousError: somebody speaks there.
    """
    if known_labels(text, source.options.roles) and not source.options.leaves_out(_ABOVE):
        raise AmbiguousError(
            f"above the column names somebody speaks: {text:.60}",
            where=where,
            todo=f'leave the {_ABOVE} out with `leave_out="{_ABOVE}"`, or say which row names the columns with '
            "`header_row=NUMBER`",
        )
    source.account.note_unread(_ABOVE, text, where)


def _of_width(rows: Rows, width: int, padded: bool) -> Rows:
    for where, row in rows:
        if type(row) is list and len(row) != width:
            if padded and len(row) < width:
                # A worksheet's rows end with their last cell that is filled.
                row += [""] * (width - len(row))
            if len(row) < width or any(row[width:]):
                yield (
                    where,
                    InputError(
                        f"the row has {len(row)} cells and the header {width}",
                        where=where,
                        todo="quote cells that hold commas or line breaks",
                    ),
                )
                continue
            row = row[:width]
        yield where, row


def table_records(path: Path, options: ReadOptions | None = None) -> Iterator[tuple[str, dict[str, str]]]:
    """Place (``file:row``) and cells by column name of each row of a CSV, TSV, XLSX or Parquet file.

    All cells are text; an empty cell is an empty string.

    Args:
        path: the file.
        options: which worksheet, header and encoding it has.

    Raises:
        InputError: a row that can't be read.
    """
    header, rows = table(ByteSource(path, options=options))
    for where, row in rows:
        if isinstance(row, InputError):
            raise row
        yield where, dict(zip(header, row, strict=True))


def first_rows(source: ByteSource, most: int = _SHOWN) -> tuple[list[str], list[list[str]]] | None:
    """Header and first rows, looked at to recognise a format; None for what is no table of several columns.

    Args:
        source: the file.
        most: rows wanted.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: a workbook that can't be read.
    """
    first = raw_tables(source)[0]
    if len(first.names) < 2:
        return None
    shown = [row for number, row in first.sample if number > first.header][:most]
    return first.names, shown


def row_spans(
    source: ByteSource, size: int, owner: Callable[[list[str]], int | None] | None = None
) -> list[Span]:
    """Pieces of a CSV or TSV file; none where it can't be divided.

    Args:
        source: the file.
        size: of a piece, in bytes.
        owner: takes the header and gives the place of the column that tells a row's transcript, where a transcript is
            of several rows; None where there is none.

    Raises:
        NotDivisible: it holds what only a reading of the whole tells rightly, such as a row that is none.
    """
    if not is_delimited(source):
        raise NotDivisible
    mark = delimiter(source)
    sample = sampled_rows(source, mark)
    # A piece begins with the header, which has to tell the delimiter.
    if mark != first_line_mark(source) or not sample or sample[0][0] != _header_number(source, sample):
        raise NotDivisible
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    offset = 0

    def lines() -> Iterator[str]:
        nonlocal offset
        for line in source.plain_lines():
            # Some readings take a lone carriage return for the end of a line.
            if b"\x00" in line or b"\r" in line.removesuffix(b"\n").removesuffix(b"\r"):
                raise NotDivisible
            first = offset == 0
            offset += len(line)
            yield line.decode("utf-8-sig" if first else "utf-8")

    reader = csv.reader(lines(), delimiter=mark, strict=True)
    try:
        header = next(row for row in reader if any(row))
        while not header[-1].strip():
            header.pop()
        column = None if owner is None else owner([name.strip() for name in header])
        if owner is not None and column is None:
            return []
        divider, owners, values = Divider(size, offset, reader.line_num), Owners(), 0
        while True:
            start, number = offset, reader.line_num
            row = next(reader, None)
            if row is None:
                return divider.spans(offset)
            if not any(row):
                continue
            if len(row) < len(header) or any(row[len(header) :]):
                raise NotDivisible
            if column is None or owners.changes(row[column]):
                divider.here(start, number, values)
            values += 1
    # A header may be blank.
    except (csv.Error, UnicodeDecodeError, StopIteration, IndexError) as error:
        raise NotDivisible from error
