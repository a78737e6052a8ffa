"""Ratings that people already have: spreadsheets, long or wide, as ratings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.frames import FRAME, Frame, frame_rows, is_ratings_table, ratings_table, row_place
from bedside.ratings.names import has_kind, human_rater, is_turn, turn_index, unit_name
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale, number_in
from bedside.ratings.table import IMPORTED, SCHEMA, check_round, frame_of
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
_ROUND = ("round", "wave")
_DRAWN = ("drawn", "probability")
#: Most rows of a Parquet file, and bytes of text in them.
_MOST_ROWS, _MOST_TEXT = 2_000_000, 2**30
#: The largest number of a turn or pass that a table holds.
_MOST = 2**31 - 1
#: Spellings of a cell that holds no rating.
_EMPTY = frozenset(("", "na", "n/a", "nan", "null", "none given", "."))
_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": _ITEM, "metric": _METRIC, "value": _VALUE, "rater": _RATER, "system": _SYSTEM, "case": _CASE,
    "turn": _TURN, "replicate": _REPLICATE, "reason": _REASON, "round": _ROUND,
    "drawn": _DRAWN,
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
    replicate, round, drawn, reason``. Wide files have one column a rater beside ``item`` (and ``metric, turn, system,
    case, round, drawn``).
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
    rows = _parquet_rows(file) if file.suffix.lower() == ".parquet" else table_records(file)
    ratings = _CollectedRatings(metric, scales or {}, known_scale)
    ratings.add_rows(rows, columns or {})
    if not ratings.rows:
        raise InputError("the file holds no rating", where=str(path), todo="see the docs on ratings and runs")
    return ratings.rating_file()


def read_rating_frame(
    frame: Frame,
    *,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str = "rating",
    known_scale: Callable[[str], Scale | None] | None = None,
) -> RatingFile:
    """Read ratings from a pandas or Polars data frame, by the rules of a file (:func:`read_rating_file`).

    A frame with all columns of the ratings table is taken as such: what a run has, or a part of it.

    Args:
        frame: the data frame.
        scales, columns, metric, known_scale: as for a file.

    Raises:
        InputError: as for a file.
    """
    if is_ratings_table(frame):
        table = ratings_table(frame)
        names = table["metric"].unique().to_list()
        scale_of = {name: _scale_of(name, scales or {}, known_scale) for name in names}
        return RatingFile(
            ratings=table,
            scales={name: scale for name, scale in scale_of.items() if scale is not None},
            empty=0,
            places=tuple(row_place(row) for row in range(table.height)),
        )
    ratings = _CollectedRatings(metric, scales or {}, known_scale)
    ratings.add_rows(frame_rows(frame), columns or {})
    if not ratings.rows:
        raise InputError("it holds no rating", where=FRAME, todo="see the docs on ratings and runs")
    return ratings.rating_file()


def _scale_of(
    metric: str,
    scales: Mapping[str | None, Scale],
    known_scale: Callable[[str], Scale | None] | None,
) -> Scale | None:
    """A metric's scale: its own, that of all, or one that is known."""
    scale = scales.get(metric) or scales.get(None)
    return scale if scale is not None or known_scale is None else known_scale(metric)


class _CollectedRatings:
    """The ratings of a file, each checked against those before it.

    Args:
        metric: the metric's name where a row has none.
        scales: the scale of each metric, or under None of all.
        known_scale: the scale of a metric for which ``scales`` has none.

    Attributes:
        rows: of the ratings table.
        places: the place of each rating by its key, in the order of the rows.
        scale_of: the scale of each metric that was rated; None where it has none.
        empty: number of cells without a rating.
    """

    def __init__(
        self,
        metric: str,
        scales: Mapping[str | None, Scale],
        known_scale: Callable[[str], Scale | None] | None,
    ) -> None:
        self._metric = metric
        self._scales = scales
        self._known_scale = known_scale
        self.rows: list[tuple[Any, ...]] = []
        self._drawn: list[tuple[str, float | None]] = []
        self.places: dict[tuple[Any, ...], str] = {}
        self.scale_of: dict[str, Scale | None] = {}
        self.empty = 0
        self._first_kind: dict[str, tuple[bool, str]] = {}

    def rating_file(self) -> RatingFile:
        """All that was added."""
        return RatingFile(
            ratings=frame_of(self.rows, drawn=[chance for _, chance in self._drawn]).with_columns(
                pl.Series("round", [name for name, _ in self._drawn], dtype=pl.String())
            ),
            scales={name: scale for name, scale in self.scale_of.items() if scale is not None},
            empty=self.empty,
            places=tuple(self.places.values()),
        )

    def add_rows(self, rows: Iterable[tuple[str, dict[str, str]]], columns: Mapping[str, str]) -> None:
        """Add the ratings of rows; ``columns`` are bedside's column names to theirs.

        Raises:
            InputError: a column is missing, or a rating is no such thing.
        """
        for where, cells in _rating_cells(rows, columns):
            self.add(where, cells)

    def add(self, where: str, cells: Mapping[str, str]) -> None:
        """Add the rating of a row, if its cell holds one.

        Raises:
            InputError: the rating stands there already, is off its scale, or is a label among numbers.
        """
        metric, cell = cells["metric"] or self._metric, cells["value"].strip()
        if cell.casefold() in _EMPTY:
            self.empty += 1
            return
        rater = cells["rater"].strip()
        rater = rater if has_kind(rater) else human_rater(rater)
        unit = unit_name(_whole(cells["turn"], "turn", where) if cells["turn"] else None)
        replicate = _whole(cells["replicate"], "replicate", where) if cells["replicate"] else 0
        key = (cells["item"], unit, metric, rater, replicate, cells["round"])
        if key in self.places:
            raise InputError(
                f"{rater} rates {cells['item']!r} on {metric} twice",
                where=f"{self.places[key]} and {where}",
                todo="remove one of the rows",
            )
        self.places[key] = where
        value, label = _value(cell, metric, self._scale(metric), where)
        self._check_kind(metric, cell, label is None, where)
        self._drawn.append((cells["round"], _chance(cells["drawn"], where) if cells["drawn"] else None))
        self.rows.append(
            (cells["item"], cells["system"] or None, cells["case"] or None, unit, metric, rater, replicate, value,
             label, cells["reason"] or None, None)
        )  # fmt: skip

    def _scale(self, metric: str) -> Scale | None:
        if metric not in self.scale_of:
            self.scale_of[metric] = _scale_of(metric, self._scales, self._known_scale)
        return self.scale_of[metric]

    def _check_kind(self, metric: str, cell: str, is_number: bool, where: str) -> None:
        first_is_number, place = self._first_kind.setdefault(metric, (is_number, where))
        if first_is_number != is_number:
            kind = "numbers" if first_is_number else "labels"
            raise InputError(
                f"the rating of {metric} is {cell!r}, while others are {kind} ({place})",
                where=where,
                todo="write all of them alike, or give a scale with `scales`",
            )


def import_ratings(
    run: Run, path: str | os.PathLike[str], file: RatingFile, round: str = IMPORTED
) -> tuple[int, int]:
    """Add the ratings of a file to a run; those of the same key are replaced.

    Args:
        run: the run.
        path: where the file is.
        file: what it holds.
        round: the round of annotation that its ratings are from, where the file doesn't say so itself.

    Returns:
        How many ratings were added, and how many of them replaced one.

    Raises:
        DataError: no round can have this name.
        InputError: the run has no such transcript, or a turn is past its transcript's end; nothing is
            changed then.
    """
    check_round(round)
    turns_of = dict(run.index.select("id", "turns").iter_rows())
    for where, item, unit in zip(
        file.places, file.ratings["transcript_id"], file.ratings["unit"], strict=True
    ):
        if item not in turns_of:
            raise InputError(f"the run has no transcript {item!r}", where=where, todo=nearest(item, turns_of))
        turns = turns_of[item]
        if is_turn(unit) and turn_index(unit) >= turns:
            raise InputError(
                f"{item!r} has {turns} turns and so no {unit}", where=where, todo="count turns from 0"
            )
    origins = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id")
    frame = (
        file.ratings.drop("system", "case_id")
        .join(origins, on="transcript_id", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("round") == "").then(pl.lit(round)).otherwise("round").alias("round"))
        .select(SCHEMA.names())
    )
    entry = {
        "file": str(path),
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": frame.height,
        "empty": file.empty,
        "scales": {metric: scale.to_json() for metric, scale in file.scales.items()},
        "rounds": sorted(frame["round"].unique()),
    }
    with run.locked():
        manifest = {**run.manifest, "imports": [*run.manifest["imports"], entry]}
        replaced = run.add(frame.lazy(), manifest)
    return frame.height, replaced


def _rating_cells(
    rows: Iterable[tuple[str, dict[str, str]]], columns: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and cells (by bedside's names) of each rating; a wide row gives one for each rater."""
    names: dict[str, str] | None = None
    raters: list[str] = []
    for where, row in rows:
        if names is None:
            names = _columns(list(row), columns, where)
            raters = _rater_columns(list(row), names, where)
        cells = {name: row[names[name]].strip() if name in names else "" for name in _NAMES}
        if not cells["item"]:
            raise InputError("the row has no item", where=where, todo="fill the item column")
        if not raters:
            if not cells["rater"]:
                raise InputError("the row has no rater", where=where, todo="fill the rater column")
            yield where, cells
        for rater in raters:
            yield f"{where} column {rater}", {**cells, "rater": rater, "value": row[rater]}


def _rater_columns(header: list[str], names: Mapping[str, str], where: str) -> list[str]:
    """The columns of a wide file that hold a rater's ratings each; none where the file is long."""
    if "rater" in names and "value" in names:
        return []
    if "rater" in names or "value" in names:
        lacking = "value" if "rater" in names else "rater"
        raise InputError(
            f"no column holds the {lacking}",
            where=where,
            todo=f"say which with `columns={lacking}=NAME`; columns: {', '.join(header)}",
        )
    raters = [column for column in header if column not in names.values()]
    if not raters:
        raise InputError("no column holds ratings", where=where, todo=f"columns: {', '.join(header)}")
    return raters


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and cells of each row of a Parquet file, as text."""
    if not _readable(path):
        raise InputError("the Parquet file can't be read", where=str(path), todo="save it again")
    try:
        # Few bytes can be many rows, where all are alike.
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        table = pl.read_parquet(path, glob=False) if rows <= _MOST_ROWS else pl.DataFrame()
        texts = table.select(pl.col(pl.String).str.len_bytes().sum())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError("the Parquet file can't be read", where=str(path), todo="save it again") from error
    if rows > _MOST_ROWS or sum(texts.row(0) if texts.width else ()) > _MOST_TEXT:
        raise InputError(
            f"the file has more than {_MOST_ROWS:,} rows or {_MOST_TEXT // 2**20} MB of text",
            where=str(path),
            todo="split it",
        )
    for number, values in enumerate(table.iter_rows(named=True), 1):
        yield (
            f"{path}: row {number}",
            {name: "" if value is None else str(value) for name, value in values.items()},
        )


def _readable(path: Path) -> bool:
    """Whether a Parquet file can be read: tried by another process, because some damage ends the process that reads."""
    tried = subprocess.run(
        [sys.executable, "-c", "import sys, polars; polars.read_parquet(sys.argv[1], glob=False)", str(path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return tried.returncode == 0


def _columns(header: list[str], mapping: Mapping[str, str], where: str) -> dict[str, str]:
    if not isinstance(mapping, Mapping):
        raise InputError(
            f"{mapping!r:.40} says no names of columns",
            where="`columns`",
            todo='give a dict, {"item": "Session"}',
        )
    lowered = {name.strip().casefold(): name for name in header}
    names: dict[str, str] = {}
    for name, aliases in _NAMES.items():
        if name in mapping:
            if mapping[name] not in header:
                raise InputError(
                    f"there is no column {mapping[name]!r}", where=where, todo=f"columns: {', '.join(header)}"
                )
            names[name] = mapping[name]
        else:
            match = next((lowered[alias] for alias in aliases if alias in lowered), None)
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
    if cell in scale.levels:
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


def _chance(cell: str, where: str) -> float:
    number = number_in(cell)
    if number is None or not 0 <= number <= 1:
        raise InputError(
            f"the chance {cell!r} is no number from 0 to 1", where=where, todo="mend the column drawn"
        )
    return number
