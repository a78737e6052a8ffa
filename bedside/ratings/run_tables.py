"""Tables of any length on their way to Parquet files, a batch of rows in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.ratings.table import ROW_SCHEMA
from bedside.support.files import replacing, saying_where, sync
from bedside.transcripts.transcript import Provenance, Transcript, Turn

_ROW_GROUP = 100_000


#: Folder of a large table's files until they are one.
RATING_PARTS = ".ratings"


#: More bytes than the last block of a file can hold.
_MORE = 1 << 20


class TableWriter:
    """Collects rows and keeps memory flat: full batches go to numbered Parquet files, written in the background.

    Args:
        schema: the table's columns and types.
        folder: where the files are put; made when first needed.
        batch: rows in a file.
        utf8: columns of text whose cells are bytes, in UTF-8: decoding a long text and encoding it again costs more
            than all else that is done to it here.
    """

    def __init__(self, schema: pl.Schema, folder: Path, batch: int, utf8: Collection[str] = ()) -> None:
        self.schema = schema
        self._folder = folder
        self._batch = batch
        self._utf8 = utf8
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pl.DataFrame] = []
        self._parts: list[Path] = []
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, its cells in the order of the schema."""
        self.add_rows((row,))

    def add_rows(self, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add rows; the files are those that they would make one by one.

        Returns:
            How many they were.
        """
        more = iter(rows)
        added = -len(self._rows)
        while True:
            self._rows += islice(more, self._batch - len(self._rows))
            if len(self._rows) < self._batch:
                return added + len(self._rows)
            self._write()
            added += self._batch

    def add_table(self, table: pl.DataFrame) -> None:
        """Add the rows of a table; the files are those that they would make one by one."""
        self._tables.append(table)
        if sum(held.height for held in self._tables) < self._batch:
            return
        table = pl.concat(self._tables)
        for start in range(0, table.height, self._batch):
            self._tables = [table.slice(start, self._batch)]
            if self._tables[0].height == self._batch:
                self._write()

    def _write(self) -> None:
        if self._writer is None:
            self._folder.mkdir(0o700)
            self._writer = ThreadPoolExecutor(1)
        self._wait()
        part = self._folder / f"{len(self._parts):06d}.parquet"
        self._writing = self._writer.submit(_write_part, self._frame(), part)
        self._parts.append(part)
        self._rows, self._tables = [], []

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()

    def _frame(self) -> pl.DataFrame:
        if self._tables:
            return pl.concat(self._tables).rechunk()
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self.schema)
        return pl.DataFrame(
            [
                self._column(name, kind, column)
                for (name, kind), column in zip(self.schema.items(), columns, strict=True)
            ]
        )

    def _column(self, name: str, kind: pl.DataType, cells: Sequence[Any]) -> pl.Series:
        if name in self._utf8:
            return pl.Series(name, cells, dtype=pl.Binary()).cast(kind)
        return pl.Series(name, cells, dtype=kind, strict=False)

    def close(self) -> None:
        """Write what is left and wait until all files are on disk."""
        if self._rows or self._tables or not self._parts:
            self._write()
        self._wait()
        assert self._writer is not None
        self._writer.shutdown()

    def result(self) -> pl.LazyFrame:
        """All rows; from memory where they fitted in one batch, else from the files, which must stay until then."""
        if not self._parts:
            return self._frame().lazy()
        self.close()
        return pl.scan_parquet(self._parts)


def _write_part(frame: pl.DataFrame, part: Path) -> None:
    with saying_where(part):
        part.touch(0o600)
        with _writing(part):
            frame.write_parquet(part, compression="zstd", compression_level=1, statistics=False)
        sync(part)


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Raises OSError where Polars can't write a file, such as on a full disk: it doesn't always say why itself."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        with file.open("ab") as more:
            more.write(bytes(_MORE))
        raise OSError(str(error)) from error


def rating_writer(folder: Path) -> TableWriter:
    """What collects ratings; files of a large table go below ``folder`` and are not part of a run."""
    return TableWriter(ROW_SCHEMA, folder / RATING_PARTS, batch=20_000)


def write_table(target: Path, table: pl.LazyFrame) -> None:
    """Write a table as one Parquet file, whole or not at all."""
    with replacing(target) as temporary, _writing(temporary):
        _sink(table, temporary)


def write_new_table(target: Path, table: pl.LazyFrame) -> None:
    """As :func:`write_table`, in a folder that itself takes its place only when all is written."""
    with saying_where(target), _writing(target):
        target.touch(0o600)
        _sink(table, target)
        sync(target)


def _sink(table: pl.LazyFrame, file: Path) -> None:
    # Row groups of a fixed size: the file is the same however the rows were put together.
    table.sink_parquet(
        file,
        compression="zstd",
        compression_level=3,
        maintain_order=True,
        row_group_size=_ROW_GROUP,
    )


#: Columns of a run's table of transcripts.
TRANSCRIPT_SCHEMA = pl.Schema(
    {
        "id": pl.String(),
        "system": pl.String(),
        "case_id": pl.String(),
        "language": pl.String(),
        "factors": pl.String(),
        "turns": pl.Int32(),
        "hash": pl.String(),
        "source": pl.String(),
        "content": pl.String(),
    }
)

#: Folder of the table's files in a run.
TRANSCRIPT_FOLDER = "transcripts"


def transcript_row(transcript: Transcript, *, text: bool = True) -> tuple[Any, ...]:
    """A transcript as a row for :func:`transcript_writer`: its content is bytes, or None where ``text`` is false."""
    content = transcript.to_json()
    return (
        transcript.id,
        transcript.system,
        transcript.case_id,
        transcript.language,
        orjson.dumps(transcript.factors, option=orjson.OPT_SORT_KEYS).decode(),
        len(transcript.turns),
        hashlib.sha256(content).hexdigest(),
        transcript.source,
        content if text else None,
    )


def parse_transcript(content: str | bytes, source: str = "") -> Transcript:
    """The transcript that :meth:`Transcript.to_json` wrote as ``content``."""
    data = orjson.loads(content)
    turns = tuple(
        Turn(index, turn["role"], turn["speaker"], turn["text"], turn.get("meta", {}))
        for index, turn in enumerate(data.pop("turns"))
    )
    provenance = tuple(Provenance(**item) for item in data.pop("provenance", ()))
    return Transcript(turns=turns, source=source, provenance=provenance, **data)


def transcript_writer(folder: Path) -> TableWriter:
    """What writes the transcripts of a run in ``folder``."""
    return TableWriter(TRANSCRIPT_SCHEMA, folder / TRANSCRIPT_FOLDER, batch=100, utf8=("content",))
