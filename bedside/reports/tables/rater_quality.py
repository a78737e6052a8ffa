"""How the raters of annotation plans keep up: time, hidden items with known answers, training, alarms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from bedside.analysis.ratings_view import RatingsView
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_store import FOLDER, STORE, read_store
from bedside.annotation.items import coded_positions
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rater_quality import APART, ERROR_RATE, HASTY_SECONDS, RaterQuality, rater_quality
from bedside.annotation.reassignment import as_assigned
from bedside.annotation.training_cases import TrainingResult
from bedside.core.words import counted
from bedside.reports.columns import Column, Part, Table, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, decimal, p_value
from bedside.reports.table_kind import TableKind

_TITLE = "How raters keep up"


def time_words(seconds: float | None) -> str:
    """A time in seconds, or in minutes or hours where it is long."""
    if seconds is None:
        return DASH
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def training_words(training: TrainingResult | None) -> str:
    """Whether a rater passed training."""
    if training is None or training.wanted is None:
        return DASH
    if training.passed:
        return "passed"
    return "not passed" if training.done else f"{training.answered} of {training.items} done"


def _passed(row: Part) -> bool | None:
    training = row.part.training
    return None if training is None or training.wanted is None else training.passed


COLUMNS = (
    recorded(plan=lambda row: plan_hash(row.whole), round=lambda row: round_of(row.whole)),
    Column("Rater", "left", field="rater", value="part.rater"),
    Column("Items", field="items", value="part.items"),
    Column("Median time", field="median_seconds", value="part.seconds", form=time_words),
    Column("Gold", field="gold", value="part.gold",
           text=lambda row: f"{row.part.gold} of {row.part.gold_assigned}" if row.part.gold_assigned else DASH),
    recorded(gold_assigned="part.gold_assigned"),
    Column("Right", field="gold_right", value="part.right", form=decimal),
    Column("κ with gold", field="gold_kappa", value="part.gold_kappa", form=decimal),
    recorded(training_kappa=lambda row: row.part.training and row.part.training.kappa, training_passed=_passed),
    Column("Training", "left", value="part.training", form=training_words),
    recorded(unpassed="part.unpassed"),
    Column("Alarms", "left", field="alarms", value=lambda row: [asdict(alarm) for alarm in row.part.alarms],
           text=lambda row: ", ".join(dict.fromkeys(alarm.kind for alarm in row.part.alarms)) or "none"),
)  # fmt: skip


@note("rater quality.alarms", "Alarms")
def alarms(rows: Sequence[Part]) -> Iterator[str]:
    """Each alarm in a sentence."""
    for quality in (row.part for row in rows):
        for alarm in quality.alarms:
            p = alarm.p
            tested = "" if p is None else f" (p {'' if p < 0.001 else '= '}{p_value(p)})"
            after = counted(alarm.items, "item")
            yield f"Alarm, {quality.rater}: {alarm.kind}, seen after {after}: {alarm.words}{tested}."


@note("rater quality.unpassed", "Training")
def unpassed(rows: Sequence[Part]) -> Iterator[str]:
    """Who rated without having passed training."""
    for quality in (row.part for row in rows):
        if quality.unpassed:
            yield (
                f"{quality.rater} hasn't passed training and rated {counted(quality.unpassed, 'item')}, which count: "
                "give them to others (bedside annotate reassign), or leave them out with --raters."
            )


MEANING = Note(
    "rater quality.meaning",
    f"Alarms: half of the items under {HASTY_SECONDS:g} s for each thing asked; one answer to everything. Also: more "
    f"than {APART:g} times as far from the known answers as others, or from others as they are from each other. Also: "
    "levels that rise or fall; a distance from others that grows. An honest rater has one in a study with "
    f"a probability of {ERROR_RATE:.0%} at most. An alarm is a reason to talk to the rater, and no more.",
)


@note("rater quality.gold", "Gold", "Right", "κ with gold")
def gold(rows: Sequence[Part]) -> Iterator[str]:
    """What hidden items with known answers are."""
    if any(row.part.gold_assigned for row in rows):
        yield (
            "Gold: hidden items with known answers, which give no ratings. Right: share of answers that are the known "
            "one (of lists, mean F1). κ: with the known answers, over all rubrics."
        )


def quality_table(qualities: Sequence[tuple[AnnotationPlan, Sequence[RaterQuality]]]) -> Table:
    """How the raters of plans keep up, plan by plan."""
    rows = [Part(plan, quality) for plan, of_raters in qualities for quality in of_raters]
    return table_of("rater_quality", _TITLE, rows, COLUMNS, notes=(alarms, unpassed, MEANING, gold),
                    group=lambda row: f"Round {round_of(row.whole)}" if len(qualities) > 1 else None)  # fmt: skip


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Time, gold items, training and alarms of each rater; None where no plan of the run has answers."""
    run = view.run
    if run is None:
        return None
    qualities = []
    for path in sorted((run.path / FOLDER).glob(f"*/{STORE}")):
        plan = as_assigned(run, read_plan(path.parent / "plan.json"))
        if plan.mode == "adjudicate":
            continue
        positions = coded_positions(plan, run) if run.keeps_text else {}
        qualities.append((plan, rater_quality(plan, read_store(run, plan), positions)))
    return quality_table(qualities) if qualities else None


TABLE = TableKind("rater_quality", _TITLE, 36, build, shown="always")
