"""Ratings in a pandas or Polars data frame: its rows as text, as a file's, or the ratings table itself."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import polars as pl

from bedside.ratings.names import rates_pair, rates_unit, second_ids
from bedside.ratings.rubric_metrics import SHARES
from bedside.ratings.table import COLUMNS, KEY, ROW_SCHEMA, SCHEMA
from bedside.support.errors import InputError

if TYPE_CHECKING:
    import pandas

    #: A data frame of ratings.
    Frame: TypeAlias = pandas.DataFrame | pl.DataFrame | pl.LazyFrame
else:
    # pandas need not be installed, nor is it imported where nobody uses it.
    Frame = pl.DataFrame | pl.LazyFrame

#: What a data frame is called in messages.
FRAME = "the data frame"


def is_frame(value: object) -> TypeGuard[Frame]:
    """Whether it is a data frame of pandas or Polars."""
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or _is_pandas(value)


def _is_pandas(value: object) -> TypeGuard[pandas.DataFrame]:
    # What pandas made is only there where pandas was imported.
    library = sys.modules.get("pandas")
    return library is not None and isinstance(value, library.DataFrame)


def row_place(row: int) -> str:
    """The place of a row, for messages; rows count from 0, as they do in data frames."""
    return f"{FRAME}: row {row}"


def frame_table(frame: Frame) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Column names, and place and cells of each row, as text; nothing is an empty string.

    Named levels of a pandas index are columns too, as a pivoted table has them.

    Raises:
        InputError: two columns have one name.
    """
    columns = _columns(frame)
    rows = enumerate(zip(*columns.values(), strict=True))
    return list(columns), [(row_place(number), list(map(_text, row))) for number, row in rows]


def is_ratings_table(frame: Frame) -> bool:
    """Whether a frame has all columns of the ratings table; round and chance may be left out."""
    names = frame.collect_schema().names() if isinstance(frame, pl.LazyFrame) else frame.columns
    return set(ROW_SCHEMA) <= set(map(str, names))


def ratings_table(frame: Frame) -> pl.DataFrame:
    """The ratings table that a frame with all its columns is, checked row by row.

    Raises:
        InputError: a column or a row holds something else than ratings have there, or a rating stands there twice.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        frame = pl.DataFrame({name: _nulled(cells) for name, cells in _columns(frame).items()}, strict=False)
    design = {"round": pl.lit(""), "drawn": pl.lit(None)}
    frame = frame.with_columns(**{name: none for name, none in design.items() if name not in frame.columns})
    try:
        table = (
            frame.select(*COLUMNS)
            .cast(SCHEMA)
            .with_columns(pl.col("value", "drawn").fill_nan(None), pl.col("round").fill_null(""))
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"a column holds something else than the ratings table does ({str(error).splitlines()[0]})",
            where=FRAME,
            todo="see the docs on ratings and runs",
        ) from error
    for fault, words, todo in _faults():
        rows = table.with_row_index("row").filter(fault)["row"]
        if rows.len():
            raise InputError(words, where=row_place(rows[0]), todo=todo)
    return table


def _faults() -> list[tuple[pl.Expr, str, str]]:
    """What is wrong with a row of a ratings table, in an expression and in words, and what to do."""
    needed = [
        (pl.col(name).is_null(), f"the row has no {name}", f"fill the column {name}")
        for name in ("transcript_id", "unit", "metric", "rater", "replicate")
    ]
    values = pl.sum_horizontal(pl.col(name).is_not_null() for name in ("value", "label", "error"))
    share = pl.col("label").replace_strict(SHARES, default=None, return_dtype=pl.Float64())
    preferred = pl.col("error").is_not_null() & (values == 1) | share.eq_missing(pl.col("value")) & (
        values == 2
    )
    return [
        *needed,
        (
            ~rates_unit(),
            "the unit is neither a transcript nor a turn nor a pair",
            "write transcript, turn:INDEX or pair:ID",
        ),
        (
            rates_pair() & ~pl.col("metric").str.contains(r".\.preference$"),
            "a pair is rated by something else than a preference",
            "end the metric's name in .preference",
        ),
        (second_ids() == pl.col("transcript_id"), "a transcript is paired with itself", "name another one"),
        (~pl.col("rater").str.contains(":", literal=True), "the rater is of no kind", "write human:NAME"),
        (
            ~pl.col("drawn").fill_null(0).is_between(0, 1),
            "a chance lies between 0 and 1",
            "mend the column drawn",
        ),
        (pl.col("replicate") < 0, "the replicate is less than 0", "count passes from 0"),
        (
            rates_pair() & ~preferred,
            "a preference is first with the value 1, second with 0 or tie with 0.5, or has an error alone",
            "mend the row",
        ),
        (
            ~rates_pair() & (values != 1),
            "a rating has a value, a label or an error, and one of them only",
            "mend the row",
        ),
        (~pl.struct(KEY).is_first_distinct(), "the rating stands in a row above, too", "remove one of them"),
    ]


def _columns(frame: Frame) -> dict[str, list[Any]]:
    """The cells of each column, by its name."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return {column.name: column.to_list() for column in frame}
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if levels:
        frame = frame.reset_index(level=levels)
    names = [str(name).strip() for name in frame.columns]
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise InputError(f"two columns are called {doubled[0]!r}", where=FRAME, todo="rename one of them")
    return {name: frame.iloc[:, place].tolist() for place, name in enumerate(names)}


def _nulled(cells: list[Any]) -> list[Any]:
    """The cells with None for each of the things that pandas has for nothing."""
    return [None if _is_nothing(cell) else cell for cell in cells]


def _is_nothing(cell: Any) -> bool:
    # pandas' own two are told by their names, for it need not be installed.
    return (
        cell is None
        or (isinstance(cell, float) and math.isnan(cell))
        or type(cell).__name__ in {"NAType", "NaTType"}
    )


def _text(cell: Any) -> str:
    return "" if _is_nothing(cell) else str(cell)
