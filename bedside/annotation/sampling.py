"""The drawing of a plan: units of each stratum, a training set, and who rates what."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

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
from bedside.annotation.gold_items import check_gold_share, check_hidden, gold_items, with_gold
from bedside.annotation.pair_pool import SYSTEMS, in_random_order, pair_pool, turned_item
from bedside.annotation.plan_file import sealed
from bedside.annotation.priorities import priorities
from bedside.annotation.strata import DrawableUnit, UnitPool, drawn_units, unit_pool
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import DataError
from bedside.core.files import can_name_a_file
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import is_pair, rated_by_judges, rated_by_juries
from bedside.ratings.run import Run
from bedside.ratings.table import check_round

#: Raters of one item, or of a plan, at most.
MOST_RATERS = 100
#: Share of what a rater is shown that gold items are, where no other is named.
GOLD_SHARE = 0.1


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
    training_kappa: float | None = None,
    gold: Sequence[TrainingCase] = (),
    gold_share: float = GOLD_SHARE,
    without: Iterable[tuple[str, str]] = (),
    systems: Sequence[str] | None = None,
    round: str = "",
    seed: int = 0,
) -> AnnotationPlan:
    """Draw an annotation plan.

    Units (transcripts, or turns where the rubrics are about turns; in mode pairs, two transcripts on one case, of which
    either is shown first in half of the pairs of two systems) are drawn from each stratum: at random; or, with
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
        training_kappa: the kappa with the known answers that a rater must reach in training.
        gold: units with known answers, hidden among the others and never counted as ratings.
        gold_share: share of what a rater is shown that they are.
        without: (transcript, unit) to leave out, such as those rated already.
        systems: in mode pairs, whose transcripts are compared; those of all systems unless named.
        round: the name of the round of annotation, such as pilot; a plan without one is a round of its own.
        seed: of everything drawn at random.

    Raises:
        DataError: a number, name, factor, focus or judge that doesn't fit, or nothing left to rate.
        RunError: the run keeps no text, or has system messages among its turns.
    """
    _check_question(mode, rubrics, focus)
    _check_pairs(mode, by=by, focus=focus, training=training, gold=gold, systems=systems)
    check_gold_share(gold_share)
    _check_training_kappa(mode, training, training_kappa)
    check_round(round)
    _check_numbers(raters, per, overlap, {"random_share": random_share, "repeat": repeat})
    run.check_told_apart()
    if mode == "audit":
        judge = _audited_judge(run, rubrics, judge)
    elif judge is not None:
        raise DataError(
            f"mode {mode} shows no judge's scores",
            where="`judge`",
            todo="leave it out, or choose `mode=audit`",
        )
    check_hidden(gold, training)
    known = (*gold, *(case for case in training if case.content is None))
    excluded = {*without, *((case.transcript, case.unit) for case in known)}
    if mode == "pairs":
        by, pool = (SYSTEMS,), pair_pool(run, rubrics, systems, excluded)
    else:
        pool = unit_pool(run, mode, rubrics, by, judge, excluded)
    priority = {} if focus == "random" else priorities(run, focus, rubrics)
    strata, drawn = _drawn_strata(
        pool, by=by, per=per, priority=priority, focus=focus, random_share=random_share,
        seed=_seed_of_draw(seed, excluded),
    )  # fmt: skip
    if not drawn:
        raise _nothing_left(run, pool, [rubric.name for rubric in rubrics])
    if mode == "pairs":
        in_random_order(drawn, seed)
    identity = run_identity(run)
    items = _plan_items(drawn, identity, seed, mode)
    repeats = _repeated_items(items, repeat, seed)
    training_items, hidden = _training_items(training, identity, seed), gold_items(gold, identity, seed)
    assignment = assigned_items(
        items,
        [unit.place for unit, _ in drawn],
        repeats,
        training_items,
        raters,
        overlap=overlap,
        shared=shared,
        seed=seed,
    )
    if hidden:
        assignment = with_gold(assignment, hidden, before=len(training_items), share=gold_share, seed=seed)
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
            training_kappa=training_kappa,
            gold=hidden,
            items=tuple(sorted((*items, *repeats.values()), key=lambda item: item.id)),
            assignment=assignment,
        )
    )


def _seed_of_draw(seed: int, excluded: Collection[tuple[str, str]]) -> str:
    """The seed of a draw from what others left: were it theirs, what they drew would tell what is drawn of the rest."""
    return str(seed) if not excluded else f"{seed}:{opaque_id(*sorted(excluded))}"


def _drawn_strata(
    pool: UnitPool,
    *,
    by: Sequence[str],
    per: int | None,
    priority: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    seed: str,
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
        item.id: turned_item(item)
        if is_pair(item.unit)
        else item.model_copy(update={"id": opaque_id(item.id, "again"), "replicate": 1})
        for item in drawn
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


def _check_training_kappa(mode: Mode, training: Sequence[TrainingCase], wanted: float | None) -> None:
    """See that kappa can be told of a training set, for every rubric."""
    if wanted is None:
        return
    if not -1 <= wanted <= 1:
        raise DataError(
            f"kappa is at most 1, and {wanted:g} is not", where="`training_kappa`", todo="give .6 or so"
        )
    if not training or mode == "findings":
        raise DataError(
            "kappa is that with the known answers of a training set"
            if not training
            else "lists have no kappa",
            where="`training_kappa`",
            todo="leave it out" if training else "give a training set with `training`, or leave it out",
        )
    for rubric in training[0].answers:
        answers = {str(answer) for case in training for answer in _known_answers(case.answers.get(rubric))}
        if len(answers) < 2:
            raise DataError(
                f"all known answers on {rubric} are the same, and whether a rater tells levels apart can't be seen",
                where="`training`",
                todo="add cases with another answer, or leave `training_kappa` out",
            )


def _known_answers(answer: object) -> list[object]:
    """The known answers of a case: one, or one for each turn."""
    return list(answer.values()) if isinstance(answer, dict) else [] if answer is None else [answer]


def _check_pairs(
    mode: Mode, *, by: Sequence[str], focus: Focus, training: object, gold: object, systems: object
) -> None:
    """See that what is said goes with the mode: pairs are drawn from every two systems alike, at random."""
    if mode != "pairs" and systems is not None:
        raise DataError(
            f"mode {mode} compares no systems", where="`systems`", todo="leave it out, or choose `mode=pairs`"
        )
    names = {"by": bool(by), "focus": focus != "random", "training": bool(training), "gold": bool(gold)}
    for name, typed in names.items():
        if mode == "pairs" and typed:
            raise DataError(
                "pairs are drawn at random from every two systems, and have no training set or gold items",
                where=f"`{name}`",
                todo="leave it out",
            )


def check_raters(raters: Sequence[str], where: str = "`raters`") -> None:
    """See that a plan can have these raters.

    Args:
        raters: their names.
        where: the argument that names them.

    Raises:
        DataError: it can't.
    """
    if not 1 <= len(raters) <= MOST_RATERS:
        raise DataError(
            f"a plan has 1 to {MOST_RATERS} raters, and {len(raters)} are named",
            where=where,
            todo="name them, or give their number",
        )
    for rater in raters:
        if not re.fullmatch(RATER, rater):
            raise DataError(
                f"{rater!r} can't be a rater's name",
                where=where,
                todo="use letters, digits and . _ - + @",
            )
        if not can_name_a_file(rater):
            raise DataError(
                f"{rater!r} can't be a rater's name: Windows has no file of that name",
                where=where,
                todo="add a letter",
            )
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise DataError("a rater is named twice", where=where, todo="give each a name of their own")


def _check_numbers(raters: Sequence[str], per: int | None, overlap: int, shares: Mapping[str, float]) -> None:
    check_raters(raters)
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
    rated = run.ratings.filter(pl.col("metric").is_in(names), pl.col("error").is_null())
    judges = sorted(rated.filter(rated_by_judges())["rater"].unique())
    # A jury is shown where it is named, and never stands for the only judge.
    juries = rated.filter(rated_by_juries())["rater"].unique()
    if judge is not None and (judge in judges or judge in juries):
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
