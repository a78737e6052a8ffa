"""Ratings and runs: the one table of results, and the folder that holds an evaluation.

Everything is a rating: one value or label that one rater gives one unit of a transcript for one metric.
Algorithms, judges and people are all raters.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from bedside.support.errors import MissingExtraError, RunError
from bedside.support.files import empty, making, replacing, saying_where, sync, write_json
from bedside.support.json_shape import NUMBER, TEXT, WHOLE, YES_OR_NO, Each, Maybe, misfit
from bedside.transcripts.transcript import Transcript, Turn

if TYPE_CHECKING:
    import pandas

#: Columns of the ratings table, in order, with what they hold.
COLUMNS: Mapping[str, tuple[pl.DataType, str]] = {
    "transcript_id": (pl.String(), "id of the transcript"),
    "system": (pl.String(), "what produced the conversation; null where the source doesn't say"),
    "case_id": (pl.String(), "the patient case; transcripts of different systems on one case are paired"),
    "unit": (pl.String(), "what was rated: `transcript`, or `turn:<index>` with the turn's 0-based index"),
    "metric": (
        pl.String(),
        "the metric, rubric or code; kept for a role it ends in `.clinician` or `.patient`",
    ),
    "rater": (pl.String(), "`algorithm:<name>@<version>`, `judge:<model>` or `human:<id>`"),
    "replicate": (pl.Int32(), "number of the pass, from 0"),
    "value": (pl.Float64(), "the number; null where missing or where the rating is a label"),
    "label": (pl.String(), "the label of a nominal code; null otherwise"),
    "reason": (pl.String(), "the rater's reason, or a remark that belongs to the value"),
    "error": (pl.String(), "why there is neither value nor label; null where there is one"),
}
SCHEMA = pl.Schema({name: kind for name, (kind, _) in COLUMNS.items()})
#: What makes a rating the same rating: a new one of the same key replaces the old.
KEY = ("transcript_id", "unit", "metric", "rater", "replicate")

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
FORMAT = 1
#: What went wrong with a judge, after the rubric where it is named; then what a server or model said of it.
SAID = r"(?s)^((?:\w+(?:, turn \d+)?: )?[^:(]*?)(?:: | \().*$"
#: A value in an error, as Python writes it.
_QUOTED = r"""(^|[\s(])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ROW_GROUP = 100_000
_RATINGS = "ratings.parquet"
#: What comes of reading a damaged table.
_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
#: What every manifest holds.
_FORM = {
    "transcripts": {
        "count": WHOLE, "turns": WHOLE, "text": YES_OR_NO, "skipped": [Maybe(TEXT)], "options": {},
        "inputs": [{"path": TEXT, "format": TEXT, "transcripts": WHOLE}],
    },
    "scorings": [{
        "suite": Maybe(TEXT), "own_suite": Maybe({}), "metrics": [TEXT], "raters": [TEXT], "parameters": Each({}),
        "missing": [{"metric": TEXT, "rater": TEXT, "error": TEXT, "n": WHOLE}], "ratings": WHOLE, "bedside": TEXT,
        "python": TEXT, "libraries": Each(TEXT), "judges": Maybe(Each({})),
    }],
    "imports": [{"file": TEXT, "ratings": WHOLE, "scales": Each([(*TEXT, *NUMBER)])}],
    "rubrics": Maybe(Each({})),
}  # fmt: skip
_TRANSCRIPTS = "transcripts"
#: Folder of a large table's files until they are one.
RATING_PARTS = ".ratings"
_MANIFEST = "manifest.json"
#: A change of the two that is on disk whole and not in its place yet.
_CHANGE = ".change"
#: More bytes than the last block of a file can hold.
_MORE = 1 << 20
#: What names of folders begin with that a run holds while it is changed.
_SCRATCH = (".scoring.", ".judging.")


class TableWriter:
    """Collects rows and keeps memory flat: full batches go to numbered Parquet files, written in the background.

    Args:
        schema: the table's columns and types.
        folder: where the files are put; made when first needed.
        batch: rows in a file.
    """

    def __init__(self, schema: pl.Schema, folder: Path, batch: int) -> None:
        self.schema = schema
        self._folder = folder
        self._batch = batch
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pl.DataFrame] = []
        self._parts: list[Path] = []
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, its cells in the order of the schema."""
        self._rows.append(row)
        if len(self._rows) >= self._batch:
            self._write()

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
            [pl.Series(name, column, dtype=kind, strict=False)
             for (name, kind), column in zip(self.schema.items(), columns, strict=True)]
        )  # fmt: skip

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


def transcript_row(transcript: Transcript, *, text: bool = True) -> tuple[Any, ...]:
    """A transcript as a row of a run's table of transcripts; without its content where ``text`` is false."""
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
        content.decode() if text else None,
    )


def parse_transcript(content: str | bytes, source: str = "") -> Transcript:
    """The transcript that :meth:`Transcript.to_json` wrote as ``content``."""
    data = orjson.loads(content)
    turns = tuple(
        Turn(index, turn["role"], turn["speaker"], turn["text"], turn.get("meta", {}))
        for index, turn in enumerate(data.pop("turns"))
    )
    return Transcript(turns=turns, source=source, **data)


class Run:
    """The folder of one evaluation: ratings, transcripts as read, and a manifest.

    Open one with :func:`bedside.read_run`.

    Attributes:
        path: the folder.
        manifest: what a stranger needs to repeat the run: versions, inputs with their SHA-256, suites, metrics,
            parameters, counts.

    Raises:
        RunError: the folder is missing or is no run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not os.path.isdir(self.path):
            raise RunError("there is no such run", where=str(path), todo="make one with bedside score")
        self._settle()
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> dict[str, Any]:
        file = self.path / _MANIFEST
        if not file.is_file():
            raise RunError(
                "the folder is no run (it has no manifest.json)",
                where=str(self.path),
                todo="name a folder that bedside score made",
            )
        try:
            manifest: dict[str, Any] = json.loads(file.read_text("utf-8"))
            version = manifest["format"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RunError("the manifest can't be read", where=str(file), todo="score again") from error
        if version != FORMAT:
            raise RunError(
                f"the run has format {version}, this bedside reads format {FORMAT}",
                where=str(self.path),
                todo="use the version of bedside named in its manifest",
            )
        wrong = misfit(manifest, _FORM)
        if wrong is not None:
            raise RunError(
                f"the manifest is damaged at {wrong}", where=str(file), todo="restore it, or score again"
            )
        return manifest

    @property
    def keeps_text(self) -> bool:
        """Whether the run holds what was said."""
        return bool(self.manifest["transcripts"]["text"])

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def scan(self) -> pl.LazyFrame:
        """The ratings table, unread: filter it before collecting where a run is large."""
        return self._table(_RATINGS, SCHEMA)

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """The ratings table (see :data:`COLUMNS`)."""
        with self._sound(_RATINGS):
            return self.scan().collect()

    def to_pandas(self) -> pandas.DataFrame:
        """The ratings table as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return to_pandas(self.ratings)

    @cached_property
    def index(self) -> pl.DataFrame:
        """One row a transcript, without its content: id, system, case_id, language, factors (JSON), turns, hash,
        source."""
        with self._sound(_TRANSCRIPTS):
            return self._table(f"{_TRANSCRIPTS}/*.parquet", TRANSCRIPT_SCHEMA).drop("content").collect()

    @cached_property
    def factors(self) -> pl.DataFrame:
        """One row a transcript: its id as ``transcript_id``, and a column for each factor (text)."""
        with self._sound(_TRANSCRIPTS):
            rows = [
                {
                    "transcript_id": name,
                    **{key: None if value is None else str(value) for key, value in found.items()},
                }
                for name, text in self.index.select("id", "factors").iter_rows()
                for found in (orjson.loads(text),)
            ]
        names = sorted({key for row in rows for key in row} - {"transcript_id"})
        return pl.DataFrame(rows, schema={"transcript_id": pl.String(), **dict.fromkeys(names, pl.String())})

    def transcripts(self) -> Iterator[Transcript]:
        """The transcripts as they were read, one by one.

        Raises:
            RunError: the run keeps no text.
        """
        for part in sorted((self.path / _TRANSCRIPTS).glob("*.parquet")):
            with self._sound(f"{_TRANSCRIPTS}/{part.name}"):
                table = self._table(f"{_TRANSCRIPTS}/{part.name}", TRANSCRIPT_SCHEMA)
                rows = table.select("id", "content", "source").collect()
            for name, content, source in rows.iter_rows():
                yield self._parsed(name, content, source)

    def transcript(self, name: str) -> Transcript:
        """The transcript with this id.

        Raises:
            RunError: there is none, or the run keeps no text.
        """
        every = self._table(f"{_TRANSCRIPTS}/*.parquet", TRANSCRIPT_SCHEMA)
        with self._sound(_TRANSCRIPTS):
            table = every.filter(pl.col("id") == name).collect()
        if table.is_empty():
            raise RunError(f"there is no transcript {name!r}", where=str(self.path))
        return self._parsed(*table.select("id", "content", "source").row(0))

    def _parsed(self, name: str, content: str | None, source: str) -> Transcript:
        if content is None:
            raise RunError(
                f"the run keeps no text of transcript {name!r}",
                where=str(self.path),
                todo="score again into a new run without --no-text",
            )
        with self._sound(_TRANSCRIPTS):
            return parse_transcript(content, source)

    @contextmanager
    def _sound(self, name: str) -> Iterator[None]:
        """Turns what reading a damaged table comes to into a message that names it."""
        try:
            yield
        except (*_DAMAGE, ValueError, LookupError, TypeError, AttributeError) as error:
            raise RunError(
                "missing or damaged", where=str(self.path / name), todo="score again into a new run"
            ) from error

    def add(self, ratings: pl.LazyFrame, manifest: Mapping[str, Any], *, key: Sequence[str] = KEY) -> int:
        """Add ratings, replacing those of the same key, and put ``manifest`` in place of the old one: both, or neither.

        The run must be :meth:`locked`.

        Args:
            ratings: the new ones.
            manifest: the new one.
            key: the columns of the key; with fewer than :data:`KEY`, old ratings go whose units are not rated again.

        Returns:
            How many ratings were replaced.
        """
        if not self.keeps_text:
            ratings = wordless(ratings)
        keys = ratings.select(key).unique()
        old = self.scan()
        with self._sound(_RATINGS):
            replaced = old.join(keys, on=key, how="semi").select(pl.len()).collect().item()
        kept = old.join(keys, on=key, how="anti", maintain_order="left") if replaced else old
        with self._sound(_RATINGS), making(self.path / _CHANGE) as folder:
            _write_table(folder / _RATINGS, pl.concat([kept, ratings]))
            write_json(folder / _MANIFEST, manifest)
        self._settle()
        self.manifest = dict(manifest)
        self.__dict__.pop("ratings", None)
        return int(replaced)

    def _settle(self) -> None:
        """Put a change in its place that is on disk whole; its process may have ended in the middle of that."""
        change = self.path / _CHANGE
        if not change.is_dir():
            return
        with saying_where(self.path):
            for name in (_RATINGS, _MANIFEST):
                with suppress(FileNotFoundError):  # another process was faster
                    os.replace(change / name, self.path / name)
            sync(self.path)
            with suppress(FileNotFoundError):
                change.rmdir()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run while it is changed; its manifest is read again, as another process may have changed it before.

        What a killed process left in the middle of a change is removed.

        Raises:
            RunError: another process holds it.
        """
        import filelock

        lock = filelock.FileLock(self.path / ".lock", timeout=0)
        with saying_where(self.path):
            try:
                lock.acquire()
            except filelock.Timeout as error:
                raise RunError(
                    "another bedside process is changing this run",
                    where=str(self.path),
                    todo="wait until it ends",
                ) from error
        try:
            for kind in _SCRATCH:
                empty(self.path, f"{kind}*")
            self._settle()
            self.manifest = self._read_manifest()
            self.__dict__.pop("ratings", None)
            yield
        finally:
            lock.release()

    def _table(self, name: str, schema: pl.Schema) -> pl.LazyFrame:
        file = self.path / name
        try:
            table = pl.scan_parquet(file)
            found = table.collect_schema()
        except _DAMAGE as error:
            raise RunError(
                "missing or damaged", where=str(file), todo="score again into a new run"
            ) from error
        if found != schema:
            raise RunError("has other columns than a run's table", where=str(file), todo="score again")
        return table


def to_pandas(table: pl.DataFrame) -> pandas.DataFrame:
    """A Polars data frame as a pandas one.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ImportError as error:
        raise MissingExtraError(
            "pandas and pyarrow are not installed", todo="pip install 'bedside[pandas]'"
        ) from error


def read_run(path: str | os.PathLike[str]) -> Run:
    """Open a run.

    Raises:
        RunError: the folder is missing or is no run.
    """
    return Run(path)


@contextmanager
def new_run(path: Path) -> Iterator[Path]:
    """A private temporary folder that becomes the run at ``path`` when the block ends well.

    Raises:
        RunError: ``path`` exists and isn't an empty folder, can't be made, or is being made by another process.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise RunError("exists and is no run", where=str(path), todo="choose another folder with --out")
    with making(path) as folder:
        yield folder


def transcript_writer(folder: Path) -> TableWriter:
    """What writes the transcripts of a run in ``folder``."""
    return TableWriter(TRANSCRIPT_SCHEMA, folder / _TRANSCRIPTS, batch=100)


def rating_writer(folder: Path) -> TableWriter:
    """What collects ratings; files of a large table go below ``folder`` and are not part of a run."""
    return TableWriter(SCHEMA, folder / RATING_PARTS, batch=20_000)


def write_new_run(folder: Path, ratings: pl.LazyFrame, manifest: Mapping[str, Any]) -> None:
    """Write ratings and manifest of a run into ``folder``, where its transcripts are already."""
    _write_table(folder / _RATINGS, ratings)
    shutil.rmtree(folder / RATING_PARTS, ignore_errors=True)
    write_json(folder / _MANIFEST, manifest)


def _write_table(target: Path, table: pl.LazyFrame) -> None:
    with replacing(target) as temporary, _writing(temporary):
        # Row groups of a fixed size: the file is the same however the rows were put together.
        table.sink_parquet(
            temporary,
            compression="zstd",
            compression_level=3,
            maintain_order=True,
            row_group_size=_ROW_GROUP,
        )


def wordless(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """Ratings without what people and judges wrote, nor what an error quotes: where no text is wanted."""
    algorithm = pl.col("rater").str.starts_with("algorithm:")
    error = pl.col("error").str.replace_all(_QUOTED, "${1}…")
    return ratings.with_columns(
        pl.when(algorithm).then("reason"),
        pl.when(algorithm).then(error).otherwise(error.str.replace(SAID, "${1}")).alias("error"),
    )


def missing_counts(ratings: pl.LazyFrame) -> list[dict[str, Any]]:
    """How many ratings of each metric and rater are missing for each reason, most first."""
    return (
        ratings.filter(pl.col("error").is_not_null())
        .group_by("metric", "rater", "error")
        .len("n")
        .sort(["n", "metric", "rater", "error"], descending=[True, False, False, False])
        .collect()
        .to_dicts()
    )


def frame_of(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """A ratings table of rows whose cells are in the order of :data:`COLUMNS`."""
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")
