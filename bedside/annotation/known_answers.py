"""Answers to items whose right answers are known: how far they are from those, and kappa with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem
from bedside.annotation.answer_ratings import answer_ratings, listed_entries
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import CASE_KINDS, NONE, label_and_text
from bedside.judges.rubrics.rubric import Rubric
from bedside.metrics.protocols.medconceal.matching import maximum_matching
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.ratings.names import turn_index
from bedside.stats.result import Result

# -- Do two raters list the same? Lists have no fixed units ---------------------------------------------
# Kappa needs to know what both left out, which a list doesn't say. Where that number is unknown and large, kappa
# approaches the F1 of one list against the other (Hripcsak and Rothschild 2005, JAMIA 12:296–298), computed here.

#: Share of the content words of the shorter text that the other must hold for two entries to be one.
SAME = 0.5

#: An entry: its label and its text.
Entry = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """How two raters' lists agree, or all raters' pair by pair.

    Attributes:
        raters: whose lists.
        items: items that both listed, of all pairs together.
        entries: entries in these lists.
        matched: pairs of entries that are the same: one label, and wording alike by :data:`SAME`; one to one.
        f1: mean over items of ``2 · matched / entries``, 1 where both lists are empty.
        by_label: the same with the label alone: entries of a label are interchangeable.
    """

    raters: tuple[str, ...]
    items: int
    entries: int
    matched: int
    f1: Result
    by_label: Result


def matched_entries(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    """How many entries of two lists are the same, each counted once: the largest one-to-one matching."""
    words = [[content(text) for _, text in entries] for entries in (first, second)]
    pairs = [
        (row, column)
        for row, (label, text) in enumerate(first)
        for column, (other, wording) in enumerate(second)
        if label == other and (text.casefold() == wording.casefold() or _alike(words[0][row], words[1][column]))
    ]
    return len(maximum_matching(pairs, len(first), len(second)))


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    shorter, longer = sorted((first, second), key=len)
    return overlap(longer, shorter) >= SAME


def f1(matched: int, first: int, second: int) -> float:
    """``2 · matched / (first + second)``; 1 for two empty lists."""
    return 2 * matched / (first + second) if first + second else 1.0


def list_agreement(lists: Mapping[str, Mapping[str, Sequence[Entry]]], *, seed: int = 0) -> tuple[ListAgreement, ...]:
    """Agreement of each pair of raters, after that of all pairs where there are several.

    Args:
        lists: rater → item → entries; an empty list says that there is nothing.
        seed: of the bootstrap, which draws items.
    """
    by_pair: dict[tuple[str, ...], list[tuple[str, int, int, float, float]]] = {}
    for a, b in combinations(sorted(lists), 2):
        for item in sorted(lists[a].keys() & lists[b].keys()):
            first, second = lists[a][item], lists[b][item]
            same = matched_entries(first, second)
            labels = _common(first, second)
            sizes = len(first), len(second)
            row = (item, same, sum(sizes), f1(same, *sizes), f1(labels, *sizes))
            by_pair.setdefault((a, b), []).append(row)
    groups = by_pair
    if len(by_pair) > 1:
        everyone = tuple(sorted({rater for pair in by_pair for rater in pair}))
        groups = {everyone: [row for rows in by_pair.values() for row in rows], **by_pair}
    return tuple(_summary(raters, rows, seed) for raters, rows in groups.items())


def _common(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    counts = [[label for label, _ in entries] for entries in (first, second)]
    return sum(min(counts[0].count(label), counts[1].count(label)) for label in set(counts[0]))


def _summary(raters: tuple[str, ...], rows: Sequence[tuple[str, int, int, float, float]], seed: int) -> ListAgreement:
    from bedside.stats.intervals import mean_bootstrap

    items = np.array([row[0] for row in rows])
    clusters = items if 1 < len(set(items)) < len(items) else None
    values = [
        mean_bootstrap([row[column] for row in rows], clusters=clusters, resamples=2000, seed=seed) for column in (3, 4)
    ]
    return ListAgreement(
        raters, len(rows), sum(row[2] for row in rows), sum(row[1] for row in rows), values[0], values[1]
    )


# -- Answers to items whose right answers are known -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownComparison:
    """What was said beside what is known.

    Attributes:
        rubric: by which.
        known, said: levels as numbers, other answers as texts; ``said`` is None where no answer was given.
        right: 1 where they are the same, else 0; of lists and links, their F1.
        off: distance of two levels, in the scale's own unit; None where they are not both levels.
        links: of links, how many are the same, said or left open, and known; None otherwise.
    """

    rubric: str
    known: float | str
    said: float | str | None
    right: float
    off: float | None
    links: tuple[int, int, int] | None = None


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
            listed, true = (label_and_text(rubric, listed_entries(rubric, answer)), label_and_text(rubric, known))
            score = f1(matched_entries(listed, true), len(listed), len(true))
            yield KnownComparison(rubric.name, f"{len(true)} listed", f"{len(listed)} listed", score, None)
            continue
        if rubric.kind in CASE_KINDS:
            yield from _compared_fields(plan, rubric, item, answer)
            continue
        for rating in answer_ratings(plan, rubric, item, answer, positions, {}):
            of_unit = known.get(str(turn_index(rating.unit))) if plan.mode == "codes" else known
            if of_unit is not None:
                yield _compared(rubric, of_unit, rating.value, rating.label, answer)


def _compared_fields(
    plan: AnnotationPlan, rubric: Rubric, item: KnownItem, answer: RaterAnswer
) -> Iterator[KnownComparison]:
    """Each criterion; or the links as a whole, and what else is said of a link that is right."""
    known = item.answers[rubric.name]
    chosen = {name: said[0] for name, said in answer.choices.items() if said and answer.state != "skipped"}
    asked = plan.every_of(item.id, rubric)
    if rubric.kind == "points":
        for name, true in known.items():
            yield KnownComparison(rubric.name, true, chosen.get(name), float(chosen.get(name) == true), None)
        return
    # An entry that is left open is as wrong as one that is linked to another.
    links = [(known[field.name], chosen.get(field.name)) for field in asked if field.said]
    same = sum(true == said != NONE for true, said in links)
    counts = sum(said != NONE for _, said in links), sum(true != NONE for true, _ in links)
    yield KnownComparison(
        rubric.name, f"{counts[1]} linked", f"{counts[0]} linked or open", f1(same, *counts), None, (same, *counts)
    )
    for field in asked:
        row = field.name.rpartition("__")[0]
        if not field.said and field.name in known and known[row] == chosen.get(row):
            true, said = known[field.name], chosen.get(field.name)
            part = f"{rubric.name}.{field.name.rpartition('__')[2]}"
            yield KnownComparison(part, true, said, float(said == true), None)


def pooled_link_f1(comparisons: Sequence[KnownComparison]) -> float | None:
    """F1 of all links with the known ones, of one rater; None where none were compared."""
    counts = [comparison.links for comparison in comparisons if comparison.links is not None]
    return f1(*map(sum, zip(*counts, strict=True))) if counts else None


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
    for comparison in (one for one in comparisons if one.links is None):
        by_rubric.setdefault(comparison.rubric, []).append(comparison)
    observed = by_chance = 0.0
    for rubric, own in by_rubric.items():
        span = spans.get(rubric, 1.0)
        table = np.array([[answer_distance(a.known, b.said, span) ** 2 for b in own] for a in own], dtype=np.float64)
        observed += float(np.trace(table))
        by_chance += float(table.sum()) / len(own)
    return None if by_chance < 1e-12 else 1 - observed / by_chance
