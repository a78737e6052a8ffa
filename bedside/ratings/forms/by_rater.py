"""A table with one row an item and metric, and a column for each rater."""

from __future__ import annotations

from bedside.core.errors import InputError
from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import FormClaim, RatingForm
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.table_cells import TableCells, crossed_names, quoted_columns
from bedside.ratings.table_columns import has_rater_kind, names_rater


def _claims(content: RatingContent) -> FormClaim | None:
    columns = content.columns
    if columns is None or "item" not in columns.names or {"rater", "value"} & columns.names.keys():
        return None
    raters = columns.of_raters()
    if not raters or ("metric" not in columns.names and any(map(content.reading.knows_metric, raters))):
        return None
    crossed = None if "metric" in columns.names else crossed_names(raters)
    if crossed is not None:
        one, two = map(quoted_columns, crossed)
        return FormClaim(
            f"{one} and {two} are raters and metrics, or metrics and raters",
            "write the names in two rows, one of raters and one of metrics (`form=raters_over_metrics` or "
            "`form=metrics_over_raters`)",
        )
    return FormClaim(
        f"{quoted_columns(raters)} are raters",
        "`form=by_rater`",
        certain="metric" in columns.names
        or content.reading.metric is not None
        or all(map(names_rater, raters))
        or any(map(has_rater_kind, raters)),
    )


def _read(content: RatingContent) -> CellColumns:
    table = TableCells(content)
    table.need("item")
    raters = table.columns.of_raters()
    if not raters:
        raise table.columns.without_ratings("no column holds a rater's ratings")
    table.took({f"rater {name}": name for name in raters})
    if "rater" in table.columns.names:
        raise InputError(
            f"the column {table.columns.names['rater']!r} says who rated, and so the others are no raters",
            where=content.place,
            todo="read it with `form=by_metric`, or say `columns=rater=`",
        )
    return table.by_column(raters, "rater")


FORM = RatingForm(
    name="by_rater",
    title="a table with a column for each rater",
    description=(
        "`item`, and where wanted `metric`, `turn`, `system`, `case`; every other column that can hold ratings is a "
        "rater. Means, dates, durations, ids and long texts are left, and named. Without a column `metric`, and with "
        "names that don't say who rates, it is asked whether the columns are raters or metrics."
    ),
    example="item,metric,anna,ben\na-1,empathy,4,3\na-2,empathy,5,4\n",
    example_name="ratings.csv",
    claims=_claims,
    read=_read,
    priority=40,
)
