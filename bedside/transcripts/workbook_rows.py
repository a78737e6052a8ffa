"""Rows of the worksheets of an XLSX file, as text."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_COMPANION, ByteSource
from bedside.transcripts.parquet_rows import cell_text

#: Largest workbook, in bytes on disk and unpacked.
MAX_WORKBOOK = MAX_COMPANION
MAX_UNPACKED = 2 * MAX_COMPANION
#: Rows of a worksheet, as Excel has them.
MAX_ROWS = 1_048_576
#: Largest part of a workbook that holds no cells, such as its styles, and of a workbook that packs suspiciously well.
MAX_MEANS = 8 * 2**20
MAX_RATIO = 100
#: Parts of a workbook's archive.
MAX_PARTS = 10_000

# Names of the parts that hold cells or pictures.
_CONTENT_PARTS = re.compile(r"worksheets/|sharedStrings|media/", re.IGNORECASE)
# What may stand before the first element of an XML part. A document type is not among it: entities are
# declared there.
_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*+<[A-Za-z]", re.DOTALL)
# A range of merged cells, and a cell with a formula and no value, in the XML of a worksheet.
_MERGED = re.compile(rb'<mergeCell\b[^>]*\bref="([A-Z]{1,3}\d+:[A-Z]{1,3}\d+)"')
_VALUELESS = re.compile(
    rb'<c\b[^>]*\br="([A-Z]{1,3}\d+)"[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?!<v\b[^>/]*>[^<])'
)


# A row, a range of columns and a cell that isn't empty, in the XML of a worksheet; its attributes.
_ROW, _COLUMN, _CELL = (
    re.compile(rb"<" + tag + rb">") for tag in (rb"row\b([^>]*)", rb"col\b([^>]*)", rb"c\b([^>]*[^>/])")
)
_ATTRIBUTE = re.compile(rb'\b(\w+)="([^"]*)"')


#: Oddities by which a cell reads as empty where it isn't, and why.
UNREADABLE = {"merged": "they are merged into one", "formula": "it holds a formula that was never worked out"}


class Oddity(NamedTuple):
    """What a worksheet has beside the values of its cells.

    Attributes:
        kind: ``comment``, ``struck``, ``hidden row``, ``hidden column``, ``merged`` or ``formula``.
        cells: where.
        text: of a comment.
    """

    kind: str
    cells: str
    text: str = ""


class Workbook:
    """The worksheets of an XLSX file.

    Args:
        source: the file.

    Attributes:
        sheets: names of the worksheets that are shown, in order; of all where none is.
        hidden: names of those that are hidden.

    Raises:
        InputError: it is no workbook, or too large.
    """

    def __init__(self, source: ByteSource) -> None:
        import openpyxl

        self._source = source
        data = self._data = _workbook_bytes(source)
        try:
            _check_parts(source, data)
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            self._sheets: dict[str, Any] = {sheet.title: sheet for sheet in book.worksheets}
            shown = [name for name, sheet in self._sheets.items() if sheet.sheet_state == "visible"]
            if not self._sheets:
                raise ValueError("no worksheet")
        except InputError:
            raise
        # A damaged workbook makes openpyxl raise whatever its parts happen to raise.
        except Exception as error:
            raise _damaged(source) from error
        self.sheets: list[str] = shown or list(self._sheets)
        self.hidden: list[str] = [name for name in self._sheets if name not in self.sheets]

    def rows(self, sheet: str) -> Iterator[tuple[int, list[str]]]:
        """Number, from 1, and cells of each row of a worksheet that isn't blank."""
        try:
            # The stated size may be wrong, and rows are padded to it.
            self._sheets[sheet].reset_dimensions()
            for number, cells in enumerate(self._sheets[sheet].iter_rows(values_only=True), 1):
                if number > MAX_ROWS:
                    raise ValueError("more rows than a worksheet can have")
                row = [cell_text(cell) for cell in cells]
                if any(row):
                    yield number, row
        except InputError:
            raise
        except Exception as error:
            raise _damaged(self._source) from error

    def oddities(self, sheet: str) -> Iterator[Oddity]:
        """What a worksheet has beside the values of its cells, and cells that read as empty where they aren't: all but
        the first of merged ones, and formulas that were never worked out.

        Raises:
            InputError: the workbook is damaged.
        """
        path = self._sheets[sheet]._worksheet_path
        try:
            with zipfile.ZipFile(io.BytesIO(self._data)) as book:
                text = book.read(path)
                struck = _struck_styles(book) if b"<c" in text else frozenset[bytes]()
                yield from _comments(book, path)
        except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError) as error:
            raise _damaged(self._source) from error
        for kind, pattern in (("merged", _MERGED), ("formula", _VALUELESS)):
            for match in pattern.finditer(text):
                yield Oddity(kind, match[1].decode())
        for kind, pattern, name in (("hidden row", _ROW, b"r"), ("hidden column", _COLUMN, b"min")):
            for match in pattern.finditer(text):
                attributes = dict(_ATTRIBUTE.findall(match[1]))
                if attributes.get(b"hidden") in (b"1", b"true"):
                    yield Oddity(kind, attributes.get(name, b"").decode())
        for match in _CELL.finditer(text) if struck else ():
            attributes = dict(_ATTRIBUTE.findall(match[1]))
            if attributes.get(b"s") in struck:
                yield Oddity("struck", attributes.get(b"r", b"").decode())


def _struck_styles(book: zipfile.ZipFile) -> frozenset[bytes]:
    """Numbers of the styles whose font is struck through."""
    if "xl/styles.xml" not in book.namelist():
        return frozenset()
    styles = ElementTree.fromstring(book.read("xl/styles.xml"))
    struck = {
        str(number)
        for number, font in enumerate(styles.findall("{*}fonts/{*}font"))
        if any(mark.get("val") not in ("0", "false") for mark in font.findall("{*}strike"))
    }
    forms = enumerate(styles.findall("{*}cellXfs/{*}xf"))
    return frozenset(str(number).encode() for number, form in forms if form.get("fontId") in struck)


def _comments(book: zipfile.ZipFile, path: str) -> Iterator[Oddity]:
    """The comments on the cells of a worksheet."""
    folder, _, name = path.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in book.namelist():
        return
    for relation in ElementTree.fromstring(book.read(relations)):
        if relation.get("Type", "").endswith("/comments"):
            target = relation.get("Target", "")
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")
            for comment in ElementTree.fromstring(book.read(part)).findall(".//{*}comment"):
                text = "".join(part.text or "" for part in comment.findall(".//{*}t"))
                yield Oddity("comment", comment.get("ref", ""), text)


def _damaged(source: ByteSource) -> InputError:
    return InputError(
        "the XLSX workbook can't be read", where=source.name, todo="save it again as XLSX or CSV"
    )


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
