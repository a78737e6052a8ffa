"""Ratings of one metric as a grid: units in rows, raters in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.ratings.juries import taken_together
from bedside.ratings.names import rated_by_humans


@dataclass(frozen=True, slots=True)
class Grid:
    """Ratings of one metric: units in rows, raters in columns.

    Attributes:
        cells: None where a rater gave none.
        raters: those of the columns.
        transcripts, units: of each row.
        cases: the case of each row, which is what a study draws; a transcript without one is a case of its own.
    """

    cells: np.ndarray[Any, Any]
    raters: tuple[str, ...]
    transcripts: np.ndarray[Any, Any]
    units: np.ndarray[Any, Any]
    cases: np.ndarray[Any, Any]


def grid_of(ratings: pl.DataFrame) -> Grid:
    """The ratings of one metric as units by raters, each rater's passes taken together as :func:`agree` says.

    Of what a person was shown twice the first rating counts: the second says how well they agree with themselves
    (:mod:`~bedside.analysis.retest`). Where several rounds of annotation are taken, a person's ratings of a unit in
    them are passes, too. Cells are labels where the metric has any, else numbers.
    """
    column = "label" if ratings["label"].is_not_null().any() else "value"
    second = rated_by_humans() & (pl.col("replicate") > 0)
    if ratings.select(second.any()).item():
        first = pl.col("replicate") == pl.col("replicate").min().over("transcript_id", "unit", "rater")
        ratings = ratings.drop_nulls(column).filter(~second | first)
    one_pass = (
        ratings.drop_nulls(column)
        .group_by("transcript_id", "unit", "rater", maintain_order=True)
        .agg(pl.col(column).sort_by("replicate"))
    )
    values = one_pass[column].list.first().to_list()
    for place in (one_pass[column].list.len() > 1).arg_true():
        values[place] = taken_together(one_pass[column][place].to_list())
    kind = pl.String() if column == "label" else pl.Float64()
    wide = one_pass.with_columns(pl.Series(column, values, dtype=kind)).pivot(
        "rater", index=["transcript_id", "unit"], values=column, sort_columns=True
    )
    raters = tuple(name for name in wide.columns if name not in ("transcript_id", "unit"))
    case_of = dict(ratings.select("transcript_id", own_case()).unique("transcript_id").iter_rows())
    return Grid(
        cells=np.array(wide.select(raters).rows(), dtype=object).reshape(wide.height, len(raters)),
        raters=raters,
        transcripts=wide["transcript_id"].to_numpy(),
        units=wide["unit"].to_numpy(),
        cases=np.array([case_of[name] for name in wide["transcript_id"]], dtype=object),
    )
