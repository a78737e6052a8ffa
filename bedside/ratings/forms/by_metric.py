"""A table with one row an item and rater, and a column for each metric: what forms on the web export."""

from __future__ import annotations

from pathlib import Path

from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import FormClaim, RatingForm
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.table_cells import TableCells, quoted_columns
from bedside.ratings.table_columns import has_rater_kind, names_rater


def _claims(content: RatingContent) -> FormClaim | None:
    columns = content.columns
    if columns is None or "item" not in columns.names or {"metric", "value"} & columns.names.keys():
        return None
    if not columns.rated or any(map(has_rater_kind, columns.rated)):
        return None
    if "rater" not in columns.names and all(map(names_rater, columns.rated)):
        return None
    return FormClaim(
        f"{quoted_columns(columns.rated)} are metrics, all rated by one",
        "`form=by_metric`, and `columns=rater=NAME` where a column says who rated",
        certain="rater" in columns.names,
    )


def _read(content: RatingContent) -> CellColumns:
    table = TableCells(content)
    table.need("item")
    metrics = list(table.columns.rated)
    if not metrics:
        raise table.columns.without_ratings("no column holds a metric's ratings")
    comments = table.columns.comments
    table.took({f"metric {name}": name for name in metrics} | {f"comment {name}": name for name in comments})
    rater = ""
    if "rater" not in table.columns.names:
        rater = Path(content.place).stem
        content.account.remark(f"No column says who rated, so that all ratings are {rater}'s, as the file is called.")
    return table.by_column(metrics, "metric", rater=rater, comments=comments)


FORM = RatingForm(
    name="by_metric",
    title="a table with a column for each metric",
    description=(
        "`item`, `rater` (an e-mail address will do), and where wanted `turn`, `system`, `case`; every other column "
        "that can hold ratings is a metric. So REDCap and Google Forms export. What raters wrote beside them is the "
        "reason of their ratings. Times, ids, REDCap's own columns and means are left, and named."
    ),
    example=(
        "Timestamp,Email Address,Conversation ID,empathy,alliance\n"
        "2025/03/01 10:00:00 AM GMT+1,anna@example.org,a-1,4,5\n"
        "2025/03/01 10:05:00 AM GMT+1,ben@example.org,a-1,3,4\n"
    ),
    example_name="responses.csv",
    claims=_claims,
    read=_read,
    priority=40,
)
