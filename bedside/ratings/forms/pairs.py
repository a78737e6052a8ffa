"""A table with one comparison of two transcripts a row."""

from __future__ import annotations

import polars as pl

from bedside.core.errors import InputError
from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import CERTAIN, FormClaim, RatingForm
from bedside.ratings.rated_cells import RatedCell, is_no_answer
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.rubric_metrics import FIRST, SECOND, TIE, is_preference, preference_metric
from bedside.ratings.table_cells import TableCells

#: How people write that neither is better.
_TIES = frozenset((TIE, "tied", "equal", "draw", "neither", "no difference", "no preference", "same"))


def _claims(content: RatingContent) -> FormClaim | None:
    return CERTAIN if content.columns is not None and "second" in content.columns.names else None


def _read(content: RatingContent) -> CellColumns:
    table = TableCells(content)
    table.need("item", "second", "rater", "value")
    table.took({"second": table.columns.names["second"]})
    item, second, value = map(pl.col, ("item", "second", "value"))
    cells = table.one_a_row(compared=True).mapped("value", _preferred, value, value == item, value == second)

    def metric(cell: RatedCell) -> str:
        rubric = cell.metric or content.reading.only_metric
        return rubric if is_preference(rubric) else preference_metric(rubric)

    return cells.mapped("metric", metric, "metric")


def _preferred(cell: RatedCell) -> str:
    """Which of the two is preferred; what is no answer as it is.
    InputError where it is neither a word for one of them nor an id of theirs."""
    if is_no_answer(cell.value) and cell.value not in (cell.item, cell.second):
        return cell.value
    by_id = {cell.item: FIRST, cell.second: SECOND}
    word = cell.value.casefold()
    words = {FIRST: FIRST, SECOND: SECOND, **dict.fromkeys(_TIES, TIE)}
    readings = {by_id.get(cell.value), words.get(word)} - {None}
    if len(readings) == 1:
        return str(readings.pop())
    if readings:
        raise InputError(
            f"{cell.value!r} is the id of one transcript, and may mean another answer too",
            where=cell.where,
            todo=f"write {TIE}, or the id of the one that is preferred, with transcripts that have other ids",
        )
    raise InputError(
        f"{cell.value!r} says of neither {cell.item!r} nor {cell.second!r} that it is preferred",
        where=cell.where,
        todo=f"write {FIRST}, {SECOND} or {TIE}, or the id of the one that is preferred",
    )


FORM = RatingForm(
    name="pairs",
    title="a table with one comparison of two transcripts a row",
    description=(
        "Columns `first`, `second` (the transcripts, in the order in which they were shown), `rater`, `preferred` "
        "(`first`, `second` or `tie`, or the id of the one that is preferred), and where wanted `metric` (the "
        "rubric), `replicate`, `round`, `drawn`, `reason`; other columns are left."
    ),
    example="first,second,rater,metric,preferred\na-1,b-1,anna,empathy,first\nb-1,a-1,ben,empathy,tie\n",
    example_name="pairs.csv",
    claims=_claims,
    read=_read,
    priority=25,
)
