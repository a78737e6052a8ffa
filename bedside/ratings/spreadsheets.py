"""Ratings that people already have: spreadsheets, long or wide, as ratings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.run import Run
from bedside.ratings.scales import Scale, number_in
from bedside.ratings.table import frame_of
from bedside.support.errors import InputError
from bedside.support.registry import nearest
from bedside.transcripts.table_rows import table_records

_ITEM = ("item", "transcript_id", "transcript", "conversation", "conversation_id", "id")
_METRIC = ("metric", "rubric", "code", "dimension")
_VALUE = ("value", "score", "rating", "label")
_RATER = ("rater", "annotator", "annotator_id", "coder")
_SYSTEM = ("system", "model")
_CASE = ("case", "case_id", "patient_id")
_TURN = ("turn", "utterance", "utterance_id")
_REPLICATE = ("replicate", "pass")
_REASON = ("reason", "comment", "notes")
#: Most rows of a Parquet file, and bytes of text in them.
_MOST_ROWS, _MOST_TEXT = 2_000_000, 2**30
#: The largest number of a turn or pass that a table holds.
_MOST = 2**31 - 1
#: Spellings of a cell that holds no rating.
_EMPTY = frozenset(("", "na", "n/a", "nan", "null", "none given", "."))
_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": _ITEM, "metric": _METRIC, "value": _VALUE, "rater": _RATER, "system": _SYSTEM, "case": _CASE,
    "turn": _TURN, "replicate": _REPLICATE, "reason": _REASON,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RatingFile:
    """Ratings read from a file.

    Attributes:
        ratings: a ratings table; ``transcript_id`` is the item.
        scales: the scale of each metric that has one.
        empty: number of cells without a rating.
        places: file and row of each rating, in the order of the table.
    """

    ratings: pl.DataFrame
    scales: Mapping[str, Scale]
    empty: int
    places: tuple[str, ...]


def read_rating_file(
    path: str | os.PathLike[str],
    *,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str = "rating",
    known_scale: Callable[[str], Scale | None] | None = None,
) -> RatingFile:
    """Read ratings from CSV, TSV, XLSX or Parquet.

    Long files have one rating a row: ``item, rater, metric, value`` and, where wanted, ``turn, system, case,
    replicate, reason``. Wide files have one column a rater beside ``item`` (and ``metric, turn, system, case``).
    A cell that is empty or says ``NA`` is no rating and is counted. A rater named without a kind is a person:
    ``anna`` becomes ``human:anna``.

    Args:
        path: the file.
        scales: the scale of each metric, or under None of all.
        columns: bedside's column name → the file's.
        metric: the metric's name where the file has no column for it.
        known_scale: the scale of a metric for which ``scales`` has none, such as that of a rubric.

    Raises:
        InputError: a missing column, a rating off its scale, a doubled rating (both rows are named), or words
            where a metric's other ratings are numbers.
    """
    file = Path(path)
    if not os.path.isfile(file):
        raise InputError("there is no such file", where=str(path))
    rows = _rows(file, columns or {})
    ratings: list[tuple[Any, ...]] = []
    places: list[str] = []
    seen: dict[tuple[Any, ...], str] = {}
    first_kind: dict[str, tuple[bool, str]] = {}
    used: dict[str, Scale | None] = {}
    empty = 0
    for where, row in rows:
        name = row["metric"] or metric
        cell = row["value"].strip()
        if cell.casefold() in _EMPTY:
            empty += 1
            continue
        rater = row["rater"].strip()
        rater = rater if ":" in rater else f"human:{rater}"
        unit = f"turn:{_whole(row['turn'], 'turn', where)}" if row["turn"] else "transcript"
        replicate = _whole(row["replicate"], "replicate", where) if row["replicate"] else 0
        key = (row["item"], unit, name, rater, replicate)
        if key in seen:
            raise InputError(
                f"{rater} rates {row['item']!r} on {name} twice",
                where=f"{seen[key]} and {where}",
                todo="remove one of the rows",
            )
        seen[key] = where
        if name not in used:
            given = (scales or {}).get(name) or (scales or {}).get(None)
            used[name] = given or (known_scale(name) if known_scale is not None else None)
        scale = used[name]
        value, label = _value(cell, name, scale, where)
        is_number, place = first_kind.setdefault(name, (label is None, where))
        if is_number != (label is None):
            raise InputError(
                f"the rating of {name} is {cell!r}, while others are {'numbers' if is_number else 'labels'} ({place})",
                where=where,
                todo="give all of them one form, or a scale with `scales`",
            )
        ratings.append(
            (row["item"], row["system"] or None, row["case"] or None, unit, name, rater, replicate, value, label,
             row["reason"] or None, None)
        )  # fmt: skip
        places.append(where)
    if not ratings:
        raise InputError("the file holds no rating", where=str(path), todo="see the docs on ratings and runs")
    return RatingFile(
        frame_of(ratings), {n: s for n, s in used.items() if s is not None}, empty, tuple(places)
    )


def import_ratings(run: Run, path: str | os.PathLike[str], file: RatingFile) -> tuple[int, int]:
    """Add the ratings of a file to a run; those of the same key are replaced.

    Returns:
        How many ratings were added, and how many of them replaced one.

    Raises:
        InputError: an item is no transcript of the run, or a turn is past its transcript's end; nothing is
            changed then.
    """
    known = {name: (system, case, turns) for name, system, case, turns in
             run.index.select("id", "system", "case_id", "turns").iter_rows()}  # fmt: skip
    rows = []
    for where, row in zip(file.places, file.ratings.iter_rows(), strict=True):
        item, _, _, unit, *rest = row
        if item not in known:
            raise InputError(f"the run has no transcript {item!r}", where=where, todo=nearest(item, known))
        system, case, turns = known[item]
        if unit != "transcript" and int(unit.removeprefix("turn:")) >= turns:
            raise InputError(
                f"{item!r} has {turns} turns and so no {unit}", where=where, todo="count turns from 0"
            )
        rows.append((item, system, case, unit, *rest))
    frame = frame_of(rows)
    entry = {
        "file": str(path),
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": len(rows),
        "empty": file.empty,
        "scales": {metric: scale.to_json() for metric, scale in file.scales.items()},
    }
    with run.locked():
        manifest = {**run.manifest, "imports": [*run.manifest["imports"], entry]}
        replaced = run.add(frame.lazy(), manifest)
    return len(rows), replaced


def _rows(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and cells (by bedside's names) of each rating; a wide row gives one for each rater."""
    names: dict[str, str] | None = None
    raters: list[str] = []
    for where, row in _cells(path):
        if names is None:
            names = _columns(list(row), columns, where)
            taken = set(names.values())
            if "rater" not in names or "value" not in names:
                if "rater" in names or "value" in names:
                    lacking = "value" if "rater" in names else "rater"
                    raise InputError(
                        f"no column holds the {lacking}",
                        where=where,
                        todo=f"say which with `columns={lacking}=NAME`; columns: {', '.join(row)}",
                    )
                raters = [column for column in row if column not in taken]
                if not raters:
                    raise InputError(
                        "no column holds ratings", where=where, todo=f"columns: {', '.join(row)}"
                    )
        base = {name: row[names[name]].strip() if name in names else "" for name in _NAMES}
        if not base["item"]:
            raise InputError("the row has no item", where=where, todo="fill the item column")
        if not raters:
            if not base["rater"]:
                raise InputError("the row has no rater", where=where, todo="fill the rater column")
            yield where, base
        for rater in raters:
            yield f"{where} column {rater}", {**base, "rater": rater, "value": row[rater]}


def _cells(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    if path.suffix.lower() == ".parquet":
        if not _readable(path):
            raise InputError("the Parquet file can't be read", where=str(path), todo="save it again")
        try:
            # Few bytes can be many rows, where all are alike.
            rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            table = pl.read_parquet(path, glob=False) if rows <= _MOST_ROWS else pl.DataFrame()
            texts = table.select(pl.col(pl.String).str.len_bytes().sum())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(
                "the Parquet file can't be read", where=str(path), todo="save it again"
            ) from error
        if rows > _MOST_ROWS or sum(texts.row(0) if texts.width else ()) > _MOST_TEXT:
            raise InputError(
                f"the file has more than {_MOST_ROWS:,} rows or {_MOST_TEXT // 2**20} MB of text",
                where=str(path),
                todo="split it",
            )
        for number, values in enumerate(table.iter_rows(named=True), 1):
            row = {name: "" if value is None else str(value) for name, value in values.items()}
            yield f"{path}: row {number}", row
        return
    yield from table_records(path)


def _readable(path: Path) -> bool:
    """Whether a Parquet file can be read: tried by another process, because some damage ends the process that reads."""
    tried = subprocess.run(
        [sys.executable, "-c", "import sys, polars; polars.read_parquet(sys.argv[1], glob=False)", str(path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return tried.returncode == 0


def _columns(header: list[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    lowered = {name.strip().casefold(): name for name in header}
    names: dict[str, str] = {}
    for name, known in _NAMES.items():
        if name in given:
            if given[name] not in header:
                raise InputError(
                    f"there is no column {given[name]!r}", where=where, todo=f"columns: {', '.join(header)}"
                )
            names[name] = given[name]
        else:
            match = next((lowered[candidate] for candidate in known if candidate in lowered), None)
            if match is not None and match not in names.values():
                names[name] = match
    if "item" not in names:
        raise InputError(
            "no column holds the item", where=where,
            todo=f"say which with `columns=item=NAME`; columns: {', '.join(header)}",
        )  # fmt: skip
    return names


def _value(cell: str, metric: str, scale: Scale | None, where: str) -> tuple[float | None, str | None]:
    number = number_in(cell)
    if scale is None:
        return (number, None) if number is not None else (None, cell)
    if scale.ordered and number in scale.levels:
        return number, None
    if not scale.ordered and cell in scale.levels:
        return None, cell
    levels = ", ".join(f"{level:g}" if isinstance(level, float) else level for level in scale.levels)
    raise InputError(
        f"{cell!r} is not on the scale of {metric}",
        where=where,
        todo=f"levels: {levels} (`scales` gives another)",
    )


def _whole(cell: str, name: str, where: str) -> int:
    number = number_in(cell)
    if number is None or not 0 <= number <= _MOST or number != int(number):
        raise InputError(f"the {name} {cell!r} is not a whole number", where=where, todo="count from 0")
    return int(number)
