"""Tables as a Word document, as they are shown, each with a numbered caption and its notes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape

from bedside.core.errors import MissingExtraError
from bedside.reports.renderers._reproducible_archive import without_times
from bedside.reports.renderers._table_layout import CONTINUED, FittedTable, Frame, in_parts
from bedside.reports.renderers.plain_text import xml_text
from bedside.reports.table_content import Cell, TableContent

if TYPE_CHECKING:
    from docx.document import Document

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
    try:
        import docx
    except ImportError as error:
        raise MissingExtraError(
            "writing Word documents needs python-docx, which isn't installed",
            todo='pip install "bedside[forms]"',
        ) from error
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
            _add_table(document, part)
        for note in table.notes or ("",):
            document.add_paragraph(xml_text(note), style="Table note")
    out = io.BytesIO()
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
        parse_xml(
            f'<w:fldSimple xmlns:w="{_NAMESPACE}" w:instr="{field}"><w:r><w:t>{number}</w:t></w:r></w:fldSimple>'
        )
    )
    paragraph.add_run(f". {xml_text(title)}{CONTINUED if continued else ''}")


def _add_table(document: Document, part: FittedTable) -> None:
    """A part of a table, after what the document has."""
    from docx.oxml import parse_xml

    # Before the properties of the last section.
    document.element.body.insert_element_before(parse_xml(_table(part)), "w:sectPr")


def _table(part: FittedTable) -> str:
    """The table in Word's own words."""
    table, size = part.table, part.size
    widths = [round((column.width + size.gap) * _TWIPS) for column in part.columns]
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    margin = round(size.gap / 2 * _TWIPS)
    rows = [*_head(part, widths), *_body(part, widths)]
    return (
        f'<w:tbl xmlns:w="{_NAMESPACE}"><w:tblPr><w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:jc w:val="center"/>'
        f'<w:tblLayout w:type="fixed"/><w:tblCellMar><w:left w:w="{margin}" w:type="dxa"/>'
        f'<w:right w:w="{margin}" w:type="dxa"/></w:tblCellMar>'
        f'<w:tblCaption w:val="{_attribute(table.title)}"/></w:tblPr><w:tblGrid>{grid}</w:tblGrid>'
        f"{''.join(rows)}</w:tbl>"
    )


def _attribute(text: str) -> str:
    return escape(xml_text(text), {'"': "&quot;"})


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
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape(xml_text(text))}</w:t></w:r>'
