"""How far raters are, and how well they do so far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.ratings_view import RatingsView
from bedside.annotation.annotation_plan import AnnotationPlan, TrainingItem
from bedside.annotation.answer_ratings import (
    agreement_metric,
    audited_metric,
    listed_entries,
    plan_scales,
    ratings_of_answer,
)
from bedside.annotation.answer_store import latest_answers, read_store
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NOTHING, entry_part
from bedside.annotation.findings import Entry, ListAgreement, f1, list_agreement, matched_entries
from bedside.annotation.items import coded_positions
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError


@dataclass(frozen=True, slots=True)
class Share:
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


@dataclass(frozen=True, slots=True)
class TrainingScore:
    """How a rater did on the training set.

    Attributes:
        rater: whose.
        answers: known answers that the rater answered; of lists, how many lists.
        right: those that are the same as the known one; of lists, the sum of their F1.
        off: mean distance from the known level; None where there are no levels.
    """

    rater: str
    answers: int
    right: float
    off: float | None

    @property
    def score(self) -> float | None:
        """``right / answers``."""
        return self.right / self.answers if self.answers else None


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """Where a plan stands.

    Attributes:
        shares: by rater: everything, then the training set if there is one, then the strata.
        training: by rater, where there is a training set.
        changed_by: rater → who else changed answers that count, with their number.
        outside: answers that count of raters to items they weren't assigned.
        agreement: so far, of ratings; empty where no two raters rated the same.
        lists: so far, of lists, in mode findings.
    """

    shares: tuple[Share, ...]
    training: tuple[TrainingScore, ...]
    changed_by: Mapping[str, Mapping[str, int]]
    outside: int
    agreement: tuple[Agreement, ...]
    lists: tuple[ListAgreement, ...]


def progress(run: Run, plan: AnnotationPlan, *, seed: int = 0) -> PlanProgress:
    """Where a plan stands by the answers in the run.

    Args:
        run: the run.
        plan: its plan.
        seed: of the intervals of agreement.
    """
    answers = latest_answers(read_store(run, plan))
    changed: dict[str, dict[str, int]] = {}
    for (_, rater), answer in sorted(answers.items()):
        if answer.changed_by is not None:
            by = changed.setdefault(rater, {})
            by[answer.changed_by] = by.get(answer.changed_by, 0) + 1
    assigned = {rater: set(order) for rater, order in plan.assignment.items()}
    return PlanProgress(
        shares=tuple(share for rater in plan.raters for share in _shares(plan, rater, answers)),
        training=tuple(_trained(run, plan, answers)) if plan.training else (),
        changed_by=changed,
        outside=sum(item not in assigned.get(rater, ()) for item, rater in answers),
        agreement=_agreement(run, plan, answers, seed),
        lists=list_agreement(lists(plan, answers), seed=seed) if plan.mode == "findings" else (),
    )


def _shares(plan: AnnotationPlan, rater: str, answers: Mapping[tuple[str, str], RaterAnswer]) -> list[Share]:
    groups: dict[str | None, list[str]] = {None: []}
    if plan.training:
        groups["training"] = [item.id for item in plan.training]
    for stratum in plan.strata:
        groups.setdefault(stratum.name, [])
    for name in plan.assignment[rater]:
        item = plan.by_id[name]
        if not isinstance(item, TrainingItem):
            groups[None].append(name)
            groups[plan.strata[item.stratum].name].append(name)
    shares = []
    for group, names in groups.items():
        given = [answers[name, rater] for name in names if (name, rater) in answers]
        done = [answer for answer in given if answer.state == "submitted"]
        times = [answer.seconds for answer in done if answer.seconds is not None]
        median = statistics.median(times) if times else None
        shares.append(
            Share(rater, group, len(names), len(done), len(given) - len(done), median)
        )  # fmt: skip
    return shares


def _trained(
    run: Run, plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer]
) -> list[TrainingScore]:
    positions = coded_positions(plan, run)
    found = []
    for rater in plan.raters:
        count, right, off = 0, 0.0, []
        for item in plan.training:
            answer = answers.get((item.id, rater))
            if answer is None or answer.state != "submitted":
                continue
            for each in plan.rubrics:
                rubric = each.rubric
                if rubric.name not in item.answers:
                    continue
                known = item.answers[rubric.name]
                if plan.mode == "findings":
                    count += 1
                    right += _list_score(rubric, known, answer)
                    continue
                for unit, _, value, label, *_ in ratings_of_answer(
                    plan, rubric, item, answer, positions.get(item.id, {}), {}
                ):
                    true = known if plan.mode != "codes" else known.get(unit.removeprefix("turn:"))
                    if true is None:
                        continue
                    count += 1
                    if rubric.kind == "set":
                        right += set(answer.choices.get(rubric.name, ())) == set(true)
                    elif label is not None:
                        right += label == true
                    elif value is not None:
                        right += value == float(true)
                        off.append(abs(value - float(true)))
        found.append(TrainingScore(rater, count, right, statistics.fmean(off) if off else None))
    return found


def _list_score(rubric: Rubric, known: Any, answer: RaterAnswer) -> float:
    own, true = _entries(rubric, listed_entries(rubric, answer)), _entries(rubric, known)
    return f1(matched_entries(own, true), len(own), len(true))


def _entries(rubric: Rubric, given: list[dict[str, str]]) -> list[Entry]:
    label, text = entry_part(rubric)
    return [(entry[label.name], entry[text.name]) for entry in given]


def lists(
    plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer]
) -> dict[str, dict[str, list[Entry]]]:
    """What raters listed in mode findings: rater → item → entries.

    Left out are the training set, and answers that neither list anything nor say that there is nothing.
    """
    rubric = plan.rubrics[0].rubric
    found: dict[str, dict[str, list[Entry]]] = {}
    for (item, rater), answer in answers.items():
        entries = _entries(rubric, listed_entries(rubric, answer))
        nothing = answer.choices.get(rubric.name) == (NOTHING,)
        if (
            answer.state == "submitted"
            and bool(entries) != nothing
            and not isinstance(plan.by_id[item], TrainingItem)
        ):
            found.setdefault(rater, {})[item] = entries
    return found


def plan_metrics(plan: AnnotationPlan) -> list[str]:
    """The metrics that a plan's answers give and that agreement is computed on."""
    names = [each.rubric.name for each in plan.rubrics]
    if plan.mode == "audit":
        return [metric for name in names for metric in (agreement_metric(name), audited_metric(name))]
    return names


def plan_evaluation(
    run: Run, plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer]
) -> RatingsView:
    """The ratings that a plan's answers gave, and those of judges and algorithms on the same transcripts.

    Args:
        run: the run.
        plan: its plan.
        answers: those that count.
    """
    given = {
        (item.transcript, f"human:{rater}")
        for (name, rater) in answers
        for item in (plan.by_id[name],)
        if not isinstance(item, TrainingItem)
    }
    columns = pl.Schema({"transcript_id": pl.String(), "rater": pl.String()})
    pairs = pl.DataFrame(sorted(given), schema=columns, orient="row")
    of_plan = run.ratings.filter(pl.col("metric").is_in(plan_metrics(plan)))
    people = of_plan.join(pairs, on=list(columns), how="semi", maintain_order="left")
    others = of_plan.filter(~pl.col("rater").str.starts_with("human:")).join(
        pairs.select("transcript_id").unique(), on="transcript_id", how="semi", maintain_order="left"
    )
    rubrics = {each.rubric.name: each.rubric for each in plan.rubrics}
    return RatingsView(pl.concat([people, others]), plan_scales(plan), None, str(run.path), run, rubrics)


def _agreement(
    run: Run, plan: AnnotationPlan, answers: Mapping[tuple[str, str], RaterAnswer], seed: int
) -> tuple[Agreement, ...]:
    view = plan_evaluation(run, plan, answers)
    if view.ratings.is_empty():
        return ()
    try:
        return agree(view, seed=seed)
    except DataError:
        # No two raters rated the same yet, which the counts say already.
        return ()
