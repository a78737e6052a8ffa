"""The drawing of a plan: units of each stratum, a training set, and who rates what."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from bedside.annotation.annotation_plan import (
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
    opaque_id,
    planned_rubrics,
    run_identity,
)
from bedside.annotation.assignment import assigned_items
from bedside.annotation.plan_file import sealed
from bedside.annotation.priorities import priorities
from bedside.annotation.strata import DrawableUnit, UnitPool, drawn_units, unit_pool
from bedside.annotation.training_cases import TrainingCase
from bedside.ratings.names import rated_by_judges
from bedside.ratings.run import Run
from bedside.ratings.table import check_round
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError

#: Raters of one item, or of a plan, at most.
MOST_RATERS = 100


def rater_slots(count: int) -> tuple[str, ...]:
    """Names for raters whose names aren't known yet."""
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
    repeat: float = 0.0,
    training: Sequence[TrainingCase] = (),
    without: Iterable[tuple[str, str]] = (),
    round: str = "",
    seed: int = 0,
) -> AnnotationPlan:
    """Draw an annotation plan.

    Units (transcripts, or turns where the rubrics are about turns) are drawn from each stratum: at random; or, with
    another focus, ``random_share`` of them at random, and the others by their
    :func:`~bedside.annotation.priorities.priorities`. Raters are assigned in balanced blocks
    (:func:`~bedside.annotation.assignment.balanced_blocks`), stratum by stratum; each rater sees the training set first
    and then the items in an order of their own.

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
        repeat: share of the items that their raters are shown a second time, 0 … 1: how well each agrees with
            themselves.
        training: the training set, in order.
        without: (transcript, unit) to leave out, such as those rated already.
        round: the name of the round of annotation, such as pilot; a plan without one is a round of its own.
        seed: of everything drawn at random.

    Raises:
        DataError: a number, name, factor, focus or judge that doesn't fit, or nothing left to rate.
        RunError: the run keeps no text.
    """
    _check_question(mode, rubrics, focus)
    check_round(round)
    _check_numbers(raters, per, overlap, {"random_share": random_share, "repeat": repeat})
    if mode == "audit":
        judge = _audited_judge(run, rubrics, judge)
    elif judge is not None:
        raise DataError(
            f"mode {mode} shows no judge's scores",
            where="`judge`",
            todo="leave it out, or choose `mode=audit`",
        )
    excluded = {*without, *((case.transcript, case.unit) for case in training if case.content is None)}
    pool = unit_pool(run, mode, rubrics, by, judge, excluded)
    priority = {} if focus == "random" else priorities(run, focus, rubrics)
    strata, drawn = _drawn_strata(
        pool, by=by, per=per, priority=priority, focus=focus, random_share=random_share, seed=seed
    )
    if not drawn:
        raise _nothing_left(run, pool, [rubric.name for rubric in rubrics])
    identity = run_identity(run)
    items = _plan_items(drawn, identity, seed, mode)
    repeats = _repeated_items(items, repeat, seed)
    training_items = _training_items(training, identity, seed)
    return sealed(
        AnnotationPlan(
            mode=mode,
            run=identity,
            round=round,
            rubrics=planned_rubrics(rubrics),
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
            training=training_items,
            items=tuple(sorted((*items, *repeats.values()), key=lambda item: item.id)),
            assignment=assigned_items(
                items,
                [unit.place for unit, _ in drawn],
                repeats,
                training_items,
                raters,
                overlap=overlap,
                shared=shared,
                seed=seed,
            ),
        )
    )


def _drawn_strata(
    pool: UnitPool,
    *,
    by: Sequence[str],
    per: int | None,
    priority: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    seed: int,
) -> tuple[list[Stratum], list[tuple[DrawableUnit, int]]]:
    """The strata, and the units drawn from them, each with the position of its stratum."""
    strata, drawn = [], []
    for number, (values, units) in enumerate(sorted(pool.strata.items())):
        count = len(units) if per is None else per
        chosen = drawn_units(
            units=units, count=count, priority=priority, focus=focus, random_share=random_share, seed=seed
        )
        factors = dict(zip(by, values, strict=True))
        strata.append(Stratum(factors=factors, available=len(units), wanted=count, drawn=len(chosen)))
        drawn += [(unit, number) for unit in chosen]
    return strata, drawn


def _nothing_left(run: Run, pool: UnitPool, rubrics: Sequence[str]) -> DataError:
    reasons = "; ".join(f"{count} {reason}" for reason, count in pool.left_out.items())
    return DataError(
        f"nothing is left to rate by {', '.join(rubrics)}{f' ({reasons})' if reasons else ''}",
        where=str(run.path),
        todo="choose other rubrics, or leave out fewer units",
    )


def _plan_items(
    drawn: Sequence[tuple[DrawableUnit, int]], identity: str, seed: int, mode: Mode
) -> list[PlanItem]:
    """The plan's items, in the order of their strata."""
    return [
        PlanItem(
            id=opaque_id(identity, seed, mode, unit.transcript, unit.unit),
            transcript=unit.transcript,
            unit=unit.unit,
            stratum=stratum,
            drawn=unit.drawn,
            chance=unit.chance,
        )
        for unit, stratum in drawn
    ]


def _repeated_items(items: Sequence[PlanItem], share: float, seed: int) -> dict[str, PlanItem]:
    """Id of an item → the item that shows it again, of a share of them drawn at random."""
    count = math.ceil(share * len(items) - 1e-9)
    drawn = random.Random(f"{seed}:repeat").sample(sorted(items, key=lambda item: item.id), count)
    return {
        item.id: item.model_copy(update={"id": opaque_id(item.id, "again"), "replicate": 1}) for item in drawn
    }


def _training_items(training: Sequence[TrainingCase], identity: str, seed: int) -> tuple[TrainingItem, ...]:
    return tuple(
        TrainingItem(
            id=opaque_id(identity, seed, "training", case.transcript, case.unit),
            transcript=case.transcript,
            unit=case.unit,
            content=case.content,
            answers=dict(case.answers),
        )
        for case in training
    )


def _check_question(mode: Mode, rubrics: Sequence[Rubric], focus: str) -> None:
    if mode not in MODES:
        raise DataError(
            f"there is no mode {mode!r}", where="`mode`", todo=f"choose one of {', '.join(MODES)}"
        )
    if focus not in FOCI:
        raise DataError(
            f"there is no focus {focus!r}", where="`focus`", todo=f"choose one of {', '.join(FOCI)}"
        )
    if not rubrics:
        raise DataError("no rubric is named", where="`rubrics`", todo="name one or more")
    try:
        check_rubrics(mode, rubrics)
    except ValueError as error:
        raise DataError(
            str(error), where="`rubrics`", todo="choose other rubrics, or another `mode`"
        ) from error


def _check_numbers(raters: Sequence[str], per: int | None, overlap: int, shares: Mapping[str, float]) -> None:
    if not 1 <= len(raters) <= MOST_RATERS:
        raise DataError(
            f"a plan has 1 to {MOST_RATERS} raters, and {len(raters)} are named",
            where="`raters`",
            todo="name them, or give their number",
        )
    for rater in raters:
        if not re.fullmatch(RATER, rater):
            raise DataError(
                f"{rater!r} can't be a rater's name",
                where="`raters`",
                todo="use letters, digits and . _ - + @",
            )
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise DataError("a rater is named twice", where="`raters`", todo="give each a name of their own")
    if not 1 <= overlap <= len(raters):
        raise DataError(
            f"an overlap of {overlap} needs as many raters, and there are {len(raters)}",
            where="`overlap`",
            todo="name more `raters`, or choose an overlap from 1 to their number",
        )
    if per is not None and per < 1:
        raise DataError(
            f"at least one unit of each stratum must be drawn, and {per} is less",
            where="`per`",
            todo="give a number from 1",
        )
    for argument, share in shares.items():
        if not 0 <= share <= 1:
            raise DataError(
                f"a share must lie between 0 and 1, and {share:g} does not",
                where=f"`{argument}`",
                todo="give a number from 0 to 1",
            )


def _audited_judge(run: Run, rubrics: Sequence[Rubric], judge: str | None) -> str:
    """The judge whose scores are shown: the one that is named, or the only one that rated by the rubrics."""
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(pl.col("metric").is_in(names), rated_by_judges(), pl.col("error").is_null())
    judges = sorted(rated["rater"].unique())
    if judge is not None and judge in judges:
        return judge
    if judge is None and len(judges) == 1:
        return str(judges[0])
    if not judges:
        raise DataError(
            f"no judge has rated the run by {', '.join(names)}",
            where=str(run.path),
            todo="have it judged first: bedside score --judge MODEL",
        )
    what = (
        f"{judge!r} has rated nothing by {', '.join(names)}"
        if judge is not None
        else f"{len(judges)} judges have rated the run"
    )
    raise DataError(what, where="`judge`", todo=f"name one: {', '.join(judges)}")
