"""Raters who are known to be honest, or careless in a known way, for tests of what notices the careless."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.annotation.rater_alarms import AnsweredItem

RUBRICS = ("empathy", "clarity", "safety")


@dataclass(frozen=True)
class Habit:
    """How a rater answers: ``level(truth, place, items, generator)`` gives a level from 0 to 1, by rubric."""

    level: Callable[[float, float, np.random.Generator], float] | None = None
    seconds: float = 60.0


def honest(severity: float, noise: float, cuts: Sequence[float]) -> Habit:
    def level(truth: float, place: float, rng: np.random.Generator) -> float:
        return float(np.searchsorted(cuts, truth + severity + rng.normal(0, noise))) / len(cuts)

    return Habit(level)


def study(
    rng: np.random.Generator,
    *,
    raters: int,
    items: int,
    overlap: int,
    gold: int = 0,
    cuts: Sequence[float] = (-1.5, -0.5, 0.5, 1.5),
    severities: float = 0.4,
    noise: tuple[float, float] = (0.4, 0.7),
    habits: dict[int, Habit] | None = None,
    same_order: bool = False,
) -> dict[str, list[AnsweredItem]]:
    """What raters answered: each item by ``overlap`` of them, in an order of each one's own."""
    truths = rng.normal(0, 1, (items + gold, len(RUBRICS)))
    known = [
        {
            rubric: (float(np.searchsorted(cuts, truth)) / len(cuts),)
            for rubric, truth in zip(RUBRICS, row, strict=True)
        }
        for row in truths
    ]
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
        assert habit.level is not None
        answered[f"rater-{rater}"] = [
            AnsweredItem(
                item=str(item),
                said={
                    rubric: (habit.level(truth, place / len(own), rng),)
                    for rubric, truth in zip(RUBRICS, truths[item], strict=True)
                },
                seconds=float(habit.seconds * rng.lognormal(0, 0.7)),
                asked=len(RUBRICS),
                known=known[item] if item >= items else None,
            )
            for place, item in enumerate(own)
        ]
    return answered
