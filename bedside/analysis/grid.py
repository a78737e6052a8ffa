"""Ratings of one metric as a grid, units in rows, raters in columns; and the ends that values have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.juries import taken_together
from bedside.ratings.names import rated_by_humans
from bedside.stats.arrays import Array
from bedside.stats.result import Result

# -- Between which ends a metric's values lie -----------------------------------------------------------

#: The least and the greatest value that there can be; None where there is none.
Bounds = tuple[float | None, float | None]
OPEN: Bounds = (None, None)


def value_bounds(view: RatingsView, metric: str) -> Bounds:
    """The ends of a metric's values: of its scale where it has one, else as its family states them.

    Of a metric that nothing is known of they are 0 and 1 where it has no other values. Labels count as their places on
    their scale, from 0, as they do where they are compared.
    """
    scale = view.scales.get(metric)
    if scale is not None:
        numbers = [level for level in scale.levels if not isinstance(level, str)]
        if numbers:
            return (min(numbers), max(numbers)) if len(numbers) > 1 else OPEN
        return (0.0, float(len(scale.levels) - 1)) if scale.ordered or len(scale.levels) == 2 else OPEN
    facts = view.facts(metric)
    if facts.defined or facts.low is not None:
        return facts.low, facts.high
    return view.once(("zeros and ones alone", metric), lambda: _zeros_and_ones(view, metric))


def _zeros_and_ones(view: RatingsView, metric: str) -> Bounds:
    values = view.ratings.filter(pl.col("metric") == metric)["value"].drop_nulls()
    return (0.0, 1.0) if values.len() and values.is_in([0.0, 1.0]).all() else OPEN


def mean_within(values: Array, bounds: Bounds, *, clusters: Any = None, linearised: bool = False) -> Result:
    """The mean with an interval that stays within the bounds; Student's where a value lies outside them.

    Args:
        values: numbers, none missing.
        bounds: as :func:`value_bounds` gives them.
        clusters: for each value the cluster it belongs to, such as its case.
        linearised: whether the values are those of a ratio of sums, which may lie outside where the ratio doesn't.
    """
    from bedside.stats.scale_means import scale_mean

    low, high = bounds
    held = values.mean(keepdims=True) if linearised and values.size else values
    below = low is not None and bool((held < low).any())
    above = high is not None and bool((held > high).any())
    if below or above:
        low = high = None
    return scale_mean(values, low=low, high=high, clusters=clusters)


# -- Ratings of one metric as a grid --------------------------------------------------------------------


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
