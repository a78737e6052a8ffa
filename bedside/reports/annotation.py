"""Tables of annotation: plans, progress, what to rate next, how raters keep up, adjudication, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

from bedside.analysis.agreement import Agreement, rated_apart
from bedside.analysis.audits import audits
from bedside.analysis.drift import retests
from bedside.analysis.findings import agreement_findings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError, by_raters
from bedside.annotation.adjudication import Adjudication
from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, plan_hash, round_of
from bedside.annotation.answer_revisions import Revision, RevisionHistory
from bedside.annotation.known_answers import SAME, ListAgreement
from bedside.annotation.plan_power import LEVEL, POWER, ShownDifference
from bedside.annotation.plan_progress import PlanProgress
from bedside.annotation.proposals import SIMULATIONS, Proposals
from bedside.annotation.rater_quality import APART, ERROR_RATE, HASTY_SECONDS, RaterQuality
from bedside.annotation.training_cases import TrainingResult
from bedside.core.words import counted
from bedside.reports.number_text import DASH, between, decimal, number, p_value
from bedside.reports.table import Table, Tables
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import preferences_apart
from bedside.reports.tables.agreement import agreement_table, audit_notes, confusion_tables
from bedside.reports.tables.audits import audits_table
from bedside.reports.tables.retest import retest_table

# -- The table of how raters keep up --------------------------------------------------------------------

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


# -- Tables of annotation -------------------------------------------------------------------------------

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
    return (*tables, _differences_table(differences)) if differences else tables


def _differences_table(differences: Sequence[ShownDifference]) -> Table:
    rows = [
        Row(
            tuple(
                map(
                    Cell,
                    (
                        f"{shown.a} − {shown.b}",
                        f"{shown.pairs:,}",
                        f"{shown.alone_a:,} and {shown.alone_b:,}",
                        shown.kind,
                        number(shown.smallest, 2),
                    ),
                )
            )
        )
        for shown in differences
    ]
    notes = [
        "Smallest difference: in standard deviations (paired: of the differences case by case; else: of the cases) "
        f"that a two-sided t test at {decimal(LEVEL)} shows with a power of {decimal(POWER)} by people alone. "
        "With a judge that agrees with people, bedside estimate shows smaller ones.",
        "Several tests at once need more: see bedside plan difference.",
    ]
    if any(shown.kind == "partly shared" for shown in differences):
        notes.append(
            "Partly shared: half of the cases or fewer pair, and all count; the more alike systems are on a case, the "
            "smaller a difference they show."
        )
    if any(shown.smallest is None for shown in differences):
        notes.append(f"{DASH}: too few cases to show any difference.")
    return Table(
        name="power",
        title="What it can show",
        columns=(
            Column("Systems", "left"), Column("Cases of both"), Column("Of one only"), Column("Compared", "left"),
            Column("Smallest difference"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(asdict(shown) for shown in differences),
    )  # fmt: skip


def _strata_table(plan: AnnotationPlan) -> Table:
    at_random = [0] * len(plan.strata)
    for item in plan.items:
        at_random[item.stratum] += item.drawn == "random" and item.replicate == 0
    rows, records = [], []
    for stratum, random_items in zip(plan.strata, at_random, strict=True):
        values = [stratum.factors[name] for name in plan.by] or ["all"]
        counts = (stratum.available, stratum.wanted, stratum.drawn, random_items)
        rows.append(Row(tuple(map(Cell, (*values, *(f"{count:,}" for count in counts))))))
        records.append(
            {
                **stratum.factors,
                **dict(zip(("available", "wanted", "drawn", "at_random"), counts, strict=True)),
            }
        )
    total = [sum(values) for values in zip(*((s.available, s.wanted, s.drawn) for s in plan.strata), strict=True)]
    if len(plan.strata) > 1:
        blanks = [""] * (max(1, len(plan.by)) - 1)
        cells = ["all", *blanks, *(f"{count:,}" for count in (*total, sum(at_random)))]
        rows.append(Row(tuple(Cell(text, bold=True) for text in cells)))
    short = [stratum.name for stratum in plan.strata if stratum.drawn < stratum.wanted]
    rubrics = ", ".join(planned.rubric.name for planned in plan.rubrics)
    notes = [f"Plan {plan_hash(plan)}: {_MODES[plan.mode]} by {rubrics}; seed {plan.seed}."]
    if plan.judge is not None:
        notes.append(f"Raters see the score and reason of {plan.judge}: their ratings are not independent of it.")
    if plan.focus != "random":
        notes.append(
            f"Focus {plan.focus}: what was not drawn at random is no random sample; bedside estimate leaves it out."
        )
    if short:
        notes.append(f"Fewer than wanted, so all there is: {', '.join(short)}.")
    notes += [f"Left out: {count:,} with {reason}." for reason, count in plan.left_out.items()]
    return Table(
        name="strata",
        title="Strata",
        columns=(
            *(Column(name, "left") for name in plan.by or ("stratum",)),
            Column("There"), Column("Wanted"), Column("Drawn"), Column("At random"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(records),
    )  # fmt: skip


def _raters_table(plan: AnnotationPlan) -> Table:
    items = {
        rater: {name for name in order if not isinstance(plan.by_id[name], KnownItem)}
        for rater, order in plan.assignment.items()
    }
    hidden = {item.id for item in plan.gold}
    rows, records = [], []
    for rater in plan.raters:
        with_others = [len(items[rater] & items[other]) for other in plan.raters if other != rater]
        low, high = min(with_others, default=0), max(with_others, default=0)
        shared = f"{low}" if low == high else f"{low}–{high}"
        gold = len(hidden.intersection(plan.assignment[rater]))
        counts = (f"{len(plan.training)}", *([f"{gold}"] if plan.gold else []), f"{len(items[rater])}")
        rows.append(Row(tuple(map(Cell, (rater, *counts, shared)))))
        records.append({
            "rater": rater, "training": len(plan.training), "gold": gold, "items": len(items[rater]),
            "shared": {other: len(items[rater] & items[other]) for other in plan.raters if other != rater},
        })  # fmt: skip
    pairs = [len(items[a] & items[b]) for a, b in combinations(plan.raters, 2)]
    ratings = sum(map(len, items.values()))
    again = sum(item.replicate for item in plan.items)
    turned = ", the other way round" if plan.mode == "pairs" else ""
    notes = [f"{len(plan.items) - again:,} items, {ratings:,} ratings; each item by {plan.overlap}"
             + (f", {plan.shared} of them by everyone" if plan.shared else "")
             + (f", {again} of them a second time{turned}." if again else ".")]  # fmt: skip
    if plan.gold:
        notes.append(
            f"Gold: of {len(plan.gold)} items with known answers, those hidden among a rater's others; they give no "
            "ratings."
        )
    if plan.training_kappa is not None:
        notes.append(f"Training is passed with a κ of {decimal(plan.training_kappa)} with the known answers.")
    if pairs and min(pairs) == 0:
        notes.append(f"{pairs.count(0)} of {len(pairs)} pairs of raters share no item: their agreement can't be told.")
    return Table(
        name="raters",
        title="Raters",
        columns=(
            Column("Rater", "left"),
            Column("Training"),
            *((Column("Gold"),) if plan.gold else ()),
            Column("Items"),
            Column("Shared with each other rater"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(records),
    )


def status_tables(plan: AnnotationPlan, progress: PlanProgress) -> tuple[Table, ...]:
    """How far raters are, how they did in training, and agreement so far."""
    tables = [_shares_table(plan, progress)]
    if plan.mode != "adjudicate":
        tables.append(quality_table([(plan, progress.quality)]))
    if progress.training:
        tables.append(_training_table(progress))
    if progress.agreement:
        tables.append(agreement_table(progress.agreement))
    if progress.audits:
        tables.append(audits_table(progress.audits))
    if progress.lists:
        tables.append(_lists_table(progress.lists))
    return tuple(tables)


def _shares_table(plan: AnnotationPlan, progress: PlanProgress) -> Table:
    several = len(plan.strata) > 1
    shown = [share for share in progress.shares if several or share.stratum in (None, "training")]
    rows = []
    for share in shown:
        name = "all items" if share.stratum is None else share.stratum
        cells = (name, f"{share.done}", f"{share.skipped}", f"{share.open}", time_words(share.seconds))
        rows.append(Row(tuple(Cell(text, bold=share.stratum is None) for text in cells), group=share.rater))
    notes = [f"Plan {plan_hash(plan)}. Median time over the items done."]
    for rater, others in progress.changed_by.items():
        changes = ", ".join(f"{count} by {who}" for who, count in others.items())
        notes.append(f"Answers of {rater} were changed by somebody else, which doesn't count: {changes}.")
    if progress.outside:
        notes.append(f"{progress.outside} answers are of items that their rater wasn't assigned; they count.")
    if not progress.agreement and not progress.audits and not progress.lists:
        notes.append("No two raters have rated the same yet.")
    return Table(
        name="status",
        title="Where the raters are",
        columns=(
            Column("Rater", "left"), Column("Done"), Column("Skipped"), Column("Open"), Column("Median time"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(
            {
                "rater": share.rater, "stratum": share.stratum, "assigned": share.assigned, "done": share.done,
                "skipped": share.skipped, "open": share.open, "median_seconds": share.seconds,
            }
            for share in progress.shares
        ),
    )  # fmt: skip


def revisions_table(plan: AnnotationPlan, history: RevisionHistory) -> Table:
    """The answers that have more than one revision or that somebody else changed: each revision, and which counts."""
    counting = {revision.number for revision in history.counting().values()}
    revisions_by_key: dict[tuple[str, str], list[Revision]] = {}
    for revision in history.revisions:
        revisions_by_key.setdefault(revision.key, []).append(revision)
    shown = [
        revision
        for _, revisions in sorted(revisions_by_key.items(), key=lambda entry: entry[0][::-1])
        if len(revisions) > 1 or revisions[0].answer.changed_by is not None
        for revision in revisions
    ]
    return Table(
        name="revisions",
        title="Revisions of answers",
        columns=(
            Column("No."), Column("Item", "left"), Column("Transcript", "left"), Column("Changed", "left"),
            Column("By", "left"), Column("Counts", "left"), Column("Answer", "left"),
        ),
        rows=tuple(
            Row(
                tuple(
                    Cell(text, record=place)
                    for text in (
                        f"{revision.number}", revision.answer.item, plan.by_id[revision.answer.item].transcript,
                        revision.answer.updated or revision.received, _author(revision),
                        "yes" if revision.number in counting else "no", _said(revision),
                    )
                ),
                group=revision.answer.rater,
            )
            for place, revision in enumerate(shown)
        ),
        notes=(
            f"Plan {plan_hash(plan)}. What somebody else made of an answer doesn't count until it is restored: bedside "
            "annotate revisions PLAN --restore NO.",
        ),
        records=tuple(
            {
                "number": revision.number, "item": revision.answer.item, "rater": revision.answer.rater,
                "transcript": plan.by_id[revision.answer.item].transcript, "state": revision.answer.state,
                "choices": revision.answer.choices, "texts": revision.answer.texts,
                "updated": revision.answer.updated or None, "received": revision.received,
                "changed_by": revision.answer.changed_by, "restored": revision.restored,
                "counts": revision.number in counting,
            }
            for revision in shown
        ),
    )  # fmt: skip


def _author(revision: Revision) -> str:
    author = revision.answer.changed_by or revision.answer.rater
    return author if revision.restored is None else f"{author} (restored from {revision.restored})"


def _said(revision: Revision) -> str:
    """An answer in a few words."""
    if revision.answer.state == "skipped":
        return "skipped"
    said = [f"{name} {', '.join(values)}" for name, values in revision.answer.choices.items()]
    return "; ".join((*said, *(["with text"] if revision.answer.texts else [])))


def _training_table(progress: PlanProgress) -> Table:
    rows = [
        Row(
            tuple(
                map(
                    Cell,
                    (
                        score.rater, f"{score.answered} of {score.items}", f"{score.answers}", decimal(score.score),
                        number(score.off), decimal(score.kappa), training_words(score),
                    ),
                )
            )
        )
        for score in progress.training
    ]  # fmt: skip
    wanted = progress.training[0].wanted
    return Table(
        name="training",
        title="Training set",
        columns=(
            Column("Rater", "left"), Column("Items"), Column("Answers"), Column("Right"), Column("Levels off"),
            Column("κ"), Column("Training", "left"),
        ),
        rows=tuple(rows),
        notes=(
            "Right: share of answers that are the known one (of lists, mean F1). Levels off: mean distance from "
            "the known level. κ: with the known answers, over all rubrics. The first answers count. The training set "
            "gives no ratings.",
            *(() if wanted is None else (f"The plan asks for a κ of {decimal(wanted)}.",)),
        ),
        records=tuple(
            {
                "rater": score.rater, "items": score.items, "answered": score.answered, "answers": score.answers,
                "right": score.score, "off": score.off, "kappa": score.kappa, "wanted": score.wanted,
                "passed": None if score.wanted is None else score.passed,
            }
            for score in progress.training
        ),
    )  # fmt: skip


def _lists_table(lists: Sequence[ListAgreement]) -> Table:
    rows, records = [], []
    for agreement in lists:
        results = (agreement.f1, agreement.by_label)
        bounds = [
            (result.interval.low, result.interval.high) if result.interval is not None else (None, None)
            for result in results
        ]
        who = " and ".join(agreement.raters) if len(agreement.raters) == 2 else "all pairs"
        cells = [who, f"{agreement.items}", f"{agreement.entries}", f"{agreement.matched}"]
        for result, bound in zip(results, bounds, strict=True):
            cells += [decimal(result.estimate), between(*bound)]
        rows.append(Row(tuple(map(Cell, cells))))
        records.append({
            "raters": list(agreement.raters), "items": agreement.items, "entries": agreement.entries,
            "matched": agreement.matched,
            "f1": agreement.f1.estimate, "f1_low": bounds[0][0], "f1_high": bounds[0][1],
            "label_f1": agreement.by_label.estimate, "label_f1_low": bounds[1][0], "label_f1_high": bounds[1][1],
        })  # fmt: skip
    return Table(
        name="lists",
        title="Do the lists agree?",
        columns=(
            Column("Raters", "left"), Column("Items"), Column("Entries"), Column("Matched"),
            Column("F1"), Column("95 % CI"), Column("F1 by label"), Column("95 % CI"),
        ),
        rows=tuple(rows),
        notes=(
            f"Matched: entries of one label whose wording is alike (the shorter shares {SAME:.0%} or more of its "
            "content words with the other), one to one. F1: 2 × matched / entries, the mean over items; 1 where both "
            "list nothing. By label: entries of a label are interchangeable. F1 stands in for kappa where what both "
            "left out can't be counted (Hripcsak and Rothschild 2005). Wording is no proof of meaning: look at what "
            "was not matched.",
        ),
        records=tuple(records),
    )  # fmt: skip


def proposal_tables(proposals: Proposals) -> tuple[Table, ...]:
    """What to rate next, and what it would bring."""
    tables = [_proposals_table(proposals)]
    if proposals.gains:
        tables.append(_gains_table(proposals))
    return tuple(tables)


def _proposals_table(proposals: Proposals) -> Table:
    rows = []
    for proposal in proposals.proposals:
        cells = (
            proposal.transcript,
            proposal.unit,
            proposal.system or DASH,
            f"{proposal.rated_by}",
            f"{proposal.raters_wanted}",
            proposal.reason,
        )
        rows.append(Row(tuple(map(Cell, cells))))
    notes = []
    if proposals.open:
        notes.append(f"{proposals.open:,} answers of the plan are still to come; what they bring is not counted.")
    if proposals.aim == "disagreement":
        notes.append("No random sample: leave these ratings out of corrected means.")
    return Table(
        name="next",
        title=f"To be rated next, for {proposals.aim}",
        columns=(
            Column("Transcript", "left"), Column("Unit", "left"), Column("System", "left"), Column("Rated by"),
            Column("Raters wanted"), Column("Why", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(
            {
                "transcript_id": proposal.transcript, "unit": proposal.unit, "system": proposal.system,
                "rated_by": proposal.rated_by,
                "wanted": proposal.raters_wanted, "why": proposal.reason,
            }
            for proposal in proposals.proposals
        ),
    )  # fmt: skip


def _gains_table(proposals: Proposals) -> Table:
    rows = []
    for gain in proposals.gains:
        cells = (gain.metric, gain.quantity, f"{gain.units}", f"{gain.added}", number(gain.half_width, 3),
                 number(gain.expected_half_width, 3), gain.missing or "")  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
    return Table(
        name="gain",
        title="What it would bring",
        columns=(
            Column("Metric", "left"), Column("Quantity", "left"), Column("Units"), Column("Added"),
            Column("± now"), Column("± expected"), Column("", "left"),
        ),
        rows=tuple(rows),
        notes=(
            "±: half-width of the 95 % interval.",
            f"Expected: mean of {SIMULATIONS} simulated studies, new units drawn from the rated ones with all their "
            "ratings.",
        ),
        records=tuple(
            {
                "metric": gain.metric, "quantity": gain.quantity, "units": gain.units, "added": gain.added,
                "half_width": gain.half_width, "expected_half_width": gain.expected_half_width, "missing": gain.missing,
            }
            for gain in proposals.gains
        ),
    )  # fmt: skip


# -- Tables of an adjudication --------------------------------------------------------------------------


def adjudication_tables(adjudication: Adjudication) -> tuple[Table, ...]:
    """What raters differ on by rubric, and who settles how many units."""
    return _disagreements_table(adjudication), _adjudicators_table(adjudication)


def _disagreements_table(adjudication: Adjudication) -> Table:
    counts = adjudication.counts
    rows = [
        (of_rubric.rubric, of_rubric.rated, of_rubric.differ, of_rubric.ties, of_rubric.queued) for of_rubric in counts
    ]
    notes = [
        "Units that two raters or more answered; that no answer can be given is an answer. No majority: no answer was "
        "given by more than half of them.",
    ]
    left = (
        (
            sum(of_rubric.near for of_rubric in counts),
            f"no more than {counted(adjudication.beyond, 'level')} apart",
        ),
        (sum(of_rubric.settled for of_rubric in counts), "with a final label already"),
        (sum(of_rubric.waiting for of_rubric in counts), "in another adjudication of the round"),
    )
    notes += [f"Not queued: {number:,} {words}." for number, words in left if number]
    return Table(
        name="disagreements",
        title="Where raters differ",
        columns=(
            Column("Rubric", "left"), Column("Units"), Column("Differ"), Column("No majority"), Column("To settle"),
        ),
        rows=tuple(Row((Cell(name), *(Cell(f"{number:,}") for number in numbers))) for name, *numbers in rows),
        notes=tuple(notes),
        records=tuple(map(asdict, counts)),
    )  # fmt: skip


def _adjudicators_table(adjudication: Adjudication) -> Table:
    plan = adjudication.plan
    return Table(
        name="adjudicators",
        title="Who settles it",
        columns=(Column("Adjudicator", "left"), Column("Units")),
        rows=tuple(Row((Cell(name), Cell(f"{len(plan.assignment[name]):,}"))) for name in plan.raters),
        notes=(
            f"Plan {plan_hash(plan)}, of the round {round_of(plan)}. Raters go by numbers that are drawn anew for each "
            "unit and rubric. Reasons are shown as they were written: they may tell who wrote them.",
        ),
        records=tuple({"adjudicator": name, "units": len(plan.assignment[name])} for name in plan.raters),
    )


# -- The tables of agreement ----------------------------------------------------------------------------


def agreement_tables(
    view: RatingsView,
    compute: Callable[[Sequence[str] | None], tuple[Agreement, ...]],
    *,
    metrics: Sequence[str] | None,
    raters: Sequence[str] | None,
    confusion: bool,
    seed: int,
) -> Tables[tuple[Agreement, ...]]:
    """Agreement of raters who rated on their own, then what people say of judges whose ratings they were shown,
    and how well people agree with themselves.

    Args:
        view: the ratings.
        compute: gives the agreements on metrics that match these patterns, or on all.
        metrics, raters: names or patterns that choose them; they choose the audits, too. A rubric that was only audited
            is no metric of independent raters.
        confusion: whether to show who gave what.
        seed: of what is drawn at random.

    Raises:
        NothingError: there are neither.
        DataError: an unknown name or option.
    """
    verdicts = audits(view, metrics=metrics, raters=raters)
    rated = None if metrics is None else [pattern for pattern in metrics if view.metrics_like(pattern)]
    agreements: tuple[Agreement, ...] = ()
    try:
        if rated != [] or not verdicts:
            agreements = compute(rated)
    except NothingError:
        if not verdicts:
            raise
    tables: list[Table] = []
    if agreements:
        apart = rated_apart(view, agreements, metrics=rated, raters=raters)
        agreement = agreement_table(agreements, apart)
        tables.append(replace(agreement, notes=(*agreement.notes, *audit_notes(view), *preferences_apart(view))))
        tables += confusion_tables(agreements) if confusion else ()
    tables += [audits_table(verdicts)] if verdicts else []
    tables += _retest_tables(view, rated, raters, seed) if rated != [] else []
    return Tables(tables, agreements, findings=agreement_findings(agreements))


def _retest_tables(
    view: RatingsView, metrics: Sequence[str] | None, raters: Sequence[str] | None, seed: int
) -> list[Table]:
    """How well people agree with themselves, where they rated anything twice."""
    try:
        return [retest_table(retests(by_raters(view, raters), metrics=metrics, seed=seed))]
    except NothingError:
        return []
