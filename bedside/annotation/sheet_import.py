"""Ratings that people typed into a sheet of their own: the plan whose units they are, and their way into the run.

What people rated says something of all transcripts only where it is known how it was drawn. A sheet doesn't say so; the
plans of the run do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_ratings import entry_metrics
from bedside.annotation.answer_store import FOLDER, plan_folder, rated_keys, with_chances_of_round
from bedside.annotation.plan_file import PlanError, read_plan, write_plan
from bedside.core.errors import InputError
from bedside.core.files import make_folder, saying_where
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.rating_files import RatingFile, import_ratings
from bedside.ratings.run import Run
from bedside.ratings.table import IMPORTED, KEY

#: Modes of plans whose questions a sheet can answer as the plan's own forms do.
_MODES = ("rate", "codes", "findings")
#: Units that all are among a plan's with less than this chance, had any been taken, were drawn by the plan.
_COINCIDENCE = 0.01


@dataclass(frozen=True, slots=True)
class SheetImport:
    """What bringing a file of ratings into a run did.

    Attributes:
        added: ratings that were added.
        replaced: those of them that took the place of one.
        standing: ratings of the file that were left out, because answers to a plan of the round say the same key.
        plan: the plan that drew the units, by its hash; None where none is known.
        unknown: whether the run has plans, and none of them drew what people rated.
        file: what was read, and how it was understood.
    """

    added: int
    replaced: int
    standing: int
    plan: str | None
    unknown: bool
    file: RatingFile = field(repr=False)


def import_sheet(
    run: Run,
    path: str | os.PathLike[str],
    file: RatingFile,
    *,
    round: str = IMPORTED,
    plan: str | os.PathLike[str] | None = None,
) -> SheetImport:
    """Add the ratings of a file to a run, with the draw of the plan whose units people rated.

    That is the plan that is named, or the one of the run's that asks a metric of the file and has all units that people
    rated, so many that it's no coincidence. Its chances and, unless another is named, its round become the ratings'. A
    file that says rounds or chances itself keeps them. Of two ratings of one round, an answer to a plan stands.

    Args:
        run: the run.
        path: where the file is.
        file: what it holds.
        round: the round of annotation that its ratings are from, where neither file nor plan says so.
        plan: the plan's file, its hash, or the name of its round.

    Raises:
        InputError: two plans fit, the plan that is named doesn't, or the file doesn't fit the run
            (:func:`~bedside.ratings.rating_files.import_ratings`).
        PlanError: there is no such plan, or it is of another run.
    """
    people = file.ratings.filter(rated_by_humans(), pl.col("error").is_null())
    stated = (file.ratings["round"] != "").any() or file.ratings["drawn"].is_not_null().any()
    drawn_by = None
    if plan is not None:
        drawn_by = _named_plan(run, plan)
        _check_named(drawn_by, people, str(path), stated)
    elif not stated:
        drawn_by = _fitting_plan(run, people, str(path))
    draw: dict[str, Any] = {}
    if drawn_by is not None:
        draw = {"sample": plan_hash(drawn_by), "by": list(drawn_by.by), "plan_format": drawn_by.format}
        file = _as_drawn(run, file, drawn_by, round_of(drawn_by) if round == IMPORTED else round)
    file, standing = _beside_answers(run, file, round)
    added = replaced = 0
    if not file.ratings.is_empty():
        added, replaced = import_ratings(run, path, file, round, draw)
    if drawn_by is not None and not (kept := plan_folder(run, drawn_by) / "plan.json").is_file():
        with saying_where(kept):  # it tells how far people are
            make_folder(kept.parent)
        write_plan(drawn_by, kept)
    return SheetImport(
        added=added,
        replaced=replaced,
        standing=standing,
        plan=None if drawn_by is None else plan_hash(drawn_by),
        unknown=drawn_by is None and not stated and not people.is_empty() and bool(_plans(run)),
        file=file,
    )


def _plans(run: Run) -> list[AnnotationPlan]:
    """The plans that the run holds, in the order of their hashes, as far as they drew what a sheet can hold."""
    plans = []
    for file in sorted((run.path / FOLDER).glob("*/plan.json")):
        try:
            plan = read_plan(file, run)
        except PlanError:
            continue  # of a run that was merged into this one
        if plan.mode in _MODES:
            plans.append(plan)
    return plans


def _named_plan(run: Run, plan: str | os.PathLike[str]) -> AnnotationPlan:
    """The plan in a file, or the run's with this hash or round."""
    if Path(plan).is_file():
        return read_plan(plan, run)
    plans = _plans(run)
    named = [each for each in plans if str(plan) in (plan_hash(each), each.round)]
    if len(named) > 1:
        raise InputError(
            f"{len(named)} plans are of the round {plan}",
            where="`plan`",
            todo=f"name one: {', '.join(map(plan_hash, named))}",
        )
    if not named:
        names = ", ".join(map(plan_hash, plans)) or "none"
        raise InputError(
            f"there is no plan {str(plan)!r}", where="`plan`", todo=f"name its file, or one of the run: {names}"
        )
    return named[0]


def _metrics(plan: AnnotationPlan) -> set[str]:
    """The metrics that answers to a plan give."""
    metrics = {rubric.name for rubric in plan.questions}
    if plan.mode == "findings":
        metrics.update(*(entry_metrics(rubric).values() for rubric in plan.questions))
    return metrics


def _units(plan: AnnotationPlan, people: pl.DataFrame) -> set[tuple[str, str]]:
    """The units that people rated, as a plan's items have them: coded turns are of a transcript."""
    unit = pl.lit(TRANSCRIPT) if plan.mode == "codes" else pl.col("unit")
    return set(people.select("transcript_id", unit.alias("unit")).iter_rows())


def _check_named(plan: AnnotationPlan, people: pl.DataFrame, where: str, stated: bool) -> None:
    """Raise InputError where a named plan can't have drawn what people rated."""
    if plan.mode not in _MODES:
        raise InputError(
            f"plan {plan_hash(plan)} is of mode {plan.mode}, whose answers no sheet of ratings holds",
            where="`plan`",
            todo=f"name a plan of mode {', '.join(_MODES)}",
        )
    if stated:
        raise InputError(
            "the file says rounds or chances itself", where=where, todo="leave those columns or `plan` out"
        )
    others = sorted(_units(plan, people) - {(item.transcript, item.unit) for item in plan.items})
    if others:
        transcript, unit = others[0]
        what = f"{transcript!r}" if unit == TRANSCRIPT else f"{unit} of {transcript!r}"
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(f"plan {plan_hash(plan)} hasn't drawn {what}{more}", where=where, todo="leave `plan` out")


def _fitting_plan(run: Run, people: pl.DataFrame, where: str) -> AnnotationPlan | None:
    """The plan of the run that drew what people rated; None where none did, or all fit every sheet.

    Raises:
        InputError: two fit.
    """
    fitting = [plan for plan in _plans(run) if _fits(plan, people)]
    if len(fitting) > 1:
        names = [f"{plan_hash(plan)} (round {plan.round})" if plan.round else plan_hash(plan) for plan in fitting]
        raise InputError(
            f"the units that people rated are those of plans {' and '.join(names)}",
            where=where,
            todo="say with `plan` which of them people rated",
        )
    return fitting[0] if fitting else None


def _fits(plan: AnnotationPlan, people: pl.DataFrame) -> bool:
    """Whether a plan asks a metric that people rated and has all of their units, and that is no coincidence."""
    if _metrics(plan).isdisjoint(people["metric"]):
        return False
    units, drawn = _units(plan, people), {(item.transcript, item.unit) for item in plan.items}
    if not units or not units <= drawn:
        return False
    available = sum(stratum.available for stratum in plan.strata)
    return prod((len(drawn) - n) / (available - n) for n in range(len(units))) < _COINCIDENCE


def _as_drawn(run: Run, file: RatingFile, plan: AnnotationPlan, round: str) -> RatingFile:
    """The file with a plan's round and chances on what people rated."""
    chances = {(item.transcript, item.unit): item.chance for item in plan.items if item.replicate == 0}
    unit = pl.lit(TRANSCRIPT) if plan.mode == "codes" else pl.col("unit")
    keys = file.ratings.select("transcript_id", unit.alias("unit")).iter_rows()
    ratings = file.ratings.with_columns(
        pl.when(rated_by_humans()).then(pl.lit(round)).otherwise("round").alias("round"),
        pl.when(rated_by_humans())
        .then(pl.Series([chances.get(key) for key in keys], dtype=pl.Float64()))
        .alias("drawn"),
    )
    return replace(file, ratings=with_chances_of_round(run, plan, ratings))


def _beside_answers(run: Run, file: RatingFile, round: str) -> tuple[RatingFile, int]:
    """The file without ratings that answers to plans of the same round give already, and how many those are."""
    named = pl.when(pl.col("round") == "").then(pl.lit(round)).otherwise("round")
    ratings = file.ratings.with_columns(named.alias("round"))
    answered = rated_keys(run, set(ratings["round"]))
    kept = ~pl.struct(KEY).is_in(answered.select(pl.struct(KEY)).to_series().implode())
    mask = ratings.select(kept.alias("kept"))["kept"]
    if mask.all():
        return file, 0
    places = tuple(place for place, keep in zip(file.places, mask, strict=True) if keep)
    return replace(file, ratings=file.ratings.filter(mask), places=places), int((~mask).sum())
