"""Answers to items whose right answers are known: how far they are from those, and kappa with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem
from bedside.annotation.answer_ratings import answer_ratings, listed_entries
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NONE, label_and_text
from bedside.annotation.findings import f1, matched_entries
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import turn_index


@dataclass(frozen=True, slots=True)
class KnownComparison:
    """What was said beside what is known.

    Attributes:
        rubric: by which.
        known, said: levels as numbers, other answers as texts; ``said`` is None where no answer was given.
        right: 1 where they are the same, else 0; of lists, their F1.
        off: distance of two levels, in the scale's own unit; None where they are not both levels.
    """

    rubric: str
    known: float | str
    said: float | str | None
    right: float
    off: float | None


def compared_with_known(
    plan: AnnotationPlan, item: KnownItem, answer: RaterAnswer, positions: Mapping[str, Sequence[int]]
) -> Iterator[KnownComparison]:
    """Every known answer of an item, beside what a rater said.

    Args:
        plan: the plan.
        item: an item with known answers.
        answer: a rater's answer to it.
        positions: in codes mode, of the item, role → indices of the turns that are coded.
    """
    for rubric in plan.questions:
        known = item.answers.get(rubric.name)
        if known is None:
            continue
        if plan.mode == "findings":
            listed, true = (
                label_and_text(rubric, listed_entries(rubric, answer)),
                label_and_text(rubric, known),
            )
            score = f1(matched_entries(listed, true), len(listed), len(true))
            yield KnownComparison(rubric.name, f"{len(true)} listed", f"{len(listed)} listed", score, None)
            continue
        for rating in answer_ratings(plan, rubric, item, answer, positions, {}):
            of_unit = known.get(str(turn_index(rating.unit))) if plan.mode == "codes" else known
            if of_unit is not None:
                yield _compared(rubric, of_unit, rating.value, rating.label, answer)


def _compared(
    rubric: Rubric, known: Any, value: float | None, label: str | None, answer: RaterAnswer
) -> KnownComparison:
    if rubric.kind == "set":
        chosen = answer.choices.get(rubric.name)
        text = None if chosen is None else "; ".join(sorted(set(chosen) - {NONE}))
        true = "; ".join(sorted(set(known) - {NONE}))
        return KnownComparison(rubric.name, true, text, float(text == true), None)
    if rubric.kind == "level":
        level = float(known)
        off = None if value is None else abs(value - level)
        return KnownComparison(rubric.name, level, value, float(value == level), off)
    return KnownComparison(rubric.name, known, label, float(label == known), None)


def level_spans(plan: AnnotationPlan) -> dict[str, float]:
    """Rubric of levels → distance from its lowest level to its highest."""
    return {
        rubric.name: float(rubric.scale[-1].value - rubric.scale[0].value)
        for rubric in plan.questions
        if rubric.kind == "level"
    }


def answer_distance(first: float | str | None, second: float | str | None, span: float = 1.0) -> float:
    """How far two answers are apart, 0 (the same) to 1: of levels the distance over the scale's span, of others 0 or 1.

    That no answer was given is as far from a level as the ends of the scale are from each other.
    """
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second) / span
    return float(first != second)


def pooled_kappa(comparisons: Sequence[KnownComparison], spans: Mapping[str, float]) -> float | None:
    """Kappa with known answers over all rubrics together: one minus the disagreement over what chance would give.

    Disagreement is quadratic in the distance of levels, and 0 or 1 of other answers; by chance, it is that of every
    answer with every known one of the same rubric. Sums over rubrics are taken before the ratio (De Vries, Elliott,
    Kanouse & Teleki 2008, Field Methods 20, 272–282), so that a rubric whose known answers are nearly all the same
    doesn't decide.

    Args:
        comparisons: of one rater.
        spans: :func:`level_spans`.

    Returns:
        1 where all is right, 0 where it is as right as by chance; None where chance can't be told: nothing was
        compared, or a single answer was known and given.
    """
    by_rubric: dict[str, list[KnownComparison]] = {}
    for comparison in comparisons:
        by_rubric.setdefault(comparison.rubric, []).append(comparison)
    observed = by_chance = 0.0
    for rubric, own in by_rubric.items():
        span = spans.get(rubric, 1.0)
        table = np.array(
            [[answer_distance(a.known, b.said, span) ** 2 for b in own] for a in own], dtype=np.float64
        )
        observed += float(np.trace(table))
        by_chance += float(table.sum()) / len(own)
    return None if by_chance < 1e-12 else 1 - observed / by_chance
