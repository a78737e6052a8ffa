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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import chdir, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import polars as pl

import bedside
from bedside.core.engines.contract import Engine
from bedside.core.errors import BedsideError, EngineError, InputError, RunError
from bedside.core.files import holding, read_json, saying_where, sync, sync_folders, write_bytes
from bedside.ratings.suites import Suite
from bedside.ratings.table import RATING_PARTS, TableWriter, ValueWriter, transcript_row, transcript_writer
from bedside.scoring.plan import ScoringPass, ScoringPlan, check_hash, make_plan, rate
from bedside.scoring.run_transcripts import library_versions
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import InputFile, PartReading, Reading
from bedside.transcripts.reading_account import ReadingAccount
from bedside.transcripts.spans import Span
from bedside.transcripts.transcript_maker import UnknownSpeakerError

# -- The parts that a spread scoring is divided in ------------------------------------------------------

#: Beside a part's tables: what was read for it.
PART_FILE = "part.json"


@dataclass(frozen=True, slots=True)
class FilePiece:
    """A file as it is when the scoring begins, and the piece of it to read.

    Attributes:
        path: the file.
        size: its bytes.
        changed: when it was last changed, in nanoseconds.
        span: the piece; None for the whole file.
    """

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
class ScoredPart:
    """What one task is about.

    Attributes:
        number: its place among the parts, from 0.
        pieces: in the order of the files.
    """

    number: int
    pieces: tuple[FilePiece, ...]


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """What is the same for all parts.

    Attributes:
        folder: where the parts are kept.
        working: the folder that the command was given in.
        root: the folder that the transcripts' names are relative to.
        options: how to read the files.
        metrics: names of the metrics.
        parameters: of their families, as JSON.
        suite: as for :class:`bedside.scoring.plan.ScoringPlan`.
        waiting: as for :func:`bedside.scoring.plan.rate`.
        text: whether the run keeps the transcripts' text.
        versions: what is installed where the command was given, see :func:`installed_versions`.
    """

    folder: str
    working: str
    root: str
    options: ReadOptions
    metrics: tuple[str, ...]
    parameters: str
    suite: Suite | None
    waiting: frozenset[str]
    text: bool
    versions: str

    def part_name(self, part: ScoredPart, raters: Collection[str]) -> str:
        """The name that stands for all that a part is made from."""
        origin = (
            self.root, asdict(self.options), self.metrics, self.parameters, sorted(self.waiting), self.text,
            self.versions, list(raters), [asdict(piece) for piece in part.pieces],
            None if self.suite is None else dict(self.suite.failed),
        )  # fmt: skip
        return hashlib.sha256(orjson.dumps(origin, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def installed_versions() -> str:
    """What can change a number and is installed, with its version, as JSON."""
    return orjson.dumps({"bedside": bedside.__version__, **library_versions()}).decode()


@dataclass(frozen=True, slots=True)
class ScoredTranscript:
    """A transcript that was scored."""

    id: str
    source: str
    hash: str
    turns: int
    ratings: int


@dataclass(frozen=True, slots=True)
class SkippedTranscript:
    """A transcript that was left out, and why; ``unknown_speaker``, whether for a speaker of no known role."""

    what: str
    where: str | None
    todo: str | None
    unknown_speaker: bool = False

    @staticmethod
    def of(error: BedsideError) -> SkippedTranscript:
        """What an error says."""
        return SkippedTranscript(error.what, error.where, error.todo, isinstance(error, UnknownSpeakerError))

    def error(self) -> InputError:
        """The error that says it."""
        kind = UnknownSpeakerError if self.unknown_speaker else InputError
        return kind(self.what, where=self.where, todo=self.todo)


@dataclass(slots=True)
class ReadPiece:
    """What reading a piece gave.

    Attributes:
        inputs: the file, if it was read, and what was read along with it.
        transcripts: what it held, in order.
        account: what was understood of it, as :meth:`ReadingAccount.as_json` has it.
        stopped: what ended the reading.
    """

    inputs: list[InputFile] = field(default_factory=list)
    transcripts: list[ScoredTranscript | SkippedTranscript] = field(default_factory=list)
    account: dict[str, Any] = field(default_factory=dict)
    stopped: InputError | None = None


def read_pieces(folder: Path) -> list[ReadPiece]:
    """What was read for a part.

    Raises:
        RunError: the folder isn't whole.
    """
    return [
        ReadPiece(
            [InputFile(**file) for file in piece["inputs"]],
            [
                SkippedTranscript(**transcript) if "what" in transcript else ScoredTranscript(**transcript)
                for transcript in piece["transcripts"]
            ],
            piece["account"],
        )
        for piece in read_json(folder / PART_FILE, "part", todo="remove it and score again")
    ]


# -- What a worker does in a spread scoring -------------------------------------------------------------

#: Several threads of one worker would share models and the working folder.
_ONE_AT_A_TIME = threading.Lock()


@cache
def _plan(metrics: tuple[str, ...], parameters: str) -> ScoringPlan:
    return make_plan(metrics, orjson.loads(parameters))


@contextmanager
def _at_work(job: ScoringJob) -> Iterator[None]:
    """Be where the command was given, with the libraries it was given with."""
    versions = installed_versions()
    if versions != job.versions:
        here, asked = orjson.loads(versions), orjson.loads(job.versions)
        other = next(name for name in sorted({*here, *asked}) if here.get(name) != asked.get(name))
        raise EngineError(
            f"the worker has {other} {here.get(other, 'not installed')}, this process {asked.get(other, 'not at all')}",
            where=socket.gethostname(),
            todo="install the same on all workers",
        )
    with _ONE_AT_A_TIME, chdir(job.working) if os.path.isdir(job.working) else nullcontext():
        yield


def divide_file(job: ScoringJob, size: int, piece: FilePiece) -> tuple[list[Span], str]:
    """The pieces of a large file, each of about a size in bytes, and the file's SHA-256."""
    with _at_work(job):
        piece.check()
        return PartReading(Path(piece.path), job.options, job.root, None).spans(Path(piece.path), size)


def score_part(job: ScoringJob, part_and_name: tuple[ScoredPart, str]) -> int | list[ReadPiece]:
    """Score a part into its folder: the number of its transcripts, or what was read until a bad one ended it."""
    part, name = part_and_name
    with _at_work(job):
        folder = _partial_folder(job, name)
        try:
            pieces = _score_pieces(job, part, folder)
            if pieces[-1].stopped is not None:
                return pieces
            write_bytes(folder / PART_FILE, orjson.dumps([asdict(piece) for piece in pieces]))
            target = Path(job.folder, name)
            with saying_where(target):
                sync_folders(folder)
                # Whoever else was given this part, because this worker was thought dead, has written the same.
                if not target.exists():
                    os.replace(folder, target)
                    sync(target.parent)
            return sum(isinstance(transcript, ScoredTranscript) for piece in pieces for transcript in piece.transcripts)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _partial_folder(job: ScoringJob, name: str) -> Path:
    """A new folder for a part that isn't whole yet."""
    try:
        return Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=job.folder))
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


def _score_pieces(job: ScoringJob, part: ScoredPart, folder: Path) -> list[ReadPiece]:
    """Score a part's pieces into tables in a folder, up to one that a bad transcript ends."""
    plan = replace(_plan(job.metrics, job.parameters), suite=job.suite)
    ratings, transcripts = ValueWriter(folder), transcript_writer(folder)
    pieces = []
    for piece in part.pieces:
        piece.check()
        pieces.append(_score_piece(job, plan, piece, ratings, transcripts))
        piece.check()
        if pieces[-1].stopped is not None:
            return pieces
    ratings.close()
    transcripts.close()
    return pieces


def _score_piece(
    job: ScoringJob, plan: ScoringPlan, piece: FilePiece, ratings: ValueWriter, transcripts: TableWriter
) -> ReadPiece:
    """Score a piece into the two tables."""
    read = ReadPiece()
    reading = PartReading(Path(piece.path), job.options, job.root, piece.span)
    noted = 0

    def note_skipped() -> None:
        nonlocal noted
        for error in reading.skipped[noted:]:
            read.transcripts.append(SkippedTranscript.of(error))
        noted = len(reading.skipped)

    try:
        for transcript in reading:
            note_skipped()
            row = transcript_row(transcript, text=job.text)
            transcripts.add(row)
            count = ratings.add_values(transcript, rate(transcript, plan, job.waiting))
            read.transcripts.append(
                ScoredTranscript(transcript.id, transcript.source, row[6], len(transcript.turns), count)
            )
    except InputError as error:
        read.stopped = error
    note_skipped()
    read.inputs = reading.inputs
    read.account = reading.account.as_json()
    return read


# -- How the parts of a spread scoring are joined -------------------------------------------------------


class Admission(NamedTuple):
    """Whether a transcript of a part becomes one of the run's, and how many ratings the part has of it."""

    admitted: bool
    ratings: int


class AdmittedPart(PartReading):
    """The reading of a piece without some of its transcripts.

    Attributes:
        refused: which, by id and place.
    """

    refused: Set[tuple[str, str]] = frozenset()

    def admit(self, name: str, source: str, number: int) -> bool:
        return (name, source) not in self.refused


class JoinedReading:
    """What was read of all pieces, in the order of the files.

    Args:
        reading: where it is entered.
        digests: SHA-256 of each file that was divided, by its path.
        hashes: content hashes of the transcripts of a run that is scored into, by id; None for a new run.

    Attributes:
        transcripts, turns: counts of what was admitted.
    """

    def __init__(self, reading: Reading, digests: Mapping[str, str], hashes: Mapping[str, str] | None) -> None:
        self._reading = reading
        self._digests = digests
        self._hashes = hashes
        self._numbers: dict[str | None, int] = {}
        self.transcripts = 0
        self.turns = 0

    def enter(self, piece: FilePiece, read: ReadPiece) -> Iterator[Admission]:
        """Enter what was read of a piece.

        Yields:
            Of each transcript in it, whether it is admitted.

        Raises:
            InputError: what one process would have stopped at.
            RunError: a transcript is not one of the run's.
        """
        reading = self._reading
        # One process would not have opened what it had read along with another file.
        if reading.is_companion(Path(piece.path)):
            for transcript in read.transcripts:
                if isinstance(transcript, ScoredTranscript):
                    yield Admission(False, transcript.ratings)
            return
        number = self._file_number(piece, read)
        refused: set[tuple[str, str]] = set()
        for transcript in read.transcripts:
            if isinstance(transcript, SkippedTranscript):
                reading.skipped.append(transcript.error())
                continue
            record = reading.inputs[number]
            try:
                reading.admit(transcript.id, transcript.source, number)
            except InputError as doubled:
                if reading.options.on_error == "stop":
                    raise
                reading.skipped.append(doubled)
                record.skipped += 1
                refused.add((transcript.id, transcript.source))
                yield Admission(False, transcript.ratings)
                continue
            if self._hashes is not None:
                check_hash(transcript.id, transcript.hash, transcript.source, self._hashes)
            record.transcripts += 1
            self.transcripts += 1
            self.turns += transcript.turns
            yield Admission(True, transcript.ratings)
        if read.stopped is not None:
            raise reading.surveyed(read.stopped)
        reading.account.merge(
            self._account_without(piece, refused) if refused else ReadingAccount.of_json(read.account)
        )

    def _account_without(self, piece: FilePiece, refused: Set[tuple[str, str]]) -> ReadingAccount:
        """The account of a piece without some of its transcripts, by id and place: what counts is read again."""
        reading = AdmittedPart(Path(piece.path), self._reading.options, self._reading.root, piece.span)
        reading.refused = refused
        for _ in reading:
            pass
        return reading.account

    def _file_number(self, piece: FilePiece, read: ReadPiece) -> int:
        """The number of a piece's file among the inputs, where it is entered if it isn't; -1 if no reader took it."""
        if not read.inputs:
            return -1
        inputs = self._reading.inputs
        first, *companions = read.inputs
        number = self._numbers.setdefault(first.path, len(inputs))
        if number == len(inputs):
            inputs.append(replace(first, transcripts=0, skipped=0))
            if piece.span is not None:
                inputs[number].sha256, inputs[number].bytes = self._digests[piece.path], piece.size
        inputs[number].skipped += first.skipped
        for companion in companions:
            if companion.path not in self._reading.companions:
                self._reading.companions.add(str(companion.path))
                inputs.append(companion)
        return number


def join_tables(
    part: Path, admissions: Sequence[Admission], transcripts: TableWriter | None, ratings: Path
) -> list[Path]:
    """Add a part's transcripts to the run's, unless it has them.

    Args:
        part: the part's folder.
        admissions: of each of its transcripts, whether it is admitted.
        transcripts: takes the part's transcripts; None where the run has them.
        ratings: the file to which the part's ratings are written where not all are wanted.

    Returns:
        The files of the ratings of what is admitted.
    """
    files = sorted(part.glob(f"{RATING_PARTS}/*.parquet"))
    keep = None
    if not all(admission.admitted for admission in admissions):
        keep = pl.Series([admission.admitted for admission in admissions], dtype=pl.Boolean)
        of_ratings = pl.Series(
            [admission.admitted for admission in admissions for _ in range(admission.ratings)], dtype=pl.Boolean
        )
        files = [_filtered(files, of_ratings, ratings)]
    if transcripts is not None:
        for table in _tables(sorted(part.glob("transcripts/*.parquet")), keep):
            transcripts.add_table(table)
    return files


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


# -- How a spread scoring divides its input -------------------------------------------------------------

#: A part is about this share of the input, within bounds in bytes and in files: it keeps a worker busy for a moment,
#: and is little to lose. None of it depends on the engine, so that any goes on where another stopped.
_SHARE = 128
_SMALLEST = 512 * 2**10
_LARGEST = 16 * 2**20
_MOST_FILES = 500


@dataclass(frozen=True, slots=True)
class InputDivision:
    """The input in parts.

    Attributes:
        parts: in the order of the files.
        digests: SHA-256 of each file that was divided, by its path.
    """

    parts: list[ScoredPart] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)

    def add(self, pieces: Sequence[FilePiece]) -> None:
        """Make pieces a part, if there are any."""
        if pieces:
            self.parts.append(ScoredPart(len(self.parts), tuple(pieces)))


def divide_input(files: Iterable[Path], job: ScoringJob, engine: Engine) -> InputDivision:
    """Divide the input; an engine's workers look into large files.

    Raises:
        InputError: a file can't be read.
        EngineError: workers were lost.
    """
    division = InputDivision()
    pieces = [_whole_file(path) for path in files]
    size = min(max(sum(piece.size for piece in pieces) // _SHARE, _SMALLEST), _LARGEST)
    spans: dict[str, list[Span]] = {}
    large = [piece for piece in pieces if piece.size > size]
    for piece, (file_spans, digest) in engine.run_tasks(partial(divide_file, job, size), large):
        if file_spans:
            spans[piece.path] = file_spans
            division.digests[piece.path] = digest
    together: list[FilePiece] = []
    for piece in pieces:
        if piece.path in spans:
            division.add(together)
            together = []
            for span in spans[piece.path]:
                division.add([replace(piece, span=span)])
            continue
        together.append(piece)
        if len(together) == _MOST_FILES or sum(other.size for other in together) >= size:
            division.add(together)
            together = []
    division.add(together)
    return division


def _whole_file(path: Path) -> FilePiece:
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=str(path), todo="check it") from error
    return FilePiece(str(path), status.st_size, status.st_mtime_ns)


# -- Scoring spread over an engine's workers ------------------------------------------------------------


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
        waiting: as for :func:`bedside.scoring.plan.rate`.
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
        refusal = RunError(
            "another bedside process scores into this run", where=str(self.folder), todo="wait until it ends"
        )
        with holding(self.folder / ".lock", refusal):
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
            suite=self.plan.suite,
            waiting=self.waiting,
            text=self.text,
            versions=installed_versions(),
        )

    def _score(self, job: ScoringJob, parts: Sequence[ScoredPart], names: Sequence[str]) -> dict[int, list[ReadPiece]]:
        """Have all parts scored that aren't yet; what was read of those that a bad transcript ended, by number."""
        finished = set(os.listdir(self.folder))
        unscored = {part.number: (part, name) for part, name in zip(parts, names, strict=True) if name not in finished}
        self.resumed: int = len(parts) - len(unscored)
        stopped: dict[int, list[ReadPiece]] = {}
        transcripts = files = 0
        tasks = self.engine.run_tasks(partial(score_part, job), list(unscored.values()))
        with closing(tasks):
            for (part, _), result in tasks:
                del unscored[part.number]
                if not isinstance(result, int):
                    stopped[part.number] = result
                else:
                    transcripts += result
                    files += len(part.pieces)
                    if self.progress is not None:
                        self.progress(transcripts, files)
                # The bad transcript to tell is the first, as it would be to one process.
                if stopped and not any(number < min(stopped) for number in unscored):
                    break
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
