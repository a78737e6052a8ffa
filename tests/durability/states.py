"""What is asked of a folder in which a command was stopped, and of one in which it ended."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from openpyxl import load_workbook

from bedside.core.files import address_to_read
from bedside.ratings.run import Run
from bedside.ratings.table import KEY

_TEMPORARY = re.compile(r"(^|/)(\..*\.partial|\.change|\.scoring\.[^/]*|\.[^/]*\.parts|\.judging\.[^/]*)(/|$)")
LOCK = re.compile(r"(^|/)(\.lock|\.push\.lock|collection\.lock|\.(simulation|benchmark)\.lock|\.judgements-\w+\.lock)$")


def is_temporary(path: str) -> bool:
    """Whether a path can be told by its name to be no result."""
    return bool(_TEMPORARY.search(path))


def files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, but locks."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not LOCK.search(name)}


@lru_cache(1000)
def torn(name: str, content: bytes) -> str | None:
    """What is wrong with a file, where it isn't whole."""
    try:
        _parse(name, content)
    except Exception as error:
        return f"{name} ({len(content)} bytes): {type(error).__name__} {error}"
    return None


def _parse(name: str, content: bytes) -> None:
    kind = name.rpartition(".")[2]
    match kind:
        case "parquet":
            pl.read_parquet(io.BytesIO(content))
        case "json" | "bedside-export":
            json.loads(content)
        case "jsonl":
            assert content.endswith(b"\n") or name.endswith("failed.jsonl")  # where none failed, it is empty
            assert all(isinstance(json.loads(line), dict) for line in content.splitlines())
        case "npz":
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                assert arrays.files
                assert all(arrays[each] is not None for each in arrays.files)
        case "xlsx":
            load_workbook(io.BytesIO(content))
        case "docx":
            assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
        case "html":
            assert content.rstrip().endswith(b"</html>")
        case "svg":
            assert content.rstrip().endswith(b"</svg>")
        case "pdf":
            assert content.rstrip().endswith(b"%%EOF")
        case "png":
            assert content.endswith(b"IEND\xaeB`\x82")
        case "xml":
            assert content.rstrip().endswith(b">")
        case "csv" | "md" | "tex" | "yaml" | "bib" | "js" | "css":
            assert content.endswith(b"\n")
        case "key":
            assert len(content) == 32
        case "sqlite":
            pass  # its own journal belongs to it: see `store_is_whole`
        case "sqlite-wal" | "sqlite-shm" | "sqlite-journal":
            pass
        case _:
            raise AssertionError("a kind of file that nobody has thought of")


def store_is_whole(path: Path) -> bool:
    # As bedside reads it: to open it otherwise would take the log from beside it.
    with closing(sqlite3.connect(address_to_read(path), uri=True)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def visible(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files under the names that they end up with."""
    return {name: content for name, content in files.items() if not is_temporary(name)}


def see_whole(files: Mapping[str, bytes]) -> None:
    """Nothing half-written has a name by which it would be taken for a result."""
    faults = [fault for name, content in visible(files).items() if (fault := torn(name, content)) is not None]
    assert not faults, faults


def see_run(folder: Path) -> tuple[int, int]:
    """A run opens and its tables are whole; how many ratings, and how many different notes of what was done it has."""
    run = Run(folder)
    assert not run.ratings.select(KEY).is_duplicated().any()
    assert run.index.height == run.manifest["transcripts"]["count"] == len(list(run.transcripts()))
    for store in folder.glob("*.sqlite"):
        assert store_is_whole(store)
    return run.ratings.height, sum(len(_done(run.manifest[kind])) for kind in ("scorings", "imports"))


#: What tells when something was done or how much was left of it then, not what.
_WHEN = {"date", "received", "judges", "seal", "digest", "last run"}


#: They hold digests of a simulation, which says when it was.
OF_A_BENCHMARK = {f"bench/run/{name}" for name in ("manifest.json", "simulations.json", "report/written.json")}


def comparable(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Files without the time at which they were made; what was noted twice because it was done twice, once."""
    found: dict[str, Any] = {}
    for name, content in files.items():
        if name in OF_A_BENCHMARK:
            found[name] = len(json.loads(content))
        elif name.endswith("manifest.json"):
            manifest = _timeless(json.loads(content))
            found[name] = manifest | {
                kind: _done(manifest[kind]) for kind in ("scorings", "imports") if kind in manifest
            }
        elif name.endswith("tuning-tries.json"):
            found[name] = _timeless(json.loads(content))
        elif name.endswith("signature.json"):
            found[name] = json.loads(content)["files"]
        elif name.endswith("bedside-view.json"):  # its version is of the run's files as they stand on this disk
            found[name] = {key: value for key, value in json.loads(content).items() if key != "version"}
        elif name.endswith(".jsonl"):
            found[name] = [_timeless(json.loads(line)) for line in content.splitlines()]
        elif "sqlite" not in name:
            found[name] = content
    return found


def _done(entries: Iterable[Any]) -> list[Any]:
    """What was done, but not when; what was done twice, once."""
    found: list[Any] = []
    for entry in map(_timeless, entries):
        if entry not in found:
            found.append(entry)
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        # The hash of answers that were received at another time is another one.
        left_out = _WHEN | ({"sha256"} if "plan" in value else set())
        return {key: _timeless(each) for key, each in value.items() if key not in left_out}
    return [_timeless(each) for each in value] if isinstance(value, list) else value
