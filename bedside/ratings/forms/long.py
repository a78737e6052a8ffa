"""A table with one rating a row."""

from __future__ import annotations

from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import CERTAIN, FormClaim, RatingForm
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.table_cells import TableCells


def _claims(content: RatingContent) -> FormClaim | None:
    if content.columns is None or not {"item", "rater", "value"} <= content.columns.names.keys():
        return None
    return CERTAIN


def _read(content: RatingContent) -> CellColumns:
    table = TableCells(content)
    table.need("item", "rater", "value")
    table.took({})
    return table.one_a_row()


FORM = RatingForm(
    name="long",
    title="a table with one rating a row",
    description=(
        "Columns `item`, `rater`, `value`, and where wanted `metric`, `turn`, `system`, `case`, `replicate`, "
        "`round`, `drawn`, `reason`; other columns are left."
    ),
    example="item,rater,metric,value\na-1,anna,empathy,4\na-1,ben,empathy,3\n",
    example_name="ratings.csv",
    claims=_claims,
    read=_read,
    priority=30,
)
