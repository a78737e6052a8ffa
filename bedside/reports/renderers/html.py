"""Tables as HTML."""

from __future__ import annotations

import html as html_module
import re

from bedside.reports.renderers.plain_text import plain
from bedside.reports.table_content import Cell, TableContent

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u200f\u202a-\u202e\u2066-\u2069]")


def escape_html(text: str) -> str:
    """Text for HTML; what runs from right to left is set apart, so that it doesn't turn its neighbours round."""
    escaped = html_module.escape(plain(text), quote=True)
    return f"<bdi>{escaped}</bdi>" if _RIGHT_TO_LEFT.search(escaped) else escaped


def html(table: TableContent) -> str:
    """An HTML table with caption and notes; a fragment for a page."""
    aligned = ["" if column.align == "left" else ' class="number"' for column in table.columns]
    lines = [f'<figure class="table" id="table-{escape_html(table.name)}">', '<div class="scroll"><table>']
    lines.append(f"<caption>{escape_html(table.title)}</caption>")
    spans = table.spans()
    above = ""
    if any(group is not None for group, _ in spans):
        cells = "".join(
            "<td></td>"
            if group is None
            else f'<th scope="colgroup" colspan="{count}">{escape_html(group)}</th>'
            for group, count in spans
        )
        above = f'<tr class="spans">{cells}</tr>'
    head = "".join(
        f'<th scope="col"{align}>{escape_html(column.title)}</th>'
        for align, column in zip(aligned, table.columns, strict=True)
    )
    lines.append(f"<thead>{above}<tr>{head}</tr></thead>")
    for group, rows in table.groups():
        lines.append("<tbody>")
        if group is not None:
            span = len(table.columns)
            lines.append(
                f'<tr class="group"><th scope="rowgroup" colspan="{span}">{escape_html(group)}</th></tr>'
            )
        for row in rows:
            first, *other_cells = row.cells
            cells = f'<th scope="row">{_html_cell(first)}</th>' + "".join(
                f"<td{align}{_html_name(cell, table)}>{_html_cell(cell)}</td>"
                for align, cell in zip(aligned[1:], other_cells, strict=True)
            )
            lines.append(f"<tr>{cells}</tr>")
        lines.append("</tbody>")
    lines.append("</table></div>")
    if table.notes:
        notes = "<br>".join(escape_html(note) for note in table.notes)
        lines.append(f"<figcaption>{notes}</figcaption>")
    lines.append("</figure>")
    return "\n".join(lines) + "\n"


def _html_name(cell: Cell, table: TableContent) -> str:
    """The cell's name, by which it can be explained."""
    name = table.records[cell.record].get("cell") if cell.record is not None else None
    return f' data-cell="{html_module.escape(plain(str(name)))}"' if name is not None else ""


def _html_cell(cell: Cell) -> str:
    text = escape_html(cell.text)
    marks = f"<sup>{escape_html(cell.marks)}</sup>" if cell.marks else ""
    if cell.bold:
        text = f"<strong>{text}</strong>"
    elif cell.underline:
        text = f"<u>{text}</u>"
    return text + marks
