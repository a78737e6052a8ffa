"""How the parts of a spread scoring are joined: what was read is entered as one process would have entered it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from bedside.core.errors import InputError
from bedside.ratings.table import RATING_PARTS, TableWriter
from bedside.scoring._spread_parts import FilePiece, ReadPiece, ScoredTranscript, SkippedTranscript
from bedside.scoring.one_process import check_hash
from bedside.transcripts import Reading
from bedside.transcripts.reading import PartReading
from bedside.transcripts.reading_account import ReadingAccount


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

    def __init__(
        self, reading: Reading, digests: Mapping[str, str], hashes: Mapping[str, str] | None
    ) -> None:
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
            [admission.admitted for admission in admissions for _ in range(admission.ratings)],
            dtype=pl.Boolean,
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
