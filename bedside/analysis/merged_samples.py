"""In which of the runs that were merged transcripts could be drawn for people.

What people rated in one run says nothing of the others' transcripts: they were never among those that could be drawn.
Who takes a sample for more than was rated asks here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.run import PARTS_FILE, PARTS_SCHEMA, Run, merged_parts

#: Stands for the runs in which people rated nothing.
_UNRATED = "runs that people didn't rate"


def sampled_parts(run: Run | None, rounds: Collection[str]) -> dict[str, str]:
    """Transcript → the runs in which it could be drawn for rounds of annotation, where a system's are of several.

    Args:
        run: the run.
        rounds: the rounds.

    Returns:
        Nothing where the run wasn't merged, where people rated in these rounds only since, or where all transcripts of
        each system are of the same runs.
    """
    parts = [] if run is None else merged_parts(run.manifest)
    asked = [place for place, part in enumerate(parts) if not set(rounds).isdisjoint(part["rounds"])]
    if run is None or not asked:
        return {}
    names = _part_names(parts)
    whose: dict[str, list[str]] = {}
    rows = (
        run.table(PARTS_FILE, PARTS_SCHEMA)
        .filter(pl.col("part").is_in(asked))
        .sort("transcript_id", "part")
        .collect()
    )
    for name, part in rows.iter_rows():
        whose.setdefault(name, []).append(names[part])
    sampled = {name: " and ".join(whose.get(name, [_UNRATED])) for name in run.index["id"]}
    by_system: dict[str | None, set[str]] = {}
    for name, system in run.index.select("id", "system").iter_rows():
        by_system.setdefault(system, set()).add(sampled[name])
    return sampled if any(len(several) > 1 for several in by_system.values()) else {}


def _part_names(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    """A name for each part: its folder's, or where two are called the same, its path."""
    paths = [str(part["run"]) for part in parts]
    names = [Path(path).name or path for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
