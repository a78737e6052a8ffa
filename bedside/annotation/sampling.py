"""Drawing a plan: strata, what goes first in them, a training set, and who rates what."""

from __future__ import annotations

import hashlib
import math
import os
import random
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bedside.annotation.assignment import balanced_blocks
from bedside.annotation.fields import choices, entry_part
from bedside.annotation.items import problem
from bedside.annotation.plan import (
    FOCI,
    MODES,
    RATER,
    AnnotationPlan,
    Focus,
    Mode,
    PlanItem,
    Stratum,
    TrainingItem,
    check_rubrics,
    planned,
    run_identity,
    sealed,
)
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError, InputError
from bedside.support.registry import nearest
from bedside.transcripts import Reading, Transcript

#: Raters of one item, or of a plan, at most.
MOST_RATERS = 100
#: Key of a transcript's reference that holds the known answers of a training set.
KNOWN = "answers"
_NO_VALUE = "(none)"


@dataclass(frozen=True, slots=True)
class TrainingCase:
    """A unit with known answers.

    Attributes:
        transcript: id of the transcript.
        answers: as in :class:`~bedside.annotation.plan.TrainingItem`.
        unit: ``transcript`` or ``turn:<index>``.
        content: the transcript as JSON where it isn't one of the run's.
    """

    transcript: str
    answers: Mapping[str, Any]
    unit: str = "transcript"
    content: str | None = None


@dataclass(slots=True)
class _Unit:
    transcript: str
    unit: str
    drawn: Focus = "random"


@dataclass(slots=True)
class _Pool:
    """What can be rated: by stratum (the values of its factors), and why the rest can't."""

    strata: dict[tuple[str, ...], list[_Unit]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def slots(count: int) -> tuple[str, ...]:
    """Names for raters who aren't known yet."""
    return tuple(f"rater-{number}" for number in range(1, count + 1))


def make_plan(
    run: Run,
    *,
    mode: Mode,
    rubrics: Sequence[Rubric],
    raters: Sequence[str],
    by: Sequence[str] = (),
    per: int | None = None,
    overlap: int = 2,
    shared: int = 0,
    focus: Focus = "random",
    random_share: float = 0.0,
    judge: str | None = None,
    training: Sequence[TrainingCase] = (),
    without: Iterable[tuple[str, str]] = (),
    seed: int = 0,
) -> AnnotationPlan:
    """Draw an annotation plan.

    Units (transcripts, or turns where the rubrics are about turns) are drawn from each stratum: at random; or, with
    another focus, ``random_share`` of them at random and the others in the order of :func:`disagreement` or
    :func:`uncertainty`. Raters are assigned in balanced blocks (:func:`~bedside.annotation.assignment.balanced_blocks`)
    stratum by stratum; each rater sees the training set first and then the items in an order of their own.

    Args:
        run: the run; it must keep the text.
        mode: how people rate.
        rubrics: what they are asked, all about transcripts or all about turns.
        raters: their names.
        by: what divides the strata: ``system``, ``case_id``, ``language`` or factors.
        per: units of each stratum; all unless given.
        overlap: raters of each item.
        shared: items that all raters rate.
        focus: what goes first.
        random_share: 0 … 1.
        judge: in audit mode, whose scores are shown; the run's only judge unless named.
        training: the training set, in order.
        without: (transcript, unit) to leave out, such as those rated already.
        seed: of everything drawn at random.

    Raises:
        DataError: a number, factor, focus or judge that doesn't fit, or nothing left to rate.
        RunError: the run keeps no text.
    """
    _check(mode, rubrics, raters, per, overlap, focus, random_share)
    if mode == "audit":
        judge = _judge(run, rubrics, judge)
    elif judge is not None:
        raise DataError("a judge's scores are shown in mode audit only", where="--judge")
    names = [rubric.name for rubric in rubrics]
    excluded = {*without, *((case.transcript, case.unit) for case in training if case.content is None)}
    pool = _pool(run, mode, rubrics, by, judge, excluded)
    scores = {} if focus == "random" else _scores(run, names, focus, rubrics)
    strata, drawn = [], []
    for number, (values, units) in enumerate(sorted(pool.strata.items())):
        wanted = len(units) if per is None else per
        chosen = _draw(units, wanted, scores, focus, random_share, random.Random(f"{seed}:{number}:{values}"))
        strata.append(
            Stratum(
                factors=dict(zip(by, values, strict=True)),
                available=len(units),
                wanted=wanted,
                drawn=len(chosen),
            )
        )
        drawn += [(unit, number) for unit in chosen]
    if not drawn:
        reasons = "; ".join(f"{count} {reason}" for reason, count in pool.left_out.items())
        raise DataError(
            f"nothing is left to rate{f' ({reasons})' if reasons else ''}",
            where=str(run.path),
            todo="choose other rubrics or fewer to leave out",
        )
    identity = run_identity(run)
    items = [
        PlanItem(
            id=opaque_id(identity, seed, mode, unit.transcript, unit.unit),
            transcript=unit.transcript,
            unit=unit.unit,
            stratum=number,
            drawn=unit.drawn,
        )
        for unit, number in drawn
    ]
    trained = tuple(
        TrainingItem(
            id=opaque_id(identity, seed, "training", case.transcript, case.unit),
            transcript=case.transcript,
            unit=case.unit,
            content=case.content,
            answers=dict(case.answers),
        )
        for case in training
    )
    return sealed(
        AnnotationPlan(
            mode=mode,
            run=identity,
            rubrics=planned(rubrics),
            judge=judge,
            raters=tuple(raters),
            overlap=overlap,
            shared=min(shared, len(items)),
            by=tuple(by),
            focus=focus,
            random_share=random_share if focus != "random" else 1.0,
            seed=seed,
            strata=tuple(strata),
            left_out=dict(sorted(pool.left_out.items())),
            training=trained,
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment=_assign(items, trained, raters, overlap, shared, seed),
        )
    )


def _check(
    mode: Mode,
    rubrics: Sequence[Rubric],
    raters: Sequence[str],
    per: int | None,
    overlap: int,
    focus: str,
    random_share: float,
) -> None:
    if mode not in MODES:
        raise DataError(f"{mode!r} is not known", where="--mode", todo=f"one of {', '.join(MODES)}")
    if focus not in FOCI:
        raise DataError(f"{focus!r} is not known", where="--focus", todo=f"one of {', '.join(FOCI)}")
    if not rubrics:
        raise DataError("no rubric is named", where="--rubrics", todo="name some: a,b,c")
    try:
        check_rubrics(mode, rubrics)
    except ValueError as error:
        raise DataError(str(error), where="--rubrics", todo="choose others, or another --mode") from error
    if not 1 <= len(raters) <= MOST_RATERS:
        raise DataError(
            f"{len(raters)} raters", where="--raters", todo=f"name 1 to {MOST_RATERS}, or give their number"
        )
    for rater in raters:
        if not re.fullmatch(RATER, rater):
            raise DataError(
                f"{rater!r} is no name for a rater",
                where="--raters",
                todo="use letters, digits and . _ - + @",
            )
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise DataError("a rater is named twice", where="--raters", todo="give each a name of their own")
    if not 1 <= overlap <= len(raters):
        raise DataError(
            f"an overlap of {overlap} needs as many raters, and there are {len(raters)}",
            where="--overlap",
            todo="name more with --raters, or lower it",
        )
    if per is not None and per < 1:
        raise DataError(f"{per} of each stratum", where="--per", todo="give a number from 1")
    if not 0 <= random_share <= 1:
        raise DataError(f"{random_share:g} is no share", where="--random", todo="give a number from 0 to 1")


# -- what can be rated ------------------------------------------------------------------------------


def _judge(run: Run, rubrics: Sequence[Rubric], judge: str | None) -> str:
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(
        pl.col("metric").is_in(names), pl.col("rater").str.starts_with("judge:"), pl.col("error").is_null()
    )
    known = sorted(rated["rater"].unique())
    if judge is not None and judge in known:
        return judge
    if judge is None and len(known) == 1:
        return str(known[0])
    if not known:
        raise DataError(
            f"no judge has rated {', '.join(names)}",
            where=str(run.path),
            todo="score the run with --judge first",
        )
    what = f"{judge!r} has rated none of it" if judge is not None else f"{len(known)} judges have rated it"
    raise DataError(what, where="--judge", todo=f"name one: {', '.join(known)}")


def _pool(
    run: Run,
    mode: Mode,
    rubrics: Sequence[Rubric],
    by: Sequence[str],
    judge: str | None,
    excluded: set[tuple[str, str]],
) -> _Pool:
    values = _strata_values(run, by)
    audited = _audited(run, rubrics, judge) if judge is not None else None
    turns = mode != "codes" and rubrics[0].unit == "turn"
    role = rubrics[0].role
    pool = _Pool()
    for transcript in sorted(run.transcripts(), key=lambda transcript: transcript.id):
        wrong = problem(rubrics, transcript)
        if wrong is not None:
            pool.left_out[wrong] += 1
            continue
        units = (
            [f"turn:{turn.index}" for turn in transcript.turns if role in (None, turn.role)]
            if turns
            else ["transcript"]
        )
        for unit in units:
            if audited is not None and (transcript.id, unit) not in audited:
                pool.left_out[f"not rated by {judge}"] += 1
            elif (transcript.id, unit) in excluded:
                pool.left_out["rated already, or in the training set"] += 1
            else:
                pool.strata.setdefault(values[transcript.id], []).append(_Unit(transcript.id, unit))
    return pool


def _strata_values(run: Run, by: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Transcript → the values of the factors that divide the strata."""
    table = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id", "language").join(
        run.factors, on="transcript_id", how="left", suffix=" (factor)"
    )
    known = [name for name in table.columns if name != "transcript_id"]
    for name in by:
        if name not in known:
            raise DataError(f"there is no factor {name!r}", where="--by", todo=nearest(name, known))
    if len(set(by)) != len(by):
        raise DataError("a factor is named twice", where="--by")
    return {
        name: tuple(_NO_VALUE if value is None else str(value) for value in values)
        for name, *values in table.select("transcript_id", *by).iter_rows()
    }


def _audited(run: Run, rubrics: Sequence[Rubric], judge: str) -> set[tuple[str, str]]:
    """Units that the judge rated by every rubric."""
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(
        pl.col("rater") == judge, pl.col("metric").is_in(names), pl.col("error").is_null()
    )
    counts = rated.group_by("transcript_id", "unit").agg(pl.col("metric").n_unique())
    return {(name, unit) for name, unit, count in counts.iter_rows() if count == len(names)}


# -- what goes first --------------------------------------------------------------------------------


def _draw(
    units: Sequence[_Unit],
    wanted: int,
    scores: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    rng: random.Random,
) -> list[_Unit]:
    left = list(units)
    rng.shuffle(left)
    if focus == "random":
        return left[:wanted]
    at_random = math.floor(random_share * min(wanted, len(left)) + 0.5)
    chosen, left = left[:at_random], left[at_random:]
    # What has no score can't be compared and goes last, at random. The sort is stable, so ties stay shuffled.
    left.sort(key=lambda unit: -scores.get((unit.transcript, unit.unit), -1.0))
    for unit in left[: wanted - len(chosen)]:
        if (unit.transcript, unit.unit) in scores:
            unit.drawn = focus
        chosen.append(unit)
    return chosen


def _scores(
    run: Run, names: Sequence[str], focus: Focus, rubrics: Sequence[Rubric]
) -> dict[tuple[str, str], float]:
    found = disagreement(run, rubrics) if focus == "disagreement" else uncertainty(run, rubrics)
    if not found:
        needed = {
            "disagreement": "no unit was rated twice by judges: neither by two of them nor in two passes",
            "uncertain": "no judge has rated any of it on a scale",
        }[focus]
        raise DataError(
            f"{needed} ({', '.join(names)})",
            where=str(run.path),
            todo="score with --passes 3, --expected or another --judge, or use --focus random",
        )
    if rubrics[0].unit == "transcript" or not any(unit.startswith("turn:") for _, unit in found):
        return found
    # Coded turns are rated transcript by transcript: a transcript has the mean of its turns.
    grouped: dict[str, list[float]] = {}
    for (transcript, _), score in found.items():
        grouped.setdefault(transcript, []).append(score)
    return found | {(name, "transcript"): statistics.fmean(values) for name, values in grouped.items()}


def _said(run: Run, names: Sequence[str]) -> pl.DataFrame:
    """What judges and algorithms said: one row a unit and metric, with lists of values and labels."""
    return (
        run.ratings.filter(
            pl.col("metric").is_in(names), ~pl.col("rater").str.starts_with("human:"), pl.col("error").is_null()
        )
        .group_by("transcript_id", "unit", "metric", maintain_order=True)
        .agg(pl.col("value").drop_nulls(), pl.col("label").drop_nulls())
    )  # fmt: skip


def disagreement(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How far judges and their passes differ on each unit, 0 (not at all) to 1, the mean over rubrics.

    On a scale: twice the standard deviation of all judges' passes over the width of the scale. Labels: the share of
    answers other than the most frequent one. Counts (lists and sets): twice the standard deviation over the largest
    count given. Units that were rated once only are left out.
    """
    widths = {rubric.name: _width(rubric) for rubric in rubrics}
    found: dict[tuple[str, str], list[float]] = {}
    for transcript, unit, metric, values, labels in _said(run, list(widths)).iter_rows():
        if len(labels) > 1:
            score = 1 - Counter(labels).most_common(1)[0][1] / len(labels)
        elif len(values) > 1:
            width = widths[metric] or max(values) or 1.0
            score = 2 * statistics.pstdev(values) / width
        else:
            continue
        found.setdefault((transcript, unit), []).append(score)
    return {key: statistics.fmean(scores) for key, scores in found.items()}


def uncertainty(run: Run, rubrics: Sequence[Rubric]) -> dict[tuple[str, str], float]:
    """How unsure the judge is of each unit, 0 (sure) to 1, the mean over rubrics.

    Where the run has expected levels (``--expected``): the distance of the expected level from the nearest level, over
    half the distance between levels. Else, on a scale: how near the judge's mean is to the middle of the scale, 1 at
    the middle and 0 at its ends. Labels: as in :func:`disagreement`.
    """
    levels = {
        rubric.name: [float(level.value) for level in rubric.scale] for rubric in rubrics if rubric.scale
    }
    found: dict[tuple[str, str], dict[str, float]] = {}
    for transcript, unit, metric, values, _ in _said(run, list(levels)).iter_rows():
        if values:
            low, high = levels[metric][0], levels[metric][-1]
            off = abs(statistics.fmean(values) - (low + high) / 2) / ((high - low) / 2)
            found.setdefault((transcript, unit), {})[metric] = 1 - off
    expected = {f"{name}.expected": name for name in levels}
    for transcript, unit, metric, values, _ in _said(run, list(expected)).iter_rows():
        if values:
            score = _between_levels(statistics.fmean(values), levels[expected[metric]])
            found.setdefault((transcript, unit), {})[expected[metric]] = score
    scores = {key: list(by_metric.values()) for key, by_metric in found.items()}
    for key, score in disagreement(run, [rubric for rubric in rubrics if not rubric.scale]).items():
        scores.setdefault(key, []).append(score)
    return {key: statistics.fmean(each) for key, each in scores.items()}


def _between_levels(value: float, levels: Sequence[float]) -> float:
    above = next((number for number, level in enumerate(levels) if level >= value), len(levels) - 1)
    if above == 0:
        return 0.0
    low, high = levels[above - 1], levels[above]
    return max(0.0, min(value - low, high - value) / ((high - low) / 2))


def _width(rubric: Rubric) -> float | None:
    return float(rubric.scale[-1].value - rubric.scale[0].value) if rubric.scale else None


# -- who rates what ---------------------------------------------------------------------------------


def opaque_id(*parts: object) -> str:
    """A name that says nothing of what it names to those who don't have the run."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:12]


def _assign(
    items: Sequence[PlanItem],
    training: Sequence[TrainingItem],
    raters: Sequence[str],
    overlap: int,
    shared: int,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    by_all = {item.id for item in random.Random(f"{seed}:shared").sample(items, min(shared, len(items)))}
    others = [item.id for item in items if item.id not in by_all]
    own: dict[str, list[str]] = {rater: sorted(by_all) for rater in raters}
    for item, block in zip(others, balanced_blocks(len(raters), overlap, len(others), seed), strict=True):
        for position in block:
            own[raters[position]].append(item)
    for rater, mine in own.items():
        random.Random(f"{seed}:order:{rater}").shuffle(mine)
    first = tuple(item.id for item in training)
    return {rater: (*first, *mine) for rater, mine in own.items()}


# -- the training set -------------------------------------------------------------------------------


def read_training(
    path: str | os.PathLike[str], mode: Mode, rubrics: Sequence[Rubric]
) -> tuple[TrainingCase, ...]:
    """A training set from a file of transcripts whose reference holds the known ``answers``.

    ``answers`` has a key for each rubric: the level or label; for rubrics about turns, turn (counted from 0) → label;
    in findings mode, the list of findings.

    Raises:
        InputError: no answers, or one that the rubric doesn't have; the transcript is named.
    """
    if mode == "audit":
        raise InputError("a training set is for raters who don't see a judge's scores", where="--training")
    cases: list[TrainingCase] = []
    for transcript in Reading([path]):
        answers = transcript.reference.get(KNOWN)
        if not isinstance(answers, Mapping):
            raise InputError(
                f"the reference of transcript {transcript.id!r} has no {KNOWN}",
                where=transcript.source,
                todo='give it "reference": {"answers": {RUBRIC: LEVEL}}',
            )
        wrong = problem(rubrics, transcript)
        if wrong is not None:
            raise InputError(
                f"transcript {transcript.id!r} can't be shown to raters: {wrong}", where=transcript.source
            )
        cases += _cases(transcript, mode, rubrics, answers)
    return tuple(cases)


def _cases(
    transcript: Transcript, mode: Mode, rubrics: Sequence[Rubric], answers: Mapping[str, Any]
) -> list[TrainingCase]:
    where = f"{transcript.source}: transcript {transcript.id!r}"
    known: dict[str, Any] = {}
    for rubric in rubrics:
        if rubric.name not in answers:
            raise InputError(f"no known answer on {rubric.name}", where=where, todo="give one")
        known[rubric.name] = _known(rubric, answers[rubric.name], transcript, mode, where)
    content = transcript.to_json().decode()
    if mode == "codes" or rubrics[0].unit == "transcript":
        return [TrainingCase(transcript.id, known, content=content)]
    turns = sorted({turn for by_turn in known.values() for turn in by_turn}, key=int)
    return [
        TrainingCase(
            transcript.id,
            {name: by_turn[turn] for name, by_turn in known.items() if turn in by_turn},
            f"turn:{turn}",
            content,
        )
        for turn in turns
    ]


def _known(rubric: Rubric, given: Any, transcript: Transcript, mode: Mode, where: str) -> Any:
    if mode == "findings":
        label, text = entry_part(rubric)
        labels = {each.label for each in label.labels}
        if not isinstance(given, list) or any(
            not isinstance(entry, Mapping)
            or entry.get(label.name) not in labels
            or not str(entry.get(text.name, "")).strip()
            for entry in given
        ):
            raise InputError(
                f"the known {rubric.name} are no list of {label.name} and {text.name}", where=where
            )
        return [{label.name: entry[label.name], text.name: str(entry[text.name]).strip()} for entry in given]
    if rubric.unit == "turn":
        if not isinstance(given, Mapping):
            raise InputError(
                f"the known answer on {rubric.name} is of no turn", where=where, todo="give turn: label"
            )
        found = {}
        for turn, choice in given.items():
            if not str(turn).isdigit() or int(turn) >= len(transcript.turns):
                raise InputError(f"there is no turn {turn!r}", where=where, todo="count turns from 0")
            found[str(int(turn))] = _choice(rubric, choice, where)
        return found
    if rubric.kind == "set":
        return sorted(_choice(rubric, each, where) for each in given)
    return _choice(rubric, given, where)


def _choice(rubric: Rubric, given: Any, where: str) -> str:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    text = f"{given:g}" if number else str(given)
    known = [choice for choice, _ in choices(rubric)]
    if text not in known:
        raise InputError(
            f"{text!r} is no answer to {rubric.name}", where=where, todo=f"one of {', '.join(known)}"
        )
    return text


def training_from_run(
    run: Run, mode: Mode, rubrics: Sequence[Rubric], count: int, seed: int = 0
) -> tuple[TrainingCase, ...]:
    """A training set of the run's own units, drawn from those that people agree on by every rubric.

    At least two people must have rated the unit and given the same level or label; that is the known answer.

    Raises:
        DataError: there are fewer than ``count``, or the mode isn't rate.
    """
    if mode != "rate":
        raise DataError(
            f"in mode {mode} there is no consensus to train by", where="--training", todo="give a file of transcripts"
        )  # fmt: skip
    names = [rubric.name for rubric in rubrics]
    people = run.ratings.filter(
        pl.col("metric").is_in(names), pl.col("rater").str.starts_with("human:"), pl.col("error").is_null()
    )
    said: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    for transcript, unit, metric, rater, value, label in people.select(columns).iter_rows():
        choice = label if label is not None else f"{value:g}"
        said.setdefault((transcript, unit), {}).setdefault(metric, {})[rater] = choice
    agreed = {
        key: {metric: next(iter(by_rater.values())) for metric, by_rater in by_metric.items()}
        for key, by_metric in said.items()
        if len(by_metric) == len(names)
        and all(len(by_rater) > 1 and len(set(by_rater.values())) == 1 for by_rater in by_metric.values())
    }
    if len(agreed) < count:
        raise DataError(
            f"people agree on {len(agreed)} units by all of {', '.join(names)}, fewer than {count}",
            where="--training",
            todo="give a lower number, or a file of transcripts with known answers",
        )
    chosen = random.Random(f"{seed}:training").sample(sorted(agreed), count)
    return tuple(
        TrainingCase(transcript, {name: agreed[transcript, unit][name] for name in names}, unit)
        for transcript, unit in chosen
    )
