"""A table with two rows of column names: metrics above, raters below."""

from __future__ import annotations

from functools import partial

from bedside.ratings.form_contract import RatingForm
from bedside.ratings.table_cells import pairs_cells, pairs_claim

FORM = RatingForm(
    name="metrics_over_raters",
    title="a table with two rows of column names, metrics above raters",
    description=(
        "`item`, and where wanted `turn`, `system`, `case`; then for each metric a group of columns, one for "
        "each rater. "
        "The name of a group stands above its first column, or above each. Where the names don't say which row is of "
        "raters, it is asked."
    ),
    example=",empathy,,clarity,\nitem,rater 1,rater 2,rater 1,rater 2\na-1,4,3,5,5\na-2,2,2,4,3\n",
    example_name="ratings.csv",
    claims=partial(pairs_claim, upper="metric"),
    read=partial(pairs_cells, upper="metric"),
    priority=20,
)
