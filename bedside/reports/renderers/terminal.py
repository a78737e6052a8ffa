"""Tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.core.words import visible, visible_line
from bedside.reports.table_content import TableContent

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def rich_table(table: TableContent, *, folded: bool = False) -> RichTable:
    """The table for a terminal; of folded titles, line breaks stay."""
    import rich.box
    from rich.table import Table as RichTable
    from rich.text import Text

    view = RichTable(
        title=Text(visible_line(table.title)), title_justify="left",
        caption=Text("\n".join(map(visible_line, table.notes))), caption_justify="left",
        box=rich.box.SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    # A heading that columns share stands over the first of them.
    firsts = [group if not place else "" for group, count in table.spans() for place in range(count)]
    lines = 2 if any(firsts) else 1
    for column, above in zip(table.columns, firsts, strict=True):
        title = visible(column.title) if folded else visible_line(column.title)
        title = title if lines == 1 else f"{visible_line(above or '')}\n{title}"
        view.add_column(Text(title), justify=column.align, no_wrap=column.align == "right")
    for group, rows in table.groups():
        if group is not None:
            view.add_row(Text(visible_line(group), style="italic"))
        for row in rows:
            looks = ("bold" if cell.bold else "underline" if cell.underline else "" for cell in row.cells)
            view.add_row(*map(Text, (visible_line(cell.text + cell.marks) for cell in row.cells), looks))
    return view
