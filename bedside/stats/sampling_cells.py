"""The cells that a sample was drawn by: those with too few labels for a variance are joined with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.stats.arrays import Array, Indices, Mask

#: Labelled cases without which a cell says nothing of how its units vary.
FEWEST_CASES = 2

#: The levels of the factors that tell a cell from others.
Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SamplingCells:
    """Cells, each with labels of two cases at least where there are so many.

    Attributes:
        numbers: the cell of each unit, 0, 1, 2 …
        joined: the levels of the cells that were joined, group by group, those with too few labels first.
    """

    numbers: Indices
    joined: tuple[tuple[Levels, ...], ...]


def sampling_cells(levels: Sequence[Levels], judge: Array, labelled: Mask, cases: Any) -> SamplingCells:
    """The cells of units.

    A cell with labelled units of fewer than two cases is joined with the one that differs from it in the fewest
    factors; of these with the one whose mean by the judge is nearest, then with the one that comes first in the order
    of levels. The smallest such cell goes first. Neither choice looks at what people said.

    Args:
        levels: for each unit the levels of the factors that divide the cells; equal levels, same cell.
        judge: the judge's ratings of all units.
        labelled: which units people rated.
        cases: the case of each unit.
    """
    names = sorted(set(levels))
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place[name] for name in levels], dtype=np.intp)
    groups = {number: [name] for number, name in enumerate(names)}
    while len(groups) > 1:
        counts = {group: np.unique(cases[labelled & (numbers == group)]).size for group in groups}
        few = [group for group, count in counts.items() if count < FEWEST_CASES]
        if not few:
            break
        sizes = np.bincount(numbers)
        smallest = min(few, key=lambda group: (sizes[group], group))
        means = {group: float(judge[numbers == group].mean()) for group in groups}
        nearest = min(
            (group for group in groups if group != smallest),
            key=lambda group: (_differing(groups[smallest], groups[group]), abs(means[group] - means[smallest]), group),
        )
        numbers[numbers == smallest] = nearest
        groups[nearest] = groups.pop(smallest) + groups[nearest]
    joined = tuple(tuple(names_of) for names_of in groups.values() if len(names_of) > 1)
    return SamplingCells(np.unique(numbers, return_inverse=True)[1].astype(np.intp), joined)


def _differing(group: list[Levels], other: list[Levels]) -> int:
    """The fewest factors in which a cell of a group differs from a cell of the other."""
    return min(sum(a != b for a, b in zip(x, y, strict=True)) for x in group for y in other)
