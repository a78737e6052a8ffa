"""Ratings of a file brought into a run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.names import is_jury, is_pair, is_turn, person_name, second_id, turn_index
from bedside.ratings.rating_files import RatingFile
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.table import IMPORTED, KEY, SCHEMA, check_round
from bedside.support.errors import InputError
from bedside.support.plurals import counted
from bedside.support.registry import nearest


def import_ratings(
    run: Run,
    path: str | os.PathLike[str],
    file: RatingFile,
    round: str = IMPORTED,
    draw: Mapping[str, Any] | None = None,
) -> tuple[int, int]:
    """Add the ratings of a file to a run; those of the same key are replaced.

    Args:
        run: the run.
        path: where the file is.
        file: what it holds.
        round: the round of annotation that its ratings are from, where the file doesn't say so itself.
        draw: what the manifest keeps of how the units were drawn, where a plan of the run drew them.

    Returns:
        How many ratings were added, and how many of them replaced one.

    Raises:
        DataError: no round can have this name.
        InputError: the run has no such transcript, a turn is past its transcript's end, a metric has another scale in
            the run, a rater is a jury, or a rater who was joined with one of the run says otherwise than that one;
            nothing is changed then.
    """
    check_round(round)
    note_numbering(run, file)
    jury = next(filter(is_jury, file.ratings["rater"].unique().sort()), None)
    if jury is not None:
        raise InputError(
            f"{jury} is a jury, whose ratings are made from its members'",
            where=str(path),
            todo="import the members' ratings, and make the jury with bedside judge jury",
        )
    turns_of = dict(run.index.select("id", "turns").iter_rows())
    for where, item, unit in zip(
        file.places, file.ratings["transcript_id"], file.ratings["unit"], strict=True
    ):
        for name in (item, second_id(unit)) if is_pair(unit) else (item,):
            if name not in turns_of:
                raise InputError(
                    f"the run has no transcript {name!r}", where=where, todo=nearest(name, turns_of)
                )
        turns = turns_of[item]
        if is_turn(unit) and turn_index(unit) >= turns:
            raise InputError(
                f"{item!r} has {turns} turns and so no {unit}",
                where=where,
                todo="count turns from 0, without system messages and tools",
            )
    origins = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id")
    frame = (
        file.ratings.drop("system", "case_id")
        .join(origins, on="transcript_id", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("round") == "").then(pl.lit(round)).otherwise("round").alias("round"))
        .select(SCHEMA.names())
    )
    _check_scales(run, str(path), file)
    _check_joined_raters(run, str(path), file, frame)
    entry = {
        "file": str(path),
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": frame.height,
        "empty": file.empty,
        "scales": {metric: scale.to_json() for metric, scale in file.scales.items()},
        "metrics": dict(frame.group_by("metric", maintain_order=True).len().iter_rows()),
        "account": file.account.to_json(),
        "rounds": sorted(frame["round"].unique()),
        **(draw or {}),
    }
    with run.locked():
        manifest = {**run.manifest, "imports": [*run.manifest["imports"], entry]}
        replaced = run.add(frame.lazy(), manifest)
    return frame.height, replaced


def note_numbering(run: Run, file: RatingFile) -> None:
    """Say in the file's account where it names turns behind system messages or tools, which a file may have counted."""
    last: dict[str, int] = {}
    for item, unit in file.ratings.select("transcript_id", "unit").unique().iter_rows():
        if is_turn(unit):
            last[item] = max(last.get(item, 0), turn_index(unit))
    if not last or not run.keeps_text:
        return
    behind = sum(
        any(item.before <= last[transcript.id] for item in transcript.provenance)
        for transcript in run.transcripts_named(last)
    )
    if behind:
        file.account.file.remark(
            f"Turns are numbered without system messages and tools, which stand before rated turns in "
            f"{counted(behind, 'transcript')}: see that the file numbers them so, too."
        )


def _check_scales(run: Run, path: str, file: RatingFile) -> None:
    """Raise InputError where a metric has another scale in the run; the same file may correct its own."""
    for entry in run.manifest["imports"]:
        for metric, levels in entry["scales"].items():
            scale, old = file.scales.get(metric), Scale.from_json(levels)
            if scale is not None and entry["file"] != path and scale != old:
                now, before = (", ".join(one.level_texts()) for one in (scale, old))
                raise InputError(
                    f"{metric} is rated on another scale than in {entry['file']}: {now}, not {before}",
                    where=path,
                    todo="give the scale that both were rated on with `scales`, or import the ratings under another "
                    "metric's name",
                )


def _check_joined_raters(run: Run, path: str, file: RatingFile, frame: pl.DataFrame) -> None:
    """Raise InputError where a rater would take the place of what another spelling of the name rated otherwise.

    These may be two people, or one who corrects: only the user knows. The same file may correct its own.
    """
    names = file.account.names
    spelt = {now: name for name, now in names.raters.items() if name not in names.renamed}
    if not spelt or any(entry["file"] == path for entry in run.manifest["imports"]):
        return
    mine = frame.with_row_index("row").filter(pl.col("rater").is_in(list(spelt)))
    there = run.scan().filter(pl.col("rater").is_in(list(spelt)), pl.col("error").is_null()).collect()
    other = mine.join(there, on=KEY, how="inner", suffix=" (run)").filter(
        pl.col("value").ne_missing(pl.col("value (run)")) | pl.col("label").ne_missing(pl.col("label (run)"))
    )
    if other.is_empty():
        return
    row, now, item, metric = other.sort("row").select("row", "rater", "transcript_id", "metric").row(0)
    name, person = spelt[now], person_name(now)
    raise InputError(
        f"{name!r} may be {person!r}, who rated {item!r} on {metric} otherwise in the run "
        f"({counted(other.height, 'rating')} like this)",
        where=file.places[row],
        todo=f"say `rename={name}={person}` to replace them, or `exact` if these are two people",
    )
