"""Which of several things can't be told apart: a letter for each group of them, and the ranks that each may have."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError

_LETTERS = ascii_lowercase + ascii_uppercase


def letter_display(differ: Any) -> tuple[str, ...]:
    """The compact letter display of things in order: two share a letter if, and only if, they aren't told apart.

    A letter stands for a largest group of things none of which is told apart from another of the group (Piepho 2004,
    J. Comput. Graph. Stat. 13, 456–466). Letters follow the things' order: ``a`` has the first.

    Args:
        differ: whether two things are told apart: shape (k, k), symmetric, false on the diagonal.

    Returns:
        The letters of each thing; after z come A to Z, and after these numbers in brackets.

    Raises:
        DataError: the table isn't symmetric, or a thing is told apart from itself.
    """
    table = _checked(differ)
    if (table != table.T).any():
        raise DataError("whether two things are told apart must not depend on their order")
    groups = sorted(sorted(group) for group in _alike(~table))
    names = [_LETTERS[place] if place < len(_LETTERS) else f"({place + 1})" for place in range(len(groups))]
    return tuple(
        "".join(name for name, group in zip(names, groups, strict=True) if thing in group)
        for thing in range(len(table))
    )


def rank_ranges(better: Any) -> tuple[tuple[int, int], ...]:
    """The least and greatest rank that each thing may have, by which others are shown to be better or worse.

    The least is one more than the number that are better, the greatest leaves room for those that are worse. Where no
    claim is wrong with probability 1 − α or more, all ranges hold at once with that probability (Mogstad et al. 2024,
    Rev. Econ. Stud. 91, 476–518).

    Args:
        better: whether the thing of the row is shown to be better than that of the column: shape (k, k).

    Raises:
        DataError: a thing is shown to be better than itself, or each of two better than the other.
    """
    table = _checked(better)
    if (table & table.T).any():
        raise DataError("two things can't each be better than the other")
    count = len(table)
    return tuple((1 + int(table[:, thing].sum()), count - int(table[thing].sum())) for thing in range(count))


def _checked(table: Any) -> npt.NDArray[np.bool_]:
    checked = np.asarray(table, dtype=bool)
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1]:
        raise DataError("a table of pairs has as many rows as columns")
    if checked.diagonal().any():
        raise DataError("a thing can't be told apart from itself")
    return checked


def _alike(alike: npt.NDArray[np.bool_]) -> Iterator[set[int]]:
    """The largest groups all of whose members are alike two by two (Bron and Kerbosch 1973, with a pivot)."""
    neighbours = [set(np.flatnonzero(row).tolist()) - {thing} for thing, row in enumerate(alike)]

    def grow(group: set[int], open_: set[int], closed: set[int]) -> Iterator[set[int]]:
        if not open_ and not closed:
            yield group
            return
        pivot = max(open_ | closed, key=lambda thing: len(neighbours[thing] & open_))
        for thing in sorted(open_ - neighbours[pivot]):
            yield from grow(group | {thing}, open_ & neighbours[thing], closed & neighbours[thing])
            open_ = open_ - {thing}
            closed = closed | {thing}

    yield from grow(set(), set(range(len(neighbours))), set()) if neighbours else iter(())
