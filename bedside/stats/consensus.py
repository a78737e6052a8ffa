"""What do several people say together? Majority, median and mean of an item's ratings, with ties reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Indices


@dataclass(frozen=True, slots=True)
class Consensus:
    """One value an item, where the raters reach one.

    Attributes:
        method: how, as one line.
        values: the item's value; None where there is none.
        raters: how many rated each item.
        ties: positions of items without consensus: no majority, or a median between two levels.
        unrated: positions of items nobody rated.
        adjudicated: positions of items settled by adjudication.
    """

    method: str
    values: tuple[Any, ...]
    raters: tuple[int, ...]
    ties: tuple[int, ...]
    unrated: tuple[int, ...]
    adjudicated: tuple[int, ...] = ()


def _table(ratings: Any) -> npt.NDArray[Any]:
    """Ratings as a table of items by raters."""
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind == "f" and ratings.ndim == 2:
        return ratings
    try:
        table = np.asarray(ratings, dtype=object)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2:
        raise DataError("ratings must be a table of items by raters", todo="give None where a rating is missing")
    return table


def _ratings_by_item(ratings: Any) -> list[list[Any]]:
    """Every item's ratings without the missing ones."""
    rows = _table(ratings).tolist()
    return [[value for value in row if value is not None and value == value] for row in rows]


def _consensus(method: str, rows: list[list[Any]], values: list[Any], ties: list[int]) -> Consensus:
    return Consensus(
        method,
        tuple(values),
        tuple(map(len, rows)),
        tuple(ties),
        tuple(index for index, row in enumerate(rows) if not row),
    )


def majority(ratings: Any) -> Consensus:
    """The value that more than half of an item's raters gave; items without one are ties.

    Args:
        ratings: numbers or labels, items by raters, None or NaN where missing. An even number of raters can
            split evenly, so an odd number is better.
    """
    rows = _ratings_by_item(ratings)
    values: list[Any] = []
    ties = []
    for index, row in enumerate(rows):
        # So it is for almost all items, and this is many times as fast as counting every value.
        if row and 2 * row.count(row[0]) > len(row):
            values.append(row[0])
            continue
        top = Counter(row).most_common(1)
        if top and 2 * top[0][1] > len(row):
            values.append(top[0][0])
        else:
            values.append(None)
            if row:
                ties.append(index)
    return _consensus("majority (more than half of the raters)", rows, values, ties)


def median(ratings: Any) -> Consensus:
    """The median of an item's ratings; where it lies between two unequal ones, it is their mean and a tie."""
    table, count = _numbers_in_order(ratings)
    rated, item = count > 0, np.arange(count.size)
    lower, upper = (table[item, np.maximum(place, 0)] for place in ((count - 1) // 2, count // 2))
    middle = np.where(lower == upper, lower, (lower + upper) / 2)
    return Consensus(
        "median of the raters",
        tuple(value if known else None for value, known in zip(middle.tolist(), rated.tolist(), strict=True)),
        tuple(count.tolist()),
        tuple(np.flatnonzero(rated & (lower != upper)).tolist()),
        tuple(np.flatnonzero(~rated).tolist()),
    )


def _numbers_in_order(ratings: Any) -> tuple[Array, Indices]:
    """Each item's ratings from the lowest on, then NaN in place of those that are missing; and how many there are."""
    rows = _table(ratings)
    try:
        numbers = rows.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            "a median is of numbers", todo="take the majority of labels, or give their levels as numbers"
        ) from None
    if not numbers.shape[1]:
        numbers = np.full((len(numbers), 1), np.nan)
    # NaN comes last.
    return np.sort(numbers, axis=1), (~np.isnan(numbers)).sum(axis=1)


def mean(ratings: Any) -> Consensus:
    """The mean of an item's ratings; there are no ties."""
    rows = _ratings_by_item(ratings)
    return _consensus("mean of the raters", rows, [float(np.mean(row)) if row else None for row in rows], [])


def adjudicate(consensus: Consensus, decisions: Mapping[int, Any]) -> Consensus:
    """The consensus with ties settled by an adjudicator.

    Args:
        decisions: value by position of the item.

    Raises:
        DataError: a decision on an item that is no tie.
    """
    for index in decisions:
        if index not in consensus.ties:
            raise DataError(f"item {index} is no tie, so there is nothing to adjudicate")
    values = tuple(decisions.get(index, value) for index, value in enumerate(consensus.values))
    return replace(
        consensus,
        method=f"{consensus.method}, ties adjudicated",
        values=values,
        ties=tuple(index for index in consensus.ties if index not in decisions),
        adjudicated=tuple(sorted(decisions)),
    )
