"""Tables as LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from bedside.reports.renderers._latex_columns import column_blocks
from bedside.reports.renderers.plain_text import plain
from bedside.reports.table_content import Cell, TableContent

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
#: A LaTeX table of more lines than this may break over pages.
_PAGE = 40
#: A LaTeX table of more columns than this is set in a smaller size; of twice as many, in a still smaller one.
_WIDE = 7


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters written so that they print as themselves.

    Characters that pdflatex has no letters for go through the fallback that :func:`latex` puts before a table.
    """
    escaped = []
    for character in unicodedata.normalize("NFC", plain(text)):
        if character in _LATEX:
            escaped.append(_LATEX[character])
        elif character.isascii() or character in _LETTERS:
            # No ligatures: -- stays two hyphens.
            twin = escaped and escaped[-1] == character and character in "-',"
            escaped.append("{}" + character if twin else character)
        else:
            escaped.append(rf"\bedsidecharacter{{{ord(character):04X}}}{{{character}}}")
    return "".join(escaped)


def latex(table: TableContent) -> str:
    """A LaTeX table for booktabs; one that is longer than a page for longtable too.

    Needs ``\\usepackage{booktabs}`` and ``\\usepackage{longtable}``; compiles with pdflatex, LuaLaTeX and XeLaTeX.
    """
    count = len(table.columns)
    wanted = r"\scriptsize" if count > 2 * _WIDE else r"\small" if count > _WIDE else ""
    size, blocks = column_blocks(table, wanted)
    sized = [size] if size else []
    caption = rf"\caption{{{escape_latex(table.title)}}}\label{{tab:{table.name}}}"
    notes = [escape_latex(note) + r"\par" for note in table.notes]
    lines: list[str] = []
    if len(blocks) * len(_body(table)) > _PAGE:
        lines += [r"\begingroup\parindent0pt\setlength{\LTcapwidth}{\linewidth}", *sized]
        for number, block in enumerate(blocks):
            header = _header(block.table)
            lines += [rf"\begin{{longtable}}{{{block.columns}}}", *([] if number else [caption + r" \\"]), *header,
                      r"\endfirsthead", *header, r"\endhead", *_body(block.table), r"\bottomrule",
                      r"\end{longtable}"]  # fmt: skip
        lines += [r"\footnotesize", *notes, r"\endgroup"]
    else:
        lines += [r"\begin{table}[htbp]", r"\centering", *sized, caption]
        for number, block in enumerate(blocks):
            lines += [*([r"\par\medskip"] if number else []), rf"\begin{{tabular}}{{{block.columns}}}",
                      *_header(block.table), *_body(block.table), r"\bottomrule", r"\end{tabular}"]  # fmt: skip
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


def _header(table: TableContent) -> list[str]:
    """The rows above the first rule."""
    titles = _latex_row(escape_latex(column.title) for column in table.columns)
    return [r"\toprule", *_latex_spans(table), titles, r"\midrule"]


def _body(table: TableContent) -> list[str]:
    """The rows under their headings."""
    body: list[str] = []
    for position, (group, rows) in enumerate(table.groups()):
        if group is not None:
            if position:
                body.append(r"\addlinespace")
            heading = rf"\textit{{{escape_latex(group)}}}"
            body.append(rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{{heading}}} \\")
        body += [_latex_row(map(_latex_cell, row.cells)) for row in rows]
    return body


def _latex_spans(table: TableContent) -> list[str]:
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
