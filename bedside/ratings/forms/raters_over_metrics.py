"""A table with two rows of column names: raters above, metrics below."""

from __future__ import annotations

from functools import partial

from bedside.ratings.form_contract import RatingForm
from bedside.ratings.table_cells import pairs_cells, pairs_claim

FORM = RatingForm(
    name="raters_over_metrics",
    title="a table with two rows of column names, raters above metrics",
    description=(
        "`item`, and where wanted `turn`, `system`, `case`; then for each rater a group of columns, one for each "
        "metric. "
        "The name of a group stands above its first column, or above each. Where the names don't say which row is of "
        "raters, it is asked."
    ),
    example=",rater 1,,rater 2,\nitem,empathy,clarity,empathy,clarity\na-1,4,5,3,5\na-2,2,4,2,3\n",
    example_name="ratings.csv",
    claims=partial(pairs_claim, upper="rater"),
    read=partial(pairs_cells, upper="rater"),
    priority=20,
)
