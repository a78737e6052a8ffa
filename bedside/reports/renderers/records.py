"""Tables as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

from bedside.reports.renderers.markdown import plain
from bedside.reports.table_content import TableContent

# -- Tables as JSON -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrintedTable:
    """A table as it is printed as JSON.

    Attributes:
        table: the table's name, which no other table of the command has.
        title: what the table shows, as its heading says it.
        notes: remarks that stand below the table.
        rows: one object a row, with all digits of its numbers; null where a value is missing. What the keys are, each
            table has of its own.
    """

    table: str
    title: str
    notes: list[str]
    rows: list[dict[str, Any]]


def json_text(table: TableContent) -> str:
    """The table's records and notes as JSON, at full precision."""
    printed = PrintedTable(table.name, table.title, list(table.notes), list(map(dict, table.records)))
    return json.dumps(vars(printed), ensure_ascii=False, indent=2) + "\n"


# -- Tables as CSV --------------------------------------------------------------------------------------

#: What begins a formula in a spreadsheet, in its full-width form too.
_FORMULA = tuple("=+-@＝＋－＠")


def safe_cell(value: Any) -> Any:
    """A CSV cell that a spreadsheet won't run as a formula; numbers stay numbers."""
    if isinstance(value, str):
        value = plain(value)
        return "'" + value if value.lstrip()[:1] in _FORMULA else value
    return value


def csv_text(table: TableContent) -> str:
    """The table's records as CSV, at full precision."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in table.records for name in record))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(safe_cell, names))
    for record in table.records:
        writer.writerow([safe_cell("" if record.get(name) is None else record[name]) for name in names])
    return out.getvalue()
