"""Tables as LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bedside.reports.renderers.markdown import plain
from bedside.reports.renderers.table_layout import CONTINUED, FittedTable, Frame, PlacedTable, TablePart, place
from bedside.reports.renderers.wrapped_text import (
    BARE_POINTS,
    NumberShape,
    aligned_cell,
    number_shape,
    pieces,
    text_width,
    words,
)
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
#: The narrowest text of usual classes at 10 pt, in points: one column of article and LNCS; two columns of A4 and of the
#: ACL's style, and what is across both. Letter paper is the less high.
_COLUMN, _HALF, _ACROSS, _HEIGHT = 345.0, 219.0, 450.0, 545.0
#: Widths are measured a little too small rather than too large.
_SAFE = 0.995
#: A word this much of a line long may be broken in captions and notes.
_LONG_WORD = 0.9

#: Floats in a row before all that wait are set.
_MOST_FLOATS = 12


@dataclass(frozen=True, slots=True)
class LatexPaper:
    """What a paper's tables are set for.

    Attributes:
        columns: of its text.
        siunitx: whether numbers are aligned at their decimal points by the package siunitx.
    """

    columns: Literal[1, 2] = 1
    siunitx: bool = False

    @property
    def upright(self) -> tuple[Frame, ...]:
        """Where a table can stand, the narrowest first."""
        if self.columns == 1:
            return (Frame("table", _COLUMN * _SAFE, _HEIGHT),)
        return Frame("table", _HALF * _SAFE, _HEIGHT), Frame("table*", _ACROSS * _SAFE, _HEIGHT)

    @property
    def sideways(self) -> Frame:
        """A page that is turned."""
        if self.columns == 1:
            return Frame("sidewaystable", _HEIGHT * _SAFE, _COLUMN)
        return Frame("sidewaystable*", _HEIGHT * _SAFE, _ACROSS)


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


def latex(table: TableContent, paper: LatexPaper | None = None) -> str:
    """A LaTeX table that fits the paper, at 10 pt and in any usual class: set smaller, wrapped, turned or in parts
    where its measured width asks for it.

    Its first line names the packages it needs; compiles with pdflatex, LuaLaTeX and XeLaTeX.

    Args:
        table: the table.
        paper: what it is set for; a paper of one column unless given.
    """
    chosen = paper or LatexPaper()
    floats = place(table, chosen.upright, chosen.sideways, aligned=chosen.siunitx)
    text = "\n".join(
        line
        for number, content in enumerate(floats)
        for line in (
            # LaTeX holds a limited number of floats that it has found no place for.
            *([r"\clearpage"] if number and number % _MOST_FLOATS == 0 else []),
            *_float(content, table, chosen, continued=number > 0),
        )
    )
    needed = ["array", "booktabs"]
    needed += ["rotating"] if floats[0].frame.name.startswith("sideways") else []
    needed += ["siunitx"] if "S[" in text else []
    own = [_FALLBACK] if r"\bedsidecharacter" in text else []
    own += [BARE_POINTS] if r"\bedsidebarepoints" in text else []
    return "\n".join([rf"% Needs \usepackage{{{','.join(needed)}}}", *own, text, ""])


def _float(content: PlacedTable, table: TableContent, paper: LatexPaper, *, continued: bool) -> list[str]:
    """One float."""
    frame = content.frame
    if continued:
        # It has the number of the first and no line of its own in the list of tables.
        caption = [
            r"\addtocounter{table}{-1}\renewcommand{\addcontentsline}[3]{}",
            rf"\caption{{{_paragraph(table.title + CONTINUED, frame.width)}}}",
        ]
    else:
        caption = [rf"\caption{{{_paragraph(table.title, frame.width)}}}\label{{tab:{table.name}}}"]
    opening = rf"\begin{{{frame.name}}}" + ("" if frame.name.startswith("sideways") else "[htbp]")
    written = [opening, r"\centering", *caption, r"\smallskip"]
    if content.parts:
        size = content.parts[0].fitted.size
        written += [] if size.name == "normalsize" else [rf"\{size.name}\setlength{{\tabcolsep}}{{{size.gap / 2:g}pt}}"]
    for number, part in enumerate(content.parts):
        written += [*([r"\par\medskip"] if number else []), *_tabular(part, siunitx=paper.siunitx)]
    if content.notes:
        notes = [_paragraph(note, frame.width / 0.852) + r"\par" for note in content.notes]
        written += [
            r"\par\smallskip",
            r"\begin{minipage}{\linewidth}\footnotesize\raggedright",
            *notes,
            r"\end{minipage}",
        ]
    return [*written, rf"\end{{{frame.name}}}"]


def _paragraph(text: str, width: float) -> str:
    """Text for a paragraph, whose long words may be broken."""
    return _breakable(text, width * _LONG_WORD)


def _breakable(text: str, width: float, *, underlined: bool = False) -> str:
    """Text in which words wider than ``width`` at 10 pt may be broken."""

    def shown(piece: str) -> str:
        escaped = escape_latex(piece.replace(" ", "\u00a0"))
        # What is underlined as a whole can't be broken.
        return rf"\underline{{{escaped}}}" if underlined else escaped

    return " ".join(
        r"\allowbreak{}".join(map(shown, pieces(word, width))) if text_width(word) > width else shown(word)
        for word in words(text)
    )


def _tabular(part: TablePart, *, siunitx: bool) -> list[str]:
    """A part of a table."""
    shapes = _shapes(part.fitted) if siunitx else [None] * len(part.fitted.columns)
    columns = "".join(_column(part.fitted, number, shape) for number, shape in enumerate(shapes))
    written = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule", *_spans(part.fitted)]
    written += [_latex_row(_title(part.fitted, number, shape) for number, shape in enumerate(shapes)), r"\midrule"]
    for place_of_run, run in enumerate(part.runs):
        if run.heading is not None:
            if place_of_run:
                written.append(r"\addlinespace")
            heading = run.heading + (CONTINUED if run.continued else "")
            shown = _lined([rf"\textit{{{escape_latex(line)}}}" for line in part.fitted.group_lines(heading)], "l", "t")
            written.append(rf"\multicolumn{{{len(shapes)}}}{{@{{}}l@{{}}}}{{{shown}}} \\")
        for row in run.rows:
            cells = zip(row.cells, shapes, strict=True)
            written.append(_latex_row(_cell(part.fitted, number, *pair) for number, pair in enumerate(cells)))
    return [*written, r"\bottomrule", r"\end{tabular}"]


def _shapes(table: FittedTable) -> list[NumberShape | None]:
    """Of each column whose numbers are aligned at their points, how they look."""
    return [
        number_shape([row.cells[number] for row in table.table.rows])
        if column.align == "right" and not table.columns[number].wrapped
        else None
        for number, column in enumerate(table.table.columns)
    ]


def _column(table: FittedTable, number: int, shape: NumberShape | None) -> str:
    """What tabular is told of a column."""
    right = table.table.columns[number].align == "right"
    if table.columns[number].wrapped:
        ragged = r"\raggedleft" if right else r"\raggedright"
        return rf">{{{ragged}\arraybackslash}}p{{{table.columns[number].width:.1f}pt}}"
    if shape is not None:
        return shape.column(escape_latex)
    return "r" if right else "l"


def _title(table: FittedTable, number: int, shape: NumberShape | None) -> str:
    """The title of a column."""
    align: Literal["l", "r"] = "r" if table.table.columns[number].align == "right" else "l"
    title = _lined(list(map(escape_latex, table.title_lines(number))), align, "b")
    if table.columns[number].wrapped and title:
        # Without a gap at the edges of the table.
        edged = f"{'' if number else '@{}'}{align}{'' if number < len(table.columns) - 1 else '@{}'}"
        return rf"\multicolumn{{1}}{{{edged}}}{{{title}}}"
    return f"{{{title}}}" if shape is not None else title


def _lined(shown: Sequence[str], align: str, stands: Literal["t", "b"]) -> str:
    """Lines one under another in a cell."""
    if len(shown) <= 1:
        return "".join(shown)
    # After the end of a line these would be taken for its argument.
    safe = ["{}" + line if line.startswith(("[", "*")) else line for line in shown]
    return rf"\begin{{tabular}}[{stands}]{{@{{}}{align}@{{}}}}" + r"\\ ".join(safe) + r"\end{tabular}"


def _spans(table: FittedTable) -> list[str]:
    """The row of headings that columns share, with their rules."""
    spans = {first: (text, count) for text, first, count in table.spans()}
    if not spans:
        return []
    cells, rules, number = [], [], 0
    while number < len(table.columns):
        text, count = spans.get(number, (None, 1))
        if text is None:
            cells.append("")
        else:
            shown = _lined(list(map(escape_latex, table.span_lines(text, number, count))), "c", "b")
            last = "@{}" if number + count == len(table.columns) else ""
            cells.append(rf"\multicolumn{{{count}}}{{{'' if number else '@{}'}c{last}}}{{{shown}}}")
            rules.append(rf"\cmidrule(lr){{{number + 1}-{number + count}}}")
        number += count
    return [_latex_row(cells), "".join(rules)]


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(cells) + r" \\"
    # After the end of the row before, these would be taken for its argument.
    return "{}" + row if row.startswith(("[", "*")) else row


def _cell(table: FittedTable, number: int, cell: Cell, shape: NumberShape | None) -> str:
    """A cell."""
    if shape is not None:
        return aligned_cell(cell, escape_latex)
    marks = rf"\textsuperscript{{{escape_latex(cell.marks)}}}" if cell.marks else ""
    if table.columns[number].wrapped:
        text = _breakable(cell.text, table.text_room(number, cell), underlined=cell.underline and not cell.bold)
    elif cell.underline and not cell.bold:
        text = rf"\underline{{{escape_latex(cell.text)}}}"
    else:
        text = escape_latex(cell.text)
    return (rf"\textbf{{{text}}}" if cell.bold else text) + marks
