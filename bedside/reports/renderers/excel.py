"""Tables as an Excel workbook, as they are shown: numbers are numbers, each with its shown format."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from bedside.reports.renderers._number_cells import ShownNumber, shown_numbers
from bedside.reports.renderers._reproducible_archive import without_times
from bedside.reports.renderers._text_width import text_width
from bedside.reports.renderers._wrapped_text import lines
from bedside.reports.renderers.plain_text import xml_text
from bedside.reports.table_content import Cell, TableContent

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

#: A name of a sheet: its longest, and what it can't hold.
_SHEET_NAME, _NOT_IN_NAMES = 31, re.compile(r"[\[\]:*?/\\]")
_CONTENTS = "Tables"
#: Excel keeps this name for itself.
_EXCELS_OWN = "history"
#: Excel opens no more formats of numbers than about two hundred; what is beyond is text.
_MOST_FORMATS = 150
#: Most characters of a cell.
_LONGEST = 32_767
#: Widths of columns in characters, and points that a character of the sheet and a line take.
_WIDEST, _NARROWEST, _CHARACTER, _LINE = 48.0, 5.0, 5.2, 15.0


def excel(tables: Sequence[TableContent]) -> bytes:
    """A workbook with a sheet for each table; of several tables, the first sheet lists them.

    A cell with several numbers, such as a mean and its standard deviation, takes one column of the sheet for each,
    under one heading. A number has all its digits where the table's records have them.
    """
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    book.properties.creator = "bedside"
    names = _sheet_names(tables)
    if len(tables) > 1:
        _list_tables(book.create_sheet(_CONTENTS), tables, names)
    formats: set[str] = set()
    for table, name in zip(tables, names, strict=True):
        _Sheet(book.create_sheet(name), table, formats).write()
    if not tables:
        book.create_sheet(_CONTENTS)
    out = io.BytesIO()
    book.save(out)
    return without_times(out.getvalue())


def _sheet_names(tables: Sequence[TableContent]) -> list[str]:
    """A name for each sheet; no two are the same, whatever their case."""
    names: list[str] = []
    taken = {_CONTENTS.lower()}
    for table in tables:
        whole = _NOT_IN_NAMES.sub("-", xml_text(table.name)).strip("' ") or "table"
        if whole.lower() == _EXCELS_OWN:
            whole = f"{whole}-table"
        name, number = whole[:_SHEET_NAME], 1
        while name.lower() in taken:
            number += 1
            name = f"{whole[: _SHEET_NAME - len(str(number)) - 1]}-{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def _list_tables(sheet: Worksheet, tables: Sequence[TableContent], names: Sequence[str]) -> None:
    """The sheet that lists the tables and leads to each."""
    from openpyxl.styles import Font
    from openpyxl.worksheet.hyperlink import Hyperlink

    _put(sheet, 1, 1, _CONTENTS).font = Font(bold=True)
    for row, (table, name) in enumerate(zip(tables, names, strict=True), 2):
        cell = _put(sheet, row, 1, name)
        escaped = name.replace("'", "''")
        cell.hyperlink = Hyperlink(ref=cell.coordinate, location=f"'{escaped}'!A1")
        cell.font = Font(color="0563C1", underline="single")
        _put(sheet, row, 2, table.title)
    sheet.column_dimensions["A"].width = _SHEET_NAME
    sheet.column_dimensions["B"].width = 2 * _WIDEST


def _put(sheet: Worksheet, row: int, column: int, text: str) -> Any:
    """Put a text into a cell."""
    cell = sheet.cell(row, column, xml_text(text)[:_LONGEST])
    # Otherwise what begins with = would be a formula.
    cell.data_type = "s"
    return cell


class _Sheet:
    """The sheet of one table."""

    def __init__(self, sheet: Worksheet, table: TableContent, formats: set[str]) -> None:
        from openpyxl.styles import Border, Side

        self._sheet, self._table, self._formats = sheet, table, formats
        self._numbers = [
            [self._numbers_of(cell, place) for place, cell in enumerate(row.cells)] for row in table.rows
        ]
        counts = [
            max((len(row[place]) for row in self._numbers), default=1) or 1
            for place in range(len(table.columns))
        ]
        #: Of each column of the table, its first column on the sheet, and how many it takes there.
        self._places = list(zip(accumulate(counts, initial=1), counts, strict=False))
        self._width = sum(counts)
        thick, thin = Side("medium"), Side("thin")
        self._above, self._below, self._under_span = (
            Border(top=thick),
            Border(bottom=thin),
            Border(bottom=thin),
        )
        self._end = Border(bottom=thick)
        self._row = 1

    def _numbers_of(self, cell: Cell, place: int) -> tuple[ShownNumber, ...]:
        """The numbers of a cell; none where it is shown as text."""
        if self._table.columns[place].align == "left":
            return ()
        exact = None if cell.record is None else self._table.records[cell.record].get("value")
        numbers = shown_numbers(cell, exact if isinstance(exact, (int, float)) else None)
        formats = self._formats | {number.excel_format for number in numbers}
        if len(formats) > _MOST_FORMATS:
            return ()
        self._formats |= formats
        return numbers

    def write(self) -> None:
        """Write all of it: caption, headings, rows, notes."""
        self._across(self._table.title, bold=True)
        self._headings()
        first = self._row
        for heading, rows in self._groups():
            if heading is not None:
                self._across(heading, italic=True)
            for cells, numbers in rows:
                self._cells(cells, numbers)
                self._row += 1
        self._edge(self._row - 1, self._end)
        for note in self._table.notes:
            self._across(note, small=True)
        self._set_widths()
        self._sheet.freeze_panes = f"B{first}"
        self._print_setup(first)

    def _groups(
        self,
    ) -> Iterator[tuple[str | None, list[tuple[Sequence[Cell], list[tuple[ShownNumber, ...]]]]]]:
        done = 0
        for heading, rows in self._table.groups():
            yield heading, [(row.cells, self._numbers[done + place]) for place, row in enumerate(rows)]
            done += len(rows)

    def _across(self, text: str, *, bold: bool = False, italic: bool = False, small: bool = False) -> None:
        """A line across the whole table."""
        from openpyxl.styles import Alignment, Font

        cell = _put(self._sheet, self._row, 1, text)
        cell.font = Font(bold=bold, italic=italic, size=9 if small else 11)
        if not italic:
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            room = max(self._total_width(), _WIDEST) * _CHARACTER
            self._sheet.row_dimensions[self._row].height = _LINE * len(lines(text, room))
            self._merge(self._row, 1, self._row, max(self._width, 1))
        self._row += 1

    def _merge(self, top: int, left: int, bottom: int, right: int) -> None:
        if (top, left) != (bottom, right):
            self._sheet.merge_cells(start_row=top, start_column=left, end_row=bottom, end_column=right)

    def _headings(self) -> None:
        """The titles of columns, under the headings that they share."""
        from openpyxl.styles import Alignment, Font

        top = self._row
        grouped = any(group is not None for group, _ in self._table.spans())
        bottom = top + grouped
        self._edge(top, self._above)
        self._edge(bottom, self._below, bottom_of=top if top == bottom else None)
        place = 0
        for group, count in self._table.spans():
            first, (last, taken) = self._places[place][0], self._places[place + count - 1]
            if group is not None:
                cell = _put(self._sheet, top, first, group)
                cell.font = Font(bold=True)
                cell.alignment = Alignment(horizontal="center", wrap_text=True)
                self._merge(top, first, top, last + taken - 1)
            place += count
        for column, (first, taken) in zip(self._table.columns, self._places, strict=True):
            up = grouped and column.group is None
            cell = _put(self._sheet, top if up else bottom, first, column.title)
            cell.font = Font(bold=True)
            cell.alignment = Alignment(horizontal=column.align, vertical="bottom", wrap_text=True)
            self._merge(top if up else bottom, first, bottom, first + taken - 1)
        self._row = bottom + 1

    def _edge(self, row: int, border: Any, *, bottom_of: int | None = None) -> None:
        """A rule above or below a row; a row with both keeps the one above."""
        from openpyxl.styles import Border

        for column in range(1, self._width + 1):
            cell = self._sheet.cell(row, column)
            cell.border = border if bottom_of is None else Border(top=self._above.top, bottom=border.bottom)

    def _cells(self, cells: Sequence[Cell], numbers: Sequence[tuple[ShownNumber, ...]]) -> None:
        """A row of cells."""
        for place, (cell, shown) in enumerate(zip(cells, numbers, strict=True)):
            first = self._places[place][0]
            if shown:
                for number, one in enumerate(shown):
                    written = self._sheet.cell(self._row, first + number, one.value)
                    written.number_format = one.excel_format
                    self._mark(written, cell, "right" if not number else "left")
            elif cell.text or cell.marks:
                # Not merged with the columns beside it: rows stay sortable.
                self._mark(self._text(cell, first), cell, self._table.columns[place].align)

    def _text(self, cell: Cell, column: int) -> Any:
        """A cell of words, its marks raised."""
        from openpyxl.cell.rich_text import CellRichText, TextBlock
        from openpyxl.cell.text import InlineFont

        if not cell.marks:
            return _put(self._sheet, self._row, column, cell.text)
        rich = CellRichText(
            [
                TextBlock(
                    InlineFont(b=cell.bold, u="single" if cell.underline else None),
                    xml_text(cell.text)[:_LONGEST],
                ),
                TextBlock(InlineFont(vertAlign="superscript"), xml_text(cell.marks)),
            ]
        )
        return self._sheet.cell(self._row, column, rich)

    def _mark(self, written: Any, cell: Cell, align: str) -> None:
        from openpyxl.styles import Alignment, Font

        if cell.bold or cell.underline:
            written.font = Font(
                bold=cell.bold, underline="single" if cell.underline and not cell.bold else None
            )
        written.alignment = Alignment(
            horizontal=align, vertical="top", wrap_text=align == "left" and written.data_type == "s"
        )

    @cached_property
    def _column_widths(self) -> list[float]:
        """Of each column of the sheet, in characters."""
        widths = [_NARROWEST] * self._width
        for place, (first, taken) in enumerate(self._places):
            word = max(map(text_width, self._table.columns[place].title.split()), default=0.0)
            own = [word / taken] * taken
            for row, numbers in zip(self._table.rows, self._numbers, strict=True):
                shown = numbers[place]
                if not shown:
                    own[0] = max(own[0], text_width(row.cells[place].text + row.cells[place].marks))
                for number, one in enumerate(shown):
                    digits = f"+{one.value:.{one.decimals}f}" + ("," if one.grouped else "")
                    own[number] = max(own[number], text_width(one.before + digits + one.after))
            for number, wide in enumerate(own):
                column = first - 1 + number
                widths[column] = min(_WIDEST, max(widths[column], wide / _CHARACTER + 1.5))
        return widths

    def _total_width(self) -> float:
        return sum(self._column_widths)

    def _set_widths(self) -> None:
        from openpyxl.utils import get_column_letter

        for number, width in enumerate(self._column_widths, 1):
            self._sheet.column_dimensions[get_column_letter(number)].width = round(width, 1)

    def _print_setup(self, first: int) -> None:
        """One page wide, the headings on each page."""
        from openpyxl.worksheet.properties import PageSetupProperties

        self._sheet.page_setup.orientation = "landscape" if self._total_width() > 90 else "portrait"
        self._sheet.page_setup.fitToWidth, self._sheet.page_setup.fitToHeight = 1, 0
        self._sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        self._sheet.print_title_rows = f"1:{first - 1}"
