"""Why cells of a table hold a dash: each reason stands below the table whose cells it is of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bedside.reports.number_text import DASH
from bedside.reports.table_content import Column, Row


def dash_notes(columns: Sequence[Column], rows: Iterable[Row], reasons: Mapping[str, str]) -> tuple[str, ...]:
    """A note on each reason for which some cell is a dash.

    Args:
        columns, rows: of the table.
        reasons: why a cell of the column with this title is a dash; under the empty title, why one of any other is.
    """
    dashed = {
        column.title
        for row in rows
        for column, cell in zip(columns, row.cells, strict=True)
        if cell.text == DASH
    }
    titles_by_reason: dict[str, list[str]] = {}
    for column in dict.fromkeys(column.title for column in columns if column.title in dashed):
        reason = reasons.get(column, reasons.get(""))
        if reason is not None:
            titles_by_reason.setdefault(reason, []).append(column)
    return tuple(
        f"{DASH}: {reason} ({', '.join(titles)})." if "" not in reasons else f"{DASH}: {reason}."
        for reason, titles in titles_by_reason.items()
    )
