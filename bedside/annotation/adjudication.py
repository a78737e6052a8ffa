"""Adjudication: units on which the raters of a plan differ, and a plan by which somebody else settles them.

Who settles them is shown what the raters said, under numbers drawn anew for each unit and rubric. The answers become
final labels (:mod:`bedside.ratings.rubric_metrics`) of the raters' own round, beside the originals.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    rubrics_of,
)
from bedside.annotation.answer_ratings import NO_ANSWER
from bedside.annotation.answer_store import FOLDER, read_store
from bedside.annotation.fields import CASE_KINDS, NOT_APPLICABLE, evidence_field, one_answer, reason_field
from bedside.annotation.items import rated_fields, set_labels
from bedside.annotation.plan_choices import Mode
from bedside.annotation.plan_file import read_plan, sealed
from bedside.annotation.reassignment import as_assigned
from bedside.annotation.sampling import check_raters
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.judges.rubrics.rubric import Rubric, plain_name
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
        parts: what else the rater says of a link.
    """

    rater: str
    choice: str
    place: int | None
    reason: str
    parts: str = ""


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
    """Unit → field → what its raters said, of what is to be settled, and what they agree on; and the counts."""

    opinions: dict[tuple[str, str], dict[str, list[_RaterOpinion]]] = field(default_factory=dict)
    agreed: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
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
        plan=_adjudication_plan(run, plan, asked, queue, queue.opinions, adjudicators, seed),
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
    asked, queue = _checked_queue(run, plan, adjudicators, rubrics, beyond)
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
    return _adjudication_plan(run, plan, asked, queue, opinions, adjudicators, seed) if opinions else None


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
    asked: Sequence[Rubric],
    queue: _Queue,
    differing: Mapping[tuple[str, str], Mapping[str, Sequence[_RaterOpinion]]],
    adjudicators: Sequence[str],
    seed: int,
) -> AnnotationPlan:
    """The plan by which units are settled."""
    # A further plan draws anew who is rater 1: else it would be the same person in every plan of one unit.
    earlier = len(adjudications_of(run, plan))
    rng = random.Random(f"{seed}:adjudication" + (f":{earlier}" if earlier else ""))
    assignment: dict[str, list[str]] = {name: [] for name in adjudicators}
    items, opinions, agreed, criteria, lists = [], {}, {}, {}, {}
    shown = {(item.transcript, item.unit): item.id for item in plan.items}
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
            rubric: tuple(map(_without_name, rng.sample(of_rubric, len(of_rubric))))
            for rubric, of_rubric in by_rubric.items()
        }
        if own := queue.agreed.get(unit):
            agreed[name] = own
        disputed, source = rubrics_of(by_rubric, asked), shown.get(unit, "")
        if points := {rubric: of for rubric, of in plan.criteria.get(source, {}).items() if rubric in disputed}:
            criteria[name] = points
        if links := {rubric: of for rubric, of in plan.lists.get(source, {}).items() if rubric in disputed}:
            lists[name] = links
    for names in assignment.values():
        rng.shuffle(names)
    used = {name for by_field in opinions.values() for name in rubrics_of(by_field, asked)}
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
            criteria=criteria,
            lists=lists,
            opinions=opinions,
            agreed=agreed,
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={name: tuple(ids) for name, ids in assignment.items()},
        )
    )


def opinions_without(
    run: Run, plan: AnnotationPlan, rows: pl.DataFrame
) -> tuple[dict[str, dict[str, tuple[Opinion, ...]]], int]:
    """The opinions of an adjudication without those that a rater's ratings say, and how many these are.

    Opinions carry no name. Where another rater said the very same, either of the two is left out.

    Args:
        run: the run.
        plan: the adjudication.
        rows: ratings of the rater, of earlier revisions too.
    """
    said: dict[tuple[str, str], dict[str, list[Opinion]]] = {}
    for rubric in plan.questions:
        if rubric.kind in CASE_KINDS:
            for unit, _, of_entries in _by_entry(run, plan, rows, rubric):
                for name, opinion in of_entries.items():
                    said.setdefault(unit, {}).setdefault(name, []).append(_without_name(opinion))
        else:
            for unit, own in _said(rows, rubric).items():
                said.setdefault(unit, {})[rubric.name] = list(map(_without_name, own))
    opinions = {item: dict(by_field) for item, by_field in plan.opinions.items()}
    count = 0
    for item in plan.items:
        for name, theirs in said.get((item.transcript, item.unit), {}).items():
            kept = list(opinions[item.id].get(name, ()))
            gone = next((opinion for opinion in kept if opinion in theirs), None)
            if gone is not None:
                kept.remove(gone)
                opinions[item.id][name] = tuple(kept)
                count += 1
    return opinions, count


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
    now: dict[tuple[str, str], dict[str, list[_RaterOpinion]]] = {}
    for rubric in plan.questions:
        if rubric.kind in CASE_KINDS:
            for unit, _, disputed, _ in _of_case(run, plan, of_round, rubric):
                now.setdefault(unit, {}).update(disputed)
        else:
            for unit, said in _said(of_round, rubric).items():
                now.setdefault(unit, {})[rubric.name] = said
    settled = changed = 0
    for other in adjudications_of(run, plan):
        answers = read_store(run, other).answers().values()
        done = {answer.item for answer in answers if answer.state == "submitted"}
        for item in (item for item in other.items if item.id in done):
            said_now = now.get((item.transcript, item.unit), {})
            for rubric in (other.by_name[name] for name in other.disputed(item.id)):
                own = {name: of for name, of in other.opinions[item.id].items() if rubrics_of((name,), (rubric,))}
                settled += 1
                # Who came later adds an answer, and changes none.
                changed += any(
                    Counter(opinion.answer for opinion in opinions)
                    - Counter(opinion.choice for opinion in said_now.get(name, ()))
                    for name, opinions in own.items()
                )
    return settled, changed


def _without_name(said: _RaterOpinion) -> Opinion:
    return Opinion(answer=said.choice, reason=". ".join(filter(None, (said.parts, said.reason))))


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
        of_units = _of_case(run, plan, of_round, rubric) if rubric.kind in CASE_KINDS else _of_units(of_round, rubric)
        for unit, raters, disputed, agreed in of_units:
            if raters < 2:
                continue
            counts.rated += 1
            if not disputed:
                continue
            counts.differ += 1
            counts.ties += not all(map(_has_majority, filter(None, disputed.values())))
            if (*unit, rubric.name) in settled:
                counts.settled += 1
            elif (*unit, rubric.name) in waiting:
                counts.waiting += 1
            elif rubric.kind == "level" and not _is_beyond(disputed[rubric.name], beyond):
                counts.near += 1
            else:
                counts.queued += 1
                queue.opinions.setdefault(unit, {}).update(disputed)
                queue.agreed.setdefault(unit, {}).update(agreed)
        queue.counts.append(counts)
    return queue


#: A unit, how many raters answered, field → what they said where they differ, and what they agree on.
_Disputed = tuple[tuple[str, str], int, dict[str, list[_RaterOpinion]], dict[str, str]]


def _of_units(of_round: pl.DataFrame, rubric: Rubric) -> Iterator[_Disputed]:
    for unit, said in _said(of_round, rubric).items():
        differ = len({opinion.choice for opinion in said}) > 1
        yield unit, len(said), {rubric.name: said} if differ else {}, {}


def _of_case(run: Run, plan: AnnotationPlan, of_round: pl.DataFrame, rubric: Rubric) -> Iterator[_Disputed]:
    """The same of a plan's own units by points or links: raters differ on an entry, or on what else is said of it."""
    said: dict[tuple[str, str], list[tuple[dict[str, str], dict[str, _RaterOpinion]]]] = {}
    for unit, fields, of_entries in _by_entry(run, plan, of_round, rubric):
        said.setdefault(unit, []).append((fields, of_entries))
    every = {(item.transcript, item.unit): plan.every_of(item.id, rubric) for item in plan.items}
    for unit, of_raters in sorted(said.items()):
        disputed: dict[str, list[_RaterOpinion]] = {}
        agreed: dict[str, str] = {}
        for entry in of_raters[0][1]:
            parts = [asked.name for asked in every[unit] if asked.name.startswith(f"{entry}__")]
            if len({(of[entry].choice, of[entry].parts) for _, of in of_raters}) > 1:
                disputed[entry] = [of[entry] for _, of in of_raters]
                disputed |= {part: [] for part in parts}
                continue
            for fields, _ in reversed(of_raters):  # the first rater's words show a link
                kept = (entry, *parts, evidence_field(entry))
                agreed |= {name: fields[name] for name in kept if name in fields}
        yield unit, len(of_raters), disputed, agreed


def _by_entry(
    run: Run, plan: AnnotationPlan, rows: pl.DataFrame, rubric: Rubric
) -> Iterator[tuple[tuple[str, str], dict[str, str], dict[str, _RaterOpinion]]]:
    """Of each rating of a plan's own units by points or links: the unit, its fields, and what it says of each entry."""
    every = {(item.transcript, item.unit): plan.every_of(item.id, rubric) for item in plan.items}
    transcripts = {one.id: one for one in run.transcripts_named({transcript for transcript, _ in every})}
    own = rows.filter(pl.col("metric") == rubric.name, pl.col("replicate") == 0).sort("rater")
    for row in own.iter_rows(named=True):
        unit = row["transcript_id"], row["unit"]
        asked = every.get(unit, ())
        fields = rated_fields(rubric, asked, row, transcripts[unit[0]]) if asked else None
        if fields is None:
            continue
        of_entries = {}
        for entry in (asked_field.name for asked_field in asked if asked_field.said):
            parts = [name for name in fields if name.startswith(f"{entry}__")]
            words = "; ".join(f"{plain_name(part.rpartition('__')[2])}: {fields[part]}" for part in parts)
            reason = fields.get(reason_field(entry), "").strip()
            of_entries[entry] = _RaterOpinion(row["rater"], fields[entry], None, reason, words)
        yield unit, fields, of_entries


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
        named = set_labels(rubric, value, reason or "") if rubric.kind == "set" else None
        if rubric.kind == "set" and not named and not error:
            continue  # a number of a file names no labels
        choice = NOT_APPLICABLE if error else one_answer(named) if named else label or f"{value:g}"
        opinion = _RaterOpinion(rater, choice, places.get(value), (reason or "").strip())
        said.setdefault((transcript, unit), []).append(opinion)
    return said


def _has_majority(said: Sequence[_RaterOpinion]) -> bool:
    choices = [(opinion.choice, opinion.parts) for opinion in said]
    return max(2 * choices.count(choice) for choice in choices) > len(choices)


def _is_beyond(said: Sequence[_RaterOpinion], beyond: int) -> bool:
    """Whether levels are more than so many levels apart."""
    places = [opinion.place for opinion in said]
    numbers = [place for place in places if place is not None]
    return len(numbers) < len(places) or max(numbers) - min(numbers) > beyond


def _waiting(run: Run, plan: AnnotationPlan) -> set[tuple[str, str, str]]:
    """What is to be settled by other adjudications of the plan's round: transcript, unit and rubric."""
    return {
        (item.transcript, item.unit, rubric)
        for other in adjudications_of(run, plan)
        for item in other.items
        for rubric in other.disputed(item.id)
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
