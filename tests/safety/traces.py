"""What files say, however they are written: for tests that look for what must not be in them."""

from __future__ import annotations

import base64
import gzip
import html
import io
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import polars as pl


def said_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Each file below a folder with all text in it: as it is, unpacked, and out of tables; and each path."""
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), path.name
        if path.is_file() and not path.is_symlink():
            for text in texts(path.read_bytes(), path):
                yield str(path.relative_to(folder)), text


def texts(content: bytes, path: Path | None = None) -> Iterator[str]:
    """All text that can be had out of the bytes of a file."""
    raw = content.decode("utf-8", "replace")
    yield raw
    yield content.decode("utf-16-le", "replace")
    yield html.unescape(re.sub(r"<[^<>]*>", " ", raw))
    if "\\u" in raw or '\\"' in raw:
        yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), raw).replace('\\"', '"')
    for found in re.findall(r"base64,([A-Za-z0-9+/=]{16,})", raw):
        yield from texts(base64.b64decode(found + "=="))
    if content[:2] == b"\x1f\x8b":
        yield from texts(gzip.decompress(content))
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from texts(archive.read(name))
    if content[:4] == b"PAR1":
        yield from _of_table(pl.read_parquet(io.BytesIO(content)))
    if content[:5] == b"%PDF-":
        for part in re.findall(rb"stream\r?\n(.*?)endstream", content, flags=re.DOTALL):
            try:
                yield zlib.decompressobj().decompress(part).decode("latin-1")
            except zlib.error:
                continue
    if content[:16] == b"SQLite format 3\x00" and path is not None:
        yield from _of_database(path)


def _of_table(table: pl.DataFrame) -> Iterator[str]:
    for column in table.get_columns():
        if column.dtype == pl.Binary:
            for cell in column.drop_nulls():
                yield from texts(cell)
        else:
            yield "\n".join(map(str, column.drop_nulls().to_list()))


def _of_database(path: Path) -> Iterator[str]:
    connection = sqlite3.connect(path)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in connection.execute(f'SELECT * FROM "{name}"'):
                for cell in row:
                    yield from _of_cell(cell)
    finally:
        connection.close()


def _of_cell(cell: object) -> Iterator[str]:
    if isinstance(cell, bytes):
        with suppress(zlib.error):
            cell = zlib.decompress(cell)
        yield from texts(cell)
    elif isinstance(cell, str):
        yield cell
        if cell[:1] in "[{":
            yield orjson.dumps(orjson.loads(cell)).decode()


def words(text: str) -> list[str]:
    """The words of a text, without what stands between them."""
    return re.findall(r"[^\W_]+", text.casefold())


def windows(text: str, length: int = 5) -> set[str]:
    """Every run of so many words in a text; the text itself where it has fewer."""
    found = words(text)
    if len(found) <= length:
        return {" ".join(found)} if found else set()
    return {" ".join(found[at : at + length]) for at in range(len(found) - length + 1)}


def found_in(folder: Path, sought: Iterable[str]) -> list[tuple[str, str]]:
    """Which of the runs of words stand where."""
    by_length: dict[int, set[str]] = {}
    for each in sought:
        by_length.setdefault(each.count(" ") + 1, set()).add(each)
    hits = set()
    for place, text in said_in(folder):
        for length, wanted in by_length.items():
            hits |= {(place, each) for each in wanted & windows(text, length)}
    return sorted(hits)


def secrets_in(folder: Path, secrets: Iterable[str]) -> list[tuple[str, str]]:
    """Which of the secrets stand where, as they are or in base64."""
    wanted = [form for secret in secrets for form in (secret, base64.b64encode(secret.encode()).decode().rstrip("="))]
    hits = set()
    for place, text in said_in(folder):
        hits |= {(place, each) for each in wanted if each in text}
    return sorted(hits)
