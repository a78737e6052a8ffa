"""The table of how raters keep up: time, gold items, training, alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.rater_alarms import APART, ERROR_RATE, HASTY_SECONDS
from bedside.annotation.rater_quality import RaterQuality
from bedside.annotation.training_result import TrainingResult
from bedside.core.words import counted
from bedside.reports.number_text import DASH, decimal, p_value
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

#: Plans with how their raters keep up.
Qualities = Sequence[tuple[AnnotationPlan, Sequence[RaterQuality]]]


def quality_table(qualities: Qualities) -> Table:
    """How the raters of plans keep up, plan by plan."""
    several = len(qualities) > 1
    rows, records = [], []
    for plan, of_raters in qualities:
        group = f"Round {round_of(plan)}" if several else None
        for quality in of_raters:
            rows.append(Row(tuple(map(Cell, _cells(quality))), group=group))
            records.append(_record(plan, quality))
    return Table(
        name="rater_quality",
        title="How raters keep up",
        columns=(
            Column("Rater", "left"), Column("Items"), Column("Median time"), Column("Gold"), Column("Right"),
            Column("κ with gold"), Column("Training", "left"), Column("Alarms", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(_notes(qualities)),
        records=tuple(records),
    )  # fmt: skip


def _cells(quality: RaterQuality) -> tuple[str, ...]:
    gold = f"{quality.gold} of {quality.gold_assigned}" if quality.gold_assigned else DASH
    return (
        quality.rater,
        f"{quality.items:,}",
        time_words(quality.seconds),
        gold,
        decimal(quality.right),
        decimal(quality.gold_kappa),
        training_words(quality.training),
        ", ".join(dict.fromkeys(alarm.kind for alarm in quality.alarms)) or "none",
    )


def time_words(seconds: float | None) -> str:
    """A time in seconds, or in minutes where it is long."""
    if seconds is None:
        return DASH
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def training_words(training: TrainingResult | None) -> str:
    """Whether a rater passed training."""
    if training is None or training.wanted is None:
        return DASH
    if training.passed:
        return "passed"
    return "not passed" if training.done else f"{training.answered} of {training.items} done"


def _notes(qualities: Qualities) -> list[str]:
    everyone = [quality for _, of_raters in qualities for quality in of_raters]
    notes = [
        quality_words(quality.rater, alarm.kind, alarm.words, alarm.items, alarm.p)
        for quality in everyone
        for alarm in quality.alarms
    ]
    notes += [
        f"{quality.rater} hasn't passed training and rated {counted(quality.unpassed, 'item')}, which count: give them "
        f"to others (bedside annotate reassign), or leave them out with --raters."
        for quality in everyone
        if quality.unpassed
    ]
    notes.append(
        f"Alarms: half of the items under {HASTY_SECONDS:g} s for each thing asked; one answer to everything; farther "
        f"from the known answers than others, or from others than they are from each other, by more than {APART:g} "
        "times; levels that rise or fall; a distance from others that grows. An honest rater has one in a study with "
        f"a probability of {ERROR_RATE:.0%} at most. An alarm is a reason to talk to the rater, and no more."
    )
    if any(quality.gold_assigned for quality in everyone):
        notes.append(
            "Gold: hidden items with known answers, which give no ratings. Right: share of answers that are the known "
            "one (of lists, mean F1). κ: with the known answers, over all rubrics."
        )
    return notes


def quality_words(rater: str, kind: str, words: str, items: int, p: float | None) -> str:
    """An alarm in a sentence."""
    tested = "" if p is None else f" (p {'' if p < 0.001 else '= '}{p_value(p)})"
    return f"Alarm, {rater}: {kind}, seen after {counted(items, 'item')}: {words}{tested}."


def _record(plan: AnnotationPlan, quality: RaterQuality) -> Mapping[str, Any]:
    training = quality.training
    return {
        "plan": plan_hash(plan), "round": round_of(plan), "rater": quality.rater, "items": quality.items,
        "median_seconds": quality.seconds, "gold": quality.gold, "gold_assigned": quality.gold_assigned,
        "gold_right": quality.right, "gold_kappa": quality.gold_kappa,
        "training_kappa": None if training is None else training.kappa,
        "training_passed": None if training is None or training.wanted is None else training.passed,
        "unpassed": quality.unpassed, "alarms": [asdict(alarm) for alarm in quality.alarms],
    }  # fmt: skip
