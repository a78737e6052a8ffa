"""What people have rated of a plan's units, and what they could rate next."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bedside.analysis.checked_units import Grid, grid_of
from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, round_of
from bedside.annotation.answer_ratings import plan_scales
from bedside.annotation.answer_store import read_store
from bedside.annotation.items import problem
from bedside.core.errors import DataError
from bedside.ratings.names import TRANSCRIPT, rated_by_humans, rated_by_judges, rated_by_juries, unit_name
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.stats.result import Result

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
        f"{judge!r} has rated nothing by {names}"
        if judge is not None
        else f"{len(judges)} judges have rated the run"
    )
    raise DataError(what, where=where, todo=f"name one with `judge`: {', '.join(judges)}")


def half_width(result: Result) -> float | None:
    """Half the width of a result's interval; None where it has none."""
    return None if result.interval is None else (result.interval.high - result.interval.low) / 2
