"""Tables as Markdown, LaTeX, HTML, CSV and for a terminal."""

from __future__ import annotations

import csv
import html as html_module
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bedside.reports.table import Cell, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"\textasciigrave{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "−": "$-$", "–": "--", "—": "---", "≥": r"$\geq$", "≤": r"$\leq$", "κ": r"$\kappa$", "α": r"$\alpha$",
    "ρ": r"$\rho$", "ω": r"$\omega$", "ε": r"$\varepsilon$", "Δ": r"$\Delta$", "χ": r"$\chi$", "σ": r"$\sigma$",
    "Σ": r"$\Sigma$", "μ": r"$\mu$", "µ": r"$\mu$", "β": r"$\beta$", "π": r"$\pi$", "√": r"$\surd$", "∞": r"$\infty$",
    "×": r"$\times$", "±": r"$\pm$", "·": r"$\cdot$", "…": r"\ldots{}", "’": "'", "‘": "`", "“": "``", "”": "''",
    "†": r"$\dagger$", "→": r"$\rightarrow$", "²": r"$^2$", "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,",
}  # fmt: skip
#: Letters with diacritics and the like that pdflatex sets with its default encodings; all else beyond ASCII gets a
#: fallback.
_LETTERS = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇň"
    "ŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽžȘșȚț"
)
#: Sets a character where the engine and the font have it, else its code. Harmless to define more than once.
_FALLBACK = (
    "% Characters that pdflatex has no letter for are set as their code, [U+4E2D]; LuaLaTeX and XeLaTeX set those\n"
    "% their font has.\n"
    r"\protected\def\bedsidecharacter#1#2{\ifnum0\ifdefined\directlua1\fi\ifdefined\XeTeXversion1\fi>0 "
    r"\iffontchar\font"
    '"#1 #2'
    r"\else[U+#1]\fi\else[U+#1]\fi}"
)
_MARKDOWN = {
    "\\": "\\\\", "|": "\\|", "*": "\\*", "_": "\\_", "~": "\\~", "$": "\\$", "[": "\\[", "]": "\\]", "`": "\\`",
    "&": "&amp;", "<": "&lt;", ">": "&gt;",
}  # fmt: skip
#: What begins a list, heading or rule in Markdown where it begins a line.
_MARKDOWN_START = re.compile(r"^(\s*)([-+#=]|\d+[.)])")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Text without control characters; white space of any kind becomes a space."""
    return "".join(
        " " if character.isspace() and character not in "\u00a0\u2009\u202f" else character
        for character in text
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs")
    )


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters written so that they print as themselves.

    Characters that pdflatex has no letters for go through the fallback that :func:`latex` puts before a table.
    """
    found = []
    for character in unicodedata.normalize("NFC", plain(text)):
        if character in _LATEX:
            found.append(_LATEX[character])
        elif character.isascii() or character in _LETTERS:
            # No ligatures: -- stays two hyphens.
            twin = found and found[-1] == character and character in "-',"
            found.append("{}" + character if twin else character)
        else:
            found.append(rf"\bedsidecharacter{{{ord(character):04X}}}{{{character}}}")
    return "".join(found)


def escape_markdown(text: str) -> str:
    """Text with the characters that mean something in a Markdown table written as themselves."""
    return "".join(_MARKDOWN.get(character, character) for character in plain(text))


def escape_html(text: str) -> str:
    """Text for HTML; what runs from right to left is set apart, so that it doesn't turn its neighbours round."""
    escaped = html_module.escape(plain(text), quote=True)
    return f"<bdi>{escaped}</bdi>" if _RIGHT_TO_LEFT.search(escaped) else escaped


def markdown(table: Table) -> str:
    """A Markdown table with its caption and notes; a heading that columns share stands in each of them."""
    titles = [f"{c.group}: {c.title}" if c.group is not None else c.title for c in table.columns]
    lines = [f"**{escape_markdown(table.title)}**", ""]
    lines.append("| " + " | ".join(map(escape_markdown, titles)) + " |")
    lines.append("|" + "|".join(" ---: " if c.align == "right" else " :--- " for c in table.columns) + "|")
    for group, rows in table.groups():
        if group is not None:
            lines.append(f"| **{escape_markdown(group)}** |" + " |" * (len(table.columns) - 1))
        lines += ["| " + " | ".join(_markdown_cell(cell) for cell in row.cells) + " |" for row in rows]
    notes = (_MARKDOWN_START.sub(r"\1\\\2", escape_markdown(note)) for note in table.notes)
    lines += ["", *(f"{note}  " for note in notes)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.bold:
        text = f"**{text}**"
    elif cell.underline:
        text = f"<ins>{text}</ins>"
    return text + escape_markdown(cell.marks)


#: A LaTeX table of more lines than this may break over pages.
_PAGE = 40
#: A LaTeX table of more columns than this is set in a smaller size; of twice as many, in a still smaller one.
_WIDE = 7


def latex(table: Table) -> str:
    """A LaTeX table for booktabs; one that is longer than a page for longtable too.

    Needs ``\\usepackage{booktabs}`` and ``\\usepackage{longtable}``; compiles with pdflatex, LuaLaTeX and XeLaTeX.
    """
    width = len(table.columns)
    spec = "@{}" + "".join("l" if column.align == "left" else "r" for column in table.columns) + "@{}"
    header = [
        r"\toprule",
        *_latex_spans(table),
        _latex_row(escape_latex(c.title) for c in table.columns),
        r"\midrule",
    ]
    body = []
    for position, (group, rows) in enumerate(table.groups()):
        if group is not None:
            if position:
                body.append(r"\addlinespace")
            body.append(rf"\multicolumn{{{width}}}{{@{{}}l}}{{\textit{{{escape_latex(group)}}}}} \\")
        body += [_latex_row(map(_latex_cell, row.cells)) for row in rows]
    caption = rf"\caption{{{escape_latex(table.title)}}}\label{{tab:{table.name}}}"
    notes = [escape_latex(note) + r"\par" for note in table.notes]
    size = [r"\scriptsize"] if width > 2 * _WIDE else [r"\small"] if width > _WIDE else []
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
    text = "\n".join(lines) + "\n"
    return f"{_FALLBACK}\n{text}" if r"\bedsidecharacter" in text else text


def _latex_spans(table: Table) -> list[str]:
    """The row of headings that columns share, with their rules."""
    spans = table.spans()
    if all(group is None for group, _ in spans):
        return []
    cells, rules, first = [], [], 1
    for group, count in spans:
        cells.append("" if group is None else rf"\multicolumn{{{count}}}{{c}}{{{escape_latex(group)}}}")
        if group is not None:
            rules.append(rf"\cmidrule(lr){{{first}-{first + count - 1}}}")
        first += count
    return [" & ".join(cells) + r" \\", "".join(rules)]


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(cells) + r" \\"
    # After the end of the row before, these would be taken for its argument.
    return "{}" + row if row.startswith(("[", "*")) else row


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    marks = rf"\textsuperscript{{{escape_latex(cell.marks)}}}" if cell.marks else ""
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    elif cell.underline:
        text = rf"\underline{{{text}}}"
    return text + marks


def html(table: Table) -> str:
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
            first, *rest = row.cells
            cells = f'<th scope="row">{_html_cell(first)}</th>' + "".join(
                f"<td{align}{_html_name(cell, table)}>{_html_cell(cell)}</td>"
                for align, cell in zip(aligned[1:], rest, strict=True)
            )
            lines.append(f"<tr>{cells}</tr>")
        lines.append("</tbody>")
    lines.append("</table></div>")
    if table.notes:
        notes = "<br>".join(escape_html(note) for note in table.notes)
        lines.append(f"<figcaption>{notes}</figcaption>")
    lines.append("</figure>")
    return "\n".join(lines) + "\n"


def _html_name(cell: Cell, table: Table) -> str:
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


#: What begins a formula in a spreadsheet, in its full-width form too.
_FORMULA = tuple("=+-@＝＋－＠")


def safe_cell(value: Any) -> Any:
    """A CSV cell that a spreadsheet won't run as a formula; numbers stay numbers."""
    if isinstance(value, str):
        value = plain(value)
        return "'" + value if value.lstrip()[:1] in _FORMULA else value
    return value


def csv_text(table: Table) -> str:
    """The table's records as CSV, at full precision."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in table.records for name in record))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(safe_cell, names))
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
    # A heading that columns share stands over the first of them.
    firsts = [group if not place else "" for group, count in table.spans() for place in range(count)]
    lines = 2 if any(firsts) else 1
    for column, above in zip(table.columns, firsts, strict=True):
        title = column.title if lines == 1 else f"{above or ''}\n{column.title}"
        view.add_column(Text(title), justify=column.align, no_wrap=column.align == "right")
    for group, rows in table.groups():
        if group is not None:
            view.add_row(Text(group, style="italic"))
        for row in rows:
            view.add_row(
                *(
                    Text(
                        cell.text + cell.marks, "bold" if cell.bold else "underline" if cell.underline else ""
                    )
                    for cell in row.cells
                )
            )
    return view


#: What writes a table into a file of each ending.
FORMATS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "md": ("md", markdown),
    "latex": ("tex", latex),
    "html": ("html", html),
    "csv": ("csv", csv_text),
}
