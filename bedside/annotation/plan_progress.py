"""How far raters are, and how well they do so far."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.audits import Audit, audits
from bedside.analysis.ratings_view import RatingsView
from bedside.annotation.adjudication import ADJUDICATED_MODES, adjudications_of, settled_and_changed
from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, plan_hash, round_of
from bedside.annotation.answer_ratings import computed_metrics, listed_entries, plan_people, plan_scales
from bedside.annotation.answer_revisions import times_changed
from bedside.annotation.answer_store import answered_plans, read_store
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NOTHING, label_and_text
from bedside.annotation.items import coded_positions
from bedside.annotation.known_answers import Entry, ListAgreement, list_agreement
from bedside.annotation.rater_quality import RaterQuality, rater_quality
from bedside.annotation.reassignment import as_assigned, need_of
from bedside.annotation.training_cases import TrainingResult
from bedside.core.errors import DataError
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.rubric_metrics import adjudicated_metric, agreement_metric, audited_metric, preference_metric
from bedside.ratings.run import Run, removed_words


@dataclass(frozen=True, slots=True)
class RaterShare:
    """A rater's part of a stratum, or of the training set or everything.

    Attributes:
        rater: whose.
        stratum: the stratum's name; ``training``; or None for all items of the plan.
        assigned, done, skipped: items.
        seconds: median time of those done; None where no time is known.
    """

    rater: str
    stratum: str | None
    assigned: int
    done: int
    skipped: int
    seconds: float | None

    @property
    def open(self) -> int:
        """Items without an answer."""
        return self.assigned - self.done - self.skipped

    @property
    def seconds_left(self) -> float | None:
        """What the open items take at the median time; None where no time is known."""
        return None if self.seconds is None else self.open * self.seconds


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """Where a plan stands.

    Attributes:
        shares: by rater: everything, then the training set if there is one, then the strata.
        training: by rater, where there is a training set.
        quality: by rater: time, gold items, alarms.
        changed_by: rater → who else changed their answers last, with the number; such changes don't count.
        outside: answers that count of raters to items they weren't assigned.
        agreement: so far, of ratings; empty where no two raters rated the same, and in mode audit.
        audits: so far, in mode audit.
        lists: so far, of lists, in mode findings.
        removed: what was removed because raters withdrew, in a sentence.
        settling: of adjudicators, all that they are to settle of the plan's round.
        settled, changed_since: answers by a rubric that were settled, and those that raters changed afterwards.
    """

    shares: tuple[RaterShare, ...]
    training: tuple[TrainingResult, ...]
    quality: tuple[RaterQuality, ...]
    changed_by: Mapping[str, Mapping[str, int]]
    outside: int
    agreement: tuple[Agreement, ...]
    audits: tuple[Audit, ...]
    lists: tuple[ListAgreement, ...]
    removed: tuple[str, ...] = ()
    settling: tuple[RaterShare, ...] = ()
    settled: int = 0
    changed_since: int = 0


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """How far people are with what the plans of a study ask of them.

    Attributes:
        planned: answers: what a rater is to say of an item; those to training and gold items are not counted.
        rated: those that are in.
        open: those that are neither in nor skipped.
        transcripts: those that people are to rate.
        unfinished: those of them of which an answer is open.
        enough: of plans that ended at their targets, items that have all their answers, and all items; None where there
            is none.
        half: of such plans, round and transcript, and unit but in mode codes, of what lacks an answer: it doesn't
            enter, as who was quick when it ended would decide what does.
    """

    planned: int = 0
    rated: int = 0
    open: int = 0
    transcripts: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    enough: tuple[int, int] | None = None
    half: frozenset[tuple[str, ...]] = frozenset()


def study_progress(run: Run, rounds: Collection[str]) -> StudyProgress:
    """How far the plans of rounds of annotation are that have an answer in the run.

    What is adjudicated, audited or compared in pairs is no rating of its own, and not counted.
    """
    states: list[str] = []
    transcripts: set[str] = set()
    unfinished: set[str] = set()
    whole, drawn, half = 0, 0, set[tuple[str, ...]]()
    for name, stored in answered_plans(run, rounds, every=True).items():
        plan = as_assigned(run, stored)
        if plan.mode in ("adjudicate", "audit", "pairs"):
            continue
        answers, in_sheets = read_store(run, plan).answers(), _raters_in_sheets(run, plan, name)
        transcripts |= {item.transcript for item in plan.items}
        by_item: dict[str, list[str]] = {item.id: [] for item in plan.items}
        for rater, ids in plan.assignment.items():
            for item_id in by_item.keys() & set(ids):
                by_item[item_id].append(answers[item_id, rater].state if (item_id, rater) in answers else "open")
        need = need_of(run, stored)
        for item in plan.items:
            own, rated = by_item[item.id], in_sheets.get((item.transcript, item.unit, item.replicate), 0)
            # Who rated in a sheet may be called otherwise there: how many did is what counts.
            while own.count("submitted") < rated and "open" in own:
                own[own.index("open")] = "submitted"
            if need is not None:
                # What nobody was given yet is open until the targets are reached, and then nothing is.
                wanted = 0 if item.replicate else len(stored.raters_of.get(item.id, ()))
                own = [state for state in own if state != "open"] if need.stopped else own
                own += [] if need.stopped else ["open"] * (wanted - len(own))
                if need.stopped and wanted:
                    drawn += 1
                    whole += len(own) >= wanted
                    place = (round_of(plan), item.transcript, *([] if plan.mode == "codes" else [item.unit]))
                    half |= {place} if len(own) < wanted else set()
            states += own
            if "open" in own:
                unfinished.add(item.transcript)
    return StudyProgress(
        len(states),
        states.count("submitted"),
        states.count("open"),
        frozenset(transcripts),
        frozenset(unfinished),
        (whole, drawn) if drawn else None,
        frozenset(half),
    )


def _raters_in_sheets(run: Run, plan: AnnotationPlan, name: str) -> dict[tuple[str, str, int], int]:
    """Transcript, unit and pass → how many people rated it, in the rounds of a plan of which some answers came in a
    sheet; nothing of other plans."""
    rounds = {own for entry in run.manifest["imports"] if entry.get("sample") == name for own in entry["rounds"]}
    unit = pl.lit(TRANSCRIPT) if plan.mode == "codes" else pl.col("unit")
    rated = run.ratings.filter(rated_by_humans(), pl.col("round").is_in(list(rounds)), pl.col("error").is_null())
    people = rated.group_by("transcript_id", unit.alias("unit"), "replicate").agg(pl.col("rater").n_unique())
    return {(transcript, of, replicate): count for transcript, of, replicate, count in people.iter_rows()}


def plan_progress(run: Run, plan: AnnotationPlan, *, seed: int = 0) -> PlanProgress:
    """Where a plan stands by the answers in the run.

    Args:
        run: the run.
        plan: its plan.
        seed: of the intervals of agreement.
    """
    history = read_store(run, plan)
    answers = history.answers()
    changed: dict[str, list[tuple[str, ...]]] = {}
    for (_, rater), names in sorted(history.changed_by_others().items()):
        changed.setdefault(rater, []).append(names)
    assigned = {rater: set(order) for rater, order in plan.assignment.items()}
    quality = rater_quality(plan, history, coded_positions(plan, run))
    can_settle = plan.mode in ADJUDICATED_MODES
    settled, changed_since = settled_and_changed(run, plan) if can_settle else (0, 0)
    return PlanProgress(
        shares=tuple(share for own in quality for share in _shares(plan, own.rater, answers)),
        training=tuple(of_rater.training for of_rater in quality if of_rater.training is not None),
        quality=quality,
        changed_by={rater: times_changed(names) for rater, names in changed.items()},
        outside=sum(item not in assigned.get(rater, ()) for item, rater in answers),
        agreement=_agreement(run, plan, answers, seed) if plan.mode not in ("audit", "adjudicate") else (),
        audits=audits(plan_view(run, plan, answers)) if plan.mode == "audit" else (),
        lists=list_agreement(entry_lists(plan, answers), seed=seed) if plan.mode == "findings" else (),
        removed=tuple(removed_words(run.manifest, plan_hash(plan))),
        settling=_settling(run, plan) if can_settle else (),
        settled=settled,
        changed_since=changed_since,
    )


def _settling(run: Run, plan: AnnotationPlan) -> tuple[RaterShare, ...]:
    """What adjudicators of a plan's round have to do, of all its adjudications together."""
    asked: dict[str, list[RaterAnswer | None]] = {}
    for other in adjudications_of(run, plan):
        answers = read_store(run, other).answers()
        for rater, order in other.assignment.items():
            asked.setdefault(rater, []).extend(answers.get((name, rater)) for name in order)
    return tuple(_share(rater, None, answers) for rater, answers in asked.items())


def _shares(plan: AnnotationPlan, rater: str, answers: Mapping[tuple[str, str], RaterAnswer]) -> list[RaterShare]:
    groups: dict[str | None, list[str]] = {None: []}
    if plan.training:
        groups["training"] = [item.id for item in plan.training if item.id in plan.assignment[rater]]
    for stratum in plan.strata:
        groups.setdefault(stratum.name, [])
    for name in plan.assignment[rater]:
        item = plan.by_id[name]
        if not isinstance(item, KnownItem):
            groups[None].append(name)
            groups[plan.strata[item.stratum].name].append(name)
    return [_share(rater, group, [answers.get((name, rater)) for name in names]) for group, names in groups.items()]


def _share(rater: str, stratum: str | None, answers: Sequence[RaterAnswer | None]) -> RaterShare:
    """A share of the answers to its items; None of those without."""
    done = [answer for answer in answers if answer is not None and answer.state == "submitted"]
    skipped = len(answers) - len(done) - answers.count(None)
    times = [answer.seconds for answer in done if answer.seconds is not None]
    return RaterShare(rater, stratum, len(answers), len(done), skipped, statistics.median(times) if times else None)


def entry_lists(
    plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer]
) -> dict[str, dict[str, list[Entry]]]:
    """What raters listed in mode findings: rater → item → entries.

    Left out are the training set, and answers that neither list anything nor say that there is nothing.
    """
    rubric = plan.rubrics[0].rubric
    lists: dict[str, dict[str, list[Entry]]] = {}
    for (item, rater), answer in answers.items():
        entries = label_and_text(rubric, listed_entries(rubric, answer))
        nothing = answer.choices.get(rubric.name) == (NOTHING,)
        if answer.state == "submitted" and bool(entries) != nothing and not isinstance(plan.by_id[item], KnownItem):
            lists.setdefault(rater, {})[item] = entries
    return lists


def plan_metrics(plan: AnnotationPlan) -> list[str]:
    """The metrics that a plan's answers give and that agreement is computed on."""
    names = [rubric.name for rubric in plan.questions]
    if plan.mode == "audit":
        return [metric for name in names for metric in (agreement_metric(name), audited_metric(name))]
    if plan.mode == "adjudicate":
        return list(map(adjudicated_metric, names))
    if plan.mode == "pairs":
        return list(map(preference_metric, names))
    return list(dict.fromkeys((*names, *computed_metrics(plan))))


def plan_view(run: Run, plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer]) -> RatingsView:
    """The ratings that a plan's answers gave, and those of judges and algorithms on the same transcripts.

    Args:
        run: the run.
        plan: its plan.
        answers: those that count.
    """
    people = plan_people(run, plan)
    answered = {
        (item.transcript, people[rater])
        for (name, rater) in answers
        for item in (plan.by_id[name],)
        if not isinstance(item, KnownItem)
    }
    columns = pl.Schema({"transcript_id": pl.String(), "rater": pl.String()})
    pairs = pl.DataFrame(sorted(answered), schema=columns, orient="row")
    of_plan = run.ratings.filter(
        pl.col("metric").is_in(plan_metrics(plan)), ~rated_by_humans() | (pl.col("round") == round_of(plan))
    )
    rated = of_plan.join(pairs, on=list(columns), how="semi", maintain_order="left")
    machines = of_plan.filter(~rated_by_humans()).join(
        pairs.select("transcript_id").unique(), on="transcript_id", how="semi", maintain_order="left"
    )
    wholes = (planned.rubric for planned in plan.wholes)
    rubrics = {rubric.name: rubric for whole in wholes for rubric in (whole, *whole.measures)} | dict(plan.by_name)
    rated = pl.concat([rated, machines])
    if plan.mode == "pairs":
        # Of a preference the share of the win is looked at, in which a tie lies between the two.
        rated = rated.with_columns(pl.lit(None, dtype=pl.String()).alias("label"))
    return RatingsView(rated, plan_scales(plan), None, str(run.path), run, rubrics)


def _agreement(
    run: Run, plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer], seed: int
) -> tuple[Agreement, ...]:
    view = plan_view(run, plan, answers)
    if view.ratings.is_empty():
        return ()
    try:
        return agree(view, seed=seed)
    except DataError:
        # No two raters rated the same yet, which the counts say already.
        return ()
