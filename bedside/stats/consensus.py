"""What do several people say together? Majority, median and mean of an item's ratings, with ties reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Indices, rating_table


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


def majority(ratings: Any) -> Consensus:
    """The value that more than half of an item's raters gave; items without one are ties.

    Args:
        ratings: numbers or labels, items by raters, None or NaN where missing. An even number of raters can
            split evenly, so an odd number is better.
    """
    table = rating_table(ratings)
    numbers = table if table.dtype.kind == "f" else None
    values: list[Any] = []
    if numbers is None:
        # Each different value stands for itself by its place among them.
        place_of: dict[Any, int] = {}
        places = [
            np.nan if value is None or value != value else place_of.setdefault(value, len(place_of))
            for value in table.ravel().tolist()
        ]
        numbers, values = np.array(places, dtype=np.float64).reshape(table.shape), list(place_of)
    ordered, count = _in_order(numbers)
    # What more than half say stands in the middle.
    middle = ordered[np.arange(count.size), np.maximum(count - 1, 0) // 2]
    agreed = 2 * (ordered == middle[:, None]).sum(axis=1) > count
    said = (values[int(place)] if values else place for place in middle[agreed].tolist())
    together = np.full(count.size, None)
    together[agreed] = np.fromiter(said, dtype=object, count=int(agreed.sum()))
    return _consensus("majority (more than half of the raters)", together.tolist(), count, ~agreed & (count > 0))


def _consensus(method: str, values: list[Any], count: Indices, tied: npt.NDArray[np.bool_]) -> Consensus:
    return Consensus(
        method,
        tuple(values),
        tuple(count.tolist()),
        tuple(np.flatnonzero(tied).tolist()),
        tuple(np.flatnonzero(count == 0).tolist()),
    )


def median(ratings: Any) -> Consensus:
    """The median of an item's ratings; where it lies between two unequal ones, it is their mean and a tie."""
    ordered, count = _in_order(_numbers(ratings, "median"))
    item = np.arange(count.size)
    lower, upper = (ordered[item, np.maximum(place, 0)] for place in ((count - 1) // 2, count // 2))
    middle = np.where(lower == upper, lower, (lower + upper) / 2)
    values = np.full(count.size, None)
    values[count > 0] = middle[count > 0]
    return _consensus("median of the raters", values.tolist(), count, (count > 0) & (lower != upper))


def _numbers(ratings: Any, what: str) -> Array:
    """Ratings as numbers, NaN where missing."""
    try:
        return rating_table(ratings).astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            f"a {what} is of numbers", todo="take the majority of labels, or give their levels as numbers"
        ) from None


def _in_order(numbers: Array) -> tuple[Array, Indices]:
    """Each item's ratings from the lowest on, then NaN in place of those that are missing; and how many there are."""
    if not numbers.shape[1]:
        numbers = np.full((len(numbers), 1), np.nan)
    # NaN comes last.
    return np.sort(numbers, axis=1), (~np.isnan(numbers)).sum(axis=1)


def mean(ratings: Any) -> Consensus:
    """The mean of an item's ratings; there are no ties."""
    numbers = _numbers(ratings, "mean")
    rated = ~np.isnan(numbers)
    count = rated.sum(axis=1)
    values = np.full(count.size, None)
    # Items with equally many ratings at once: NumPy adds each item's as it adds them alone.
    for number in set(count.tolist()) - {0}:
        alike = count == number
        values[alike] = numbers[alike][rated[alike]].reshape(-1, number).mean(axis=1)
    return _consensus("mean of the raters", values.tolist(), count, np.zeros(count.size, dtype=np.bool_))


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
