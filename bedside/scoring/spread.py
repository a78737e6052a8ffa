"""Scoring spread over an engine's workers: the input in parts, each scored into a folder of its own, then joined.

A part is some files, or a piece of one that ends between transcripts. What is done lies under a name that stands for
all it was made from, so that the same scoring begun again does only what is missing. Joined in the order of the files,
the parts give the run that one process would have written.

Files, parts and run lie in a file system that all workers see; between them go paths and counts, no text.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
import polars as pl

import bedside
from bedside.engines.contract import Engine
from bedside.ratings.run import RATING_PARTS, TableWriter, rating_writer, transcript_row, transcript_writer
from bedside.scoring.score import ScoringPass, ScoringPlan, check_known, library_versions, make_plan, rate
from bedside.support.errors import EngineError, InputError, RunError
from bedside.support.files import saying_where, sync, sync_folders, write_bytes
from bedside.transcripts import Reading, ReadOptions
from bedside.transcripts.reading import InputFile, PartReading
from bedside.transcripts.spans import Span

#: A part is about this share of the input, within bounds in bytes and in files: it keeps a worker busy for a moment,
#: and is little to lose. None of it depends on the engine, so that any goes on where another stopped.
_SHARE = 128
_LEAST = 128 * 2**10
_MOST = 16 * 2**20
_FILES = 500

_INFO = "part.json"
#: Several threads of one worker would share models and the working folder.
_ONE = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file as it is found when the scoring begins, and the piece of it to read."""

    path: str
    size: int
    changed: int
    span: Span | None = None

    def check(self) -> None:
        """Raise an error unless this worker sees the very file."""
        try:
            now = os.stat(self.path)
        except OSError as error:
            raise EngineError(
                f"the worker on {socket.gethostname()} can't read it ({error.strerror})",
                where=self.path,
                todo="have files and run in a file system that all workers see",
            ) from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise RunError("the file changed while it was scored", where=self.path, todo="score again")


@dataclass(frozen=True, slots=True)
class _ScoredPart:
    number: int
    pieces: tuple[_Piece, ...]


@dataclass(frozen=True, slots=True)
class _ScoringJob:
    """What is the same for all parts."""

    folder: str
    working: str
    root: str
    options: ReadOptions
    metrics: tuple[str, ...]
    parameters: str
    waiting: frozenset[str]
    text: bool
    versions: str

    def name(self, part: _ScoredPart, raters: Collection[str]) -> str:
        """The name that stands for all that a part is made from."""
        made_from = (
            self.root, asdict(self.options), self.metrics, self.parameters, sorted(self.waiting), self.text,
            self.versions, list(raters), [asdict(piece) for piece in part.pieces],
        )  # fmt: skip
        return hashlib.sha256(orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Transcript:
    """A transcript that was scored."""

    id: str
    source: str
    hash: str
    turns: int
    ratings: int


@dataclass(frozen=True, slots=True)
class _Skipped:
    """One that was left out, and why."""

    what: str
    where: str | None
    todo: str | None


@dataclass(slots=True)
class _PartRead:
    """What reading a piece gave.

    Attributes:
        inputs: the file, if it was read, and what was read along with it.
        found: what it held, in order.
        stopped: what ended the reading.
    """

    inputs: list[InputFile] = field(default_factory=list)
    found: list[_Transcript | _Skipped] = field(default_factory=list)
    stopped: InputError | None = None


@dataclass(frozen=True, slots=True)
class _Done:
    """A part that is finished."""

    transcripts: int


def _versions() -> str:
    """What can change a number and is installed, with its version, as JSON."""
    return orjson.dumps({"bedside": bedside.__version__, **library_versions()}).decode()


# -- on a worker ------------------------------------------------------------------------------------


@cache
def _plan(metrics: tuple[str, ...], parameters: str) -> ScoringPlan:
    return make_plan(metrics, orjson.loads(parameters))


@contextmanager
def _at_work(job: _ScoringJob) -> Iterator[None]:
    """Be where the command was given, with the libraries it was given with."""
    if _versions() != job.versions:
        here, there = orjson.loads(_versions()), orjson.loads(job.versions)
        other = next(name for name in sorted({*here, *there}) if here.get(name) != there.get(name))
        raise EngineError(
            f"the worker has {other} {here.get(other, 'not installed')}, this process {there.get(other, 'not at all')}",
            where=socket.gethostname(),
            todo="install the same on all workers",
        )
    with _ONE, chdir(job.working) if os.path.isdir(job.working) else nullcontext():
        yield


def _score_part(job: _ScoringJob, part_and_name: tuple[_ScoredPart, str]) -> _Done | list[_PartRead]:
    """Score a part into its folder; where a bad transcript ends it, what was read until then."""
    part, name = part_and_name
    with _at_work(job):
        plan = _plan(job.metrics, job.parameters)
        try:
            folder = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=job.folder))
        except FileNotFoundError as error:
            raise EngineError(
                f"the worker on {socket.gethostname()} doesn't see it",
                where=job.folder,
                todo="have files and run in a file system that all workers see",
            ) from error
        except OSError as error:
            raise EngineError(
                f"the worker on {socket.gethostname()} can't write there ({error.strerror})", where=job.folder
            ) from error
        try:
            ratings, transcripts = rating_writer(folder), transcript_writer(folder)
            read = []
            for piece in part.pieces:
                piece.check()
                read.append(_read(job, plan, piece, ratings, transcripts))
                piece.check()
                if read[-1].stopped is not None:
                    return read
            ratings.close()
            transcripts.close()
            write_bytes(folder / _INFO, orjson.dumps([asdict(one) for one in read]))
            target = Path(job.folder, name)
            with saying_where(target):
                sync_folders(folder)
                # Whoever else was given this part, because this worker was thought dead, has written the same.
                if not target.exists():
                    os.replace(folder, target)
                    sync(target.parent)
            return _Done(sum(isinstance(each, _Transcript) for one in read for each in one.found))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _read(
    job: _ScoringJob, plan: ScoringPlan, piece: _Piece, ratings: TableWriter, transcripts: TableWriter
) -> _PartRead:
    """Score a piece into the two tables."""
    read = _PartRead()
    reading = PartReading(Path(piece.path), job.options, job.root, piece.span)

    noted = 0

    def note_skipped() -> None:
        nonlocal noted
        for error in reading.skipped[noted:]:
            read.found.append(_Skipped(error.what, error.where, error.todo))
        noted = len(reading.skipped)

    try:
        for transcript in reading:
            note_skipped()
            row = transcript_row(transcript, text=job.text)
            transcripts.add(row)
            count = 0
            for rating in rate(transcript, plan, job.waiting):
                ratings.add(rating)
                count += 1
            read.found.append(
                _Transcript(transcript.id, transcript.source, row[6], len(transcript.turns), count)
            )
    except InputError as error:
        read.stopped = error
    note_skipped()
    read.inputs = reading.inputs
    return read


def _divide(job: _ScoringJob, piece_and_size: tuple[_Piece, int]) -> tuple[list[Span], str]:
    """The pieces of a large file, and its SHA-256."""
    piece, size = piece_and_size
    with _at_work(job):
        piece.check()
        return PartReading(Path(piece.path), job.options, job.root, None).spans(Path(piece.path), size)


# -- where the command was given --------------------------------------------------------------------


def parts_folder(out: str | os.PathLike[str]) -> Path:
    """Where the parts of a scoring into a run are kept until it is whole."""
    target = Path(os.path.abspath(out))
    return target.with_name(f".{target.name}.parts")


def kept_parts(out: str | os.PathLike[str]) -> tuple[Path, int]:
    """The folder of a scoring's parts, and how many are finished in it."""
    folder = parts_folder(out)
    return folder, sum(1 for _ in folder.glob(f"[!.]*/{_INFO}"))


class SpreadScoring(ScoringPass):
    """A scoring that an engine's workers share.

    Args:
        engine: whose workers.
        out: the run's folder.
    """

    def __init__(
        self,
        engine: Engine,
        out: Path,
        plan: ScoringPlan,
        reading: Reading,
        text: bool,
        progress: Callable[[int, int], None] | None,
        waiting: frozenset[str],
    ) -> None:
        super().__init__(plan, reading, text, progress, None, waiting)
        self.engine = engine
        self.folder = parts_folder(out)
        self._digests: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def go(self, folder: Path, known: Mapping[str, str] | None = None) -> pl.LazyFrame:
        import filelock

        with saying_where(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True, parents=True)
        try:
            with filelock.FileLock(self.folder / ".lock", timeout=0):
                job = _ScoringJob(
                    folder=str(self.folder),
                    working=os.getcwd(),
                    root=self.reading.root,
                    options=self.reading.options,
                    metrics=tuple(metric.name for metric in self.plan.metrics),
                    parameters=orjson.dumps(
                        {family.name: settings for family, _, settings in self.plan.families}
                    ).decode(),
                    waiting=self.waiting,
                    text=self.text,
                    versions=_versions(),
                )
                raters = [family.rater(settings) for family, _, settings in self.plan.families]
                parts = [(part, job.name(part, raters)) for part in self._parts(job)]
                return self._joined(parts, self._scored(job, parts), folder, known)
        except filelock.Timeout as error:
            raise RunError(
                "another bedside process scores into this run",
                where=str(self.folder),
                todo="wait until it ends",
            ) from error

    def end(self) -> None:
        """The run is written: the parts are no longer needed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _parts(self, job: _ScoringJob) -> list[_ScoredPart]:
        found = []
        for path in self.reading.files:
            try:
                status = os.stat(path)
                found.append(_Piece(str(path), status.st_size, status.st_mtime_ns))
            except OSError as error:
                raise InputError(
                    f"can't be read ({error.strerror})", where=str(path), todo="check it"
                ) from error
        size = min(max(sum(piece.size for piece in found) // _SHARE, _LEAST), _MOST)
        spans = self._spans(job, [piece for piece in found if piece.size > size], size)
        parts: list[_ScoredPart] = []
        held: list[_Piece] = []

        def close(*pieces: _Piece) -> None:
            if pieces:
                parts.append(_ScoredPart(len(parts), pieces))

        for piece in found:
            if piece.path in spans:
                close(*held)
                held = []
                for span in spans[piece.path]:
                    close(_Piece(piece.path, piece.size, piece.changed, span))
                continue
            held.append(piece)
            if len(held) == _FILES or sum(each.size for each in held) >= size:
                close(*held)
                held = []
        close(*held)
        return parts

    def _spans(self, job: _ScoringJob, large: list[_Piece], size: int) -> dict[str, list[Span]]:
        """The pieces of each file that can be divided."""
        spans = {}
        for (piece, _), outcome in self.engine.run(partial(_divide, job), [(piece, size) for piece in large]):
            found, digest = self._value(outcome.value, outcome.error, outcome.lost)
            if found:
                spans[piece.path] = found
                self._digests[piece.path] = digest
        return spans

    def _value(self, value: Any, error: Exception | None, lost: str | None) -> Any:
        if error is not None:
            raise error
        if lost is not None:
            raise EngineError(
                f"workers were lost ({lost})", todo="the same command goes on from what is done"
            )
        return value

    def _scored(self, job: _ScoringJob, parts: list[tuple[_ScoredPart, str]]) -> dict[int, list[_PartRead]]:
        """Have all parts scored that aren't there; what was read of those that a bad transcript ended."""
        there = set(os.listdir(self.folder))
        left = {part.number: (part, name) for part, name in parts if name not in there}
        self.resumed = len(parts) - len(left)
        stopped: dict[int, list[_PartRead]] = {}
        lost: list[str] = []
        transcripts = files = 0
        for (part, _), outcome in self.engine.run(partial(_score_part, job), list(left.values())):
            if outcome.lost is not None:
                lost.append(outcome.lost)
                continue
            value = self._value(outcome.value, outcome.error, None)
            del left[part.number]
            if isinstance(value, _Done):
                transcripts += value.transcripts
                files += len(part.pieces)
                if self.progress is not None:
                    self.progress(transcripts, files)
            else:
                stopped[part.number] = value
            # The bad transcript to tell is the first, as it would be to one process.
            if stopped and not any(number < min(stopped) for number in left):
                return stopped
        if lost:
            raise EngineError(
                f"{len(lost)} of {len(parts)} parts aren't scored, workers were lost ({lost[0]})",
                todo="the same command goes on from what is done",
            )
        return stopped

    def _joined(
        self,
        parts: Iterable[tuple[_ScoredPart, str]],
        stopped: Mapping[int, list[_PartRead]],
        folder: Path,
        known: Mapping[str, str] | None,
    ) -> pl.LazyFrame:
        """The ratings of all parts, in the order of the files; the transcripts are written."""
        transcripts = transcript_writer(folder) if known is None else None
        ratings: list[Path] = []
        for part, name in parts:
            made = self.folder / name
            read = stopped[part.number] if part.number in stopped else _load(made / _INFO)
            taken = [
                each
                for piece, one in zip(part.pieces, read, strict=False)
                for each in self._take(piece, one, known)
            ]
            if stopped:
                continue  # The run won't be written: what matters is what is told of it.
            ratings_of = sorted(made.glob(f"{RATING_PARTS}/*.parquet"))
            keep = None
            if not all(kept for kept, _ in taken):
                keep = pl.Series([kept for kept, _ in taken], dtype=pl.Boolean)
                each = pl.Series([kept for kept, count in taken for _ in range(count)], dtype=pl.Boolean)
                ratings_of = [_filtered(ratings_of, each, folder / RATING_PARTS / f"{name}.parquet")]
            ratings += ratings_of
            if transcripts is not None:
                for table in _tables(sorted(made.glob("transcripts/*.parquet")), keep):
                    transcripts.add_table(table)
        self.reading.finish()
        self.check()
        if transcripts is not None:
            transcripts.close()
        return pl.scan_parquet(ratings)

    def _take(
        self, piece: _Piece, read: _PartRead, known: Mapping[str, str] | None
    ) -> Iterator[tuple[bool, int]]:
        """Enter what was read of a piece; of each transcript, whether it is taken, and how many ratings it has.

        Raises:
            InputError: what one process would have stopped at.
        """
        reading = self.reading
        # One process would not have opened what it had read along with another file.
        if reading.is_companion(Path(piece.path)):
            yield from ((False, each.ratings) for each in read.found if isinstance(each, _Transcript))
            return
        number = self._entered(piece, read)
        for each in read.found:
            if isinstance(each, _Skipped):
                reading.skipped.append(InputError(each.what, where=each.where, todo=each.todo))
                continue
            record = reading.inputs[number]
            try:
                reading.admit(each.id, each.source, number)
            except InputError as doubled:
                if reading.options.on_error == "stop":
                    raise
                reading.skipped.append(doubled)
                record.skipped += 1
                yield False, each.ratings
                continue
            if known is not None:
                check_known(each.id, each.hash, each.source, known)
            record.transcripts += 1
            self.transcripts += 1
            self.turns += each.turns
            yield True, each.ratings
        if read.stopped is not None:
            raise read.stopped

    def _entered(self, piece: _Piece, read: _PartRead) -> int:
        """The number of a piece's file among the inputs, where it is entered if it isn't; -1 if no reader took it."""
        if not read.inputs:
            return -1
        inputs = self.reading.inputs
        first, *along = read.inputs
        number = self._numbers.setdefault(first.path, len(inputs))
        if number == len(inputs):
            inputs.append(replace(first, transcripts=0, skipped=0))
            if piece.span is not None:
                inputs[number].sha256, inputs[number].bytes = self._digests[piece.path], piece.size
        inputs[number].skipped += first.skipped
        for companion in along:
            if companion.path not in self.reading.companions:
                self.reading.companions.add(companion.path)
                inputs.append(companion)
        return number


def _load(file: Path) -> list[_PartRead]:
    """What was read for a part."""
    try:
        return [
            _PartRead(
                [InputFile(**each) for each in one["inputs"]],
                [_Skipped(**each) if "what" in each else _Transcript(**each) for each in one["found"]],
            )
            for one in orjson.loads(file.read_bytes())
        ]
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(
            "a part is missing or damaged", where=str(file.parent), todo="remove it and score again"
        ) from error


def _tables(files: Iterable[Path], keep: pl.Series | None) -> Iterator[pl.DataFrame]:
    """The tables of a part, of their rows those that are to be kept: all, unless it is said of each."""
    start = 0
    for file in files:
        table = pl.read_parquet(file)
        yield table if keep is None else table.filter(keep.slice(start, table.height))
        start += table.height


def _filtered(files: Iterable[Path], keep: pl.Series, target: Path) -> Path:
    """A table of the rows that are to be kept."""
    target.parent.mkdir(exist_ok=True)
    pl.concat(list(_tables(files, keep))).write_parquet(target)
    return target
