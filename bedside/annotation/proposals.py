"""What to have rated next, what it would bring, and the plan that follows it up.

- ``kappa``: units that narrow the interval of people's kappa. One more rating of a unit that one person rated makes a
  pair at half the price, so those come first; then units nobody rated, at random.
- ``disagreement``: units where judge and people, or people among themselves, are furthest apart: to be settled by
  somebody else, and to learn from. They are no random sample.

What it would bring to kappa is the expected half-width of the 95 % interval, by simulation with the library's own
intervals: new units are drawn from the rated ones with all their ratings.

For the means that people correct there is no aim. What they rest on must be drawn at random within its strata, and
how many of each stratum hardly matters: Neyman's allocation by the errors seen takes 0 to 5 % off the half-width
(``benchmarks/proposal_allocation.py``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.analysis.checked_units import Grid, grid_of
from bedside.annotation.annotation_plan import (
    AnnotationPlan,
    KnownItem,
    PlanItem,
    Stratum,
    opaque_id,
    plan_hash,
    round_of,
)
from bedside.annotation.answer_ratings import plan_people, plan_scales
from bedside.annotation.answer_store import read_store
from bedside.annotation.items import linked_lists, point_criteria, problem
from bedside.annotation.plan_choices import AIMS, Aim, Focus
from bedside.annotation.plan_file import sealed
from bedside.core.errors import DataError, one_of
from bedside.ratings.names import TRANSCRIPT, is_human, rated_by_humans, rated_by_judges, rated_by_juries, unit_name
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.stats.result import Result

# -- What people have rated of a plan's units -----------------------------------------------------------

#: Simulated studies behind each expected half-width.
SIMULATIONS = 40


#: Fewer ratings than this say nothing of how they vary.
FEWEST = 3

#: The id of a transcript, and the unit of it.
RatedUnit = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RatingProposal:
    """A unit to be rated next.

    Attributes:
        transcript, unit: what.
        system: of the transcript, where it has one.
        rated_by: how many people have rated it.
        raters_wanted: how many more are wanted.
        reason: why, in words.
    """

    transcript: str
    unit: str
    system: str | None
    rated_by: int
    raters_wanted: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """What the proposed ratings would bring to one number.

    Attributes:
        metric: what is rated.
        quantity: what is to be narrowed: ``kappa of people``.
        units: units it rests on now.
        added: units that would be added.
        half_width, expected_half_width: of its 95 % interval, now and with the new ratings; None where unknown.
        missing: why not.
    """

    metric: str
    quantity: str
    units: int
    added: int
    half_width: float | None = None
    expected_half_width: float | None = None
    missing: str | None = None


class RatingState:
    """What is rated, and what could be.

    Args:
        run: the run.
        plan: a plan of it.

    Attributes:
        run, plan: as given.
        metrics: names of the plan's rubrics.
        scales: metric → its scale.
        ratings: those of the metrics that have a value or label; of people's, those of the plan's round.
        people: those of them that people gave.
        open: (item, rater) of the answers that are still to come.
        units: what could be rated and isn't waiting for an answer, in the order of transcripts.
        systems: transcript → system.
        raters: unit → the people who rated it.
    """

    def __init__(self, run: Run, plan: AnnotationPlan) -> None:
        rubrics = plan.questions
        self.run = run
        self.plan = plan
        self.metrics: list[str] = [rubric.name for rubric in rubrics]
        self.scales: dict[str, Scale] = plan_scales(plan)
        self.ratings: pl.DataFrame = run.ratings.filter(
            pl.col("metric").is_in(self.metrics),
            pl.col("error").is_null(),
            ~rated_by_humans() | (pl.col("round") == round_of(plan)),
        )
        self.people: pl.DataFrame = self.ratings.filter(rated_by_humans())
        answered = read_store(run, plan).counting()
        self.open: list[tuple[str, str]] = [
            (name, rater)
            for rater, order in plan.assignment.items()
            for name in order
            if (name, rater) not in answered and not isinstance(plan.by_id[name], KnownItem)
        ]
        open_items = {name for name, _ in self.open}
        waiting = {(item.transcript, item.unit) for item in plan.items if item.id in open_items}
        about_turns = plan.mode == "rate" and rubrics[0].unit == "turn"
        training = {(item.transcript, item.unit) for item in plan.training if item.content is None}
        self.systems: dict[str, str | None] = dict(run.index.select("id", "system").iter_rows())
        self.units: list[RatedUnit] = [
            (transcript.id, unit)
            for transcript in sorted(run.transcripts(), key=lambda transcript: transcript.id)
            if problem(rubrics, transcript) is None
            for unit in (
                [unit_name(turn.index) for turn in transcript.turns if turn.role == rubrics[0].role]
                if about_turns
                else [TRANSCRIPT]
            )
            if (transcript.id, unit) not in waiting | training
        ]
        self.raters: dict[RatedUnit, set[str]] = {}
        unit = pl.lit(TRANSCRIPT) if plan.mode == "codes" else pl.col("unit")
        for transcript, name, rater in (
            self.people.select("transcript_id", unit.alias("unit"), "rater").unique(maintain_order=True).iter_rows()
        ):  # fmt: skip
            self.raters.setdefault((transcript, name), set()).add(rater)

    def rated_by(self, unit: RatedUnit) -> int:
        """How many people have rated a unit."""
        return len(self.raters.get(unit, ()))

    def proposal(self, unit: RatedUnit, raters_wanted: int, reason: str) -> RatingProposal:
        """The proposal that more people rate a unit."""
        return RatingProposal(*unit, self.systems[unit[0]], self.rated_by(unit), raters_wanted, reason)

    def grid(self, metric: str) -> Grid:
        """What people gave by a metric: a row a unit, a column a rater."""
        return grid_of(self.people.filter(pl.col("metric") == metric))


def chosen_judge(state: RatingState, judge: str | None) -> str:
    """The judge that is named, or the only one there is.

    Raises:
        DataError: there is none, or there are several and none of them is named.
    """
    judges = sorted(set(state.ratings.filter(rated_by_judges())["rater"]))
    if judge in judges or judge in set(state.ratings.filter(rated_by_juries())["rater"]):
        return str(judge)
    if judge is None and len(judges) == 1:
        return str(judges[0])
    where = str(state.run.path)
    names = ", ".join(state.metrics)
    if not judges:
        raise DataError(
            f"no judge has rated the run by {names}",
            where=where,
            todo="have it judged first: bedside score --judge MODEL",
        )
    what = (
        f"{judge!r} has rated nothing by {names}" if judge is not None else f"{len(judges)} judges have rated the run"
    )
    raise DataError(what, where=where, todo=f"name one with `judge`: {', '.join(judges)}")


def half_width(result: Result) -> float | None:
    """Half the width of a result's interval; None where it has none."""
    return None if result.interval is None else (result.interval.high - result.interval.low) / 2


# -- Units that narrow the interval of people's kappa ---------------------------------------------------

_QUANTITY = "kappa of people"


def kappa_proposals(state: RatingState, count: int, rng: random.Random) -> list[RatingProposal]:
    """The units to rate next: those that one person rated, then those that nobody did, each at random."""
    rated_once = [unit for unit in state.units if state.rated_by(unit) == 1]
    unrated = [unit for unit in state.units if state.rated_by(unit) == 0]
    rng.shuffle(rated_once)
    rng.shuffle(unrated)
    pair = "one person rated it: a second rating makes a pair"
    proposals = [state.proposal(unit, 1, pair) for unit in rated_once]
    proposals += [state.proposal(unit, 2, "nobody rated it") for unit in unrated]
    return proposals[:count]


def kappa_gains(state: RatingState, chosen: Sequence[RatingProposal], seed: int) -> list[ExpectedGain]:
    """What the proposed ratings would bring to each metric's kappa."""
    gains = []
    added = len(chosen)
    for metric in state.metrics:
        table = state.people.filter(pl.col("metric") == metric)
        if table.is_empty() or metric not in state.scales:
            gains.append(ExpectedGain(metric, _QUANTITY, 0, added, missing="nobody has rated it"))
            continue
        grid = state.grid(metric)
        rated_twice = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
        cells, members = grid.cells[rated_twice], grid.cases[rated_twice]
        transcripts = len(set(grid.transcripts[rated_twice]))
        if transcripts < FEWEST:
            reason = f"two people rated {transcripts} of it, fewer than {FEWEST}"
            gains.append(ExpectedGain(metric, _QUANTITY, len(cells), added, missing=reason))
            continue
        # What is drawn are cases, with as many units as those that were rated have.
        cases = max(1, round(added * len(set(members)) / len(cells)))
        gain = _kappa_gain(metric, state.scales[metric], cells, members, added=cases, seed=seed)
        gains.append(replace(gain, added=added))
    return gains


def _kappa_gain(
    metric: str, scale: Scale, cells: NDArray[Any], members: NDArray[Any], *, added: int, seed: int
) -> ExpectedGain:
    """What new cases would bring that are rated like those there are.

    Args:
        metric: what is rated.
        scale: its scale.
        cells: a row a unit, a column a rater.
        members: the case of each row.
        added: how many cases are added.
        seed: of the simulations.
    """
    rng = np.random.default_rng(seed)
    cases = list(dict.fromkeys(members))
    cells_by_case = {case: cells[members == case] for case in cases}
    widths = []
    for _ in range(SIMULATIONS):
        positions = rng.integers(len(cases), size=added)
        drawn = [cells_by_case[cases[position]] for position in positions]
        clusters = [members, *(np.full(len(rows), f"new {place}") for place, rows in enumerate(drawn))]
        width = _kappa_half_width(scale, np.concatenate([cells, *drawn]), np.concatenate(clusters))
        if width is not None:
            widths.append(width)
    width_now = _kappa_half_width(scale, cells, members)
    expected = float(np.mean(widths)) if widths else None
    missing = None if width_now is not None and expected is not None else "kappa has no interval yet"
    return ExpectedGain(metric, _QUANTITY, len(cells), added, width_now, expected, missing)


def _kappa_half_width(scale: Scale, rows: NDArray[Any], clusters: NDArray[Any]) -> float | None:
    from bedside.stats import many_raters

    nested = len(set(clusters)) < len(clusters)
    kappa = many_raters.mean_pairwise_kappa(
        rows,
        scale=scale.levels,
        weights="quadratic" if scale.ordered else "unweighted",
        clusters=clusters if nested else None,
    )
    return half_width(kappa)


# -- Units where judge and people are furthest apart ----------------------------------------------------


def disagreement_proposals(state: RatingState, judge: str | None, count: int) -> list[RatingProposal]:
    """The units to rate next, the one with the largest distance by any metric first; without a judge, among people."""
    widest: dict[RatedUnit, tuple[float, str]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    choices: dict[tuple[RatedUnit, str], dict[str, Any]] = {}
    for transcript, unit, metric, rater, value, label in state.ratings.select(columns).iter_rows():
        choice = label if label is not None else value
        choices.setdefault(((transcript, unit), metric), {}).setdefault(rater, choice)
    for (key, metric), by_rater in sorted(choices.items()):
        people = [choice for rater, choice in by_rater.items() if is_human(rater)]
        if not people:
            continue
        judged = None if judge is None else by_rater.get(judge)
        for distance, reason in _distances(metric, people, judged, judge or "", state.scales[metric]):
            if distance > widest.get(key, (0.0, ""))[0]:
                widest[key] = (distance, reason)
    units = set(state.units)
    order = sorted((key for key in widest if key in units), key=lambda key: (-widest[key][0], key))
    return [state.proposal(key, 1, widest[key][1]) for key in order[:count]]


def _distances(
    metric: str, people: Sequence[Any], judge_choice: Any, judge: str, scale: Scale
) -> list[tuple[float, str]]:
    """How far apart people are, and judge and people, in parts of the scale (labels: 1 where they differ)."""
    if not scale.ordered:
        differ = len(set(people)) > 1
        judge_differs = judge_choice is not None and judge_choice not in people
        return [
            (float(differ), f"people differ on {metric}"),
            (float(judge_differs), f"{judge} differs from people on {metric}"),
        ]
    width = float(scale.levels[-1]) - float(scale.levels[0])
    middle = float(np.median(people))
    spread = (max(people) - min(people)) / width
    distances = [(spread, f"people gave {min(people):g} to {max(people):g} on {metric}")]
    if judge_choice is not None:
        distance = abs(judge_choice - middle) / width
        distances.append((distance, f"{judge} gave {judge_choice:g} on {metric}, people {middle:g}"))
    return distances


# -- What to have rated next ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposals:
    """What to rate next.

    Attributes:
        aim: to what end.
        proposals: in the order in which they bring most.
        gains: what they would bring; empty for disagreement.
        open: answers of the plan that are still to come; what they bring is not counted.
    """

    aim: Aim
    proposals: tuple[RatingProposal, ...]
    gains: tuple[ExpectedGain, ...]
    open: int


def propose(
    run: Run, plan: AnnotationPlan, *, aim: Aim = "kappa", count: int = 10, judge: str | None = None, seed: int = 0
) -> Proposals:
    """Say which units to have rated next.

    Args:
        run: the run.
        plan: a plan of mode rate, or for kappa codes, whose rubrics are asked about.
        aim: to what end, see above.
        count: how many units.
        judge: for ``disagreement``, which judge; the only one unless named. Where none rated, people's own counts.
        seed: of what is drawn at random.

    Raises:
        DataError: no such aim, a mode that has no kappa, no such judge, nobody's ratings, or nothing left to rate.
    """
    one_of(aim, AIMS, "aim", DataError, where="`aim`")
    if plan.mode not in ("rate", "codes") or (plan.mode == "codes" and aim != "kappa"):
        raise DataError(
            f"for a plan of mode {plan.mode} nothing can be proposed with the aim {aim}",
            where="the plan",
            todo="give a plan of mode rate (or, for kappa, codes)",
        )
    if count < 1:
        raise DataError(
            f"at least one unit must be proposed, and {count} is less", where="`count`", todo="give a number from 1"
        )
    state = RatingState(run, plan)
    rng = random.Random(f"{seed}:{aim}")
    if aim == "kappa":
        chosen = kappa_proposals(state, count, rng)
        gains = kappa_gains(state, chosen, seed)
    else:
        judged = judge is not None or not state.ratings.filter(rated_by_judges()).is_empty()
        chosen, gains = disagreement_proposals(state, chosen_judge(state, judge) if judged else None, count), []
    if not chosen:
        raise DataError("nothing is left to propose", where=str(run.path), todo="see bedside annotate status")
    return Proposals(aim, tuple(chosen), tuple(gains), len(state.open))


# -- The follow-up of a plan ----------------------------------------------------------------------------


def follow_up_plan(run: Run, plan: AnnotationPlan, proposals: Proposals, seed: int = 0) -> AnnotationPlan:
    """A plan of the proposed units by the raters and rubrics of an earlier one, of whose round it is.

    Nobody gets a unit they have rated: each goes to those with the least to do of the others.

    Args:
        run: the run.
        plan: the earlier plan.
        proposals: what is proposed by it.
        seed: of who rates what, in which order.

    Raises:
        DataError: everybody has rated all of it.
    """
    state = RatingState(run, plan)
    people = plan_people(run, plan)
    rng = random.Random(f"{seed}:follow-up")
    focus: Focus = "disagreement" if proposals.aim == "disagreement" else "random"
    ids_by_rater: dict[str, list[str]] = {rater: [] for rater in plan.people}
    # A unit's chance is that of both plans together, and these units were drawn from what the first one left.
    chance = 0.0 if focus == "disagreement" else None
    items = []
    for proposal in proposals.proposals:
        transcript, unit = proposal.transcript, proposal.unit
        rated_by = state.raters.get((transcript, unit), set())
        candidates = [rater for rater in plan.people if people[rater] not in rated_by]
        rng.shuffle(candidates)
        candidates.sort(key=lambda rater: len(ids_by_rater[rater]))
        if not candidates:
            continue
        purpose = f"after {plan_hash(plan)} for {proposals.aim}"
        item_id = opaque_id(plan.run, seed, purpose, transcript, unit)
        items.append(PlanItem(id=item_id, transcript=transcript, unit=unit, stratum=0, drawn=focus, chance=chance))
        for rater in candidates[: proposal.raters_wanted]:
            ids_by_rater[rater].append(item_id)
    if not items:
        raise DataError(
            "all raters of the plan have rated all that is proposed",
            where=str(run.path),
            todo="draw a plan with another rater: bedside sample --raters",
        )
    for item_ids in ids_by_rater.values():
        rng.shuffle(item_ids)
    wanted = len(proposals.proposals)
    stratum = Stratum(factors={}, available=len(state.units), wanted=wanted, drawn=len(items))
    return sealed(
        AnnotationPlan(
            mode=plan.mode,
            run=plan.run,
            round=round_of(plan),
            rubrics=plan.rubrics,
            wholes=plan.wholes,
            criteria=point_criteria(run, plan.questions, items),
            lists=linked_lists(run, plan.questions, items),
            raters=plan.people,
            overlap=max(proposal.raters_wanted for proposal in proposals.proposals),
            focus=focus,
            random_share=1.0 if focus == "random" else 0.0,
            seed=seed,
            strata=(stratum,),
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={rater: tuple(item_ids) for rater, item_ids in ids_by_rater.items()},
        )
    )
