"""The formats that a report's tables are written in."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape

from bedside.core.errors import from_extra
from bedside.core.files import archiving
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import LatexPaper, latex
from bedside.reports.renderers.markdown import markdown, plain
from bedside.reports.renderers.records import csv_text
from bedside.reports.renderers.table_layout import CONTINUED, FittedTable, Frame, in_parts
from bedside.reports.renderers.wrapped_text import lines, text_width
from bedside.reports.table_content import Cell, TableContent

if TYPE_CHECKING:
    from docx.document import Document
    from openpyxl.worksheet.worksheet import Worksheet


# -- Office files without the time they were made -------------------------------------------------------

#: When a document was made and last changed, in its properties.
_TIMES = re.compile(rb"<dcterms:(created|modified)\b[^>]*>.*?</dcterms:\1>", re.DOTALL)
#: The earliest time that an archive can hold.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def without_times(archive: bytes) -> bytes:
    """The archive with no times in it, its parts in the same order."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for part in source.infolist():
            content = source.read(part)
            if part.filename == "docProps/core.xml":
                content = _TIMES.sub(b"", content)
            entry = zipfile.ZipInfo(part.filename, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)
    return out.getvalue()


# -- The numbers in a cell as a table prints it ---------------------------------------------------------

#: A number: a true minus sign or a plus sign, commas between thousands, with or without a zero before its point.
_NUMBER = re.compile(r"([−+]?)(\d{1,3}(?:,\d{3})+(?!\d)|\d*)(?:\.(\d+))?")
#: What may follow a number, and what may stand before one.
_AFTER = re.compile(r"(?:\s*[)\]},;%])*")
_BEFORE = re.compile(r"(?:[(\[{$±/×\s]|n=|of|to)*")


@dataclass(frozen=True, slots=True)
class ShownNumber:
    """A number as shown.

    Attributes:
        value: of what is shown, with all its digits; a share shown in per cent is 45 where 45 % stands.
        before: shown before it.
        after: shown after it.
        decimals: digits after its point.
        signed: whether it has a plus sign if it is above zero.
        zero: whether a zero stands before its point.
        grouped: whether commas stand between thousands.
    """

    value: float
    before: str
    after: str
    decimals: int
    signed: bool
    zero: bool
    grouped: bool

    @property
    def excel_format(self) -> str:
        """How a spreadsheet shows it so."""
        digits = "#,##0" if self.grouped else "0" if self.zero else ""
        digits += f".{'0' * self.decimals}" if self.decimals else ""
        before, after = _quoted(self.before), _quoted(self.after)
        plus = '"+"' if self.signed else ""
        unsigned = f"{before}{digits}{after}"
        return f'{before}{plus}{digits}{after};{before}"−"{digits}{after};{unsigned}'


def _quoted(text: str) -> str:
    """Text as a spreadsheet's format has it: each sign by itself, so that quotes need no care."""
    return "".join(rf"\{character}" for character in text)


def shown_numbers(cell: Cell, exact: float | None = None) -> tuple[ShownNumber, ...]:
    """The numbers of a cell, in order; none where it holds words, or nothing.

    Args:
        cell: the cell; its marks are shown after its last number.
        exact: what its first number was rounded from, or a hundredth of that, if it is known.
    """
    matches = [match for match in _NUMBER.finditer(cell.text) if match[2] or match[3]]
    if not matches:
        return ()
    edges = [0, *(edge for match in matches for edge in match.span()), len(cell.text)]
    between = [cell.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    afters = ["", *(_AFTER.match(text)[0] for text in between[1:])]  # type: ignore[index]
    befores = [text[len(after) :].strip() for text, after in zip(between, afters, strict=True)]
    if befores[-1] or not all(map(_BEFORE.fullmatch, befores)):
        return ()
    afters.append(afters.pop() + cell.marks)
    numbers = [_shown(match, before, after) for match, before, after in zip(matches, befores, afters[1:], strict=False)]
    if exact is not None:
        numbers[0] = _with_exact(numbers[0], exact)
    return tuple(numbers)


def _shown(match: re.Match[str], before: str, after: str) -> ShownNumber:
    sign, integer, decimals = match[1], match[2], match[3] or ""
    value = float(f"{integer.replace(',', '') or '0'}.{decimals or '0'}")
    return ShownNumber(
        -value if sign == "−" else value,
        before,
        after,
        decimals=len(decimals),
        signed=sign == "+",
        zero=bool(integer),
        grouped="," in integer,
    )


def _with_exact(shown: ShownNumber, exact: float) -> ShownNumber:
    """The number with all its digits, where it is the one that a spreadsheet shows so."""
    for value in (exact, 100 * exact):
        if math.isfinite(value):
            rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-shown.decimals), ROUND_HALF_UP)
            # A spreadsheet shows what rounds to 0 from below with a minus sign.
            if float(rounded) == shown.value and not (rounded.is_zero() and value < 0):
                return replace(shown, value=value)
    return shown


# -- Tables as an Excel workbook ------------------------------------------------------------------------

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
    with archiving():
        book.save(out)
    return without_times(out.getvalue())


def _sheet_names(tables: Sequence[TableContent]) -> list[str]:
    """A name for each sheet; no two are the same, whatever their case."""
    names: list[str] = []
    taken = {_CONTENTS.lower()}
    for table in tables:
        whole = _NOT_IN_NAMES.sub("-", plain(table.name)).strip("' ") or "table"
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
    cell = sheet.cell(row, column, plain(text)[:_LONGEST])
    # Otherwise what begins with = would be a formula.
    cell.data_type = "s"
    return cell


class _Sheet:
    """The sheet of one table."""

    def __init__(self, sheet: Worksheet, table: TableContent, formats: set[str]) -> None:
        from openpyxl.styles import Border, Side

        self._sheet, self._table, self._formats = sheet, table, formats
        self._numbers = [[self._numbers_of(cell, place) for place, cell in enumerate(row.cells)] for row in table.rows]
        counts = [
            max((len(row[place]) for row in self._numbers), default=1) or 1 for place in range(len(table.columns))
        ]
        #: Of each column of the table, its first column on the sheet, and how many it takes there.
        self._places = list(zip(accumulate(counts, initial=1), counts, strict=False))
        self._width = sum(counts)
        thick, thin = Side("medium"), Side("thin")
        self._above, self._below, self._under_span = (Border(top=thick), Border(bottom=thin), Border(bottom=thin))
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

    def _groups(self) -> Iterator[tuple[str | None, list[tuple[Sequence[Cell], list[tuple[ShownNumber, ...]]]]]]:
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
            room = max(sum(self._column_widths), _WIDEST) * _CHARACTER
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
                TextBlock(InlineFont(b=cell.bold, u="single" if cell.underline else None), plain(cell.text)[:_LONGEST]),
                TextBlock(InlineFont(vertAlign="superscript"), plain(cell.marks)),
            ]
        )
        return self._sheet.cell(self._row, column, rich)

    def _mark(self, written: Any, cell: Cell, align: str) -> None:
        from openpyxl.styles import Alignment, Font

        if cell.bold or cell.underline:
            written.font = Font(bold=cell.bold, underline="single" if cell.underline and not cell.bold else None)
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

    def _set_widths(self) -> None:
        from openpyxl.utils import get_column_letter

        for number, width in enumerate(self._column_widths, 1):
            self._sheet.column_dimensions[get_column_letter(number)].width = round(width, 1)

    def _print_setup(self, first: int) -> None:
        """One page wide, the headings on each page."""
        from openpyxl.worksheet.properties import PageSetupProperties

        self._sheet.page_setup.orientation = "landscape" if sum(self._column_widths) > 90 else "portrait"
        self._sheet.page_setup.fitToWidth, self._sheet.page_setup.fitToHeight = 1, 0
        self._sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        self._sheet.print_title_rows = f"1:{first - 1}"


# -- Tables as a Word document --------------------------------------------------------------------------

#: A4, and margins of an inch, in points.
_SHORT_SIDE, _LONG_SIDE, _MARGIN = 595.3, 841.9, 72.0
#: Within the outermost cells.
_EDGES = 12.0
_PORTRAIT = Frame("portrait", _SHORT_SIDE - 2 * _MARGIN - _EDGES, _LONG_SIDE - 2 * _MARGIN)
_LANDSCAPE = Frame("landscape", _LONG_SIDE - 2 * _MARGIN - _EDGES, _SHORT_SIDE - 2 * _MARGIN)
_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_FONT = "Times New Roman"
#: Rules, in eighths of a point.
_THICK, _THIN = 8, 4
#: A table of fewer rows stays on one page.
_SHORT = 25
#: Word's twentieths of a point.
_TWIPS = 20

Align = Literal["left", "right", "center"]


def word(tables: Sequence[TableContent]) -> bytes:
    """A document of tables: on pages of A4, turned where a table is wider, in parts where it is wider than that.

    Raises:
        MissingExtraError: python-docx isn't installed.
    """
    with from_extra("forms", "writing Word documents needs python-docx"):
        import docx
        from docx.oxml import parse_xml
    document = docx.Document()
    document.core_properties.author, document.core_properties.title = "bedside", "Tables"
    document.core_properties.comments = ""
    _set_styles(document)
    shown = ""
    for number, table in enumerate(tables, 1):
        frame, parts = in_parts(table, (_PORTRAIT, _LANDSCAPE))
        if frame.name != shown:
            _turn_page(document, frame, first=not shown)
            shown = frame.name
        for place, part in enumerate(parts):
            _add_caption(document, number, table.title, continued=place > 0)
            # After what the document has, before the properties of the last section.
            document.element.body.insert_element_before(parse_xml(_table(part)), "w:sectPr")
        for note in table.notes or ("",):
            document.add_paragraph(plain(note), style="Table note")
    out = io.BytesIO()
    with archiving():
        document.save(out)
    return without_times(out.getvalue())


def _set_styles(document: Document) -> None:
    """Styles of captions, tables and notes, so that an author changes all of them at once."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.shared import Pt, RGBColor

    usual: Any = document.styles["Normal"]
    usual.font.name, usual.font.size = _FONT, Pt(10)
    caption: Any = document.styles["Caption"]
    caption.font.name, caption.font.size, caption.font.bold = _FONT, Pt(10), False
    caption.font.color.rgb = RGBColor(0, 0, 0)
    caption.paragraph_format.space_before, caption.paragraph_format.space_after = Pt(18), Pt(4)
    caption.paragraph_format.keep_with_next = True
    for name, size in (*((_cell_style(points), points) for points in (10, 9, 8, 7)), ("Table note", 8)):
        style: Any = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        style.base_style = usual
        style.font.size = Pt(size)
        style.paragraph_format.space_before = style.paragraph_format.space_after = Pt(0)
        style.paragraph_format.line_spacing = 1.0


def _cell_style(points: int) -> str:
    return f"Table text {points} pt"


def _turn_page(document: Document, frame: Frame, *, first: bool) -> None:
    """Go on on pages that stand as the frame does."""
    from docx.enum.section import WD_ORIENTATION, WD_SECTION
    from docx.shared import Pt

    section = document.sections[0] if first else document.add_section(WD_SECTION.NEW_PAGE)
    upright = frame is _PORTRAIT
    section.orientation = WD_ORIENTATION.PORTRAIT if upright else WD_ORIENTATION.LANDSCAPE
    section.page_width = Pt(_SHORT_SIDE if upright else _LONG_SIDE)
    section.page_height = Pt(_LONG_SIDE if upright else _SHORT_SIDE)
    for side in ("left_margin", "right_margin", "top_margin", "bottom_margin"):
        setattr(section, side, Pt(_MARGIN))


def _add_caption(document: Document, number: int, title: str, *, continued: bool) -> None:
    """A caption that Word numbers; a further part of a table has the number of the first."""
    from docx.oxml import parse_xml

    paragraph = document.add_paragraph(style="Caption")
    paragraph.add_run("Table ")
    field = " SEQ Table \\c " if continued else " SEQ Table \\* ARABIC "
    paragraph._p.append(
        parse_xml(f'<w:fldSimple xmlns:w="{_NAMESPACE}" w:instr="{field}"><w:r><w:t>{number}</w:t></w:r></w:fldSimple>')
    )
    paragraph.add_run(f". {plain(title)}{CONTINUED if continued else ''}")


def _table(part: FittedTable) -> str:
    """The table in Word's own words."""
    table, size = part.table, part.size
    widths = [round((column.width + size.gap) * _TWIPS) for column in part.columns]
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    margin = round(size.gap / 2 * _TWIPS)
    rows = [*_head(part, widths), *_body(part, widths)]
    caption = escape(plain(table.title), {'"': "&quot;"})
    return (
        f'<w:tbl xmlns:w="{_NAMESPACE}"><w:tblPr><w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:jc w:val="center"/>'
        f'<w:tblLayout w:type="fixed"/><w:tblCellMar><w:left w:w="{margin}" w:type="dxa"/>'
        f'<w:right w:w="{margin}" w:type="dxa"/></w:tblCellMar>'
        f'<w:tblCaption w:val="{caption}"/></w:tblPr><w:tblGrid>{grid}</w:tblGrid>'
        f"{''.join(rows)}</w:tbl>"
    )


def _head(part: FittedTable, widths: Sequence[int]) -> list[str]:
    """The rows of headings, which are repeated on each page."""
    table = part.table
    spans = list(table.spans())
    grouped = any(group is not None for group, _ in spans)
    style = _cell_style(part.size.points)
    rows = []
    if grouped:
        cells, first = [], 0
        for group, count in spans:
            width = sum(widths[first : first + count])
            if group is None:
                title = _runs(table.columns[first].title)
                content = _paragraph(title, style, table.columns[first].align)
                cells.append(_cell(content, width, top=_THICK, merge="restart"))
            else:
                content = _paragraph(_runs(group), style, "center")
                cells.append(_cell(content, width, span=count, top=_THICK, bottom=_THIN))
            first += count
        rows.append(_row(cells, head=True))
    cells = []
    for column, width in zip(table.columns, widths, strict=True):
        going_on = grouped and column.group is None
        content = _paragraph("" if going_on else _runs(column.title), style, column.align)
        merge: Literal["continue", ""] = "continue" if going_on else ""
        cells.append(_cell(content, width, top=0 if grouped else _THICK, bottom=_THIN, merge=merge))
    return [*rows, _row(cells, head=True)]


def _body(part: FittedTable, widths: Sequence[int]) -> list[str]:
    """The rows under their headings."""
    table = part.table
    style, together = _cell_style(part.size.points), len(table.rows) < _SHORT
    rows, left = [], len(table.rows)
    for heading, members in table.groups():
        if heading is not None:
            content = _paragraph(_runs(heading, italic=True), style, "left", stays=True)
            rows.append(_row([_cell(content, sum(widths), span=len(widths))]))
        for row in members:
            left -= 1
            cells = zip(row.cells, table.columns, widths, strict=True)
            shown = [
                _cell(
                    _paragraph(_cell_runs(cell), style, column.align, stays=together and left > 0),
                    width,
                    bottom=0 if left else _THICK,
                )
                for cell, column, width in cells
            ]
            rows.append(_row(shown))
    return rows


def _row(cells: Iterable[str], *, head: bool = False) -> str:
    repeated = "<w:tblHeader/>" if head else ""
    return f"<w:tr><w:trPr><w:cantSplit/>{repeated}</w:trPr>{''.join(cells)}</w:tr>"


def _cell(
    content: str,
    width: int,
    *,
    span: int = 1,
    top: int = 0,
    bottom: int = 0,
    merge: Literal["restart", "continue", ""] = "",
) -> str:
    """A cell, with its rules in eighths of a point."""
    spanned = f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
    merged = f'<w:vMerge w:val="{merge}"/>' if merge else ""
    rules = "".join(
        f'<w:{side} w:val="single" w:sz="{weight}" w:space="0" w:color="000000"/>'
        for side, weight in (("top", top), ("bottom", bottom))
        if weight
    )
    borders = f"<w:tcBorders>{rules}</w:tcBorders>" if rules else ""
    below = '<w:vAlign w:val="bottom"/>' if merge else ""
    look = f'<w:tcW w:w="{width}" w:type="dxa"/>{spanned}{merged}{borders}{below}'
    return f"<w:tc><w:tcPr>{look}</w:tcPr>{content}</w:tc>"


def _paragraph(runs: str, style: str, align: Align, *, stays: bool = False) -> str:
    """A paragraph of a cell; one that stays is on the page of the next."""
    kept = "<w:keepNext/>" if stays else ""
    name = style.replace(" ", "")
    return f'<w:p><w:pPr><w:pStyle w:val="{name}"/>{kept}<w:jc w:val="{align}"/></w:pPr>{runs}</w:p>'


def _runs(text: str, *, italic: bool = False) -> str:
    return _run(text, "<w:i/>" if italic else "")


def _cell_runs(cell: Cell) -> str:
    """A cell's text with its marks raised."""
    look = "<w:b/>" if cell.bold else '<w:u w:val="single"/>' if cell.underline else ""
    return _run(cell.text, look) + _run(cell.marks, '<w:vertAlign w:val="superscript"/>')


def _run(text: str, look: str) -> str:
    if not text:
        return ""
    properties = f"<w:rPr>{look}</w:rPr>" if look else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape(plain(text))}</w:t></w:r>'


# -- The formats that a report's tables are written in --------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of text files, one for each table.

    Attributes:
        ending: of a file's name, without the dot.
        render: the file's content.
    """

    ending: str
    render: Callable[[TableContent], str]


def text_formats(paper: LatexPaper | None = None) -> Mapping[str, TableFormat]:
    """Formats of text by name, in the order in which they are written.

    Args:
        paper: what LaTeX's tables are set for; a paper of one column unless given.
    """
    return {
        "md": TableFormat("md", markdown),
        "latex": TableFormat("tex", partial(latex, paper=paper)),
        "html": TableFormat("html", html),
        "csv": TableFormat("csv", csv_text),
    }


#: Formats of text as they are where a paper isn't said.
TABLE_FORMATS: Mapping[str, TableFormat] = text_formats()
#: What writes one table or several in an office program's format, by the ending of the files.
DOCUMENT_FORMATS: Mapping[str, Callable[[Sequence[TableContent]], bytes]] = {"docx": word, "xlsx": excel}
