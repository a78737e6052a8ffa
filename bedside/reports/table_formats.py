"""The formats that a report's tables are written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bedside.reports.renderers.csv import csv_text
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import latex
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table_content import TableContent


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of files.

    Attributes:
        ending: of a file's name, without the dot.
        render: the file's content.
    """

    ending: str
    render: Callable[[TableContent], str]


#: Formats by name, in the order in which they are written.
TABLE_FORMATS: Mapping[str, TableFormat] = {
    "md": TableFormat("md", markdown),
    "latex": TableFormat("tex", latex),
    "html": TableFormat("html", html),
    "csv": TableFormat("csv", csv_text),
}
