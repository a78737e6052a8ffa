"""The parts that a spread scoring is divided in, and what a worker tells of a part when it has scored it."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

import bedside
from bedside.core.errors import BedsideError, EngineError, InputError, RunError
from bedside.core.files import write_bytes
from bedside.scoring.versions import library_versions
from bedside.transcripts import ReadOptions
from bedside.transcripts.reading import InputFile
from bedside.transcripts.spans import Span
from bedside.transcripts.transcript_maker import UnknownSpeakerError

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
        waiting: as for :func:`bedside.scoring.one_process.rate`.
        text: whether the run keeps the transcripts' text.
        versions: what is installed where the command was given, see :func:`installed_versions`.
    """

    folder: str
    working: str
    root: str
    options: ReadOptions
    metrics: tuple[str, ...]
    parameters: str
    waiting: frozenset[str]
    text: bool
    versions: str

    def part_name(self, part: ScoredPart, raters: Collection[str]) -> str:
        """The name that stands for all that a part is made from."""
        origin = (
            self.root, asdict(self.options), self.metrics, self.parameters, sorted(self.waiting), self.text,
            self.versions, list(raters), [asdict(piece) for piece in part.pieces],
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


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A part whose folder is whole.

    Attributes:
        transcripts: how many it has.
    """

    transcripts: int


def write_pieces(folder: Path, pieces: list[ReadPiece]) -> None:
    """Note in a part's folder what was read for it."""
    write_bytes(folder / PART_FILE, orjson.dumps([asdict(piece) for piece in pieces]))


def read_pieces(folder: Path) -> list[ReadPiece]:
    """What was read for a part.

    Raises:
        RunError: the folder isn't whole.
    """
    try:
        return [
            ReadPiece(
                [InputFile(**file) for file in piece["inputs"]],
                [
                    SkippedTranscript(**transcript)
                    if "what" in transcript
                    else ScoredTranscript(**transcript)
                    for transcript in piece["transcripts"]
                ],
                piece["account"],
            )
            for piece in orjson.loads((folder / PART_FILE).read_bytes())
        ]
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(
            "a part is missing or damaged", where=str(folder), todo="remove it and score again"
        ) from error
