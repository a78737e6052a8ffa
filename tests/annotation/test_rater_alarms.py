"""Alarms: honest raters have one in a study with a probability of 5 % at most; the careless are noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from bedside.annotation.rater_quality import AnsweredItem, RaterAlarm, looks, rater_alarms
from tests.soak import budget

RUBRICS = ("empathy", "clarity", "safety")
CUTS = (-1.5, -0.5, 0.5, 1.5)
USUAL: dict[str, Any] = {"raters": 3, "items": 60, "overlap": 2, "gold": 6}
LARGE: dict[str, Any] = {"raters": 3, "items": 150, "overlap": 2, "gold": 15}

#: How somebody answers: the truth, how far they are from 0 to 1, and a generator give a level from 0 to 1, by rubric.
Habit = Callable[[float, float, np.random.Generator], float]


def honest(severity: float, noise: float, cuts: Sequence[float]) -> Habit:
    def level(truth: float, place: float, rng: np.random.Generator) -> float:
        return float(np.searchsorted(cuts, truth + severity + rng.normal(0, noise))) / len(cuts)

    return level


def study(
    rng: np.random.Generator,
    *,
    raters: int,
    items: int,
    overlap: int,
    gold: int = 0,
    cuts: Sequence[float] = CUTS,
    severities: float = 0.4,
    noise: tuple[float, float] = (0.4, 0.7),
    habits: dict[int, Habit] | None = None,
    same_order: bool = False,
) -> dict[str, list[AnsweredItem]]:
    """What raters answered: each item by ``overlap`` of them, in an order of each one's own."""
    truths = rng.normal(0, 1, (items + gold, len(RUBRICS)))
    known = [
        {name: (float(np.searchsorted(cuts, truth)) / len(cuts),) for name, truth in zip(RUBRICS, row, strict=True)}
        for row in truths
    ]  # fmt: skip
    shares: list[list[int]] = [[] for _ in range(raters)]
    for item in range(items):
        for rater in rng.permutation(raters)[:overlap]:
            shares[rater].append(item)
    answered: dict[str, list[AnsweredItem]] = {}
    common = rng.permutation(items)
    for rater, share in enumerate(shares):
        own = [item for item in common if item in set(share)] if same_order else list(rng.permutation(share))
        for number in range(gold):
            own.insert(int(rng.integers(number * len(own) // gold, len(own) + 1)), items + number)
        habit = (habits or {}).get(rater) or honest(rng.normal(0, severities), rng.uniform(*noise), cuts)
        answered[f"rater-{rater}"] = [
            AnsweredItem(
                item=str(item),
                said={
                    name: (habit(truth, place / len(own), rng),)
                    for name, truth in zip(RUBRICS, truths[item], strict=True)
                },
                seconds=float(60.0 * rng.lognormal(0, 0.7)),
                asked=len(RUBRICS),
                known=known[item] if item >= items else None,
            )
            for place, item in enumerate(own)
        ]
    return answered


def alarms_in(seed: int, **design: Any) -> dict[str, tuple[RaterAlarm, ...]]:
    answered = study(np.random.default_rng(seed), **design)
    return rater_alarms(answered, {rater: len(items) for rater, items in answered.items()})


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        {"raters": 3, "items": 40, "overlap": 2, "gold": 4},
        {"raters": 2, "items": 100, "overlap": 2, "gold": 10},
        {"raters": 6, "items": 150, "overlap": 3, "gold": 8, "severities": 0.6, "noise": (0.3, 1.0)},
        {"raters": 3, "items": 60, "overlap": 2, "gold": 6, "cuts": (1.6,)},
        {"raters": 3, "items": 60, "overlap": 2, "gold": 6, "cuts": (1.2,), "severities": 0.6},
        {"raters": 3, "items": 60, "overlap": 3, "gold": 6, "same_order": True},
        {"raters": 1, "items": 60, "overlap": 1, "gold": 6},
    ],
    ids=["small", "two raters", "unlike raters", "rare", "rare and unlike", "same order", "alone"],
)
def test_honest_raters_have_few_alarms(design: dict[str, Any]) -> None:
    studies = budget(20, 400)
    alarmed = [bool(alarms) for seed in range(studies) for alarms in alarms_in(seed, **design).values()]
    # 5 %, and what as many raters leave to chance (a one-sided bound of 99.9 %).
    assert np.mean(alarmed) <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / len(alarmed))


#: Entries of an item, and how many entries each of them may be linked to, beside none.
ENTRIES, TARGETS = (1, 6), 4


def links_study(
    rng: np.random.Generator, *, raters: int = 3, items: int = 60, overlap: int = 2, gold: int = 6,
    errors: tuple[float, float] = (0.08, 0.16), habit: Callable[[str, float], str] | None = None,
) -> dict[str, list[AnsweredItem]]:  # fmt: skip
    """What raters linked, who each err at a rate of their own; the first may have a habit of theirs."""
    numbers = ["none of these", *map(str, range(1, TARGETS + 1))]
    # Half of all entries are linked to none.
    shares = [0.5, *[0.5 / TARGETS] * TARGETS]
    truths = [rng.choice(numbers, int(rng.integers(*ENTRIES)), p=shares) for _ in range(items + gold)]
    answered: dict[str, list[AnsweredItem]] = {f"rater-{rater}": [] for rater in range(raters)}
    who = [rng.permutation(raters)[:overlap] for _ in range(items)]
    for rater in range(raters):
        wrong = rng.uniform(*errors)
        order = [item for item in rng.permutation(items + gold) if item >= items or rater in who[item]]
        for place, item in enumerate(order):
            truth = tuple(map(str, truths[item]))
            said = tuple(str(rng.choice(numbers, p=shares)) if rng.random() < wrong else link for link in truth)
            if rater == 0 and habit is not None:
                said = tuple(habit(link, place / len(order)) for link in truth)
            known = {"links": truth} if item >= items else None
            answered[f"rater-{rater}"].append(AnsweredItem(str(item), {"links": said}, 60.0, len(truth), known))
    return answered


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [{}, {"raters": 2, "items": 100, "gold": 10}, {"raters": 6, "items": 90, "overlap": 3, "gold": 0}],
    ids=["usual", "two raters", "six raters"],
)
def test_honest_raters_of_links_have_few_alarms(design: dict[str, Any]) -> None:
    studies, alarmed = budget(30, 400), []
    for seed in range(studies):
        answered = links_study(np.random.default_rng(seed), **design)
        by_rater = rater_alarms(answered, {rater: len(items) for rater, items in answered.items()})
        alarmed += [bool(alarms) for alarms in by_rater.values()]
    assert np.mean(alarmed) <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / len(alarmed))


@pytest.mark.slow
@pytest.mark.parametrize("careless", ["none", "anything", "tires"])
def test_careless_raters_of_links_are_noticed(careless: str) -> None:
    studies, seen = budget(10, 100), 0
    for seed in range(studies):
        rng = np.random.default_rng(seed)

        def habit(link: str, place: float, rng: np.random.Generator = rng) -> str:
            if careless == "none" or (careless == "tires" and rng.random() > place):
                return "none of these" if careless == "none" else link
            return str(rng.integers(1, TARGETS + 1))

        answered = links_study(rng, items=120, gold=10, habit=habit)
        alarms = rater_alarms(answered, {rater: len(items) for rater, items in answered.items()})["rater-0"]
        kinds = {"none": "one answer", "anything": "unlike others", "tires": "falling agreement"}
        seen += kinds[careless] in {alarm.kind for alarm in alarms}
    assert seen / studies >= 0.8


def level(truth: float) -> float:
    return float(np.searchsorted(CUTS, truth)) / 4


def drifting(truth: float, place: float, rng: np.random.Generator) -> float:
    return level(truth + 2 * place - 1 + rng.normal(0, 0.55))


def tiring(truth: float, place: float, rng: np.random.Generator) -> float:
    return float(rng.integers(0, 5)) / 4 if rng.random() < place else level(truth + rng.normal(0, 0.5))


def anyhow(truth: float, place: float, rng: np.random.Generator) -> float:
    return float(rng.integers(0, 5)) / 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "kinds", "design", "least"),
    [
        (lambda truth, place, rng: 0.5, {"one answer"}, USUAL, 0.9),
        (drifting, {"drift"}, USUAL, 0.75),
        (anyhow, {"unlike others", "gold"}, LARGE, 0.6),
        (tiring, {"falling agreement"}, LARGE, 0.7),
    ],
    ids=["one level", "drift", "anyhow", "tiring"],
)
def test_careless_raters_are_noticed(habit: Habit, kinds: set[str], design: dict[str, Any], least: float) -> None:
    studies = budget(10, 100)
    seen, others = 0, Counter[bool]()
    for seed in range(studies):
        by_rater = alarms_in(seed, habits={0: habit}, **design)
        seen += any(alarm.kind in kinds for alarm in by_rater.pop("rater-0"))
        others.update(bool(alarms) for alarms in by_rater.values())
    assert seen / studies >= least
    # That somebody else is careless makes nobody suspect.
    assert others[True] <= 0.05 * others.total() + 3.1 * np.sqrt(0.05 * 0.95 * others.total())


def items_of(levels: list[float], seconds: float = 60.0, asked: int = 1) -> list[AnsweredItem]:
    said = [{"empathy": (value,)} for value in levels]
    return [AnsweredItem(str(number), answer, seconds, asked) for number, answer in enumerate(said)]


def test_two_seconds_for_each_question_are_too_few() -> None:
    levels = [0.0, 0.5, 1.0, 0.25, 0.75] * 2
    for seconds, asked, hasty in ((1.9, 1, True), (2.0, 1, False), (5.9, 3, True), (6.1, 3, False)):
        alarms = rater_alarms({"anna": items_of(levels, seconds, asked)}, {"anna": 10})["anna"]
        assert [alarm.kind for alarm in alarms] == ["hasty"] * hasty
    few = rater_alarms({"anna": items_of(levels[:4], 1.0)}, {"anna": 10})
    assert few == {"anna": ()}


def test_one_level_is_no_alarm_where_others_give_it_too() -> None:
    mostly = [0.0] * 38 + [1.0] * 2
    both = {"anna": items_of([0.0] * 40), "ben": items_of(mostly), "cleo": items_of(mostly)}
    assert rater_alarms(both, dict.fromkeys(both, 40))["anna"] == ()
    varied = items_of([0.0, 0.25, 0.5, 0.75, 1.0] * 8)
    answered = {"anna": items_of([0.5] * 40), "ben": varied, "cleo": varied}
    (alarm, *_) = rater_alarms(answered, dict.fromkeys(answered, 40))["anna"]
    assert alarm.kind == "one answer"
    # Of the first look that says so, not of the last.
    assert alarm.items == 15
    assert "others give it to 20%" in alarm.words


def test_looks_don_t_depend_on_how_often_somebody_asks() -> None:
    assert looks(9) == ()
    assert looks(10) == (10,)
    assert looks(60) == (10, 15, 22, 33, 50, 60)
    answered = study(np.random.default_rng(4), habits={0: drifting}, **USUAL)
    whole = {rater: len(items) for rater, items in answered.items()}
    reached = next(alarm for alarm in rater_alarms(answered, whole)["rater-0"] if alarm.kind == "drift").items
    between = {**answered, "rater-0": answered["rater-0"][: reached - 1]}
    assert not [alarm for alarm in rater_alarms(between, whole)["rater-0"] if alarm.kind == "drift"]


def test_labels_and_what_can_t_be_answered_have_distances_too() -> None:
    def answered(labels: Sequence[str | None]) -> list[AnsweredItem]:
        return [AnsweredItem(str(n), {"question": (label,)}) for n, label in enumerate(labels)]

    said: list[str | None] = ["open", "closed", None] * 14
    wanted, first = {"anna": 42, "ben": 42}, answered(said)
    assert rater_alarms({"anna": first, "ben": first}, wanted) == {"anna": (), "ben": ()}
    other = answered([*said[:21], *["other"] * 21])
    by_rater = rater_alarms({"anna": first, "ben": other}, wanted)
    # Which of two raters changed can't be told.
    assert {alarm.kind for alarms in by_rater.values() for alarm in alarms} == {"falling agreement"}
