"""Adjudication: units on which the raters of a plan differ, and a plan by which somebody else settles them.

Who settles them is shown what the raters said, under numbers drawn anew for each unit and rubric. The answers become
final labels (:mod:`bedside.ratings.rubric_metrics`) of the raters' own round, beside the originals.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from bedside.annotation.annotation_plan import (
    KINDS,
    AnnotationPlan,
    Opinion,
    PlanItem,
    Stratum,
    check_rubrics,
    opaque_id,
    round_of,
)
from bedside.annotation.answer_ratings import NO_ANSWER
from bedside.annotation.answer_store import FOLDER, read_store
from bedside.annotation.fields import NOT_APPLICABLE
from bedside.annotation.plan_choices import Mode
from bedside.annotation.plan_file import read_plan, sealed
from bedside.annotation.reassignment import as_assigned
from bedside.annotation.sampling import check_raters
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import TRANSCRIPT, person_name, rated_by_humans
from bedside.ratings.rubric_metrics import final_labels, unit_words
from bedside.ratings.run import Run

#: Modes of plans whose ratings can be adjudicated.
ADJUDICATED_MODES: tuple[Mode, ...] = ("rate", "codes")


@dataclass(frozen=True, slots=True)
class _RaterOpinion:
    """What one rater said of a unit by a rubric.

    Attributes:
        rater: who.
        choice: the level or label, as a choice of a page.
        place: the place of a level on its scale, from 0; None of a label, and where no answer can be given.
        reason: what the rater wrote.
    """

    rater: str
    choice: str
    place: int | None
    reason: str


@dataclass(slots=True)
class DisagreementCounts:
    """Units by one rubric.

    Attributes:
        rubric: the rubric.
        rated: units that two raters or more answered.
        differ: those of them on which they differ.
        ties: those of these without a majority.
        near: those that differ, by no more than the distance asked for.
        settled: those that have a final label already.
        waiting: those that are in another adjudication of the round.
        queued: those that are left, which are to be settled.
    """

    rubric: str
    rated: int = 0
    differ: int = 0
    ties: int = 0
    near: int = 0
    settled: int = 0
    waiting: int = 0
    queued: int = 0


@dataclass(frozen=True, slots=True)
class Adjudication:
    """What is to be settled.

    Attributes:
        plan: by whom, in which order.
        counts: by rubric.
        beyond: how many levels apart answers had to be more than.
        left_out: rubrics of the plan whose answers have no final label.
    """

    plan: AnnotationPlan
    counts: tuple[DisagreementCounts, ...]
    beyond: int
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Queue:
    """Unit → rubric → what its raters said, of what is to be settled; and the counts."""

    opinions: dict[tuple[str, str], dict[str, list[_RaterOpinion]]] = field(default_factory=dict)
    counts: list[DisagreementCounts] = field(default_factory=list)


def adjudicate(
    run: Run,
    plan: AnnotationPlan,
    adjudicators: Sequence[str],
    *,
    rubrics: Sequence[str] | None = None,
    beyond: int = 0,
    seed: int = 0,
) -> Adjudication:
    """A plan by which disagreements of a plan's raters are settled.

    Each unit goes to one adjudicator who didn't rate it; of several, to the one with the least to do. What has a final
    label, or is in another adjudication of the round, isn't queued again.

    Args:
        run: the run.
        plan: the plan whose raters differ; ratings of its whole round are looked at.
        adjudicators: who settles.
        rubrics: by which, sheets and flows for all their parts; all that can be settled unless named.
        beyond: levels more than which answers are apart; labels that differ always are, and so are a level and that no
            answer can be given.
        seed: of the order of units, and of who is rater 1.

    Raises:
        DataError: a plan of another mode, an unknown rubric, a name that can't be a rater's, nothing to settle, or
            nobody who can settle it.
    """
    asked, queue = _checked_queue(run, plan, adjudicators, rubrics, beyond)
    if not queue.opinions:
        raise _nothing_to_settle(run, queue)
    return Adjudication(
        plan=_adjudication_plan(run, plan, queue.opinions, adjudicators, seed),
        counts=tuple(queue.counts),
        beyond=beyond,
        left_out=() if rubrics else tuple(rubric.name for rubric in plan.questions if rubric not in asked),
    )


def further_adjudication(
    run: Run,
    plan: AnnotationPlan,
    adjudicators: Sequence[str],
    *,
    rubrics: Sequence[str] | None = None,
    beyond: int = 0,
    seed: int = 0,
) -> AnnotationPlan | None:
    """While raters still rate: a plan of what all raters of an item have answered and differ on, and none settles yet.

    Left out is what no adjudicator may settle. None where nothing is left.

    Args:
        run, plan, adjudicators, rubrics, beyond, seed: as :func:`adjudicate` takes them.

    Raises:
        DataError: as of :func:`adjudicate`, but that nothing is to settle, or nobody can.
    """
    _, queue = _checked_queue(run, plan, adjudicators, rubrics, beyond)
    answered = read_store(run, plan).counting()
    answers = Counter(item for item, _ in answered)
    waiting = {name for rater, order in plan.assignment.items() for name in order if (name, rater) not in answered}
    unfinished = {
        (item.transcript, item.unit)
        for item in plan.items
        # Where items go to raters by need, not all of an item's raters may have it yet.
        if not item.replicate and (item.id in waiting or answers[item.id] < plan.overlap)
    }
    opinions = {
        unit: by_rubric
        for unit, by_rubric in queue.opinions.items()
        # Of codes, an item is all turns of a transcript.
        if unfinished.isdisjoint((unit, (unit[0], TRANSCRIPT))) and _free(adjudicators, by_rubric)
    }
    return _adjudication_plan(run, plan, opinions, adjudicators, seed) if opinions else None


def _checked_queue(
    run: Run, plan: AnnotationPlan, adjudicators: Sequence[str], rubrics: Sequence[str] | None, beyond: int
) -> tuple[list[Rubric], _Queue]:
    """The rubrics that are settled by, and what is to be."""
    asked = _asked_rubrics(plan, rubrics)
    check_raters(adjudicators, where="`adjudicators`")
    if beyond < 0:
        raise DataError(f"a distance can't be {beyond}", where="`beyond`", todo="give a number from 0")
    return asked, _queue(run, plan, asked, beyond)


def _free(adjudicators: Sequence[str], by_rubric: Mapping[str, Sequence[_RaterOpinion]]) -> list[str]:
    """Those who didn't rate a unit."""
    raters = {person_name(said.rater).casefold() for of_rubric in by_rubric.values() for said in of_rubric}
    return [person for person in adjudicators if person.casefold() not in raters]


def _adjudication_plan(
    run: Run,
    plan: AnnotationPlan,
    differing: Mapping[tuple[str, str], Mapping[str, Sequence[_RaterOpinion]]],
    adjudicators: Sequence[str],
    seed: int,
) -> AnnotationPlan:
    """The plan by which units are settled."""
    # A further plan draws anew who is rater 1: else it would be the same person in every plan of one unit.
    earlier = len(adjudications_of(run, plan))
    rng = random.Random(f"{seed}:adjudication" + (f":{earlier}" if earlier else ""))
    assignment: dict[str, list[str]] = {name: [] for name in adjudicators}
    items, opinions = [], {}
    for unit in sorted(differing):
        by_rubric = differing[unit]
        name = opaque_id(plan.run, seed, "adjudicate", round_of(plan), *unit, *sorted(by_rubric))
        free = _free(adjudicators, by_rubric)
        if not free:
            raise DataError(
                f"{' and '.join(adjudicators)} rated {unit_words(*unit)}",
                where="`adjudicators`",
                todo="name somebody who didn't",
            )
        rng.shuffle(free)
        assignment[min(free, key=lambda person: len(assignment[person]))].append(name)
        items.append(PlanItem(id=name, transcript=unit[0], unit=unit[1], stratum=0, drawn="disagreement", chance=0.0))
        opinions[name] = {
            rubric: tuple(Opinion(answer=said.choice, reason=said.reason) for said in _shuffled(of_rubric, rng))
            for rubric, of_rubric in by_rubric.items()
        }
    for names in assignment.values():
        rng.shuffle(names)
    used = {rubric for by_rubric in opinions.values() for rubric in by_rubric}
    return sealed(
        AnnotationPlan(
            mode="adjudicate",
            run=plan.run,
            round=round_of(plan),
            rubrics=tuple(planned for planned in plan.rubrics if planned.rubric.name in used),
            raters=tuple(adjudicators),
            overlap=1,
            focus="disagreement",
            seed=seed,
            strata=(Stratum(factors={}, available=len(items), wanted=len(items), drawn=len(items)),),
            opinions=opinions,
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={name: tuple(ids) for name, ids in assignment.items()},
        )
    )


def adjudications_of(run: Run, plan: AnnotationPlan) -> list[AnnotationPlan]:
    """The adjudications of a plan's round that the run holds, as they are assigned now, in the order of their files."""
    files = ((path.stat().st_mtime_ns, path) for path in (run.path / FOLDER).glob("*/plan.json"))
    plans = (read_plan(path) for _, path in sorted(files))
    return [
        as_assigned(run, other) for other in plans if other.mode == "adjudicate" and round_of(other) == round_of(plan)
    ]


def settled_and_changed(run: Run, plan: AnnotationPlan) -> tuple[int, int]:
    """How many answers by a rubric were settled, and of how many of them the raters say something else since."""
    of_round = run.ratings.filter(rated_by_humans(), pl.col("round") == round_of(plan))
    said = {rubric.name: _said(of_round, rubric) for rubric in plan.questions}
    settled = changed = 0
    for other in adjudications_of(run, plan):
        answers = read_store(run, other).answers().values()
        done = {answer.item for answer in answers if answer.state == "submitted"}
        for item in (item for item in other.items if item.id in done):
            for rubric, opinions in other.opinions[item.id].items():
                now = said[rubric].get((item.transcript, item.unit), ())
                settled += 1
                changed += sorted(opinion.answer for opinion in opinions) != sorted(opinion.choice for opinion in now)
    return settled, changed


def _shuffled(said: Sequence[_RaterOpinion], rng: random.Random) -> list[_RaterOpinion]:
    return rng.sample(said, len(said))


def _asked_rubrics(plan: AnnotationPlan, names: Sequence[str] | None) -> list[Rubric]:
    if plan.mode not in ADJUDICATED_MODES:
        raise DataError(
            f"what people answer in mode {plan.mode} has no final label",
            where="the plan",
            todo=f"give a plan of mode {' or '.join(ADJUDICATED_MODES)}",
        )
    parts = {rubric.name: [rubric] for rubric in plan.questions}
    for whole in (planned.rubric for planned in plan.wholes):
        parts[whole.name] = [plan.by_name[part.name] for part in whole.question_rubrics]
    for name in names or ():
        one_of(name, parts, "rubric", DataError, where="`rubrics`")
    settled = [rubric.name for rubric in plan.questions if rubric.kind in KINDS["adjudicate"]]
    # Where none can be, all are asked for, so that the error says why.
    asked = list({part.name: part for name in names or settled or parts for part in parts[name]}.values())
    try:
        check_rubrics("adjudicate", asked)
    except ValueError as error:
        raise DataError(str(error), where="`rubrics`", todo="name the ones to settle together") from error
    return asked


def _queue(run: Run, plan: AnnotationPlan, rubrics: Sequence[Rubric], beyond: int) -> _Queue:
    of_round = run.ratings.filter(rated_by_humans(), pl.col("round") == round_of(plan))
    final = final_labels(of_round, str(run.path))
    settled = set(final.select("transcript_id", "unit", "metric").iter_rows())
    waiting = _waiting(run, plan)
    queue = _Queue()
    for rubric in rubrics:
        counts = DisagreementCounts(rubric.name)
        for unit, said in _said(of_round, rubric).items():
            if len(said) < 2:
                continue
            counts.rated += 1
            if len({opinion.choice for opinion in said}) == 1:
                continue
            counts.differ += 1
            counts.ties += not _has_majority(said)
            if (*unit, rubric.name) in settled:
                counts.settled += 1
            elif (*unit, rubric.name) in waiting:
                counts.waiting += 1
            elif not _is_beyond(said, beyond, ordered=rubric.kind == "level"):
                counts.near += 1
            else:
                counts.queued += 1
                queue.opinions.setdefault(unit, {})[rubric.name] = said
        queue.counts.append(counts)
    return queue


def _said(of_round: pl.DataFrame, rubric: Rubric) -> Mapping[tuple[str, str], list[_RaterOpinion]]:
    """What people said by a rubric, unit by unit; of what they were shown twice, the first time."""
    answered = pl.col("error").is_null() | (pl.col("error") == NO_ANSWER)
    rows = of_round.filter(pl.col("metric") == rubric.name, pl.col("replicate") == 0, answered).sort(
        "transcript_id", "unit", "rater"
    )
    places = {float(level.value): place for place, level in enumerate(rubric.scale)}
    said: dict[tuple[str, str], list[_RaterOpinion]] = {}
    columns = ("transcript_id", "unit", "rater", "value", "label", "reason", "error")
    for transcript, unit, rater, value, label, reason, error in rows.select(columns).iter_rows():
        choice = NOT_APPLICABLE if error else label or f"{value:g}"
        opinion = _RaterOpinion(rater, choice, places.get(value), (reason or "").strip())
        said.setdefault((transcript, unit), []).append(opinion)
    return said


def _has_majority(said: Sequence[_RaterOpinion]) -> bool:
    choices = [opinion.choice for opinion in said]
    return max(2 * choices.count(choice) for choice in choices) > len(choices)


def _is_beyond(said: Sequence[_RaterOpinion], beyond: int, *, ordered: bool) -> bool:
    """Whether answers are more than so many levels apart."""
    places = [opinion.place for opinion in said]
    numbers = [place for place in places if place is not None]
    return not ordered or len(numbers) < len(places) or max(numbers) - min(numbers) > beyond


def _waiting(run: Run, plan: AnnotationPlan) -> set[tuple[str, str, str]]:
    """What is to be settled by other adjudications of the plan's round: transcript, unit and rubric."""
    return {
        (item.transcript, item.unit, rubric)
        for other in adjudications_of(run, plan)
        for item in other.items
        for rubric in other.opinions[item.id]
    }


def _nothing_to_settle(run: Run, queue: _Queue) -> DataError:
    reasons = []
    for counts in queue.counts:
        parts = [
            f"{count:,} {words}"
            for count, words in (
                (counts.near, "no further apart than asked"),
                (counts.settled, "with a final label"),
                (counts.waiting, "in another adjudication"),
            )
            if count
        ]
        more = f": {', '.join(parts)}" if parts else ""
        reasons.append(f"{counts.rubric}, raters differ on {counts.differ:,} of {counted(counts.rated, 'unit')}{more}")
    return DataError(
        f"nothing is left to settle ({'; '.join(reasons)})",
        where=str(run.path),
        todo="pull the raters' answers first, or see bedside annotate status for what is open",
    )
