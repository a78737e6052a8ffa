"""Scoring spread over an engine's workers: the input in parts, each scored into a folder of its own, then joined.

A part is some files, or a piece of one that ends between transcripts. What is done lies under a name that stands for
all it was made from, so that the same scoring begun again does only what is missing. Joined in the order of the files,
the parts give the run that one process would have written.

Files, parts and run lie in a file system that all workers see; between them go paths and counts, no text.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import orjson
import polars as pl

from bedside.core.engines.contract import Engine
from bedside.core.errors import EngineError, RunError
from bedside.core.files import saying_where
from bedside.core.locks import hold
from bedside.ratings.table import RATING_PARTS, transcript_writer
from bedside.scoring._spread_division import divide_input, finished_value
from bedside.scoring._spread_join import JoinedReading, join_tables
from bedside.scoring._spread_parts import (
    PART_FILE,
    FinishedPart,
    ReadPiece,
    ScoredPart,
    ScoringJob,
    installed_versions,
    read_pieces,
)
from bedside.scoring._spread_worker import score_part
from bedside.scoring.one_process import ScoringPass
from bedside.scoring.plan import ScoringPlan
from bedside.transcripts import Reading


def parts_folder(out: str | os.PathLike[str]) -> Path:
    """Where the parts of a scoring into a run are kept until it is whole."""
    target = Path(os.path.abspath(out))
    return target.with_name(f".{target.name}.parts")


def kept_parts(out: str | os.PathLike[str]) -> tuple[Path, int]:
    """The folder of a scoring's parts, and how many are finished in it."""
    folder = parts_folder(out)
    return folder, sum(1 for _ in folder.glob(f"[!.]*/{PART_FILE}"))


class SpreadScoring(ScoringPass):
    """A scoring that an engine's workers share.

    Args:
        plan: what is computed.
        reading: the files.
        engine: whose workers.
        out: the run's folder.
        waiting: as for :func:`bedside.scoring.one_process.rate`.
        text: whether the run keeps the transcripts' text.
        progress: called with the number of transcripts and of files done.
    """

    def __init__(
        self,
        plan: ScoringPlan,
        reading: Reading,
        *,
        engine: Engine,
        out: Path,
        waiting: frozenset[str],
        text: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        super().__init__(plan, reading, waiting=waiting, text=text, progress=progress)
        self.engine = engine
        self.source_files = reading
        self.folder: Path = parts_folder(out)

    def go(self, folder: Path, hashes: Mapping[str, str] | None = None) -> pl.LazyFrame:
        """As for one process.

        Raises:
            EngineError: workers were lost, or are made of other versions.
        """
        with saying_where(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True, parents=True)
            held = hold(self.folder / ".lock")
        if held is None:
            raise RunError(
                "another bedside process scores into this run",
                where=str(self.folder),
                todo="wait until it ends",
            )
        with held:
            job = self._job()
            division = divide_input(self.source_files.files, job, self.engine)
            raters = [planned.rater for planned in self.plan.families]
            names = [job.part_name(part, raters) for part in division.parts]
            stopped = self._score(job, division.parts, names)
            joined = JoinedReading(self.source_files, division.digests, hashes)
            return self._join(division.parts, names, stopped, joined, folder, hashes is None)

    def end(self) -> None:
        """The run is written: the parts are no longer needed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _job(self) -> ScoringJob:
        return ScoringJob(
            folder=str(self.folder),
            working=os.getcwd(),
            root=self.source_files.root,
            options=self.source_files.options,
            metrics=tuple(metric.name for metric in self.plan.metrics),
            parameters=orjson.dumps(self.plan.settings).decode(),
            waiting=self.waiting,
            text=self.text,
            versions=installed_versions(),
        )

    def _score(
        self, job: ScoringJob, parts: Sequence[ScoredPart], names: Sequence[str]
    ) -> dict[int, list[ReadPiece]]:
        """Have all parts scored that aren't yet; what was read of those that a bad transcript ended, by number."""
        finished = set(os.listdir(self.folder))
        unscored = {
            part.number: (part, name) for part, name in zip(parts, names, strict=True) if name not in finished
        }
        self.resumed: int = len(parts) - len(unscored)
        stopped: dict[int, list[ReadPiece]] = {}
        lost: list[str] = []
        transcripts = files = 0
        for (part, _), outcome in self.engine.run_tasks(partial(score_part, job), list(unscored.values())):
            if outcome.lost is not None:
                lost.append(outcome.lost)
                continue
            result = finished_value(outcome)
            del unscored[part.number]
            if isinstance(result, FinishedPart):
                transcripts += result.transcripts
                files += len(part.pieces)
                if self.progress is not None:
                    self.progress(transcripts, files)
            else:
                stopped[part.number] = result
            # The bad transcript to tell is the first, as it would be to one process.
            if stopped and not any(number < min(stopped) for number in unscored):
                return stopped
        if lost:
            raise EngineError(
                f"{len(lost)} of {len(parts)} parts aren't scored, workers were lost ({lost[0]})",
                todo="the same command goes on from what is done",
            )
        return stopped

    def _join(
        self,
        parts: Sequence[ScoredPart],
        names: Sequence[str],
        stopped: Mapping[int, list[ReadPiece]],
        joined: JoinedReading,
        folder: Path,
        with_transcripts: bool,
    ) -> pl.LazyFrame:
        """The ratings of all parts, in the order of the files; the transcripts are written where they are asked for."""
        transcripts = transcript_writer(folder) if with_transcripts else None
        ratings: list[Path] = []
        for part, name in zip(parts, names, strict=True):
            part_folder = self.folder / name
            pieces = stopped[part.number] if part.number in stopped else read_pieces(part_folder)
            admissions = [
                admission
                for piece, read in zip(part.pieces, pieces, strict=False)
                for admission in joined.enter(piece, read)
            ]
            # Where something stopped, the run won't be written: what matters is what is told of it.
            if not stopped:
                filtered = folder / RATING_PARTS / f"{name}.parquet"
                ratings += join_tables(part_folder, admissions, transcripts, filtered)
        self.transcripts: int
        self.turns: int
        self.transcripts, self.turns = joined.transcripts, joined.turns
        self.source_files.finish()
        self.check()
        if transcripts is not None:
            transcripts.close()
        return pl.scan_parquet(ratings)
