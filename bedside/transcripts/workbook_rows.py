"""Rows of the worksheets of an XLSX file, as text."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from bedside.core.errors import AmbiguousError
from bedside.core.words import counted
from bedside.transcripts.byte_source import MAX_COMPANION, ByteSource, one_damage
from bedside.transcripts.typed_rows import cell_text, held_bytes, too_large

#: Largest workbook unpacked, in bytes.
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


# A row and a range of columns in the XML of a worksheet; their attributes.
_ROW, _COLUMN = re.compile(rb"<row\b([^>]*)>"), re.compile(rb"<col\b([^>]*)>")
_ATTRIBUTE = re.compile(rb'\b(\w+)="([^"]*)"')
# That something is struck through.
_STRUCK = re.compile(rb'<strike\b(?![^>]*\bval="(?:0|false)")')

#: First row and column of merged cells, and their last ones.
_Rectangle = tuple[int, int, int, int]
#: What becomes of texts that are struck through; None asks.
Struck = Literal["keep", "leave"] | None

#: Oddities by which a cell reads as empty where it isn't, and why.
UNREADABLE = {"merged": "they are merged into one", "formula": "it holds a formula that was never worked out"}


class Oddity(NamedTuple):
    """What a worksheet has beside the values of its cells.

    Attributes:
        kind: ``comment``, ``hidden row``, ``hidden column``, ``merged`` or ``formula``.
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
        self._told: set[str] = set()
        data = self._data = held_bytes(source, "workbook")
        with _reading(source):
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            _check_parts(source, self._archive, len(data))
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            self._sheets: dict[str, Any] = {sheet.title: sheet for sheet in book.worksheets}
            shown = [name for name, sheet in self._sheets.items() if sheet.sheet_state == "visible"]
            if not self._sheets:
                raise ValueError("no worksheet")
        self.sheets: list[str] = shown or list(self._sheets)
        self.hidden: list[str] = [name for name in self._sheets if name not in self.sheets]

    def rows(
        self, sheet: str, header: int = MAX_ROWS, struck: Struck = "keep", tell: bool = False
    ) -> Iterator[tuple[int, list[str]]]:
        """Number, from 1, and cells of each row of a worksheet that isn't blank, with each merged cell below the header
        in its whole rectangle.

        A merged cell that is alone in its row is a title, and stands in the first of its cells only.

        Args:
            sheet: the worksheet.
            header: number of the row of column names.
            struck: whether texts that are struck through count, or are left; None where nobody said.
            tell: whether what was done is noted in the source's account.

        Raises:
            AmbiguousError: texts are struck through, and nobody said.
        """
        left = self._struck_texts(sheet, header) if tell else {}
        if left and struck is None:
            are = "cell is" if len(left) == 1 else "cells are"
            raise AmbiguousError(
                f"{len(left):,} {are} struck through in {sheet!r}, and may be withdrawn or count all the same",
                where=self._cell(*min(left)),
                todo="`struck=leave` leaves them out, `struck=keep` takes them",
            )
        merged = [rectangle for rectangle in self._merged(sheet) if rectangle[0] > header]
        texts: dict[_Rectangle, str] = {}
        over: list[_Rectangle] = []
        for number, row in self._all_rows(sheet):
            if struck == "leave":
                row = [left.get((number, column), text) for column, text in enumerate(row, 1)]
            over = [rectangle for rectangle in over if rectangle[2] >= number]
            while merged and merged[0][0] <= number:
                over.append(merged.pop(0))
            if not any(row):
                continue
            for rectangle in over:
                top, first, _, last = rectangle
                row += [""] * (last - len(row))
                if top == number:
                    is_title = first < last and not any(row[: first - 1]) and not any(row[first:])
                    texts[rectangle] = "" if is_title else row[first - 1]
                if texts.get(rectangle):
                    row[first - 1 : last] = [texts[rectangle]] * (last - first + 1)
            yield number, row
        if tell and sheet not in self._told:
            self._told.add(sheet)
            self._tell(sheet, sum(map(bool, texts.values())), sorted(left), struck)

    def _tell(self, sheet: str, merged: int, struck: list[tuple[int, int]], what: Struck) -> None:
        """Note in the account what was done with merged cells, those struck through, and formulas."""
        account = self._source.account
        for match in _VALUELESS.finditer(self._part(self._path(sheet))):
            account.count_left_out(
                "formulas that were never worked out", f"{self._source.name} cell {match[1].decode()}"
            )
        if merged:
            count = "counts" if merged == 1 else "count"
            account.remark(f"{counted(merged, 'merged cell')} of {sheet!r} {count} for each cell of the rectangle.")
        if struck and what == "keep":
            count = "counts" if len(struck) == 1 else "count"
            account.remark(f"{counted(len(struck), 'cell')} struck through of {sheet!r} {count}.")
        for place in struck if what == "leave" else ():
            account.count_left_out("texts struck through", self._cell(*place))

    def _cell(self, row: int, column: int) -> str:
        """The place of a cell."""
        from openpyxl.utils.cell import get_column_letter

        return f"{self._source.name}:{row} cell {get_column_letter(column)}{row}"

    def _all_rows(self, sheet: str) -> Iterator[tuple[int, list[str]]]:
        with _reading(self._source):
            # The stated size may be wrong, and rows are padded to it.
            self._sheets[sheet].reset_dimensions()
            for number, cells in enumerate(self._sheets[sheet].iter_rows(values_only=True), 1):
                if number > MAX_ROWS:
                    raise ValueError("more rows than a worksheet can have")
                yield number, [cell_text(cell) for cell in cells]

    def oddities(self, sheet: str) -> Iterator[Oddity]:
        """What a worksheet has beside the values of its cells, and cells that read as empty where they aren't: all but
        the first of merged ones, and formulas that were never worked out.

        Raises:
            InputError: the workbook is damaged.
        """
        path = self._path(sheet)
        with _reading(self._source):
            yield from _comments(self._archive, path)
        text = self._part(path)
        for kind, pattern in (("merged", _MERGED), ("formula", _VALUELESS)):
            for match in pattern.finditer(text):
                yield Oddity(kind, match[1].decode())
        for kind, pattern, name in (("hidden row", _ROW, b"r"), ("hidden column", _COLUMN, b"min")):
            for match in pattern.finditer(text):
                attributes = dict(_ATTRIBUTE.findall(match[1]))
                if attributes.get(b"hidden") in (b"1", b"true"):
                    yield Oddity(kind, attributes.get(name, b"").decode())

    def _merged(self, sheet: str) -> list[_Rectangle]:
        from openpyxl.utils.cell import range_boundaries

        ranges = _MERGED.finditer(self._part(self._path(sheet)))
        rectangles = (range_boundaries(match[1].decode()) for match in ranges)
        return sorted((top, left, bottom, right) for left, top, right, bottom in rectangles)

    def _struck_texts(self, sheet: str, header: int) -> dict[tuple[int, int], str]:
        """Row and column of each cell below the header of which something is struck through, and what isn't of it."""
        import openpyxl
        from openpyxl.cell.rich_text import CellRichText, TextBlock

        in_cells, *apart = (
            _STRUCK.search(self._part(part)) is not None
            for part in (self._path(sheet), "xl/sharedStrings.xml", "xl/styles.xml")
        )
        left: dict[tuple[int, int], str] = {}
        if not in_cells and not any(apart):
            return left
        with _reading(self._source):
            # What is struck through within a cell's own text is told only where the whole workbook is held.
            book = openpyxl.load_workbook(
                io.BytesIO(self._data), read_only=not in_cells, data_only=True, rich_text=True
            )
            for cell in chain.from_iterable(book[sheet].iter_rows(min_row=header + 1)):
                runs = cell.value if isinstance(cell.value, CellRichText) else ()
                kept = [str(run) for run in runs if not (isinstance(run, TextBlock) and run.font.strike)]
                if cell.value is not None and (cell.font.strike or len(kept) < len(runs)):
                    left[cell.row, cell.column] = "" if cell.font.strike else "".join(kept).strip()
        return left

    def _path(self, sheet: str) -> str:
        return str(self._sheets[sheet]._worksheet_path)

    def _part(self, name: str) -> bytes:
        """A part of the workbook's archive; empty where it has none of the name."""
        with _reading(self._source):
            return self._archive.read(name) if name in self._archive.namelist() else b""


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


def _reading(source: ByteSource) -> AbstractContextManager[None]:
    if source.ending in (".docx", ".eval"):  # whose parts couldn't be listed
        return one_damage("the archive is damaged", source.name, "copy or save it again")
    return one_damage("the XLSX workbook can't be read", source.name, "save it again as XLSX or CSV")


def _check_parts(source: ByteSource, book: zipfile.ZipFile, size: int) -> None:
    """Refuse a workbook that would unpack to too much or declares entities."""
    parts = book.infolist()
    unpacked = sum(part.file_size for part in parts)
    # What people type packs to a tenth; what packs to a hundredth was made to be large.
    if (
        unpacked > MAX_UNPACKED
        or len(parts) > MAX_PARTS
        or unpacked > max(MAX_MEANS, MAX_RATIO * size)
        or any(part.file_size > MAX_MEANS and not _CONTENT_PARTS.search(part.filename) for part in parts)
    ):
        raise too_large(source, "workbook", MAX_UNPACKED)
    for part in parts:
        if part.filename.lower().endswith((".xml", ".rels")):
            with book.open(part) as file:
                if not _PROLOGUE.match(file.read(1 << 16)):
                    raise ValueError("a part that is not plain XML")
