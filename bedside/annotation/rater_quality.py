"""How each rater of a plan keeps up: time, hidden gold items, training, and alarms."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, PlanItem, TrainingItem
from bedside.annotation.answer_ratings import NO_ANSWER, UNCODED, AnswerRating, answer_ratings
from bedside.annotation.answer_revisions import RevisionHistory
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import CASE_KINDS, NONE
from bedside.annotation.known_answers import (
    KnownComparison,
    answer_distance,
    compared_with_known,
    level_spans,
    pooled_kappa,
)
from bedside.annotation.plan_choices import Mode
from bedside.annotation.study_file import present_raters
from bedside.annotation.training_cases import CodedPositions, TrainingResult, training_results
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import turn_index
from bedside.stats.arrays import Array

# -- Alarms about raters --------------------------------------------------------------------------------
# Six of them, each about one rater:
#
# - ``hasty``: half of the items took less than two seconds for each thing that was asked, which nobody needs less for
#   (Huang, Curran, Keeney, Poposki & DeShon 2012, Journal of Business and Psychology 27, 99–114);
# - ``one answer``: by a rubric, the same answer to everything, where others give several: too seldom so by a rater who
#   is a whole standard deviation of what is rated more given to that answer than others are;
# - ``gold``: farther from known answers than half as far again as the other raters are (a permutation test of the mean
#   distance);
# - ``unlike others``: farther from others than half as far again as these are from each other (the same test); it
#   takes three raters;
# - ``drift``: by a rubric, levels that rise or fall over the items, measured from the known answer or from what others
#   gave the same unit, else from the rater's own mean (the correlation with the order of items);
# - ``falling agreement``: a distance from others that grows over the items (the same, one-sided).
#
# Entries that are linked are labels: what each is linked to, where the distance is the share that is linked otherwise.
# Items come in an order drawn at random, so that nothing about them rises or falls with it of itself. A rater's answers
# are looked at when there are 10, 15, 22, 33 … of them, and all, and at no other time: how often somebody asks changes
# nothing. The five tests share a probability of false alarm of 5 % a rater and study, however many rubrics and looks.

AlarmKind = Literal["hasty", "one answer", "gold", "unlike others", "drift", "falling agreement"]
#: What a rater said of one thing: a level from 0 (the lowest) to 1, a label, or None: no answer can be given.
Said = float | str | None

#: Probability of any false alarm, a rater and study.
ERROR_RATE = 0.05
#: How many standard deviations of what is rated honest raters may differ in where they draw the limits of an answer.
SEVERITY = 1.0
#: Seconds for each thing asked, below which nobody reads.
HASTY_SECONDS = 2.0
#: Answers before the first look, and how many times as many there are at each next one.
_FIRST_LOOK, _NEXT_LOOK = 10, 1.5
#: Tests that share the error rate.
_TESTS = 5
#: How many times as far from others as these from each other an honest rater may be.
APART = 1.5
#: Items with a time before it is looked at, and gold items before they are.
_FEWEST_TIMED, _FEWEST_GOLD = 5, 4
_PERMUTATIONS = 4_999


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """What one rater answered to one item.

    Attributes:
        item: its id.
        said: rubric → what was said of each of the item's units, in their order.
        seconds: that it took; None where unknown.
        asked: how many things were asked, as time goes.
        known: of a gold item, rubric → the known answers in the same order; else None.
    """

    item: str
    said: Mapping[str, tuple[Said, ...]]
    seconds: float | None = None
    asked: int = 1
    known: Mapping[str, tuple[Said, ...]] | None = None


@dataclass(frozen=True, slots=True)
class RaterAlarm:
    """One alarm about a rater.

    Attributes:
        kind: which.
        words: what was seen.
        items: after how many of the rater's items it was seen first.
        p: of the test; None of times.
    """

    kind: AlarmKind
    words: str
    items: int
    p: float | None = None


def looks(assigned: int) -> tuple[int, ...]:
    """At how many answers a rater is looked at who has so many items."""
    sizes: list[int] = []
    size = float(_FIRST_LOOK)
    while size < assigned:
        sizes.append(int(size))
        size *= _NEXT_LOOK
    return (*sizes, assigned) if assigned >= _FIRST_LOOK else ()


def rater_alarms(
    answered: Mapping[str, Sequence[AnsweredItem]], assigned: Mapping[str, int]
) -> dict[str, tuple[RaterAlarm, ...]]:
    """The alarms about each rater, at most one of each kind and rubric: the first.

    Args:
        answered: rater → the items answered, in the order of time; what was shown a second time is left out.
        assigned: rater → how many such items the rater has, answered or not.
    """
    everybody = _Everybody(answered)
    return {rater: tuple(_alarms_about(everybody, rater, assigned[rater])) for rater in answered}


@dataclass(slots=True)
class _Everybody:
    """All answers, by item.

    Attributes:
        answered: rater → the items answered, in order.
        said: item → rater → what was said.
        without: rater → :meth:`distances_without`.
    """

    answered: Mapping[str, Sequence[AnsweredItem]]
    said: dict[str, dict[str, AnsweredItem]] = field(default_factory=dict)
    without: dict[str, list[float]] = field(default_factory=dict)
    _apart: dict[tuple[str, str], float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rater, items in self.answered.items():
            for item in items:
                self.said.setdefault(item.item, {})[rater] = item

    def others(self, rater: str, item: AnsweredItem) -> list[AnsweredItem]:
        """What the other raters said of an item."""
        return [said for other, said in self.said[item.item].items() if other != rater]

    def distance(self, rater: str, item: AnsweredItem) -> float | None:
        """The mean distance of a rater's answer to an item from others'; None of a gold item, or without others."""
        key = rater, item.item
        if key not in self._apart:
            beside = () if item.known is not None else self.others(rater, item)
            apart = [_item_distance(item, other.said) for other in beside]
            numbers = [distance for distance in apart if distance is not None]
            self._apart[key] = _mean(numbers) if numbers else None
        return self._apart[key]

    def distances_without(self, rater: str) -> list[float]:
        """Of each item that two others rated, the mean distance of their answers from each other."""
        if rater not in self.without:
            distances = []
            for by_rater in self.said.values():
                others = [said for other, said in by_rater.items() if other != rater and said.known is None]
                pairs = [_item_distance(a, b.said) for a, b in combinations(others, 2)]
                numbers = [distance for distance in pairs if distance is not None]
                distances += [_mean(numbers)] if numbers else []
            self.without[rater] = distances
        return self.without[rater]


def _alarms_about(everybody: _Everybody, rater: str, assigned: int) -> Iterator[RaterAlarm]:
    items = everybody.answered[rater]
    hasty = _hasty(items)
    if hasty is not None:
        yield hasty
    sizes = looks(assigned)
    enough = ERROR_RATE / _TESTS / max(1, len(sizes))
    reached = [items[:size] for size in sizes if size <= len(items)]
    rubrics = list(dict.fromkeys(rubric for item in items for rubric in item.said))
    for of_rubric in (_one_answer, _drift):
        for rubric in rubrics:
            tests = (of_rubric(everybody, rater, seen, rubric) for seen in reached)
            yield from _first(tests, enough / len(rubrics))
    for of_all in (_gold, _unlike_others, _falling):
        yield from _first((of_all(everybody, rater, seen) for seen in reached), enough)


def _first(tests: Iterator[RaterAlarm | None], enough: float) -> Iterator[RaterAlarm]:
    """The first alarm whose probability is small enough."""
    for alarm in tests:
        if alarm is not None and alarm.p is not None and alarm.p <= enough:
            yield alarm
            return


def _hasty(items: Sequence[AnsweredItem]) -> RaterAlarm | None:
    times = [item.seconds / item.asked for item in items if item.seconds is not None]
    if len(times) < _FEWEST_TIMED or statistics.median(times) >= HASTY_SECONDS:
        return None
    whole = statistics.median(item.seconds for item in items if item.seconds is not None)
    return RaterAlarm("hasty", f"half of the items took less than {max(whole, 0.1):.1f} s", len(items))


def _one_answer(everybody: _Everybody, rater: str, items: Sequence[AnsweredItem], rubric: str) -> RaterAlarm | None:
    """The same answer to everything: how likely that is of a rater who is only more given to it than others."""
    from scipy.special import ndtr, ndtri

    own = {_single(item.said[rubric]) for item in items if rubric in item.said}
    count = sum(rubric in item.said for item in items)
    if len(own) != 1 or own == {(False, None)}:
        return None
    ((_, answer),) = own
    others = [
        _single(item.said[rubric]) == (True, answer)
        for other, of_other in everybody.answered.items()
        if other != rater
        for item in of_other
        if rubric in item.said
    ]
    if not others:
        return None
    # Of what is rated, others find so much within the answer; a rater may draw its limits elsewhere.
    share = (sum(others) + 1) / (len(others) + 1)
    p = ndtr(ndtri(share) + SEVERITY) ** count if share < 1 else 1.0
    words = f"{rubric}: {_answer_words(answer)} to all of {count} items; others give it to {np.mean(others):.0%}"
    return RaterAlarm("one answer", words, len(items), float(p))


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _single(said: tuple[Said, ...]) -> tuple[bool, Said]:
    """Whether there is a single answer to an item's units, and which."""
    return (True, said[0]) if said and len(set(said)) == 1 else (False, None)


def _answer_words(answer: Said) -> str:
    if isinstance(answer, float):
        return "the same level"
    return "no answer" if answer is None else repr(answer)


def _distance(said: tuple[Said, ...], beside: tuple[Said, ...]) -> float:
    """Mean distance of the answers to an item's units from others to the same, 0 to 1."""
    if len(said) == 1:
        return answer_distance(said[0], beside[0])
    return _mean([answer_distance(first, second) for first, second in zip(said, beside, strict=True)])


def _item_distance(item: AnsweredItem, beside: Mapping[str, tuple[Said, ...]]) -> float | None:
    """The mean over rubrics of the distance of an item's answers; None where no rubric is in both."""
    distances = [
        _distance(said, beside[rubric])
        for rubric, said in item.said.items()
        if said and len(beside.get(rubric, ())) == len(said)
    ]
    return _mean(distances) if distances else None


def _gold(everybody: _Everybody, rater: str, items: Sequence[AnsweredItem]) -> RaterAlarm | None:
    own = list(_gold_distances(items))
    others = [
        distance
        for other, of_other in everybody.answered.items()
        if other != rater
        for distance in _gold_distances(of_other)
    ]
    if len(own) < _FEWEST_GOLD or len(others) < _FEWEST_GOLD:
        return None
    p = _larger_mean(np.array(own), np.array(others))
    words = f"mean distance from the known answers {_mean(own):.2f} of the scale, others' {_mean(others):.2f}"
    return RaterAlarm("gold", words, len(items), p)


def _gold_distances(items: Sequence[AnsweredItem]) -> Iterator[float]:
    for item in items:
        distance = None if item.known is None else _item_distance(item, item.known)
        if distance is not None:
            yield distance


def _larger_mean(own: Array, others: Array) -> float:
    """How likely a mean of ``own`` this large is if it is :data:`APART` times that of ``others``, by permutation."""
    others = APART * others
    if own.mean() <= others.mean():
        return 1.0
    together = np.concatenate([own, others])
    rng = np.random.default_rng(0)
    drawn = rng.permuted(np.tile(together, (_PERMUTATIONS, 1)), axis=1)[:, : own.size]
    as_large = int((drawn.sum(axis=1) >= own.sum() - 1e-9).sum())
    return (as_large + 1) / (_PERMUTATIONS + 1)


def _unlike_others(everybody: _Everybody, rater: str, items: Sequence[AnsweredItem]) -> RaterAlarm | None:
    """A distance from others that is larger than theirs from each other, and by more than honest raters differ."""
    own = [apart for item in items if (apart := everybody.distance(rater, item)) is not None]
    others = everybody.distances_without(rater)
    if len(own) < _FIRST_LOOK or len(others) < _FIRST_LOOK:
        return None
    words = f"mean distance from others {np.mean(own):.2f} of the scale, theirs from each other {np.mean(others):.2f}"
    return RaterAlarm("unlike others", words, len(items), _larger_mean(np.array(own), np.array(others)))


def _drift(everybody: _Everybody, rater: str, items: Sequence[AnsweredItem], rubric: str) -> RaterAlarm | None:
    """Levels that rise or fall over the items."""
    places: list[int] = []
    deviations: list[float] = []
    is_beside: list[bool] = []
    for place, item in enumerate(items):
        level = _mean_level(item.said.get(rubric, ()))
        if level is None:
            continue
        beside = [item.known] if item.known is not None else [other.said for other in everybody.others(rater, item)]
        levels = [other for said in beside if (other := _mean_level(said.get(rubric, ()))) is not None]
        places.append(place)
        deviations.append(level - _mean(levels) if levels else level)
        is_beside.append(bool(levels))
    if len(deviations) < _FIRST_LOOK:
        return None
    residuals, beside_others = np.array(deviations), np.array(is_beside)
    # A rater can be milder than others on the whole; only what changes is a drift.
    for part in (beside_others, ~beside_others):
        if part.any():
            residuals[part] -= residuals[part].mean()
    correlation, p = _trend(np.array(places, dtype=np.float64), residuals)
    if correlation is None:
        return None
    way = "rise" if correlation > 0 else "fall"
    words = f"{rubric}: levels {way} over {len(deviations)} items, correlation with their order {correlation:.2f}"
    return RaterAlarm("drift", words, len(items), min(1.0, 2 * min(p, 1 - p)))


def _mean_level(said: tuple[Said, ...]) -> float | None:
    levels = [level for level in said if isinstance(level, float)]
    return _mean(levels) if levels else None


def _falling(everybody: _Everybody, rater: str, items: Sequence[AnsweredItem]) -> RaterAlarm | None:
    """A distance from others that grows over the items."""
    places, distances = [], []
    for place, item in enumerate(items):
        apart = everybody.distance(rater, item)
        if apart is not None:
            places.append(float(place))
            distances.append(apart)
    if len(distances) < _FIRST_LOOK:
        return None
    correlation, p = _trend(np.array(places), np.array(distances))
    if correlation is None:
        return None
    half = len(distances) // 2
    words = (
        f"mean distance from others {_mean(distances[:half]):.2f} of the scale in the first half, "
        f"{_mean(distances[half:]):.2f} in the second"
    )
    return RaterAlarm("falling agreement", words, len(items), p)


def _trend(order: Array, values: Array) -> tuple[float | None, float]:
    """The correlation of values with their order, and how likely one as large is by chance (one-sided)."""
    from scipy.special import stdtr

    if np.ptp(values) < 1e-12:
        return None, 1.0
    correlation = float(np.corrcoef(order, values)[0, 1])
    freedom = order.size - 2
    score = correlation * math.sqrt(freedom / max(1e-12, 1 - correlation**2))
    return correlation, float(stdtr(freedom, -score))


# -- How each rater of a plan keeps up ------------------------------------------------------------------

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
        for rater in present_raters(plan, {rater for _, rater in history.with_excluded()})
    )


def plan_item_once(item: PlanItem | KnownItem | None) -> bool:
    """Whether an item is no training, and not what was shown before."""
    if isinstance(item, PlanItem):
        return item.replicate == 0
    return item is not None and not isinstance(item, TrainingItem)


def _in_order(plan: AnnotationPlan, rater: str, answers: Mapping[tuple[str, str], RaterAnswer]) -> list[RaterAnswer]:
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


def _answered_item(plan: AnnotationPlan, answer: RaterAnswer, positions: Mapping[str, Sequence[int]]) -> AnsweredItem:
    item = plan.by_id[answer.item]
    said: dict[str, tuple[Said, ...]] = {}
    known: dict[str, tuple[Said, ...]] = {}
    asked = len(plan.questions)
    if plan.mode == "codes":
        asked = max(1, sum(map(len, {tuple(positions[str(rubric.role)]) for rubric in plan.questions})))
    elif plan.mode == "findings":
        asked = 1
    elif plan.criteria or plan.lists or plan.flow_of:
        asked = max(1, len(answer.choices))
    for rubric in plan.questions if plan.mode in COMPARED_MODES else ():
        if rubric.kind in CASE_KINDS:
            # Of entries, what each is linked to; what else is said of a link isn't asked of all raters.
            asked_of = [of.name for of in plan.every_of(item.id, rubric) if of.said or rubric.kind == "points"]
            if isinstance(item, KnownItem):
                true_of = item.answers.get(rubric.name, {})
                asked_of = [name for name in asked_of if name in true_of]
                known[rubric.name] = tuple(true_of[name] for name in asked_of)
            if asked_of:
                said[rubric.name] = tuple(next(iter(answer.choices.get(name, ())), None) for name in asked_of)
            continue
        ratings = [
            rating
            for rating in answer_ratings(plan, rubric, item, answer, positions, {})
            if rating.error in (None, NO_ANSWER, UNCODED)
        ]
        if isinstance(item, KnownItem):
            true = list(_known_answers(plan, rubric, item, ratings))
            ratings = [rating for rating, answer_there in zip(ratings, true, strict=True) if answer_there is not None]
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
