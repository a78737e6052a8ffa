"""Which transcripts a judge is probed on: a seeded sample, the same number of each system, of many cases."""

from __future__ import annotations

import random
from collections import defaultdict, deque

import polars as pl


def probe_sample(index: pl.DataFrame, size: int, seed: int) -> list[str]:
    """Ids of transcripts, in the order of the table.

    Systems take turns until the size is reached or all transcripts are in; of a system, a case comes next of which
    fewest transcripts are in already, as effects are known by case.

    Args:
        index: columns ``id, system, case_id``, one row a transcript.
        size: how many, at most.
        seed: of the draws.
    """
    draws = random.Random(seed)
    rows = list(index.select("id", "system", "case_id").iter_rows())
    shuffled = draws.sample(rows, len(rows))
    waiting: dict[str | None, deque[tuple[str, str | None]]] = defaultdict(deque)
    for name, system, case in shuffled:
        waiting[system].append((name, case))
    turns = deque(sorted(waiting, key=lambda system: (system is None, system)))
    chosen: set[str] = set()
    used: dict[str, int] = defaultdict(int)
    while turns and len(chosen) < size:
        system = turns.popleft()
        queue = waiting[system]
        name, case = min(queue, key=lambda entry: 0 if entry[1] is None else used[entry[1]])
        queue.remove((name, case))
        chosen.add(name)
        if case is not None:
            used[case] += 1
        if queue:
            turns.append(system)
    return [name for name, _, _ in rows if name in chosen]
