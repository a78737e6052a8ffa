"""Which systems' strengths can stand on one scale: who beat whom, directly or through others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bedside.stats.arrays import Array, Mask


@dataclass(frozen=True, slots=True)
class ComparisonGraph:
    """Systems, and who of them had any share of a win over whom.

    Strengths are finite within a group in which each system has, through others if need be, a share of a win over each
    other one (Ford 1957).

    Attributes:
        beat: systems × systems: whether the row's system had a share of a win over the column's.
    """

    beat: Mask

    @classmethod
    def of(cls, table: Array, merged: tuple[int, int] | None = None) -> ComparisonGraph:
        """The graph of shares of wins (cases × systems × systems); two systems may count as one."""
        won = np.nansum(table, axis=0) + np.nansum(1 - table, axis=0).T > 0
        if merged is not None:
            won[merged] = won[merged[::-1]] = True
        return cls(won)

    def _joined(self) -> tuple[int, Array]:
        from scipy.sparse.csgraph import connected_components

        count, member = connected_components(self.beat, directed=True, connection="strong")
        return int(count), member

    def largest_joined(self) -> list[int]:
        """The largest group whose strengths are finite; of two of one size that with more pairs compared."""
        count, member = self._joined()
        groups = [np.flatnonzero(member == group) for group in range(count)]
        compared = self.beat | self.beat.T
        largest = max(groups, key=lambda own: (own.size, compared[np.ix_(own, own)].sum(), -own[0]))
        return [int(system) for system in largest]

    def joined_with(self, pair: tuple[int, int]) -> list[list[int]]:
        """The group of two systems that count as one: the two together, and each other system by itself."""
        _, member = self._joined()
        others = np.flatnonzero(member == member[pair[0]]).tolist()
        return [list(pair), *([system] for system in others if system not in pair)]

    def reason(self, system: int, joined: Sequence[int], names: Sequence[str]) -> str:
        """Why a system has no place among those joined, or none has a place; empty where it has one."""
        from scipy.sparse.csgraph import connected_components

        if system in joined:
            return ""
        won, lost = self.beat[system].any(), self.beat[:, system].any()
        if not won and not lost:
            return f"{names[system]} was compared with no other system"
        if not won or not lost:
            how = "won" if won else "lost"
            return f"{names[system]} {how} every comparison, so that its strength has no finite value"
        others = ", ".join(names[other] for other in joined)
        if joined:
            _, member = connected_components(self.beat, directed=True, connection="weak")
            if member[system] != member[joined[0]]:
                return f"no comparisons join {names[system]} with {others}, directly or through others"
            reached = self._reached(system)
            if joined[0] in reached:
                return f"{names[system]} won every comparison with {others}, directly or through others"
            if system in self._reached(joined[0]):
                return f"{names[system]} lost every comparison with {others}, directly or through others"
            return f"only systems that won or lost throughout stand between {names[system]} and {others}"
        return "the systems won and lost so that no two strengths have a finite difference"

    def _reached(self, system: int) -> set[int]:
        """Systems that it beat, or that were beaten by one it beat, and so on."""
        from scipy.sparse.csgraph import breadth_first_order

        return set(breadth_first_order(self.beat, system, return_predecessors=False).tolist())
