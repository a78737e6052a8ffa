"""Rows of Parquet files: as they are typed, or as text (single values as they are written, lists and structures as
JSON)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource

if TYPE_CHECKING:
    import polars as pl

#: Rows that are held at once.
_BATCH = 500
#: Whole numbers below this stand exactly in floating point.
_EXACT = 2.0**53
_TRIED = (
    "import sys, polars\n"
    "for batch in polars.scan_parquet(sys.argv[1], glob=False).collect_batches(chunk_size=500): pass"
)


def is_parquet(source: ByteSource) -> bool:
    """Whether the file begins as Parquet files do."""
    return source.head[:4] == b"PAR1"


def parquet_rows(source: ByteSource, most: int | None = None) -> Iterator[tuple[int, list[str] | InputError]]:
    """Number, from 1, and cells of each row, behind the names of the columns under the number 0.

    Args:
        source: the file.
        most: rows wanted; None for all.

    Raises:
        InputError: the file can't be read.
    """
    yield 0, list(parquet_schema(source))
    for number, values in _values(source, most):
        row = [cell_text(value) for value in values]
        if sum(map(len, row)) > MAX_RECORD:
            where = f"{source.name}:{number}"
            yield (
                number,
                InputError(f"the row is longer than {MAX_RECORD // 2**20} MB", where=where, todo="split it"),
            )
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

    if not _readable(source):
        raise _damaged(source)
    try:
        return pl.read_parquet_schema(source.path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _damaged(source) from error


def parquet_height(source: ByteSource) -> int:
    """Number of rows, as the file says, of which few bytes can hold many.

    Raises:
        InputError: the file can't be read.
    """
    import polars as pl

    parquet_schema(source)
    try:
        return int(pl.scan_parquet(source.path, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _damaged(source) from error


def _values(source: ByteSource, most: int | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Number, from 1, and values of each row, a few held at once."""
    import polars as pl

    number = 0
    try:
        frame = pl.scan_parquet(source.path, glob=False)
        if most is not None:
            frame = frame.head(most)
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True):
            for values in batch.iter_rows():
                number += 1
                yield number, values
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _damaged(source) from error


def cell_text(value: Any) -> str:
    """A typed value as the cell of a table: a whole number without a point, a list or object as JSON; none is empty."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, list | dict):
        return orjson.dumps(value, default=str).decode()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def _readable(source: ByteSource) -> bool:
    """Whether the file can be read: tried by another process, because some damage ends the process that reads."""
    if source.readable is None:
        tried = subprocess.run(
            [sys.executable, "-c", _TRIED, str(source.path)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        source.readable = tried.returncode == 0
    return source.readable


def _damaged(source: ByteSource) -> InputError:
    return InputError("the Parquet file can't be read", where=source.name, todo="save it again")
