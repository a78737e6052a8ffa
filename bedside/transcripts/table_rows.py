"""Rows of tables, as text: of CSV, TSV and typed files, of records in JSON, and of the worksheets of XLSX files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.byte_source import HEAD_SIZE, MAX_RECORD, ByteSource
from bedside.transcripts.json_source import JsonSource
from bedside.transcripts.spans import Divider, NotDivisible, Owners, Span
from bedside.transcripts.typed_rows import (
    NumberedRows,
    cell_text,
    is_parquet,
    is_statistics,
    parquet_rows,
    statistics_rows,
)
from bedside.transcripts.workbook_rows import Struck, Workbook

if TYPE_CHECKING:
    import _csv

#: Endings of the names of files that may hold a table.
TABLE_ENDINGS = (
    ".csv", ".tsv", ".xlsx", ".parquet", ".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".json", ".jsonl", ".ndjson"
)  # fmt: skip
#: The column that says of which worksheet a row is, where several are read.
SHEET = "sheet"
#: Rows of a table's beginning that are looked at.
_SAMPLE = 60
#: Names of worksheets that a message holds.
_NAMED = 8
#: What the account calls what stands above a header.
_ABOVE = "rows above the column names"
#: Most columns of a table of records.
_MOST_COLUMNS = 10_000
#: Longest row of several lines, in bytes; how much is read at once.
_MAX_ROW, _PIECE = 4 * MAX_RECORD, 1 << 18
#: What may stand between the cells of a text.
_MARKS = ",\t;"

#: Place (``file:line``) and cells of each row; an error in place of a bad row.
Rows = Iterator[tuple[str, list[str] | InputError]]


@dataclass(frozen=True, slots=True)
class RawTable:
    """One table as it stands in its file, with whatever is above its header.

    Attributes:
        sheet: the worksheet's name; empty for a file without any.
        place: of the table, which a row's number follows.
        numbered: gives the number of each row that isn't blank, from 1 (of names that stand apart, below), and its
            cells.
        sample: the first rows, with their numbers.
        header: number of the row of column names.
        mark: what stands between the place and a row's number.
    """

    sheet: str
    place: str
    numbered: Callable[[], NumberedRows]
    sample: Sequence[tuple[int, list[str]]]
    header: int
    mark: str = ":"

    @property
    def names(self) -> list[str]:
        """The names of the columns; none where the table has no header."""
        return _names(next((row for number, row in self.sample if number >= self.header), []))

    @property
    def below(self) -> list[list[str]]:
        """The first rows below the names."""
        return [row for number, row in self.sample if number > self.header]


def table_kind(source: ByteSource) -> Literal["workbook", "parquet", "statistics", "records", "delimited"]:
    """In what a table of this file would stand; a text is one of cells between delimiters, unless it is JSON of several
    objects: one a line, or as items of an array."""
    if source.head[:2] == b"PK":
        return "workbook"
    if is_parquet(source):
        return "parquet"
    if is_statistics(source):
        return "statistics"
    content = source.json if isinstance(source, JsonSource) else None
    several = content is not None and content.form != "object" and isinstance(content.first, dict)
    return "records" if several else "delimited"


def raw_tables(source: ByteSource, struck: Struck = "keep") -> list[RawTable]:
    """The tables that are read: of a workbook those that ``sheet`` names, else the only one there is.

    What was chosen and what was left out is noted in the source's account. A merged cell of a worksheet counts for all
    of its rectangle, as :meth:`~bedside.transcripts.workbook_rows.Workbook.rows` does.

    Args:
        source: the file.
        struck: what becomes of texts of a worksheet that are struck through.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: there is no such worksheet, or the file can't be read.
        MissingExtraError: it needs a library that isn't installed.
    """
    kind = table_kind(source)
    if kind == "workbook":
        return _chosen_worksheets(source, struck)
    if kind == "delimited":
        mark = delimiter(source)
        sample = _sampled_rows(source, mark)
        rows: Callable[[], NumberedRows] = partial(_delimited_rows, source, mark)
        return [RawTable("", source.name, rows, sample, _header_number(source, sample))]
    typed: dict[str, Callable[[Any, int | None], NumberedRows]] = {
        "parquet": parquet_rows, "statistics": statistics_rows, "records": _record_rows
    }  # fmt: skip
    first = [(number, row) for number, row in typed[kind](source, _SAMPLE) if isinstance(row, list)]
    in_array = isinstance(source, JsonSource) and source.json is not None and source.json.form == "array"
    mark = " item " if kind == "records" and in_array else ":"
    return [RawTable("", source.name, partial(typed[kind], source, None), first, first[0][0], mark)]


def _chosen_worksheets(source: ByteSource, struck: Struck) -> list[RawTable]:
    by_name = worksheets(source)
    book = source.book
    names = [*book.sheets, *book.hidden]
    shown = [by_name[name] for name in book.sheets]
    wanted = source.options.sheet
    chosen = [table for table in shown if len(table.names) > 1 and table.below] or shown[:1]
    if wanted is not None and wanted != "all":
        alike = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
        if not alike:
            raise InputError(
                f"the workbook has no worksheet {wanted!r:.60} (`sheet`)",
                where=source.name,
                todo=f"name one of {_listed(names)}, or all",
            )
        chosen = [by_name[wanted if wanted in alike else alike[0]]]
    elif wanted is None and len(chosen) > 1:
        raise _several(source, chosen)
    source.account.sheets = [table.sheet for table in chosen]
    source.account.other_sheets = [name for name in names if name not in source.account.sheets]
    return [
        replace(table, numbered=partial(book.rows, table.sheet, table.header, struck, tell=True)) for table in chosen
    ]


def worksheets(source: ByteSource) -> dict[str, RawTable]:
    """All worksheets of a workbook by their names, hidden ones last.

    Raises:
        InputError: the workbook can't be read.
    """
    if source.book is None:
        book = source.book = Workbook(source)
        for name in (*book.sheets, *book.hidden):
            header = _header_number(source, list(islice(book.rows(name), _SAMPLE)))
            sample = list(islice(book.rows(name, header), _SAMPLE))
            place = source.name if len(book.sheets) == 1 else f"{source.name} sheet {name}"
            source.worksheets[name] = RawTable(name, place, partial(book.rows, name, header), sample, header)
    return source.worksheets


def _record_rows(source: JsonSource, most: int | None = None) -> NumberedRows:
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
            try:
                row = [cell_text(value.get(name)) for name in names]
            except InputError as error:
                yield number, InputError(error.what, where=where, todo=error.todo)
                continue
            if any(row):
                yield number, row
        else:
            problem = InputError("this is no object, as the other rows are", where=where, todo="mend or remove it")
            yield number, value if isinstance(value, InputError) else problem


def _several(source: ByteSource, tables: Sequence[RawTable]) -> AmbiguousError:
    names = [table.sheet for table in tables]
    are, all_of_them = "hold a table, each with its own columns", "say which with `sheet=NAME`:"
    if len({frozenset(table.names) for table in tables}) == 1:
        are = "have the same columns, and may be read as one table or one alone"
        all_of_them = "`sheet=all` reads all of them,"
    return AmbiguousError(
        f"{len(names)} worksheets {are}: {_listed(names)}",
        where=source.name,
        todo=f"{all_of_them} `sheet={names[0]}` reads one of them",
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


def table(source: ByteSource, struck: Struck = "keep") -> tuple[list[str], Rows]:
    """Column names, and place (``file:line``) and cells of each row; an error in place of a bad row.

    Blank rows are left out; every row has as many cells as there are columns. Where several worksheets are read, their
    rows follow each other, with a column more: :data:`SHEET`. Arguments are those of :func:`raw_tables`.

    Raises:
        AmbiguousError: several worksheets hold a table, and none is named.
        InputError: the file has no header, a column twice, or is no workbook; or worksheets differ in their columns.
    """
    return joined_table(source, raw_tables(source, struck))


def joined_table(source: ByteSource, tables: Sequence[RawTable]) -> tuple[list[str], Rows]:
    """The tables that are read as one, as :func:`table` gives it."""
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
    labelled = [SHEET] if SHEET not in names else []

    def joined() -> Rows:
        for raw, (columns, rows) in zip(tables, headed, strict=True):
            order = [columns.index(name) for name in names]
            for where, row in rows:
                if not isinstance(row, InputError):
                    row = [row[at] for at in order] + ([raw.sheet] if labelled else [])
                yield where, row

    return [*names, *labelled], joined()


def _headed(source: ByteSource, table: RawTable) -> tuple[list[str], Rows]:
    """Column names of a table, and the rows below them; what stands above is noted, such as a title.

    Raises:
        AmbiguousError: somebody speaks there.
        InputError: there are no names, or one stands twice.
    """
    numbered = table.numbered()
    place = f"{table.place}{table.mark}"
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
        if doubled or not names:
            raise InputError(
                f"column {doubled[0]!r} stands twice in the header" if doubled else "the header is blank",
                where=f"{place}{number}",
                todo="rename one of them, or say with `header_row=NUMBER` which row names the columns",
            )
        if above:
            from bedside.transcripts.labelled_text import known_labels
        for line, text in above:
            source.account.header = number
            if known_labels(text, source.options.roles) and not source.options.leaves_out(_ABOVE):
                raise AmbiguousError(
                    f"above the column names somebody speaks: {text:.60}",
                    where=f"{place}{line}",
                    todo=f'leave the {_ABOVE} out with `leave_out="{_ABOVE}"`, or say which row names the columns '
                    "with `header_row=NUMBER`",
                )
            source.account.note_unread(_ABOVE, text, f"{place}{line}")
        return names, _of_width(place, numbered, len(names), padded=table_kind(source) == "workbook")
    if table.header > 1:
        raise InputError(
            f"the table has no row {table.header} (`header_row`)", where=table.place, todo="check the number"
        )
    raise InputError("the table has no header", where=table.place, todo="name the columns in its first row")


def _of_width(place: str, numbered: NumberedRows, width: int, padded: bool) -> Rows:
    for number, row in numbered:
        where = f"{place}{number}"
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


def row_spans(source: ByteSource, size: int, owner: Callable[[list[str]], int | None] | None = None) -> list[Span]:
    """Pieces of a CSV or TSV file; none where it can't be divided.

    Args:
        source: the file.
        size: of a piece, in bytes.
        owner: takes the header and gives the place of the column that tells a row's transcript, where a transcript is
            of several rows; None where there is none.

    Raises:
        NotDivisible: it holds what only a reading of the whole tells rightly, such as a row that is none.
    """
    if table_kind(source) != "delimited":
        raise NotDivisible
    mark = delimiter(source)
    sample = _sampled_rows(source, mark)
    # A piece begins with the header, which has to tell the delimiter.
    if mark != _first_line_mark(source) or not sample or sample[0][0] != _header_number(source, sample):
        raise NotDivisible
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

    reader = _csv_reader(lines(), mark)
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


def _first_line_mark(source: ByteSource) -> str:
    """The delimiter that the first line has most of."""
    line = source.head.partition(b"\n")[0]
    return max(_MARKS, key=lambda mark: line.count(mark.encode()))


def delimiter(source: ByteSource) -> str:
    """The delimiter that divides most of the first lines into rows of equally many cells: above a header may stand
    anything, and a cell may be of many lines."""
    by_first_line = _first_line_mark(source)
    if source.span is not None:
        # A piece begins with the header, and is divided only where that tells.
        return by_first_line

    def evenness(mark: str) -> tuple[int, int, bool]:
        rows, lines = Counter[int](), Counter[int]()
        before = 0
        for number, row in _sampled_rows(source, mark):
            if len(row) > 1:
                rows[len(row)] += 1
                lines[len(row)] += number - before
            before = number
        width = max(rows, key=lambda width: rows[width], default=0)
        return lines[width] if rows[width] > 1 else rows[width], width, mark == by_first_line

    return max(_MARKS, key=evenness)


def _sampled_rows(source: ByteSource, mark: str) -> list[tuple[int, list[str]]]:
    """Number of the last line, and cells, of the first rows that aren't blank, as far as the file's head has them."""
    text = source.head.decode("utf-8", "replace")
    reader = _csv_reader(io.StringIO(text, newline=""), mark, strict=False)
    sample = []
    try:
        for row in islice((row for row in reader if any(row)), _SAMPLE + 1):
            sample.append((reader.line_num, row))
    except csv.Error:
        return sample  # A long cell may be cut.
    # The last row may be cut.
    return sample[:-1] if len(source.head) >= HEAD_SIZE and len(sample) > 1 else sample[:_SAMPLE]


def _delimited_rows(source: ByteSource, mark: str) -> NumberedRows:
    """Number of the last line, and cells, of each row that isn't blank; an error in place of a bad row."""
    damage: list[tuple[int, InputError]] = []
    size = 0  # bytes of the lines that may yet be one row

    def bad(number: int, what: str, todo: str) -> None:
        damage.append((number, InputError(what, where=f"{source.name}:{number}", todo=todo)))

    def lines() -> Iterator[str]:
        nonlocal size
        with source.open() as file:
            number, left, more = source.lines_before, b"", b"\n"
            while more or left:
                more = source.unpacking(file.read1, _PIECE)
                left += more
                end = left.rfind(b"\n") + 1
                end = end if more and len(left) - end <= MAX_RECORD else len(left)
                block, left = left[:end], left[end:]
                # Many lines at once, where nothing is wrong with any: only those that are bad shall be lost.
                if len(block) <= MAX_RECORD and size + len(block) <= _MAX_ROW and b"\x00" not in block:
                    with suppress(UnicodeDecodeError):
                        text = io.StringIO(block.decode(), newline="")
                        size, number = size + len(block), number + block.count(b"\n")
                        yield from text
                        continue
                for line in io.BytesIO(block):
                    number += 1
                    size += len(line)
                    if size > _MAX_ROW:
                        raise InputError(
                            f"a row doesn't end within {_MAX_ROW // 2**20} MB",
                            where=f"{source.name}:{number}",
                            todo="mend its quotes",
                        )
                    if len(line) > MAX_RECORD:
                        damage.append((number, source.too_long(number)))
                        source.pass_over(line, file)
                        yield "\n"
                        continue
                    if b"\x00" in line:
                        bad(number, "the row holds a NUL byte", "save the table as UTF-8 text")
                    try:
                        yield line.decode()
                    except UnicodeDecodeError as error:
                        damage.append((number, source.undecodable(error, number)))
                        yield line.decode("utf-8", "replace")

    reader = _csv_reader(lines(), mark)
    while True:
        size = 0
        try:
            row = next(reader, None)
        except csv.Error as error:
            number = source.lines_before + reader.line_num
            bad(number, f"the table can't be read ({error})", "mend the quotes of this row")
            row = []
        if damage:
            yield damage[0]
            damage.clear()
        elif row is None:
            return
        elif any(row):
            yield source.lines_before + reader.line_num, row


def _csv_reader(lines: Iterable[str], mark: str, strict: bool = True) -> _csv.Reader:
    # The module's only limit on a cell is one for the whole process, and it is lower than long dialogues.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    return csv.reader(lines, delimiter=mark, strict=strict)
