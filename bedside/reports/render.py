"""Tables as Markdown, LaTeX, HTML, CSV and for a terminal."""

from __future__ import annotations

import csv
import html as html_module
import io
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bedside.reports.table import Cell, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "−": "$-$", "–": "--",
    "≥": r"$\geq$", "≤": r"$\leq$", "κ": r"$\kappa$", "α": r"$\alpha$", "ρ": r"$\rho$", "ω": r"$\omega$",
    "ε": r"$\varepsilon$", "Δ": r"$\Delta$", "χ": r"$\chi$", "σ": r"$\sigma$", "π": r"$\pi$",
    "√": r"$\surd$", "∞": r"$\infty$",
    "×": r"$\times$", "±": r"$\pm$", "…": r"\ldots{}", "’": "'", "†": r"$\dagger$", "→": r"$\rightarrow$", "²": r"$^2$",
    "\n": " ",
}  # fmt: skip
_MARKDOWN = {
    "\\": "\\\\",
    "|": "\\|",
    "*": "\\*",
    "_": "\\_",
    "<": "&lt;",
    ">": "&gt;",
    "`": "\\`",
    "\n": " ",
}


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters written so that they print as themselves."""
    return "".join(_LATEX.get(character, character) for character in text)


def escape_markdown(text: str) -> str:
    """Text with the characters that mean something in a Markdown table written as themselves."""
    return "".join(_MARKDOWN.get(character, character) for character in text)


def escape_html(text: str) -> str:
    """Text for HTML."""
    return html_module.escape(text, quote=True)


def markdown(table: Table) -> str:
    """A Markdown table with its caption and notes."""
    lines = [f"**{escape_markdown(table.title)}**", ""]
    lines.append("| " + " | ".join(escape_markdown(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join(" ---: " if c.align == "right" else " :--- " for c in table.columns) + "|")
    for group, rows in table.groups():
        if group is not None:
            lines.append(f"| **{escape_markdown(group)}** |" + " |" * (len(table.columns) - 1))
        lines += ["| " + " | ".join(_markdown_cell(cell) for cell in row.cells) + " |" for row in rows]
    lines += ["", *(f"{escape_markdown(note)}  " for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    return (f"**{text}**" if cell.bold else text) + escape_markdown(cell.marks)


#: A LaTeX table of more lines than this may break over pages.
_PAGE = 40
#: A LaTeX table of more columns than this is set in a smaller size.
_WIDE = 7


def latex(table: Table) -> str:
    """A LaTeX table for booktabs; one that is longer than a page for longtable too.

    Needs ``\\usepackage{booktabs}``, ``\\usepackage{longtable}`` and ``\\usepackage[T1]{fontenc}``.
    """
    spec = "@{}" + "".join("l" if column.align == "left" else "r" for column in table.columns) + "@{}"
    header = [
        r"\toprule",
        " & ".join(escape_latex(column.title) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    body = []
    for position, (group, rows) in enumerate(table.groups()):
        if group is not None:
            if position:
                body.append(r"\addlinespace")
            body.append(
                rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{\textit{{{escape_latex(group)}}}}} \\"
            )
        body += [" & ".join(_latex_cell(cell) for cell in row.cells) + r" \\" for row in rows]
    caption = rf"\caption{{{escape_latex(table.title)}}}\label{{tab:{table.name}}}"
    notes = [escape_latex(note) + r"\par" for note in table.notes]
    size = [r"\small"] if len(table.columns) > _WIDE else []
    if len(body) > _PAGE:
        lines = [r"\begingroup\parindent0pt\setlength{\LTcapwidth}{\linewidth}", *size,
                 rf"\begin{{longtable}}{{{spec}}}", caption + r" \\", *header, r"\endfirsthead",
                 *header, r"\endhead", *body, r"\bottomrule", r"\end{longtable}",
                 r"\footnotesize", *notes, r"\endgroup"]  # fmt: skip
    else:
        lines = [r"\begin{table}[htbp]", r"\centering", *size, caption, rf"\begin{{tabular}}{{{spec}}}", *header, *body,
                 r"\bottomrule", r"\end{tabular}"]  # fmt: skip
        if notes:
            lines += [
                r"\par\smallskip",
                r"\begin{minipage}{\linewidth}\footnotesize",
                *notes,
                r"\end{minipage}",
            ]
        lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    marks = f"$^{{{cell.marks}}}$" if cell.marks else ""
    return (rf"\textbf{{{text}}}" if cell.bold else text) + marks


def html(table: Table) -> str:
    """An HTML table with caption and notes; a fragment for a page."""
    aligned = ["" if column.align == "left" else ' class="number"' for column in table.columns]
    lines = [f'<figure class="table" id="table-{escape_html(table.name)}">', '<div class="scroll"><table>']
    lines.append(f"<caption>{escape_html(table.title)}</caption>")
    head = "".join(
        f'<th scope="col"{align}>{escape_html(column.title)}</th>'
        for align, column in zip(aligned, table.columns, strict=True)
    )
    lines.append(f"<thead><tr>{head}</tr></thead>")
    for group, rows in table.groups():
        lines.append("<tbody>")
        if group is not None:
            span = len(table.columns)
            lines.append(
                f'<tr class="group"><th scope="rowgroup" colspan="{span}">{escape_html(group)}</th></tr>'
            )
        for row in rows:
            first, *rest = row.cells
            cells = f'<th scope="row">{_html_cell(first)}</th>' + "".join(
                f"<td{align}>{_html_cell(cell)}</td>" for align, cell in zip(aligned[1:], rest, strict=True)
            )
            lines.append(f"<tr>{cells}</tr>")
        lines.append("</tbody>")
    lines.append("</table></div>")
    if table.notes:
        notes = "<br>".join(escape_html(note) for note in table.notes)
        lines.append(f"<figcaption>{notes}</figcaption>")
    lines.append("</figure>")
    return "\n".join(lines) + "\n"


def _html_cell(cell: Cell) -> str:
    text = escape_html(cell.text)
    marks = f"<sup>{escape_html(cell.marks)}</sup>" if cell.marks else ""
    return (f"<strong>{text}</strong>" if cell.bold else text) + marks


def safe_cell(value: Any) -> Any:
    """A CSV cell that a spreadsheet won't run as a formula."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def csv_text(table: Table) -> str:
    """The table's records as CSV, at full precision."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in table.records for name in record))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for record in table.records:
        writer.writerow([safe_cell("" if record.get(name) is None else record[name]) for name in names])
    return out.getvalue()


def json_text(table: Table) -> str:
    """The table's records and notes as JSON, at full precision."""
    content: Mapping[str, Any] = {
        "table": table.name,
        "title": table.title,
        "notes": list(table.notes),
        "rows": [dict(record) for record in table.records],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def rich_table(table: Table) -> RichTable:
    """The table for a terminal."""
    import rich.box
    from rich.table import Table as RichTable
    from rich.text import Text

    view = RichTable(
        title=Text(table.title), title_justify="left", caption=Text("\n".join(table.notes)), caption_justify="left",
        box=rich.box.SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    for column in table.columns:
        view.add_column(Text(column.title), justify=column.align, no_wrap=column.align == "right")
    for group, rows in table.groups():
        if group is not None:
            view.add_row(Text(group, style="italic"))
        for row in rows:
            view.add_row(
                *(Text(cell.text + cell.marks, style="bold" if cell.bold else "") for cell in row.cells)
            )
    return view


#: What writes a table into a file of each ending.
FORMATS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "md": ("md", markdown),
    "latex": ("tex", latex),
    "html": ("html", html),
    "csv": ("csv", csv_text),
}
