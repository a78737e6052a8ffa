"""Rows of Parquet files, as text: single values as they are written, lists and structures as JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource

#: Rows that are held at once.
_BATCH = 500
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
    import polars as pl

    if not _readable(source):
        raise _damaged(source)
    yield 0, _names(source)
    number = 0
    try:
        frame = pl.scan_parquet(source.path, glob=False)
        if most is not None:
            frame = frame.head(most)
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True):
            for values in batch.iter_rows():
                number += 1
                row = [_text(value) for value in values]
                if sum(map(len, row)) > MAX_RECORD:
                    where = f"{source.name}:{number}"
                    yield (
                        number,
                        InputError(
                            f"the row is longer than {MAX_RECORD // 2**20} MB", where=where, todo="split it"
                        ),
                    )
                elif any(row):
                    yield number, row
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _damaged(source) from error


def _names(source: ByteSource) -> list[str]:
    import polars as pl

    try:
        return list(pl.read_parquet_schema(source.path))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _damaged(source) from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        return orjson.dumps(value, default=str).decode()
    return value if isinstance(value, str) else str(value)


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
