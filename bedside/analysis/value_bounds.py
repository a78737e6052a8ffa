"""Between which ends a metric's values lie, as far as that is known: its mean can't leave them."""

from __future__ import annotations

from typing import Any

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.stats.arrays import Array
from bedside.stats.result import Result

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
