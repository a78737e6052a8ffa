"""How each rater of a plan keeps up: time, hidden gold items, training, alarms."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, Mode, PlanItem, TrainingItem
from bedside.annotation.answer_ratings import NO_ANSWER, UNCODED, AnswerRating, answer_ratings
from bedside.annotation.answer_revisions import RevisionHistory
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NONE
from bedside.annotation.known_answers import (
    KnownComparison,
    compared_with_known,
    level_spans,
    pooled_kappa,
)
from bedside.annotation.rater_alarms import AnsweredItem, RaterAlarm, Said, rater_alarms
from bedside.annotation.training_result import CodedPositions, TrainingResult, training_results
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import turn_index

#: Modes whose answers are looked at by more than the time they took.
COMPARED_MODES: tuple[Mode, ...] = ("rate", "codes", "pairs")


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """How one rater keeps up.

    Attributes:
        rater: who.
        items: handed in, without training and gold.
        seconds: median time of an item, gold ones too; None where no time is known.
        gold: gold items handed in, of ``gold_assigned``.
        right: share of gold answers that are the known one (of lists, the mean F1); None without any.
        gold_kappa: kappa with the gold answers; None where it can't be told.
        training: how they did on the training set; None where there is none.
        unpassed: items handed in though training isn't passed.
        alarms: what was noticed.
    """

    rater: str
    items: int
    seconds: float | None
    gold: int
    gold_assigned: int
    right: float | None
    gold_kappa: float | None
    training: TrainingResult | None
    unpassed: int
    alarms: tuple[RaterAlarm, ...]


def rater_quality(
    plan: AnnotationPlan, history: RevisionHistory, positions: CodedPositions
) -> tuple[RaterQuality, ...]:
    """How each rater of a plan keeps up, in the plan's order.

    Args:
        plan: the plan, as it is assigned now.
        history: its answers.
        positions: :func:`~bedside.annotation.items.coded_positions`.
    """
    answers = history.answers()
    in_order = {rater: _in_order(plan, rater, answers) for rater in plan.raters}
    trained = {result.rater: result for result in training_results(plan, history, positions)}
    answered = {
        rater: [_answered_item(plan, answer, positions.get(answer.item, {})) for answer in own]
        for rater, own in in_order.items()
    }
    assigned = {
        rater: max(len(in_order[rater]), sum(map(plan_item_once, map(plan.by_id.get, order))))
        for rater, order in plan.assignment.items()
    }
    alarms = rater_alarms(answered, assigned) if plan.mode != "adjudicate" else {}
    return tuple(
        _quality(plan, rater, in_order[rater], trained.get(rater), alarms.get(rater, ()), positions)
        for rater in plan.raters
    )


def plan_item_once(item: PlanItem | KnownItem | None) -> bool:
    """Whether an item is no training, and not what was shown before."""
    if isinstance(item, PlanItem):
        return item.replicate == 0
    return item is not None and not isinstance(item, TrainingItem)


def _in_order(
    plan: AnnotationPlan, rater: str, answers: Mapping[tuple[str, str], RaterAnswer]
) -> list[RaterAnswer]:
    """What a rater handed in, in the order of time; where times aren't known, in that of the plan."""
    places = {name: place for place, name in enumerate(plan.assignment[rater])}
    own = [
        answer
        for (name, who), answer in answers.items()
        if who == rater and answer.state == "submitted" and plan_item_once(plan.by_id[name])
    ]
    own.sort(key=lambda answer: places.get(answer.item, len(places)))
    if all(answer.created for answer in own):
        own.sort(key=lambda answer: answer.created)
    return own


def _quality(
    plan: AnnotationPlan,
    rater: str,
    own: Sequence[RaterAnswer],
    trained: TrainingResult | None,
    alarms: tuple[RaterAlarm, ...],
    positions: CodedPositions,
) -> RaterQuality:
    gold = [answer for answer in own if isinstance(plan.by_id[answer.item], KnownItem)]
    compared: list[KnownComparison] = []
    for answer in gold:
        item = plan.by_id[answer.item]
        if isinstance(item, KnownItem):
            compared += compared_with_known(plan, item, answer, positions.get(answer.item, {}))
    times = [answer.seconds for answer in own if answer.seconds is not None]
    ids = {item.id for item in plan.gold}
    items = len(own) - len(gold)
    return RaterQuality(
        rater=rater,
        items=items,
        seconds=statistics.median(times) if times else None,
        gold=len(gold),
        gold_assigned=len(ids.intersection(plan.assignment[rater])),
        right=statistics.fmean(comparison.right for comparison in compared) if compared else None,
        gold_kappa=None if plan.mode == "findings" else pooled_kappa(compared, level_spans(plan)),
        training=trained,
        unpassed=0 if trained is None or trained.passed else items,
        alarms=alarms,
    )


def _answered_item(
    plan: AnnotationPlan, answer: RaterAnswer, positions: Mapping[str, Sequence[int]]
) -> AnsweredItem:
    item = plan.by_id[answer.item]
    said: dict[str, tuple[Said, ...]] = {}
    known: dict[str, tuple[Said, ...]] = {}
    asked = len(plan.questions)
    if plan.mode == "codes":
        asked = max(1, sum(map(len, {tuple(positions[str(rubric.role)]) for rubric in plan.questions})))
    elif plan.mode == "findings":
        asked = 1
    for rubric in plan.questions if plan.mode in COMPARED_MODES else ():
        ratings = [
            rating
            for rating in answer_ratings(plan, rubric, item, answer, positions, {})
            if rating.error in (None, NO_ANSWER, UNCODED)
        ]
        if isinstance(item, KnownItem):
            true = list(_known_answers(plan, rubric, item, ratings))
            ratings = [
                rating for rating, answer_there in zip(ratings, true, strict=True) if answer_there is not None
            ]
            known[rubric.name] = tuple(answer_there for answer_there in true if answer_there is not None)
        if ratings:
            said[rubric.name] = tuple(_said(rubric, rating, answer) for rating in ratings)
    return AnsweredItem(
        item=answer.item,
        said=said,
        seconds=answer.seconds,
        asked=asked,
        known=known if isinstance(item, KnownItem) else None,
    )


def _said(rubric: Rubric, rating: AnswerRating, answer: RaterAnswer) -> Said:
    if rating.error is not None:
        return None
    if rubric.kind == "set":
        return "; ".join(sorted(set(answer.choices.get(rubric.name, ())) - {NONE}))
    return rating.label if rating.label is not None else _place(rubric, rating.value)


def _known_answers(
    plan: AnnotationPlan, rubric: Rubric, item: KnownItem, ratings: Sequence[AnswerRating]
) -> Iterator[Said]:
    """The known answer to each of these units; None where there is none."""
    for rating in ratings:
        known = item.answers.get(rubric.name)
        if plan.mode == "codes" and known is not None:
            known = known.get(str(turn_index(rating.unit)))
        if known is None:
            yield None
        elif rubric.kind == "set":
            yield "; ".join(sorted(set(known) - {NONE}))
        else:
            yield _place(rubric, float(known)) if rubric.kind == "level" else str(known)


def _place(rubric: Rubric, value: float | None) -> Said:
    """A level's place on its scale, from 0 to 1."""
    if value is None:
        return None
    low, high = float(rubric.scale[0].value), float(rubric.scale[-1].value)
    return (value - low) / (high - low)
