"""Turning what callers have (lists with None, series, tables) into arrays, with missing values counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Seed = int | np.random.Generator
Scale = Sequence[float] | Sequence[str]
Alternative = Literal["two-sided", "greater", "less"]
T = TypeVar("T")


def generator(seed: Seed) -> np.random.Generator:
    """A generator from a seed; a generator is passed on."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def seed_in_words(seed: Seed) -> str:
    """``seed 7``, or that a generator was given."""
    return "a given generator" if isinstance(seed, np.random.Generator) else f"seed {seed}"


def _numbers(values: Any, name: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}", todo="give floats, with None where missing") from None
    if np.isinf(array).any():
        raise DataError(f"{name} holds an infinite value", todo="give a finite number, or None where missing")
    return array


def vector(values: Any, name: str = "values") -> Array:
    """One-dimensional floats; None becomes NaN.

    Raises:
        DataError: not numbers, infinite, or not one-dimensional.
    """
    array = _numbers(values, name)
    if array.ndim != 1:
        raise DataError(f"{name} must be one list of numbers, not {array.ndim}-dimensional")
    return array


def matrix(values: Any, name: str = "ratings") -> Array:
    """Two-dimensional floats (rows are items); None becomes NaN.

    Raises:
        DataError: not numbers, infinite, or rows of unequal length.
    """
    array = _numbers(values, name)
    if array.ndim != 2:
        raise DataError(f"{name} must be a table of items by columns, not {array.ndim}-dimensional")
    return array


def rating_table(ratings: Any) -> npt.NDArray[Any]:
    """Numbers or labels, items by raters: floats with NaN where missing as they are, else objects.

    Raises:
        DataError: it is no table.
    """
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind == "f" and ratings.ndim == 2:
        return ratings
    try:
        table = np.asarray(ratings, dtype=object)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2:
        raise DataError("ratings must be a table of items by raters", todo="give None where a rating is missing")
    return table


def clean(values: Any, name: str = "values") -> tuple[Array, int]:
    """The numbers that are there, and how many were missing."""
    array = vector(values, name)
    present = ~np.isnan(array)
    return array[present], int(array.size - present.sum())


def pairs(x: Any, y: Any) -> tuple[Array, Array, int]:
    """Two lists of equal length without the pairs that miss a value, and how many those were.

    Raises:
        DataError: unequal lengths.
    """
    a, b = vector(x, "x"), vector(y, "y")
    if a.size != b.size:
        raise DataError(
            f"paired values need two lists of equal length, not {a.size} and {b.size}",
            todo="give None where a value is missing",
        )
    complete = ~(np.isnan(a) | np.isnan(b))
    return a[complete], b[complete], int(a.size - complete.sum())


def binary_pairs(x: Any, y: Any, what: str) -> tuple[list[list[int]], int]:
    """Counts ``[[both, only x], [only y, neither]]`` of paired zeros and ones, and how many pairs miss a value.

    Raises:
        DataError: unequal lengths, or a value is neither 0 nor 1; ``what`` needs such values.
    """
    a, b, dropped = pairs(x, y)
    if not (np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all()):
        raise DataError(f"{what} needs values of 0 and 1")
    return [[int(((a == i) & (b == j)).sum()) for j in (1, 0)] for i in (1, 0)], dropped


def counts_of_two(table: Any, what: str) -> Array:
    """A table of 2 × 2 counts.

    Raises:
        DataError: it is none; ``what`` needs one.
    """
    counts = matrix(table, "table")
    if counts.shape != (2, 2) or (counts < 0).any() or np.isnan(counts).any():
        raise DataError(f"{what} needs a table of 2 × 2 counts")
    return counts


def differences(x: Array, y: Array) -> Array:
    """``x − y`` rounded to twelve digits of the data's size.

    Subtraction leaves noise in the last digits (0.3 − 0.2 is not 0.2 − 0.1): without rounding, differences
    that are tied or zero on the scale would count as untied or non-zero.
    """
    size = max(float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)))
    if size == 0.0:
        return x - y
    unit = 10.0 ** np.floor(np.log10(size))
    rounded: Array = np.round((x - y) / unit, 12) * unit
    return rounded


def constant(values: Array) -> bool:
    """Whether all values are the same but for rounding."""
    if values.size == 0:
        return True
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def average_ranks(values: Array) -> Array:
    """Ranks from 1; of equal values, the mean of theirs. ``scipy.stats`` gives the same, and takes .5 s to import."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def levels(scale: Scale) -> Array:
    """The positions of a scale's levels: their values if numeric, else 0, 1, 2 … in the order given.

    Raises:
        DataError: fewer than two levels, doubled levels, or numeric levels that don't ascend.
    """
    names = list(scale)
    if len(names) < 2:
        raise DataError(
            f"the scale has one level alone ({names[0]})" if names else "the scale has no level",
            todo="give all that a rater could choose, as in `scales=METRIC=1-5`",
        )
    if len(set(names)) != len(names):
        raise DataError("a scale names a level twice", todo="give every level once")
    if all(isinstance(level, str) for level in names):
        return np.arange(len(names), dtype=np.float64)
    values = vector(names, "scale")
    if np.isnan(values).any() or (np.diff(values) <= 0).any():
        raise DataError("the levels of a scale must ascend", todo="give them from lowest to highest")
    return values


def scale_of(*columns: Any) -> list[Any]:
    """The labels that occur, sorted; what a nominal statistic uses where no scale is given."""
    if all(isinstance(column, np.ndarray) and column.dtype.kind == "f" for column in columns):
        values = np.unique(np.concatenate([np.ravel(column) for column in columns]))
        return [float(value) for value in values if value == value]
    seen = {value for column in columns for value in np.asarray(column, dtype=object).ravel() if not _absent(value)}
    return sorted(seen, key=lambda value: (isinstance(value, str), value))


def _absent(value: Any) -> bool:
    return value is None or value != value


#: Stands for the code of what is not on the scale, NaN among it.
_OFF_SCALE = -2


def coded(ratings: Any, scale: Scale, name: str = "ratings") -> Indices:
    """Ratings as positions in ``scale``; −1 where missing. Any number of dimensions.

    Raises:
        DataError: a rating that is not on the scale.
    """
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind == "f":
        return _coded_numbers(ratings, scale, name)
    place: dict[Any, int] = {level: index for index, level in enumerate(scale)}
    place[None] = -1
    array = np.asarray(ratings, dtype=object)
    codes = [place.get(value, _OFF_SCALE) for value in array.ravel().tolist()]
    off = [index for index, code in enumerate(codes) if code == _OFF_SCALE]
    for index in off:
        value = array.ravel()[index]
        if not _absent(value):
            raise _off_scale(repr(value), scale, name)
        codes[index] = -1
    return np.array(codes, dtype=np.intp).reshape(array.shape)


def _coded_numbers(ratings: Array, scale: Scale, name: str) -> Indices:
    """The same of an array of floats."""
    levels_of_scale = np.array([np.nan if isinstance(level, str) else level for level in scale], np.float64)
    order = np.argsort(levels_of_scale)
    place = np.minimum(np.searchsorted(levels_of_scale[order], ratings), order.size - 1)
    codes: Indices = order[place] if order.size else np.full(ratings.shape, -1)
    absent = np.isnan(ratings)
    off = ~absent & (levels_of_scale[codes] != ratings) if order.size else ~absent
    if off.any():
        raise _off_scale(f"{ratings[off].ravel()[0]:g}", scale, name)
    codes[absent] = -1
    return codes


def _off_scale(value: str, scale: Scale, name: str) -> DataError:
    return DataError(
        f"{value} in {name} is not on the scale {', '.join(map(str, scale))}",
        todo="give all levels of the scale, or correct the rating",
    )


def linked_groups(together: Iterable[Collection[T]]) -> list[set[T]]:
    """Raters in groups: whom a chain of sets of raters links, such as those who rated the same case."""
    groups: list[set[T]] = []
    for raters in {frozenset(raters) for raters in together}:
        apart = [group for group in groups if group.isdisjoint(raters)]
        groups = [*apart, set(raters).union(*(group for group in groups if group not in apart))]
    return groups
