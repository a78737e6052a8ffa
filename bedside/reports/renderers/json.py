"""Tables as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bedside.reports.table_content import TableContent


def json_text(table: TableContent) -> str:
    """The table's records and notes as JSON, at full precision."""
    content: Mapping[str, Any] = {
        "table": table.name,
        "title": table.title,
        "notes": list(table.notes),
        "rows": [dict(record) for record in table.records],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
