"""Tables of annotation: plans, progress, what to rate next, adjudication, agreement."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, NamedTuple

from bedside.annotation.adjudication import Adjudication
from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, plan_hash, round_of
from bedside.annotation.answer_revisions import Revision, RevisionHistory
from bedside.annotation.answer_store import FOLDER
from bedside.annotation.known_answers import SAME
from bedside.annotation.plan_power import LEVEL, POWER, ShownDifference
from bedside.annotation.plan_progress import PlanProgress
from bedside.annotation.proposals import SIMULATIONS, Proposals
from bedside.annotation.rater_quality import APART, ERROR_RATE, HASTY_SECONDS, RaterQuality
from bedside.annotation.rating_page.page_collection import uncollected
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.rating_page.study_people import RaterRow
from bedside.annotation.study_targets import TargetState
from bedside.annotation.training_cases import TrainingResult
from bedside.core.errors import BedsideError
from bedside.core.words import counted
from bedside.ratings.run import Run
from bedside.ratings.run_folder import MANIFEST
from bedside.reports.columns import Column, Part, Recorded, bounded, interval_column, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import DASH, between, decimal, number, p_value, range_words
from bedside.reports.renderers.html import html
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Row
from bedside.reports.tables.agreement import agreement_table
from bedside.reports.tables.audits import audits_table

# -- Plans ----------------------------------------------------------------------------------------------

_MODES = {
    "rate": "blind rating",
    "audit": "audit of the judge",
    "findings": "listing of findings",
    "codes": "coding of turns",
    "pairs": "blind comparison of pairs",
    "adjudicate": "adjudication",
}


def plan_tables(plan: AnnotationPlan, differences: Sequence[ShownDifference] = ()) -> tuple[Table, ...]:
    """The strata of a plan with their counts, who rates how much and shares how much, and what it can show."""
    tables = _strata_table(plan), _raters_table(plan)
    if not differences:
        return tables
    power = table_of("power", "What it can show", differences, DIFFERENCE_COLUMNS, notes=POWER_NOTES)
    return *tables, power


DIFFERENCE_COLUMNS = (
    recorded(asdict),
    Column("Systems", "left", text=lambda shown: f"{shown.a} − {shown.b}"),
    Column("Cases of both", value="pairs"),
    Column("Of one only", text=lambda shown: f"{shown.alone_a:,} and {shown.alone_b:,}"),
    Column("Compared", "left", value="kind"),
    Column("Smallest difference", value="smallest", form=number, dash="too few cases to show any difference"),
)
POWER_MEANING = Note(
    "plan power.meaning",
    f"Smallest difference: what a two-sided t test at {decimal(LEVEL)} shows with a power of {decimal(POWER)} by "
    "people alone. It is in standard deviations: paired, of the differences case by case; else, of the cases. With "
    "a judge that agrees with people, bedside estimate shows smaller ones.",
)
POWER_OF_SEVERAL = Note("plan power.several", "Several tests at once need more: see bedside plan difference.")


@note("plan power.partly shared", "Compared")
def partly_shared(differences: Sequence[ShownDifference]) -> Iterator[str]:
    """What happens where not all cases pair."""
    if any(shown.kind == "partly shared" for shown in differences):
        yield (
            "Partly shared: half of the cases or fewer pair, and all count. The more alike systems are on a case, the "
            "smaller a difference they show."
        )


POWER_NOTES = (POWER_MEANING, POWER_OF_SEVERAL, partly_shared)


def _strata_table(plan: AnnotationPlan) -> Table:
    at_random = [0] * len(plan.strata)
    for item in plan.items:
        at_random[item.stratum] += item.drawn == "random" and item.replicate == 0
    factors = [
        Column(name, "left", value=lambda row, name=name: row.part.factors[name])  # type: ignore[misc]
        for name in plan.by
    ] or [Column("stratum", "left", text=lambda row: "all")]
    columns: tuple[Column | Recorded, ...] = (
        *factors,
        recorded(lambda row: row.part.factors),
        Column("There", field="available", value="part.available"),
        Column("Wanted", field="wanted", value="part.wanted"),
        Column("Drawn", field="drawn", value="part.drawn"),
        Column("At random", field="at_random", value="whole"),
    )
    rows = list(map(Part, at_random, plan.strata))
    table = table_of("strata", "Strata", rows, columns, notes=noted((planned, less_than_wanted), plan))
    if len(plan.strata) == 1:
        return table
    sums = (sum(getattr(stratum, name) for stratum in plan.strata) for name in ("available", "wanted", "drawn"))
    texts = ("all", *[""] * (len(factors) - 1), *(f"{count:,}" for count in (*sums, sum(at_random))))
    return replace(table, rows=(*table.rows, Row(tuple(Cell(text, bold=True) for text in texts))))


@note("plan.planned")
def planned(plan: AnnotationPlan) -> Iterator[str]:
    """What is planned, and what that makes of the ratings."""
    rubrics = ", ".join(planned.rubric.name for planned in plan.rubrics)
    yield f"Plan {plan_hash(plan)}: {_MODES[plan.mode]} by {rubrics}; seed {plan.seed}."
    if plan.judge is not None:
        yield f"Raters see the score and reason of {plan.judge}: their ratings are not independent of it."
    if plan.focus != "random":
        yield f"Focus {plan.focus}: what was not drawn at random is no random sample; bedside estimate leaves it out."


@note("plan.less than wanted", "Drawn")
def less_than_wanted(plan: AnnotationPlan) -> Iterator[str]:
    """Where there is less than was asked for, and what was left out."""
    short = [stratum.name for stratum in plan.strata if stratum.drawn < stratum.wanted]
    if short:
        yield f"Fewer than wanted, so all there is: {', '.join(short)}."
    for reason, count in plan.left_out.items():
        yield f"Left out: {count:,} with {reason}."


class RaterItems(NamedTuple):
    """What a rater of a plan is to rate.

    Attributes:
        rater: who.
        training, gold: items with known answers: of the training set, and hidden among the others.
        items: others.
        shared: of those, how many each other rater has, too.
    """

    rater: str
    training: int
    gold: int
    items: int
    shared: Mapping[str, int]


def _shared_words(shared: Mapping[str, int]) -> str:
    return range_words(min(shared.values(), default=0), max(shared.values(), default=0))


RATER_COLUMNS = (
    Column("Rater", "left", field="rater"),
    Column("Training", field="training", form=str),
    Column("Gold", field="gold", form=str),
    Column("Items", field="items", form=str),
    Column("Shared with each other rater", field="shared", form=_shared_words),
)


def _raters_table(plan: AnnotationPlan) -> Table:
    items = _items_by_rater(plan)
    hidden = {item.id for item in plan.gold}
    rows = [
        RaterItems(
            rater, len(plan.first_training), len(hidden.intersection(plan.assignment[rater])), len(items[rater]),
            {other: len(items[rater] & items[other]) for other in plan.raters if other != rater},
        )
        for rater in plan.raters
    ]  # fmt: skip
    table = table_of("raters", "Raters", rows, RATER_COLUMNS, notes=noted((overlap, known_answers, apart), plan))
    return table if plan.gold else table.of_columns([0, 1, 3, 4])


def _items_by_rater(plan: AnnotationPlan) -> dict[str, set[str]]:
    """What gives ratings, by rater."""
    return {
        rater: {name for name in order if not isinstance(plan.by_id[name], KnownItem)}
        for rater, order in plan.assignment.items()
    }


@note("plan.overlap", "Items")
def overlap(plan: AnnotationPlan) -> Iterator[str]:
    """How many items and ratings there are."""
    ratings = sum(map(len, _items_by_rater(plan).values()))
    again = sum(item.replicate for item in plan.items)
    turned = ", the other way round" if plan.mode == "pairs" else ""
    yield (
        f"{len(plan.items) - again:,} items, {ratings:,} ratings; each item by {plan.overlap}"
        + (f", {plan.shared} of them by everyone" if plan.shared else "")
        + (f", {again} of them a second time{turned}." if again else ".")
    )
    settled = {name for names in plan.settled.values() for name in names}
    if settled:
        yield f"{counted(len(settled), 'item')} with nothing to link: nobody is asked, and 0 links count."


@note("plan.known answers", "Gold", "Training")
def known_answers(plan: AnnotationPlan) -> Iterator[str]:
    """What items with known answers are for."""
    if plan.gold:
        yield (
            f"Gold: of {len(plan.gold)} items with known answers, those hidden among a rater's others; they give no "
            "ratings."
        )
    if plan.training_kappa is not None:
        again = len(plan.training) - len(plan.first_training)
        second = f" Who doesn't reach it is shown {counted(again, 'other item')}." if again else ""
        yield f"Training is passed with a κ of {decimal(plan.training_kappa)} with the known answers.{second}"


@note("plan.apart", "Shared with each other rater")
def apart(plan: AnnotationPlan) -> Iterator[str]:
    """Raters who share nothing."""
    items = _items_by_rater(plan)
    pairs = [len(items[a] & items[b]) for a, b in combinations(plan.raters, 2)]
    if 0 in pairs:
        yield f"{pairs.count(0)} of {len(pairs)} pairs of raters share no item: their agreement can't be told."


# -- How raters keep up ---------------------------------------------------------------------------------


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


QUALITY_COLUMNS = (
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


QUALITY_MEANING = Note(
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
    return table_of("rater_quality", "How raters keep up", rows, QUALITY_COLUMNS,
                    notes=(alarms, unpassed, QUALITY_MEANING, gold),
                    group=lambda row: f"Round {round_of(row.whole)}" if len(qualities) > 1 else None)  # fmt: skip


# -- Progress -------------------------------------------------------------------------------------------


def status_tables(plan: AnnotationPlan, progress: PlanProgress) -> tuple[Table, ...]:
    """How far raters are, how they did in training, and agreement so far."""
    tables = [_shares_table(plan, progress)]
    if plan.mode != "adjudicate":
        tables.append(quality_table([(plan, progress.quality)]))
    if progress.training:
        tables.append(table_of("training", "Training set", progress.training, TRAINING_COLUMNS,
                               notes=(TRAINING_MEANING, wanted)))  # fmt: skip
    if progress.agreement:
        tables.append(agreement_table(progress.agreement))
    if progress.audits:
        tables.append(audits_table(progress.audits))
    if progress.lists:
        tables.append(table_of("lists", "Do the lists agree?", progress.lists, LIST_COLUMNS, notes=(LIST_MEANING,)))
    if progress.settling:
        tables.append(table_of("settling", "What raters differ on", progress.settling, SETTLING_COLUMNS,
                               notes=noted((settled_since,), progress)))  # fmt: skip
    return tuple(tables)


_DONE_COLUMNS = (
    Column("Done", field="done", form=str),
    Column("Skipped", field="skipped", form=str),
    Column("Open", field="open", form=str),
    Column("Median time", field="median_seconds", value="seconds", form=time_words),
    Column("Time left", field="seconds_left", form=time_words),
)


def _of_interval(end: str) -> Callable[[TargetState], float | None]:
    return lambda state: None if state.interval is None else getattr(state.interval, end)


TARGET_COLUMNS = (
    Column("Metric", "left", field="metric"),
    Column("System", "left", field="system", optional=True),
    Column("Statistic", "left", field="statistic", form=lambda name: {"kappa": "κ", "alpha": "α"}.get(name, name)),
    Column("Estimate", field="estimate", form=number),
    Column(
        "95 % CI",
        text=lambda state: DASH if state.interval is None else between(state.interval.low, state.interval.high),
    ),
    recorded("items", "of", "at_end", low=_of_interval("low"), high=_of_interval("high")),
    Column("Half of it", field="half_width", form=number),
    Column("Wanted", field="wanted", value="target.half_width", form=number),
    Column("Whole items", text=lambda state: f"{state.items} of {state.of}"),
    Column("Ratings to go", field="more"),
    Column("Reached", "left", field="reached"),
)


def targets_table(states: Sequence[TargetState], stopped: str) -> Table:
    """How near the targets of a study are that is rated until it is precise enough.

    Args:
        states: of each target.
        stopped: since when nobody gets more items (ISO 8601); empty where they do.
    """
    notes = [*dict.fromkeys(state.note for state in states if state.note)]
    notes += [f"The targets were reached: since {stopped} nobody gets more items."] if stopped else []
    return table_of("targets", "Is it precise enough?", states, TARGET_COLUMNS, notes=tuple(notes))


SHARE_COLUMNS = (
    recorded("rater", "stratum", "assigned"),
    Column("Rater", "left", text=lambda share: "all items" if share.stratum is None else share.stratum),
    *_DONE_COLUMNS,
)
SETTLING_COLUMNS = (Column("Adjudicator", "left", field="rater"), recorded("assigned"), *_DONE_COLUMNS)


def _shares_table(plan: AnnotationPlan, progress: PlanProgress) -> Table:
    times = "Median time over the items done; time left: what the open ones take at that time."
    said = (f"Plan {plan_hash(plan)}. {times}", *noted((others_answers, WITHDRAWN, apart_yet), progress))
    table = table_of("status", "Where the raters are", progress.shares, SHARE_COLUMNS,
                     group=lambda share: share.rater, notes=said)  # fmt: skip
    rows = [
        replace(row, cells=tuple(replace(cell, bold=True) for cell in row.cells)) if share.stratum is None else row
        for row, share in zip(table.rows, progress.shares, strict=True)
        if len(plan.strata) > 1 or share.stratum in (None, "training")
    ]
    return replace(table, rows=tuple(rows))


@note("status.others", "Done")
def others_answers(progress: PlanProgress) -> Iterator[str]:
    """Answers that aren't the rater's, or weren't asked of them."""
    for rater, others in progress.changed_by.items():
        changes = ", ".join(f"{count} by {who}" for who, count in others.items())
        yield f"Answers of {rater} were changed by somebody else, which doesn't count: {changes}."
    if progress.outside:
        yield f"{progress.outside} answers are of items that their rater wasn't assigned; they count."


#: What was removed because raters withdrew.
WITHDRAWN = Note("status.withdrawn", lambda progress: progress.removed)


@note("status.apart")
def apart_yet(progress: PlanProgress) -> Iterator[str]:
    """That no agreement can be told yet."""
    if not progress.agreement and not progress.audits and not progress.lists:
        yield "No two raters have rated the same yet."


@note("status.settled")
def settled_since(progress: PlanProgress) -> Iterator[str]:
    """How much is settled, and of how much of it raters changed their minds."""
    yield (
        f"Settled: {counted(progress.settled, 'answer')} by a rubric; settled, and changed by raters since: "
        f"{progress.changed_since:,}."
    )


TRAINING_COLUMNS = (
    Column("Rater", "left", field="rater"),
    recorded("items", "answered"),
    Column("Items", text=lambda result: f"{result.answered} of {result.items}"),
    Column("Answers", field="answers", form=str),
    Column("Right", field="right", value="score", form=decimal),
    Column("Levels off", field="off", form=number),
    Column("κ", field="kappa", form=decimal),
    Column("F1 of links", field="link_f1", form=decimal),
    recorded("wanted"),
    Column("Training", "left", field="passed", value=lambda result: None if result.wanted is None else result.passed,
           text=training_words),
)  # fmt: skip
TRAINING_MEANING = Note(
    "training.meaning",
    "Right: share of answers that are the known one (of lists and links, mean F1). Levels off: mean distance from "
    "the known level. κ: with the known answers, over all rubrics. The first answers count. The training set "
    "gives no ratings.",
)


@note("training.wanted", "κ")
def wanted(results: Sequence[TrainingResult]) -> Iterator[str]:
    """What the plan asks for."""
    if results[0].wanted is not None:
        yield f"The plan asks for a κ of {decimal(results[0].wanted)}."


LIST_COLUMNS = (
    recorded(raters=lambda lists: list(lists.raters)),
    Column("Raters", "left", text=lambda lists: " and ".join(lists.raters) if len(lists.raters) == 2 else "all pairs"),
    Column("Items", field="items", form=str),
    Column("Entries", field="entries", form=str),
    Column("Matched", field="matched", form=str),
    Column("F1", value="f1.estimate", form=decimal),
    interval_column("f1"),
    Column("F1 by label", value="by_label.estimate", form=decimal),
    interval_column("by_label"),
    bounded(f1="f1", label_f1="by_label"),
)
LIST_MEANING = Note(
    "lists.meaning",
    f"Matched: entries of one label whose wording is alike (the shorter shares {SAME:.0%} or more of its "
    "content words with the other), one to one. F1: 2 × matched / entries, the mean over items; 1 where both "
    "list nothing. By label: entries of a label are interchangeable. F1 stands in for kappa where what both "
    "left out can't be counted (Hripcsak and Rothschild 2005). Wording is no proof of meaning: look at what "
    "was not matched.",
)


# -- People ---------------------------------------------------------------------------------------------


PEOPLE_COLUMNS = (
    Column("Rater", "left", field="rater"),
    Column("State", "left", field="state", text=lambda row: row.state.replace("_", " ")),
    recorded("done", "assigned"),
    Column("Items", text=lambda row: f"{row.done} of {row.assigned}"),
    Column("Skipped", field="skipped"),
    Column("Minutes", field="minutes", form=number),
    Column("κ in training", field="kappa", form=decimal),
    Column("Code", "left", field="code"),
)


def people_table(rows: Sequence[RaterRow], waiting: int, withdrawn: int) -> Table:
    """Where the raters of a plan are, whether they were invited or enrolled.

    Args:
        rows: of each.
        waiting: shares that nobody has.
        withdrawn: how many withdrew.
    """
    notes = [f"{counted(waiting, 'share')} waiting for somebody."] if waiting else []
    notes += [f"{counted(withdrawn, 'person')} withdrew, and all of theirs was removed."] if withdrawn else []
    return table_of("people", "Who takes part", rows, PEOPLE_COLUMNS, notes=tuple(notes))


# -- Revisions of answers -------------------------------------------------------------------------------


class ShownRevision(NamedTuple):
    """A revision in a table.

    Attributes:
        revision: of an answer.
        transcript: of its item.
        counts: whether it is the answer that counts.
    """

    revision: Revision
    transcript: str
    counts: bool


def _author(shown: ShownRevision) -> str:
    revision = shown.revision
    author = revision.answer.changed_by or revision.answer.rater
    return author if revision.restored is None else f"{author} (restored from {revision.restored})"


def _answer_words(shown: ShownRevision) -> str:
    """An answer in a few words."""
    answer = shown.revision.answer
    if answer.state == "skipped":
        return "skipped"
    words = [f"{name} {', '.join(values)}" for name, values in answer.choices.items()]
    return "; ".join((*words, *(["with text"] if answer.texts else [])))


REVISION_COLUMNS = (
    Column("No.", field="number", value="revision.number", form=str),
    Column("Item", "left", field="item", value="revision.answer.item"),
    recorded(rater="revision.answer.rater"),
    Column("Transcript", "left", field="transcript"),
    recorded(**{name: f"revision.answer.{name}" for name in ("state", "choices", "texts")},
             updated=lambda shown: shown.revision.answer.updated or None, received="revision.received",
             changed_by="revision.answer.changed_by", restored="revision.restored"),
    Column("Changed", "left", text=lambda shown: shown.revision.answer.updated or shown.revision.received),
    Column("By", "left", text=_author),
    Column("Counts", "left", field="counts"),
    Column("Answer", "left", text=_answer_words),
)  # fmt: skip


def revisions_table(plan: AnnotationPlan, history: RevisionHistory) -> Table:
    """The answers that have more than one revision or that somebody else changed: each revision, and which counts."""
    counting = {revision.number for revision in history.counting().values()}
    revisions_by_key: dict[tuple[str, str], list[Revision]] = {}
    for revision in history.revisions:
        revisions_by_key.setdefault(revision.key, []).append(revision)
    shown = [
        ShownRevision(revision, plan.by_id[revision.answer.item].transcript, revision.number in counting)
        for _, revisions in sorted(revisions_by_key.items(), key=lambda entry: entry[0][::-1])
        if len(revisions) > 1 or revisions[0].answer.changed_by is not None
        for revision in revisions
    ]
    said = (
        f"Plan {plan_hash(plan)}. What somebody else made of an answer doesn't count until it is restored: bedside "
        "annotate revisions PLAN --restore NO."
    )
    return table_of("revisions", "Revisions of answers", shown, REVISION_COLUMNS,
                    group=lambda shown: shown.revision.answer.rater, notes=(said,))  # fmt: skip


# -- What to rate next ----------------------------------------------------------------------------------

PROPOSAL_COLUMNS = (
    Column("Transcript", "left", field="transcript_id", value="transcript"),
    Column("Unit", "left", field="unit"),
    Column("System", "left", field="system", form=lambda system: system or DASH, dash="of no system"),
    Column("Rated by", field="rated_by", form=str),
    Column("Raters wanted", field="wanted", value="raters_wanted", form=str),
    Column("Why", "left", field="why", value="reason"),
)
GAIN_COLUMNS = (
    Column("Metric", "left", field="metric"),
    Column("Quantity", "left", field="quantity"),
    Column("Units", field="units", form=str),
    Column("Added", field="added", form=str),
    Column("± now", field="half_width", form=lambda width: number(width, 3)),
    Column("± expected", field="expected_half_width", form=lambda width: number(width, 3)),
    Column("", "left", field="missing", form=lambda reason: reason or ""),
)
GAIN_MEANING = (
    Note("gain.width", "±: half-width of the 95 % interval."),
    Note(
        "gain.expected",
        f"Expected: mean of {SIMULATIONS} simulated studies, new units drawn from the rated ones with all their "
        "ratings.",
    ),
)


@note("next.remarks")
def proposal_remarks(proposals: Proposals) -> Iterator[str]:
    """What isn't counted, and what the ratings will be good for."""
    if proposals.open:
        yield f"{counted(proposals.open, 'answer')} of the plan still to come: what they bring is not counted."
    if proposals.aim == "disagreement":
        yield "No random sample: leave these ratings out of corrected means."


def proposal_tables(proposals: Proposals) -> tuple[Table, ...]:
    """What to rate next, and what it would bring."""
    table = table_of("next", f"To be rated next, for {proposals.aim}", proposals.proposals, PROPOSAL_COLUMNS,
                     notes=proposal_remarks.texts(proposals))  # fmt: skip
    if not proposals.gains:
        return (table,)
    return table, table_of("gain", "What it would bring", proposals.gains, GAIN_COLUMNS, notes=GAIN_MEANING)


# -- Tables of an adjudication --------------------------------------------------------------------------

DISAGREEMENT_COLUMNS = (
    recorded(asdict),
    Column("Rubric", "left", value="rubric"),
    Column("Units", value="rated"),
    Column("Differ", value="differ"),
    Column("No majority", value="ties"),
    Column("To settle", value="queued"),
)
DISAGREEMENT_MEANING = Note(
    "disagreements.meaning",
    "Units that two raters or more answered; that no answer can be given is an answer. No majority: no answer was "
    "given by more than half of them.",
)


@note("disagreements.not queued", "To settle")
def not_queued(adjudication: Adjudication) -> Iterator[str]:
    """Where raters differ, and yet nothing is to be settled."""
    for name, words in (
        ("near", f"no more than {counted(adjudication.beyond, 'level')} apart"),
        ("settled", "with a final label already"),
        ("waiting", "in another adjudication of the round"),
    ):
        units = sum(getattr(counts, name) for counts in adjudication.counts)
        if units:
            yield f"Not queued: {units:,} {words}."
    if adjudication.left_out:
        yield f"Left out, as their answers have no final label: {', '.join(adjudication.left_out)}."


def adjudication_tables(adjudication: Adjudication) -> tuple[Table, ...]:
    """What raters differ on by rubric, and who settles how many units."""
    plan = adjudication.plan
    columns = (
        Column("Adjudicator", "left", field="adjudicator", value=str),
        Column("Units", field="units", value=lambda name: len(plan.assignment[name])),
    )
    said = (
        f"Plan {plan_hash(plan)}, of the round {round_of(plan)}. Raters go by numbers that are drawn anew for each "
        "unit and rubric. Reasons are shown as they were written: they may tell who wrote them."
    )
    return (
        table_of("disagreements", "Where raters differ", adjudication.counts, DISAGREEMENT_COLUMNS,
                 notes=noted((DISAGREEMENT_MEANING, not_queued), adjudication)),
        table_of("adjudicators", "Who settles it", plan.raters, columns, notes=(said,)),
    )  # fmt: skip


# -- The researcher's page ------------------------------------------------------------------------------

#: How many of the server's last lines are shown.
_MOST_LINES = 5


#: How long to wait before the run is read again, in seconds.
_PAUSE = 0.5
_MOST_READINGS = 3


class StudyPage:
    """What the page of a plan shows, to be called in any thread.

    Args:
        run: the plan's run.
        folder: the page's.
        plan: gives the plan as it is assigned now.
        tables: gives the tables of the run as it is now.
    """

    def __init__(
        self, run: Run, folder: PageFolder, plan: Callable[[], AnnotationPlan], tables: Callable[[], Iterable[Table]]
    ) -> None:
        self._run, self._folder, self._plan, self._tables = run, folder, plan, tables
        self._lines: deque[dict[str, str]] = deque(maxlen=_MOST_LINES)
        self._computed: list[dict[str, Any]] = []
        self._stamp: object = None

    def keep_line(self, line: str) -> None:
        """Show a line that the server said."""
        self._lines.append({"time": _now(), "text": line})

    def __call__(self) -> dict[str, Any]:
        """``time`` when this was so, ``tables`` with ``name``, ``title``, ``html`` and ``rows`` (the records), how many
        answers are ``waiting`` to go into the run, ``since`` when the first of them, and the server's ``lines``. Where
        the run can't be read, ``error`` says why."""
        shown: dict[str, Any] = {"time": _now(), "lines": list(self._lines.copy()), "error": None}
        # What is written meanwhile reads as damaged for a moment.
        for pause in (_PAUSE, _PAUSE, 0.0):
            try:
                return shown | self._read()
            except BedsideError as error:
                shown["error"] = str(error)
                time.sleep(pause)
        return {**shown, "tables": [], "waiting": 0, "since": None}

    def _read(self) -> dict[str, Any]:
        waiting = uncollected(self._folder, self._run, self._plan())
        for _ in range(_MOST_READINGS):  # what changes meanwhile may stand in one table and not in another
            stamp = self._changed()
            if stamp == self._stamp:
                break
            self._computed = [
                {"name": table.name, "title": table.title, "html": html(table), "rows": list(table.records)}
                for table in self._tables()
            ]
            self._stamp = stamp
        since = min((answer.updated for answer in waiting), default=None)
        return {"error": None, "tables": self._computed, "waiting": len(waiting), "since": since}

    def _changed(self) -> object:
        """What is another once anything that the tables are made of has changed."""
        states = []
        for file in (*(self._run.path / FOLDER).glob("*/*.json*"), self._run.path / MANIFEST):
            with suppress(FileNotFoundError):  # what is being written
                state = file.stat()
                states.append((str(file), state.st_mtime_ns, state.st_size))
        return sorted(states)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
