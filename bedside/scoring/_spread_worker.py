"""What a worker does in a spread scoring: it divides a large file, and scores a part into a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext
from functools import cache
from pathlib import Path

import orjson

from bedside.core.errors import EngineError, InputError
from bedside.core.files import saying_where, sync, sync_folders
from bedside.ratings.table import TableWriter, rating_writer, transcript_row, transcript_writer
from bedside.scoring._spread_parts import (
    FilePiece,
    FinishedPart,
    ReadPiece,
    ScoredPart,
    ScoredTranscript,
    ScoringJob,
    SkippedTranscript,
    installed_versions,
    write_pieces,
)
from bedside.scoring.one_process import rate
from bedside.scoring.plan import ScoringPlan, make_plan
from bedside.transcripts.reading import PartReading
from bedside.transcripts.spans import Span

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


def divide_file(job: ScoringJob, piece_and_size: tuple[FilePiece, int]) -> tuple[list[Span], str]:
    """The pieces of a large file, each of about a size in bytes, and the file's SHA-256."""
    piece, size = piece_and_size
    with _at_work(job):
        piece.check()
        return PartReading(Path(piece.path), job.options, job.root, None).spans(Path(piece.path), size)


def score_part(job: ScoringJob, part_and_name: tuple[ScoredPart, str]) -> FinishedPart | list[ReadPiece]:
    """Score a part into its folder; where a bad transcript ends it, what was read until then."""
    part, name = part_and_name
    with _at_work(job):
        folder = _partial_folder(job, name)
        try:
            pieces = _score_pieces(job, part, folder)
            if pieces[-1].stopped is not None:
                return pieces
            write_pieces(folder, pieces)
            target = Path(job.folder, name)
            with saying_where(target):
                sync_folders(folder)
                # Whoever else was given this part, because this worker was thought dead, has written the same.
                if not target.exists():
                    os.replace(folder, target)
                    sync(target.parent)
            return FinishedPart(
                sum(
                    isinstance(transcript, ScoredTranscript)
                    for piece in pieces
                    for transcript in piece.transcripts
                )
            )
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
    plan = _plan(job.metrics, job.parameters)
    ratings, transcripts = rating_writer(folder), transcript_writer(folder)
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
    job: ScoringJob, plan: ScoringPlan, piece: FilePiece, ratings: TableWriter, transcripts: TableWriter
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
            count = ratings.add_rows(rate(transcript, plan, job.waiting))
            read.transcripts.append(
                ScoredTranscript(transcript.id, transcript.source, row[6], len(transcript.turns), count)
            )
    except InputError as error:
        read.stopped = error
    note_skipped()
    read.inputs = reading.inputs
    read.account = reading.account.as_json()
    return read
