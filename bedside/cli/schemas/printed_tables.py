"""The form of what every command prints with ``--json``."""

from __future__ import annotations

from typing import Any

_TABLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "table": {
            "description": "The table's name, which no other table of the command has.",
            "type": "string",
        },
        "title": {"description": "What the table shows, as its heading says it.", "type": "string"},
        "notes": {
            "description": "Remarks that stand below the table.",
            "type": "array",
            "items": {"type": "string"},
        },
        "rows": {
            "description": "One object a row, with all digits of its numbers; null where a value is missing. "
            "What the keys are, each table has of its own.",
            "type": "array",
            "items": {"type": "object"},
        },
    },
    "required": ["table", "title", "notes", "rows"],
    "additionalProperties": False,
}


_TABLES: dict[str, Any] = {
    "description": "The tables of the answer, in the order in which they are printed; none where there is nothing "
    "to show.",
    "type": "array",
    "items": _TABLE,
}
_VERDICT: dict[str, Any] = {
    "description": "What a command prints whose answer is yes or no: bedside gate.",
    "type": "object",
    "properties": {
        "passed": {"description": "Whether the answer is yes; false after an error, too.", "type": "boolean"},
        "error": {
            "description": "Why the question has no answer, as on standard error; null where it has one.",
            "type": ["string", "null"],
        },
        "tables": _TABLES,
    },
    "required": ["passed", "error", "tables"],
    "additionalProperties": False,
}


def printed_tables_schema() -> dict[str, Any]:
    """The JSON Schema of it, without its dialect and title."""
    return {"oneOf": [_TABLES, _VERDICT]}
