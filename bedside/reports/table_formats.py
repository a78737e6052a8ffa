"""The formats that a report's tables are written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bedside.reports.renderers.csv import csv_text
from bedside.reports.renderers.excel import excel
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import LatexPaper, latex
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.word import word
from bedside.reports.table_content import TableContent


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of text files, one for each table.

    Attributes:
        ending: of a file's name, without the dot.
        render: the file's content.
    """

    ending: str
    render: Callable[[TableContent], str]


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format of an office program's files, which hold one table or several.

    Attributes:
        ending: of a file's name, without the dot.
        render: the file's content.
    """

    ending: str
    render: Callable[[Sequence[TableContent]], bytes]


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
#: Formats of office programs, by name.
DOCUMENT_FORMATS: Mapping[str, DocumentFormat] = {
    "docx": DocumentFormat("docx", word),
    "xlsx": DocumentFormat("xlsx", excel),
}
