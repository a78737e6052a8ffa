"""Alarms about raters: signs that somebody answers without reading, or answers otherwise than before.

Six of them, each about one rater:

- ``hasty``: half of the items took less than two seconds for each thing that was asked, which nobody needs less for
  (Huang, Curran, Keeney, Poposki & DeShon 2012, Journal of Business and Psychology 27, 99–114);
- ``one answer``: by a rubric, the same answer to everything, where others give several: too seldom so by a rater who
  is a whole standard deviation of what is rated more given to that answer than others are;
- ``gold``: farther from known answers than half as far again as the other raters are (a permutation test of the mean
  distance);
- ``unlike others``: farther from others than half as far again as these are from each other (the same test); it
  takes three raters;
- ``drift``: by a rubric, levels that rise or fall over the items, measured from the known answer or from what others
  gave the same unit, else from the rater's own mean (the correlation with the order of items);
- ``falling agreement``: a distance from others that grows over the items (the same, one-sided).

Items come in an order drawn at random, so that nothing about them rises or falls with it of itself. A rater's answers
are looked at when there are 10, 15, 22, 33 … of them, and all, and at no other time: how often somebody asks changes
nothing. The five tests share a probability of false alarm of 5 % a rater and study, however many rubrics and looks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from bedside.annotation.known_answers import answer_distance
from bedside.stats.arrays import Array

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


def _one_answer(
    everybody: _Everybody, rater: str, items: Sequence[AnsweredItem], rubric: str
) -> RaterAlarm | None:
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
    words = (
        f"{rubric}: {_answer_words(answer)} to all of {count} items; others give it to {np.mean(others):.0%}"
    )
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


def _drift(
    everybody: _Everybody, rater: str, items: Sequence[AnsweredItem], rubric: str
) -> RaterAlarm | None:
    """Levels that rise or fall over the items."""
    places: list[int] = []
    deviations: list[float] = []
    is_beside: list[bool] = []
    for place, item in enumerate(items):
        level = _mean_level(item.said.get(rubric, ()))
        if level is None:
            continue
        beside = (
            [item.known]
            if item.known is not None
            else [other.said for other in everybody.others(rater, item)]
        )
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
    words = (
        f"{rubric}: levels {way} over {len(deviations)} items, correlation with their order {correlation:.2f}"
    )
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
