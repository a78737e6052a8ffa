"""Tables as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from bedside.reports.renderers.markdown import plain
from bedside.reports.table_content import TableContent

# -- Tables as JSON -------------------------------------------------------------------------------------


def json_text(table: TableContent) -> str:
    """The table's records and notes as JSON, at full precision."""
    content: Mapping[str, Any] = {
        "table": table.name,
        "title": table.title,
        "notes": list(table.notes),
        "rows": [dict(record) for record in table.records],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


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
