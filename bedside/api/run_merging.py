"""Several runs merged into one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bedside.core.errors import InputError
from bedside.core.words import Names, listed
from bedside.ratings.run import Run


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """Runs that were merged.

    Attributes:
        run: the new run.
        shared: transcripts that several of the runs had.
        repeated: ratings that several of the runs had, with the same value; they are there once.
        filled: ratings that were missing in one run and are taken from another.
        people: raters who rated in several runs; they count as the same people.
        cases: how many cases transcripts of several runs are of; they count as the same cases.
        unnamed: runs whose transcripts name no system, where there are several such runs: they count as of one system.
        left_out: of each run, as its folder is named, what was not taken over.
    """

    run: Run
    shared: int
    repeated: int
    filled: int
    people: tuple[str, ...]
    cases: int
    unnamed: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]


def merge(
    runs: Sequence[Run | str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    systems: Names | None = None,
) -> MergedRuns:
    """Merge several runs into a new one, such as those of systems that were scored apart; the runs stay as they are.

    A transcript that several runs have is there once, and so are its ratings; what is missing in one run is taken from
    another. Judgements, plans of annotation with their answers, simulations and juries are taken over. A sample that
    people rated in one run is never taken for one of the others' transcripts.

    Args:
        runs: two or more, or their folders.
        out: the new run's folder.
        systems: a system for each run, where several have transcripts of the same ids: a transcript that names no
            system is of it, and an id becomes ``system/id``. An id that a file gave is the case, where none is named.

    Raises:
        BedsideError: a folder is no run or ``out`` is there already; runs have different transcripts of one id, or
            different values of one rating; or a metric, rubric, judge, jury, suite or scale is another in one of them.
            Nothing is written then.
    """
    from bedside.annotation.answer_store import FOLDER
    from bedside.annotation.merged_plans import take_plans
    from bedside.scoring.merged_runs import merge_sources, merging, not_taken

    if isinstance(runs, str | os.PathLike | Run):
        raise InputError("one run is named", where="`runs`", todo="name all that are to be merged, in a list")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    sources = merge_sources(paths, listed(systems, "systems"))
    renamed = systems is not None
    with merging(sources, Path(out)) as (folder, done):
        # A plan names transcripts as the run does that it was drawn from, and can't be written anew.
        if not renamed:
            take_plans(folder, [source.run for source in sources])
    left_out = {
        source.name: names
        for source in sources
        if (names := tuple(not_taken(source, lambda name: name == FOLDER and not renamed)))
    }
    return MergedRuns(
        run=Run(out),
        shared=done.shared,
        repeated=done.repeated,
        filled=done.filled,
        people=done.people,
        cases=done.cases,
        unnamed=done.unnamed,
        left_out=left_out,
    )
