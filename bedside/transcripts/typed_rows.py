"""Rows of files whose values are typed: Parquet, SPSS, Stata and SAS. As text, single values stand as they are written,
lists and structures as JSON."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import InputError, from_extra
from bedside.core.files import quiet
from bedside.transcripts.byte_source import MAX_COMPANION, MAX_RECORD, STATISTICS, ByteSource

if TYPE_CHECKING:
    import polars as pl

#: Rows that are held at once.
_BATCH = 500
#: What a cell counts besides its text, in bytes.
_CELL = 8
#: Whole numbers below this stand exactly in floating point.
_EXACT = 2.0**53
_TRIED = (
    "import sys, polars\n"
    "for batch in polars.scan_parquet(sys.argv[1], glob=False).collect_batches(chunk_size=500): pass"
)
#: Largest table of a statistics program, in bytes unpacked.
_MOST_BYTES = 2**29

#: Number and cells of each row; an error in place of a bad row.
NumberedRows = Iterator[tuple[int, list[str] | InputError]]


def is_parquet(source: ByteSource) -> bool:
    """Whether the file begins as Parquet files do."""
    return source.head[:4] == b"PAR1"


def is_statistics(source: ByteSource) -> bool:
    """Whether the file begins as those of SPSS, Stata or SAS do."""
    return STATISTICS.match(source.head) is not None


def held_bytes(source: ByteSource, what: str) -> bytes:
    """The unpacked content of a file that can only be read whole.

    Args:
        source: the file.
        what: it is.

    Raises:
        InputError: it is too large.
    """
    if source.whole is not None:
        return source.whole
    with source.open() as file:
        data = source.unpacking(file.read, MAX_COMPANION + 1)
    if len(data) > MAX_COMPANION:
        raise too_large(source, what, MAX_COMPANION)
    return data


def too_large(source: ByteSource, what: str, limit: int) -> InputError:
    """The error for a file that is larger than so many bytes."""
    return InputError(
        f"the {what} is larger than {limit // 2**20} MB", where=source.name, todo="save it as CSV or split it"
    )


def parquet_rows(source: ByteSource, most: int | None = None) -> NumberedRows:
    """Number, from 1, and cells of each row, behind the names of the columns under the number 0.

    Args:
        source: the file.
        most: rows wanted; None for all.

    Raises:
        InputError: the file can't be read.
    """
    yield 0, list(parquet_schema(source))
    for number, values in _values(source, most):
        row = [value if type(value) is str else cell_text(value) for value in values]
        if sum(map(len, row)) > MAX_RECORD:
            what = f"the row is longer than {MAX_RECORD // 2**20} MB"
            yield number, InputError(what, where=f"{source.name}:{number}", todo="split it")
        elif any(row):
            yield number, row


def parquet_records(source: ByteSource) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number, from 1, and values of each row by the names of the columns.

    Raises:
        InputError: the file can't be read.
    """
    names = list(parquet_schema(source))
    for number, values in _values(source, None):
        yield number, dict(zip(names, values, strict=True))


def parquet_schema(source: ByteSource) -> Mapping[str, pl.DataType]:
    """Names and types of the columns.

    Raises:
        InputError: the file can't be read.
    """
    import polars as pl

    with _reading(source):
        if source.readable is None:  # tried by another process, because some damage ends the process that reads
            tried = subprocess.run(
                [sys.executable, "-c", _TRIED, str(source.path)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
            )  # fmt: skip
            source.readable = tried.returncode == 0
        if not source.readable:
            raise ValueError("not readable")
        return pl.read_parquet_schema(source.path)


def parquet_frame(source: ByteSource, most: int) -> pl.DataFrame:
    """All rows.

    Args:
        source: the file.
        most: bytes of text that they may have: few bytes of a file can hold many.

    Raises:
        InputError: the file can't be read, or has more.
    """
    import polars as pl

    check_parquet_size(source, most)
    with _reading(source):
        return pl.scan_parquet(source.path, glob=False).collect()


def check_parquet_size(source: ByteSource, most: int) -> None:
    """As :func:`parquet_frame`, without reading the rows."""
    import polars as pl

    schema = parquet_schema(source)
    texts = [pl.col(name).str.len_bytes().cast(pl.Int64).sum() for name, kind in schema.items() if kind == pl.String]
    size = pl.sum_horizontal(pl.len().cast(pl.Int64) * len(schema) * _CELL, *texts)
    with _reading(source):
        if pl.scan_parquet(source.path, glob=False).select(size).collect().item() <= most:
            return
    raise too_much_text(source.name, most)


def too_much_text(place: str, most: int) -> InputError:
    """The error for a table of more bytes of text than that."""
    return InputError(f"the file has more than {most // 2**20} MB of text", where=place, todo="split it")


def _values(source: ByteSource, most: int | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Number, from 1, and values of each row, a few held at once."""
    import polars as pl

    before = 0
    with _reading(source):
        frame = pl.scan_parquet(source.path, glob=False)
        if most is not None:
            frame = frame.head(most)
        batches = iter(frame.collect_batches(chunk_size=_BATCH, maintain_order=True))
    batch: pl.DataFrame | None = pl.DataFrame()
    while batch is not None:
        with _reading(source):  # not while whoever asks does something else
            batch = next(batches, None)
            rows = [] if batch is None else batch.rows()
        yield from enumerate(rows, before + 1)
        before += len(rows)


@contextmanager
def _reading(source: ByteSource) -> Iterator[None]:
    import polars as pl

    try:
        with quiet():
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise InputError("the Parquet file can't be read", where=source.name, todo="save it again") from error


def cell_text(value: Any) -> str:
    """A typed value as the cell of a table: a whole number without a point, a list or object as JSON; none is empty.

    Raises:
        InputError: it is nested more deeply than JSON is written.
    """
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, list | dict):
        try:
            return orjson.dumps(value, default=str).decode()
        except orjson.JSONEncodeError as error:
            raise InputError("a value is nested too deeply", todo="see that each record is a row") from error
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def statistics_rows(source: ByteSource, most: int | None = None) -> NumberedRows:
    """Rows of an SPSS, Stata or SAS file, as :func:`parquet_rows` gives them.

    Labels stand in place of the values of a column in which each has one, and what the file declares missing is empty;
    both are said in the source's account.

    Raises:
        InputError: the file can't be read.
        MissingExtraError: pyreadstat isn't installed.
    """
    if source.book is None:
        source.book = _statistics_table(source)
    columns: dict[str, list[str]] = source.book
    yield 0, list(columns)
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        if most is not None and number > most:
            return
        if any(row):
            yield number, list(row)


def _statistics_table(source: ByteSource) -> dict[str, list[str]]:
    """The cells of each column."""
    with from_extra(
        "spss",
        "reading files of SPSS, Stata and SAS needs pyreadstat",
        where=source.name,
        instead=", or save the table as CSV or XLSX",
    ):
        import pyreadstat
    data = held_bytes(source, "file")
    read: Any = {b"$FL": pyreadstat.read_sav, b"\0\0\0": pyreadstat.read_sas7bdat, b"HEA": pyreadstat.read_xport}.get(
        data[:3], pyreadstat.read_dta
    )
    options: dict[str, Any] = {"output_format": "dict", "encoding": source.options.encoding}
    if read is not pyreadstat.read_xport:
        options["user_missing"] = True
    try:
        _, meta = read(io.BytesIO(data), metadataonly=True, **options)
        most = _MOST_BYTES // max(1, sum(meta.variable_storage_width.values()))
        values, meta = read(io.BytesIO(data), row_limit=most + 1, **options)
        if None in values or len(values) != meta.number_columns:
            raise ValueError("columns without a name of their own")
        labels, ranges, letters = meta.variable_value_labels, meta.missing_ranges, meta.missing_user_values
    # A damaged file makes pyreadstat raise whatever its parts happen to raise.
    except Exception as error:
        what = "the file of a statistics program can't be read"
        raise InputError(what, where=source.name, todo="save it again, or as CSV") from error
    if any(len(column) > most for column in values.values()):
        raise too_large(source, "table", _MOST_BYTES)
    remarks: dict[str, list[str]] = {}
    cells = {}
    for name, column in values.items():
        declared = [(part["lo"], part["hi"]) for part in ranges.get(name, ())]
        declared += [(letter, letter) for letter in letters.get(name, ())]
        for at, value in enumerate(column) if declared else ():
            if any(type(low) is type(value) and low <= value <= high for low, high in declared):
                source.account.count_left_out("values declared missing", f"{source.name}:{at + 1} column {name}")
                column[at] = None
        known = {value: said for value, said in labels.get(name, {}).items() if said != cell_text(value)}
        used = {value for value in column if value is not None and value != ""}
        own = {known[value] for value in used if value in known}
        if own:
            end = "are read as their labels" if len(own) == len(used) else "stay, as not each has a label of its own"
            remarks.setdefault(end, []).append(repr(name))
        mapped = known if len(own) == len(used) else {}
        cells[name] = [cell_text(mapped.get(value, value)) for value in column]
    for end, names in remarks.items():
        source.account.remark(f"The values of {', '.join(names)} {end}.")
    return cells
