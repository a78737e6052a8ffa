"""Drawing a plan: strata, what goes first in them, a training set, and who rates what."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

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
    planned,
    run_identity,
)
from bedside.annotation.assignment import assigned_items
from bedside.annotation.plan_file import sealed
from bedside.annotation.priorities import priorities
from bedside.annotation.strata import drawn_units, unit_pool
from bedside.annotation.training_cases import TrainingCase
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError

#: Raters of one item, or of a plan, at most.
MOST_RATERS = 100


def rater_slots(count: int) -> tuple[str, ...]:
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
    pool = unit_pool(run, mode, rubrics, by, judge, excluded)
    scores = {} if focus == "random" else priorities(run, names, focus, rubrics)
    strata, drawn = [], []
    for number, (values, units) in enumerate(sorted(pool.strata.items())):
        wanted = len(units) if per is None else per
        chosen = drawn_units(
            units, wanted, scores, focus, random_share, random.Random(f"{seed}:{number}:{values}")
        )
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
            assignment=assigned_items(items, trained, raters, overlap, shared, seed),
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


# -- what goes first --------------------------------------------------------------------------------


# -- who rates what ---------------------------------------------------------------------------------


# -- the training set -------------------------------------------------------------------------------
