"""Several runs merged into a new one: transcripts and ratings each once, and all that is known of both.

What is not taken over is said: what a judge was probed with is about a sample of one run's transcripts, and tables and
reports are made anew.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bedside.core.errors import InputError, RunError
from bedside.core.shell_words import typed
from bedside.judges.store_merge import merge_store
from bedside.ratings.juries import with_juries
from bedside.ratings.merged_tables import (
    MergeSource,
    merged_ratings,
    people_rounds,
    shared_transcripts,
    write_merged_transcripts,
    write_parts,
)
from bedside.ratings.names import is_human
from bedside.ratings.run import (
    PARTS_FILE,
    RATINGS_FILE,
    SIMULATIONS,
    Run,
    merge_simulations,
    new_run,
    write_new_run,
)
from bedside.ratings.run_folder import MANIFEST, is_run
from bedside.ratings.table import TRANSCRIPT_FOLDER
from bedside.scoring.judging_orders import STORE
from bedside.scoring.merged_manifest import check_same_meaning, merged_manifest
from bedside.transcripts.simulation_folder import simulation_manifest

#: What is taken over, or made anew, of a run's folder; names that begin with a dot are not its content.
TAKEN = frozenset({MANIFEST, RATINGS_FILE, TRANSCRIPT_FOLDER, PARTS_FILE, SIMULATIONS, STORE})
#: What a store in use has beside it.
_STORE_JOURNALS = (f"{STORE}-wal", f"{STORE}-shm", f"{STORE}-journal")


@dataclass(frozen=True, slots=True)
class RunMerge:
    """What merging runs did.

    Attributes:
        shared: transcripts that were in several runs.
        repeated: ratings that were in several runs, with the same value.
        filled: ratings that were missing in one run and are taken from another.
        people: raters who rated in several runs, and count as the same people.
        cases: cases that transcripts of several runs are of, and that count as the same.
        unnamed: runs whose transcripts name no system, where there are several such runs.
    """

    shared: int
    repeated: int
    filled: int
    people: tuple[str, ...]
    cases: int
    unnamed: tuple[str, ...]


def merge_sources(runs: Sequence[Path], systems: Sequence[str] | None) -> list[MergeSource]:
    """The runs that are to be merged.

    Args:
        runs: their folders.
        systems: a system for each of them, or None.

    Raises:
        RunError: a folder is no run, or what is asked of it can't be done.
        InputError: there are fewer than two, one is named twice, or there is no system for each.
    """
    if len(runs) < 2:
        raise InputError(
            "fewer than two runs are named", where="`runs`", todo="name all that are to be merged"
        )
    simulated = [path for path in runs if simulation_manifest(path) is not None]
    if simulated:
        raise RunError(
            "the folder is a simulation, and simulations can't be merged",
            where=str(simulated[0]),
            todo=f"score them together: bedside score {' '.join(map(typed, simulated))} --out run",
        )
    opened = [Run(path) for path in runs]
    for place, run in enumerate(opened):
        for earlier in opened[:place]:
            if os.path.samefile(run.path, earlier.path):
                raise InputError("the run is named twice", where=str(run.path), todo="name each once")
    if systems is None:
        return [MergeSource(run) for run in opened]
    if len(systems) != len(opened) or len(set(systems)) != len(systems):
        raise InputError(
            f"{len(opened)} runs need as many different systems, and {', '.join(systems) or 'none'} are named",
            where="`systems`",
            todo="name one for each run, in the order of the runs",
        )
    return [MergeSource(run, system) for run, system in zip(opened, systems, strict=True)]


@contextmanager
def merging(sources: Sequence[MergeSource], out: Path) -> Iterator[tuple[Path, RunMerge]]:
    """Merge runs into a new one, which is there when the block ends well, and not at all where it doesn't.

    The runs are held meanwhile, where they can be written, and stay as they are.

    Yields:
        The folder that becomes the run, and what was done.

    Raises:
        RunError: the runs don't fit together, another process holds one, or ``out`` is there already.
    """
    if is_run(out):
        raise RunError("there is a run already", where=str(out), todo="choose a new folder with `out`")
    with ExitStack() as held:
        for source in sources:
            if os.access(source.run.path, os.W_OK):
                held.enter_context(source.run.held())
        check_same_meaning(sources)
        shared = shared_transcripts(sources)
        ratings = merged_ratings(sources, shared)
        with new_run(out) as folder:
            counts = write_merged_transcripts(folder, sources, shared)
            write_parts(folder, sources)
            entries = [
                entry
                for source in sources
                for entry in source.part_entries(people_rounds(source), _digest(source))
            ]
            manifest = merged_manifest(sources, ratings.table, counts, entries)
            merge_simulations(folder, ((source.run.path, source.renamed) for source in sources))
            for source in sources:
                _merge_judgements(folder / STORE, source)
            write_new_run(folder, with_juries(ratings.table, manifest), manifest)
            yield folder, _summary(sources, shared, ratings.repeated, ratings.filled)


def _digest(source: MergeSource) -> str:
    """SHA-256 of a run's ratings."""
    with source.run.file(RATINGS_FILE).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _merge_judgements(store: Path, source: MergeSource) -> None:
    """Add what a run's judges were asked and replied to the merged run's store."""
    own = source.run.path / STORE
    if not own.is_file():
        return
    if source.system is None:
        merge_store(store, own, text=source.run.keeps_text)
        return
    apart = store.with_name(f".renamed-{STORE}")
    merge_store(apart, own)
    with closing(sqlite3.connect(apart)) as connection:
        connection.create_function("renamed", 1, source.renamed, deterministic=True)
        connection.create_function("renamed_unit", 1, source.renamed_unit, deterministic=True)
        with connection:
            connection.execute(
                "UPDATE judgements SET transcript = renamed(transcript), unit = renamed_unit(unit)"
            )
    merge_store(store, apart)
    for path in store.parent.glob(f"{apart.name}*"):
        path.unlink()


def _summary(sources: Sequence[MergeSource], shared: pl.DataFrame, repeated: int, filled: int) -> RunMerge:
    people = _in_several(
        [
            rater
            for rater in source.run.scan().select(pl.col("rater").unique()).collect()["rater"]
            if is_human(rater)
        ]
        for source in sources
    )
    new = [source.index.filter(~pl.col("id").is_in(shared["transcript_id"].implode())) for source in sources]
    cases = _in_several(table["case_id"].drop_nulls().unique() for table in new)
    unnamed = [
        source.name for source, table in zip(sources, new, strict=True) if table["system"].null_count()
    ]
    return RunMerge(
        shared=shared.height,
        repeated=repeated,
        filled=filled,
        people=tuple(sorted(people)),
        cases=len(cases),
        unnamed=tuple(unnamed) if len(unnamed) > 1 else (),
    )


def _in_several(lists: Iterator[Sequence[str] | pl.Series]) -> set[str]:
    """What is in more than one of several lists."""
    seen: set[str] = set()
    several: set[str] = set()
    for names in lists:
        several |= seen.intersection(names)
        seen.update(names)
    return several


def not_taken(source: MergeSource, also_taken: Callable[[str], bool]) -> list[str]:
    """What of a run's folder is not in the merged run, by name.

    Args:
        source: the run.
        also_taken: whether a name is one that was taken over besides.
    """
    return sorted(
        path.name
        for path in source.run.path.iterdir()
        if path.name not in TAKEN
        and path.name not in _STORE_JOURNALS
        and not path.name.startswith(".")
        and not also_taken(path.name)
    )
