"""Rows of CSV, TSV and XLSX files, as text."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_COMPANION, MAX_RECORD, ByteSource
from bedside.transcripts.spans import Divider, NotDivisible, Owners, Span

#: Largest workbook, in bytes on disk and unpacked.
MAX_WORKBOOK = MAX_COMPANION
MAX_UNPACKED = 2 * MAX_COMPANION
#: Longest row of several lines, in bytes.
MAX_ROW = 4 * MAX_RECORD
#: Rows of a worksheet, as Excel has them.
MAX_ROWS = 1_048_576
#: Largest part of a workbook that holds no cells, such as its styles, and of a workbook that packs suspiciously well.
MAX_MEANS = 8 * 2**20
MAX_RATIO = 100
#: Parts of a workbook's archive.
MAX_PARTS = 10_000

Rows = Iterator[tuple[str, list[str] | InputError]]

# Names of the parts that hold cells or pictures.
_CONTENT_PARTS = re.compile(r"worksheets/|sharedStrings|media/", re.IGNORECASE)
# What may stand before the first element of an XML part. A document type is not among it: entities are
# declared there.
_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*+<[A-Za-z]", re.DOTALL)


def is_workbook(source: ByteSource) -> bool:
    """Whether the file is packed as workbooks are."""
    return source.head[:2] == b"PK"


def typed_rows(source: ByteSource) -> Rows:
    """Place and cells of every row that isn't blank, column names and what stands above them too."""
    return _workbook(source) if is_workbook(source) else _text(source)


def table(source: ByteSource) -> tuple[list[str], Rows]:
    """Column names, and place (``file:line``) and cells of each row; an error in place of a bad row.

    Blank rows are left out; every row has as many cells as there are columns.

    Raises:
        InputError: the file has no header, a column twice, or is no workbook.
    """
    rows = typed_rows(source)
    for where, row in rows:
        if isinstance(row, InputError):
            raise row
        names = [name.strip() for name in row]
        while names and not names[-1]:
            names.pop()
        doubled = sorted(name for name, times in Counter(names).items() if times > 1)
        if doubled:
            raise InputError(
                f"column {doubled[0]!r} stands twice in the header", where=where, todo="rename one of them"
            )
        return names, _of_width(rows, len(names), padded=is_workbook(source))
    raise InputError("the table has no header", where=source.name, todo="name the columns in its first row")


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


def table_records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Place (``file:row``) and cells by column name of each row of a CSV, TSV or XLSX file.

    All cells are text; an empty cell is an empty string.

    Raises:
        InputError: a row that can't be read.
    """
    header, rows = table(ByteSource(path))
    for where, row in rows:
        if isinstance(row, InputError):
            raise row
        yield where, dict(zip(header, row, strict=True))


def first_rows(source: ByteSource) -> tuple[list[str], list[list[str]]] | None:
    """Header and up to five rows, looked at to recognise a format; None for what is no table of several columns.

    Raises:
        InputError: a workbook that can't be read.
    """
    if is_workbook(source):
        rows = (row for _, row in _workbook(source) if not isinstance(row, InputError))
    else:
        text = source.head.decode("utf-8", "replace")
        lines = io.StringIO(text, newline="")
        rows = (row for row in csv.reader(lines, delimiter=_delimiter(source)) if any(row))
    sample = []
    try:
        for row in rows:
            sample.append(row)
            if len(sample) > 5:
                break
    except csv.Error:
        pass  # A long cell may be cut.
    if not sample or len(sample[0]) < 2:
        return None
    return [name.strip() for name in sample[0]], sample[1:]


def _delimiter(source: ByteSource) -> str:
    line = source.head.partition(b"\n")[0]
    return max(",\t;", key=lambda mark: line.count(mark.encode()))


# -- CSV ----------------------------------------------------------------------------------------------


def _text(source: ByteSource) -> Rows:
    # The module's only limit on a cell is one for the whole process, and it is lower than long dialogues.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    damage: list[InputError] = []
    row_bytes = [0]
    reader = csv.reader(_text_lines(source, damage, row_bytes), delimiter=_delimiter(source), strict=True)
    while True:
        row_bytes[0] = 0
        try:
            row = next(reader, None)
        except csv.Error as error:
            where = f"{source.name}:{source.lines_before + reader.line_num}"
            damage.append(
                InputError(
                    f"the table can't be read ({error})", where=where, todo="mend the quotes of this row"
                )
            )
            row = []
        if damage:
            yield damage[0].where or source.name, damage[0]
            damage.clear()
        elif row is None:
            return
        elif any(row):
            yield f"{source.name}:{source.lines_before + reader.line_num}", row


def _text_lines(source: ByteSource, damage: list[InputError], row_bytes: list[int]) -> Iterator[str]:
    """The lines; ``row_bytes`` counts the bytes of those that may yet be one row."""
    if source.whole is not None and b"\x00" not in source.whole:
        try:
            yield from io.StringIO(source.whole.decode(), newline="")
            return
        except UnicodeDecodeError:
            pass  # Only the lines that are bad shall be lost.
    with source.open() as file:
        number = source.lines_before
        while line := source.unpacking(file.readline, MAX_RECORD + 1):
            number += 1
            row_bytes[0] += len(line)
            if row_bytes[0] > MAX_ROW:
                raise InputError(
                    f"a row doesn't end within {MAX_ROW // 2**20} MB", where=f"{source.name}:{number}",
                    todo="mend its quotes",
                )  # fmt: skip
            if len(line) > MAX_RECORD:
                damage.append(source.too_long(number))
                source.pass_over(line, file)
                yield "\n"
                continue
            if b"\x00" in line:
                damage.append(
                    InputError(
                        "the row holds a NUL byte",
                        where=f"{source.name}:{number}",
                        todo="save the table as UTF-8 text",
                    )
                )
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                damage.append(source.undecodable(line, error, number))
                yield line.decode("utf-8", "replace")


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

    reader = csv.reader(lines(), delimiter=_delimiter(source), strict=True)
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


# -- XLSX ---------------------------------------------------------------------------------------------


def _workbook(source: ByteSource) -> Rows:
    """Rows of the first worksheet."""
    import openpyxl

    data = _workbook_bytes(source)
    try:
        _check_parts(source, data)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        # The stated size may be wrong, and rows are padded to it.
        sheet.reset_dimensions()
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            if number > MAX_ROWS:
                raise ValueError("more rows than a worksheet can have")
            row = ["" if cell is None else str(cell) for cell in cells]
            if any(row):
                yield f"{source.name}:{number}", row
    except InputError:
        raise
    # A damaged workbook makes openpyxl raise whatever its parts happen to raise.
    except Exception as error:
        raise InputError(
            "the XLSX workbook can't be read", where=source.name, todo="save it again as XLSX or CSV"
        ) from error


def _workbook_bytes(source: ByteSource) -> bytes:
    if source.whole is not None:
        return source.whole
    with source.open() as file:
        data = source.unpacking(file.read, MAX_WORKBOOK + 1)
    if len(data) > MAX_WORKBOOK:
        raise _too_large(source, MAX_WORKBOOK)
    return data


def _check_parts(source: ByteSource, data: bytes) -> None:
    """Refuse a workbook that would unpack to too much or declares entities."""
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        parts = book.infolist()
        unpacked = sum(part.file_size for part in parts)
        # What people type packs to a tenth; what packs to a hundredth was made to be large.
        if (
            unpacked > MAX_UNPACKED
            or len(parts) > MAX_PARTS
            or unpacked > max(MAX_MEANS, MAX_RATIO * len(data))
        ):
            raise _too_large(source, MAX_UNPACKED)
        for part in parts:
            if part.file_size > MAX_MEANS and not _CONTENT_PARTS.search(part.filename):
                raise _too_large(source, MAX_UNPACKED)
        for part in parts:
            if part.filename.lower().endswith((".xml", ".rels")):
                with book.open(part) as file:
                    if not _PROLOGUE.match(file.read(1 << 16)):
                        raise ValueError("a part that is not plain XML")


def _too_large(source: ByteSource, limit: int) -> InputError:
    return InputError(
        f"the workbook is larger than {limit // 2**20} MB",
        where=source.name,
        todo="save it as CSV or split it",
    )
