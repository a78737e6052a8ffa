"""How a spread scoring divides its input: some files together, or a piece of a large one, make a part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from bedside.core.engines.contract import Engine, TaskOutcome
from bedside.core.errors import EngineError, InputError
from bedside.scoring._spread_parts import FilePiece, ScoredPart, ScoringJob
from bedside.scoring._spread_worker import divide_file
from bedside.transcripts.spans import Span

Result = TypeVar("Result")

#: A part is about this share of the input, within bounds in bytes and in files: it keeps a worker busy for a moment,
#: and is little to lose. None of it depends on the engine, so that any goes on where another stopped.
_SHARE = 128
_SMALLEST = 128 * 2**10
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
    large = [(piece, size) for piece in pieces if piece.size > size]
    for (piece, _), outcome in engine.run_tasks(partial(divide_file, job), large):
        file_spans, digest = finished_value(outcome)
        if file_spans:
            spans[piece.path] = file_spans
            division.digests[piece.path] = digest
    together: list[FilePiece] = []
    for piece in pieces:
        if piece.path in spans:
            division.add(together)
            together = []
            for span in spans[piece.path]:
                division.add([FilePiece(piece.path, piece.size, piece.changed, span)])
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


def finished_value(outcome: TaskOutcome[Result]) -> Result:
    """What a worker returned.

    Raises:
        EngineError: it was lost; what it raised is raised as it is.
    """
    if outcome.error is not None:
        raise outcome.error
    if outcome.lost is not None:
        raise EngineError(
            f"workers were lost ({outcome.lost})", todo="the same command goes on from what is done"
        )
    assert outcome.value is not None
    return outcome.value
