"""Blocks of rows of bounded memory, and sums of rows by cluster."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bedside.stats.arrays import Array, Indices

#: No matrix of resamples is larger than this.
BUDGET_BYTES = 64 * 2**20


def block_rows(width: int) -> int:
    """How many rows of ``width`` floats fit the budget, at least one."""
    return max(1, BUDGET_BYTES // (8 * max(1, width)))


def blocks(total: int, width: int) -> Iterator[int]:
    """Sizes of the blocks of rows that ``total`` rows are worked through in."""
    step = block_rows(width)
    for start in range(0, total, step):
        yield min(step, total - start)


def sums_by_cluster(rows: Array, member: Indices) -> Array:
    """Sums of the rows of each cluster, clusters × columns; ``member`` holds each row's cluster, from 0 on."""
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(int(member.max()) + 1))
    sums: Array = np.add.reduceat(rows[order], starts, axis=0)
    return sums
