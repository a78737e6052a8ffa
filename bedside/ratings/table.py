"""The tables of a run: of ratings, with what makes a rating the same rating and what is asked of it everywhere, and of
transcripts; and how tables of any length come into files, a batch of rows in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson
import polars as pl

from bedside.core.errors import DataError, from_extra
from bedside.core.files import replacing, saying_where, sync
from bedside.ratings.names import rated_by_algorithms, units_of
from bedside.ratings.values import WARNING, Value
from bedside.transcripts.transcript import Provenance, Transcript, Turn

if TYPE_CHECKING:
    import pandas


#: Columns of the ratings table, in order, with what they hold; of text where nothing else is said.
_COLUMNS: Mapping[str, str] = {
    "transcript_id": "id of the transcript",
    "system": "what produced the conversation; null where the source doesn't say",
    "case_id": "the patient case; transcripts of different systems on one case are paired",
    "unit": "what was rated: `transcript`, `turn:<index>` with the turn's 0-based index, or, against a second "
    "transcript, `pair:<id of the second>`",
    "metric": "the metric, rubric or code; kept for a role it ends in `.clinician` or `.patient`, and for which of a "
    "pair is better in `.preference`",
    "rater": "`algorithm:<name>@<version>`, `judge:<model>`, `jury:<name>@<rule>-<version>` or `human:<id>`",
    "replicate": "number of the pass, from 0",
    "value": "the number; null where missing or where the rating is a label; of a preference, the share of the win "
    "that the first one has",
    "label": "the label of a nominal code, or `first`, `second` or `tie` of a preference; null otherwise",
    "reason": "the rater's reason, or a remark that belongs to the value",
    "error": "why there is neither value nor label; null where there is one",
    "round": "the round of annotation (a plan's, or an import's) that a person's rating is from; empty where it has no "
    "name",
    "drawn": "the chance with which the unit came into its round; 0 where it was picked for what it is, not drawn; "
    "null where it is not known",
}
_NUMBERS = {"replicate": pl.Int32(), "value": pl.Float64(), "drawn": pl.Float64()}
#: The same, each with its type.
COLUMNS: Mapping[str, tuple[pl.DataType, str]] = {
    name: (_NUMBERS.get(name, pl.String()), text) for name, text in _COLUMNS.items()
}
SCHEMA = pl.Schema({name: kind for name, (kind, _) in COLUMNS.items()})


class RatingRow(NamedTuple):
    """A rating as whatever rates makes it, which knows of no round (see :func:`in_round`).

    Attributes:
        transcript_id, system, case_id, unit, metric, rater, replicate, value, label, reason, error: as :data:`COLUMNS`
            says.
    """

    transcript_id: str
    system: str | None
    case_id: str | None
    unit: str
    metric: str
    rater: str
    replicate: int
    value: float | None = None
    label: str | None = None
    reason: str | None = None
    error: str | None = None


#: The schema of such rows.
ROW_SCHEMA = pl.Schema({name: SCHEMA[name] for name in RatingRow._fields})
#: What of a rating a metric's value says, and what it doesn't, for ``n`` of them.
_VALUES = {name: pl.String() for name in Value._fields} | {"value": pl.Float64(), "turn": pl.Int64()}
_ORIGINS = {name: pl.String() for name in (*RatingRow._fields[:3], "family")} | {"n": pl.UInt32()}
#: The round of ratings that are imported, unless they have a name of their own.
IMPORTED = "import"
#: What the name of a round looks like; without one, it is empty.
ROUND = r"^(?:[^\W_][\w. +-]{0,62})?$"
#: What makes a rating the same rating: a new one of the same key replaces the old.
KEY = ("transcript_id", "unit", "metric", "rater", "replicate", "round")
#: What went wrong with a judge, after the rubric where it is named; then what a server or model said of it.
JUDGE_ERROR = r"(?s)^((?:\w+(?:, turn \d+)?: )?[^:(]*?)(?:: | \().*$"
#: A value in an error, as Python writes it.
_QUOTED = r"""(^|[\s(])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
#: Columns of a run's table of transcripts, and the folder of its files in a run.
TRANSCRIPT_SCHEMA = pl.Schema(
    {
        name: pl.Int32() if name == "turns" else pl.String()
        for name in ("id", "system", "case_id", "language", "factors", "turns", "hash", "source", "content")
    }
)
TRANSCRIPT_FOLDER = "transcripts"
#: Folder of a large table's files until they are one; rows in a group of that; more bytes than the last block of a file
#: can hold.
RATING_PARTS, _ROW_GROUP, _MORE = ".ratings", 100_000, 1 << 20
#: Ratings that are collected before they are a table.
_RATING_BATCH = 20_000
_Table = TypeVar("_Table", pl.DataFrame, pl.LazyFrame)


def to_pandas(table: pl.DataFrame) -> pandas.DataFrame:
    """A Polars data frame as a pandas one.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    with from_extra("pandas", "a pandas data frame needs pandas and pyarrow"):
        return table.to_pandas()


def wordless(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """Ratings without what people and judges wrote, nor what an error quotes: where no text is wanted."""
    algorithm = rated_by_algorithms()
    error = pl.col("error").str.replace_all(_QUOTED, "${1}…")
    return ratings.with_columns(
        pl.when(algorithm).then("reason"),
        pl.when(algorithm).then(error).otherwise(error.str.replace(JUDGE_ERROR, "${1}")).alias("error"),
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


def warnings_in(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """What values warn of (:data:`~bedside.ratings.values.WARNING`), as ``warning``, by ``metric`` and
    ``transcript_id``."""
    reason = pl.col("reason")
    return (
        ratings.filter(reason.str.starts_with(WARNING))
        .select(
            "metric", "transcript_id", reason.str.split("; ").list.first().str.strip_prefix(WARNING).alias("warning")
        )
        .unique()
    )


def check_round(name: str) -> None:
    """See that a round can have this name.

    Raises:
        DataError: it can't.
    """
    if not re.fullmatch(ROUND, name):
        raise DataError(
            f"{name!r} can't be the name of a round", where="`round`", todo="use letters, digits, blanks and . _ - +"
        )


def in_round(ratings: _Table, name: str = "", drawn: Sequence[float | None] | None = None) -> _Table:
    """Ratings of :data:`ROW_SCHEMA` as a ratings table.

    Args:
        ratings: the ratings.
        name: the round that all of them are of.
        drawn: the chance with which each one's unit came into it; not known unless given.
    """
    chances = pl.lit(None, dtype=pl.Float64()) if drawn is None else pl.Series(drawn, dtype=pl.Float64())
    return ratings.with_columns(pl.lit(name).alias("round"), chances.alias("drawn")).select(SCHEMA.names())


def frame_of(
    rows: Iterable[tuple[Any, ...]], round: str = "", drawn: Sequence[float | None] | None = None
) -> pl.DataFrame:
    """A ratings table of rows whose cells are in the order of :data:`ROW_SCHEMA`; else as :func:`in_round`."""
    return in_round(pl.DataFrame(list(rows), schema=ROW_SCHEMA, orient="row"), round, drawn)


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
                pl.Series(name, cells, dtype=pl.Binary()).cast(kind)
                if name in self._utf8
                else pl.Series(name, cells, dtype=kind, strict=False)
                for (name, kind), cells in zip(self.schema.items(), columns, strict=True)
            ]
        )

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


class ValueWriter(TableWriter):
    """Collects the values of transcripts as ratings, column by column."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ROW_SCHEMA, folder / RATING_PARTS, _ROW_GROUP)
        self._origins: list[tuple[Any, ...]] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in _VALUES}

    def add_values(self, transcript: Transcript, values_by_rater: Iterable[tuple[str, list[Value]]]) -> int:
        """Add a transcript's values, each list with the rater of those that name none.

        Returns:
            How many they were.
        """
        added = 0
        for rater, values in values_by_rater:
            if values:
                self._origins.append((transcript.id, transcript.system, transcript.case_id, rater, len(values)))
                added += len(values)
                for column, cells in zip(self._columns.values(), zip(*values, strict=True), strict=True):
                    column += cells
        if len(self._columns["metric"]) >= _RATING_BATCH:
            self._make_table()
        return added

    def _make_table(self) -> None:
        if not self._origins:
            return
        origins = pl.DataFrame(self._origins, schema=_ORIGINS, orient="row")
        values = [pl.Series(name, self._columns[name], dtype=kind, strict=False) for name, kind in _VALUES.items()]
        table = origins.select(pl.exclude("n").repeat_by("n").explode()).with_columns(
            *values, replicate=pl.lit(0, dtype=pl.Int32())
        )
        self._origins.clear()
        for column in self._columns.values():
            column.clear()
        self.add_table(
            table.with_columns(
                unit=units_of(pl.col("turn")),
                metric=pl.concat_str("metric", "role", separator=".", ignore_nulls=True),
                rater=pl.coalesce("rater", "family"),
            ).select(ROW_SCHEMA.names())
        )

    def close(self) -> None:
        self._make_table()
        super().close()

    def result(self) -> pl.LazyFrame:
        self._make_table()
        return super().result()


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
    return TableWriter(ROW_SCHEMA, folder / RATING_PARTS, _RATING_BATCH)


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
    table.sink_parquet(file, compression="zstd", compression_level=3, maintain_order=True, row_group_size=_ROW_GROUP)


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
