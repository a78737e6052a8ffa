"""Ratings that people typed into a sheet of their own: the plan whose units they are, and their way into the run.

What people rated says something of all transcripts only where it is known how it was drawn. A sheet doesn't say so; the
plans of the run do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, known_rater, plan_hash, round_of
from bedside.annotation.answer_ratings import entry_metrics
from bedside.annotation.answer_store import FOLDER, current_plan, plan_folder, rated_keys, with_chances_of_round
from bedside.annotation.fields import MET, NOT_MET
from bedside.annotation.plan_file import PlanError, read_plan, write_plan
from bedside.core.errors import InputError
from bedside.core.files import make_folder, saying_where
from bedside.core.words import counted
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubric_ratings import BEHIND_OPEN, OFF_WALK, Unpacked, points_ratings, ratings_by_parts
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import own_rubrics
from bedside.ratings.names import TRANSCRIPT, is_human, person_name, rated_by_humans
from bedside.ratings.rating_files import RatingFile, import_ratings
from bedside.ratings.run import Run
from bedside.ratings.table import IMPORTED, KEY
from bedside.transcripts.transcript import Transcript

#: Modes of plans whose questions a sheet can answer as the plan's own forms do.
_MODES = ("rate", "codes", "findings")
#: What ratings of parts have in common that are computed together.
_RATED = tuple(name for name in KEY if name != "metric")
#: What says of a criterion that it is met, or not; in any case.
_IS_MET, _IS_NOT_MET = (MET, "yes", "true", "1", "1.0"), (NOT_MET, "no", "false", "0", "0.0")
#: Units that all are among a plan's with less than this chance, had any been taken, were drawn by the plan.
_COINCIDENCE = 0.01


@dataclass(slots=True)
class ComputedMetric:
    """What was computed of ratings of the parts of a sheet or flow, or of criteria with points.

    Attributes:
        metric: the metric.
        n, of: for how many raters' ratings of units, of all that have a part.
        missing: why not for the others, and of answers to a flow's questions why they don't count: reason → how many.
    """

    metric: str
    n: int = 0
    of: int = 0
    missing: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SheetImport:
    """What bringing a file of ratings into a run did.

    Attributes:
        added: ratings that were added.
        replaced: those of them that took the place of one.
        standing: ratings of the file that were left out, because answers to a plan of the round say the same key.
        plan: the plan that drew the units, by its hash; None where none is known.
        unknown: whether the run has plans, and none of them drew what people rated.
        computed: what was computed of ratings of parts of sheets, flows and points.
        file: what was read, and how it was understood.
    """

    added: int
    replaced: int
    standing: int
    plan: str | None
    unknown: bool
    computed: tuple[ComputedMetric, ...]
    file: RatingFile = field(repr=False)

    def computed_words(self) -> Iterator[str]:
        """For how many units and raters each metric was computed, and which answers of a walk don't count; and why."""
        beside = [own for own in self.computed if not own.missing.keys().isdisjoint((OFF_WALK, BEHIND_OPEN))]
        computed = [own for own in self.computed if own not in beside]
        for begin, metrics in (("Computed", computed), ("Not counted", beside)):
            alike: dict[str, list[str]] = {}
            for own in metrics:
                lacks = [f"{count:,}: {why}" for why, count in own.missing.items()]
                many = [f"for {own.n:,} of {own.of:,}"] if metrics is computed else []
                alike.setdefault(" ".join(many + ([f"({', '.join(lacks)})"] if lacks else [])), []).append(own.metric)
            if alike:
                parts = (f"{', '.join(names)} {words}" for words, names in alike.items())
                yield f"{begin}: {'; '.join(parts)}."


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
        _check_withdrawn(run, drawn_by, file, str(path))
        draw = {"sample": plan_hash(drawn_by), "by": list(drawn_by.by), "plan_format": drawn_by.format}
        file = _as_drawn(run, file, drawn_by, round_of(drawn_by) if round == IMPORTED else round)
    file, standing = _beside_answers(run, file, round)
    whole, computed = _with_computed(run, file)
    replaced = run.scan().join(file.ratings.lazy(), on=KEY, how="semi").select(pl.len()).collect().item()
    if not whole.ratings.is_empty():
        import_ratings(run, path, whole, round, draw)
    if drawn_by is not None and not (kept := plan_folder(run, drawn_by) / "plan.json").is_file():
        with saying_where(kept):  # it tells how far people are
            make_folder(kept.parent)
        write_plan(drawn_by, kept)
    return SheetImport(
        added=file.ratings.height,
        replaced=replaced,
        standing=standing,
        plan=None if drawn_by is None else plan_hash(drawn_by),
        unknown=drawn_by is None and not stated and not people.is_empty() and bool(_plans(run)),
        computed=computed,
        file=whole,
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
    for item, criteria in plan.criteria.items():
        metrics.update(*(plan.fields_of(item, plan.by_name[rubric]) for rubric in criteria))
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


def _check_withdrawn(run: Run, plan: AnnotationPlan, file: RatingFile, where: str) -> None:
    """Raise InputError where a rater of a file withdrew from its plan."""
    now = current_plan(run, plan)
    for rater, place in zip(file.ratings["rater"], file.places, strict=True) if now.withdrawn else ():
        if is_human(rater) and known_rater(now, person_name(rater)) in now.withdrawn:
            raise InputError("this rater withdrew", where=place, todo="take their ratings out of the file")


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
    """The file, with the round of each rating, without those that answers to plans of it give already; and how many."""
    named = pl.when(pl.col("round") == "").then(pl.lit(round)).otherwise("round")
    ratings = file.ratings.with_columns(named.alias("round"))
    answered = rated_keys(run, set(ratings["round"]))
    kept = ~pl.struct(KEY).is_in(answered.select(pl.struct(KEY)).to_series().implode())
    mask = ratings.select(kept.alias("kept"))["kept"]
    places = tuple(place for place, keep in zip(file.places, mask, strict=True) if keep)
    return replace(file, ratings=ratings.filter(mask), places=places), int((~mask).sum())


# -- What is computed of ratings of parts -----------------------------------------------------------------


def _with_computed(run: Run, file: RatingFile) -> tuple[RatingFile, tuple[ComputedMetric, ...]]:
    """The file with what ratings of parts come to, as answers to a plan do: means of sheets, results of flows, points.

    Parts of the same rater, unit and round that the run has count, too. What the file states itself stands. Answers
    that a flow's walk doesn't ask for are missing, and criteria become points.

    Raises:
        InputError: a criterion is neither met nor not, or the transcript has none of its number.
    """
    rows = file.ratings.to_dicts()
    stated = {tuple(row[name] for name in KEY) for row in rows}
    added: list[dict[str, Any]] = []
    gone, counts = set[int](), dict[str, ComputedMetric]()
    wholes = [own for own in own_rubrics(run).values() if own.kind in ("flow", "points") or own.aggregate]
    for rubric in {own.name: own for own in wholes}.values():
        for places, ratings in _computed(run, file, rows, rubric):
            base = rows[next(iter(places.values()))]
            for _, metric, value, label, reason, error in ratings:
                row = {**base, "metric": metric, "value": value, "label": label, "reason": reason, "error": error}
                if metric not in places and tuple(row[name] for name in KEY) in stated:
                    continue
                if metric not in rubric.metrics[: len(rubric.questions)] or error in (OFF_WALK, BEHIND_OPEN):
                    count = counts.setdefault(metric, ComputedMetric(metric))
                    count.of += 1
                    count.n += error is None
                    if error is not None:
                        count.missing[error] = count.missing.get(error, 0) + 1
                gone |= {places[metric]} if metric in places else set()
                added.append(row)
            if rubric.points:
                gone |= set(places.values())
    if not added:
        return file, ()
    kept = [place for place in range(len(rows)) if place not in gone]
    table = pl.DataFrame([*(rows[place] for place in kept), *added], schema=file.ratings.schema)
    where = (*(file.places[place] for place in kept), *[file.name] * len(added))
    scales = {name: scale for name, scale in file.scales.items() if name in set(table["metric"])}
    return replace(file, ratings=table, places=where, scales=scales), tuple(counts.values())


def _computed(
    run: Run, file: RatingFile, rows: Sequence[Mapping[str, Any]], rubric: Rubric
) -> Iterator[tuple[dict[str, int], Iterable[Unpacked]]]:
    """For each rater, unit and round of which rows are ratings of a rubric's parts: the places of these, by metric, and
    what follows from them but for answers that count."""
    names = [part.name for part in rubric.question_rubrics] if rubric.points is None else []
    part = re.compile("|".join(map(re.escape, names)) if names else rf"{re.escape(rubric.name)}__[0-9]+")
    by_key: dict[tuple[Any, ...], dict[str, int]] = {}
    for place, row in enumerate(rows):
        if row["error"] is None and part.fullmatch(row["metric"]):
            by_key.setdefault(tuple(row[name] for name in _RATED), {})[row["metric"]] = place
    if rubric.points is not None:
        shown = {transcript.id: transcript for transcript in run.transcripts_named({key[0] for key in by_key})}
        for key, places in by_key.items():
            if key[0] in shown:  # import_ratings says it of the others
                where = {int(name.rpartition("__")[2]): (rows[at], file.places[at]) for name, at in places.items()}
                yield places, _points(rubric, shown[key[0]], where)
        return
    rated = run.scan().filter(pl.col("metric").is_in(names), pl.col("error").is_null()).collect() if by_key else None
    before: dict[tuple[Any, ...], dict[str, float | str | None]] = {}
    for row in () if rated is None else rated.iter_rows(named=True):
        before.setdefault(tuple(row[name] for name in _RATED), {})[row["metric"]] = _said(row)
    for key, places in by_key.items():
        said = before.get(key, {}) | {metric: _said(rows[place]) for metric, place in places.items()}
        ratings = ratings_by_parts(rubric, key[1], said)
        yield places, [one for one in ratings if one[1] not in names or one[3] is None]


def _said(row: Mapping[str, Any]) -> float | str:
    """The value or label of a rating."""
    said: float | str = row["value"] if row["label"] is None else row["label"]
    return said


def _points(
    rubric: Rubric, transcript: Transcript, rated: Mapping[int, tuple[Mapping[str, Any], str]]
) -> Iterator[Unpacked]:
    """The points of a transcript of which some criteria are rated, by their numbers (from 0), each with its place."""
    assert rubric.points is not None
    try:
        criteria = rubric.points.of(transcript.known(rubric.points.key))
    except ValueError as unknown:
        raise InputError(f"{transcript.id!r} has no criteria: {unknown}", where=next(iter(rated.values()))[1]) from None
    entries = []
    for at, (row, where) in sorted(rated.items()):
        said = str(_said(row)).casefold()
        if said not in (*_IS_MET, *_IS_NOT_MET):
            raise InputError(f"a criterion is met or not met, and not {_said(row)!r}", where=where)
        if at >= len(criteria):
            raise InputError(f"{transcript.id!r} has {counted(len(criteria), 'criterion')}", where=where,
                             todo="count criteria from 0")  # fmt: skip
        entries.append({"item": at, "met": said in _IS_MET, "reason": row["reason"] or ""})
    return points_ratings(rubric.name, criteria, [JudgeAnswer(TRANSCRIPT, None, {"answers": entries}, None)])
