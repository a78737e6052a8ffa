"""What people have rated of a plan's units, and what they could rate next."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bedside.analysis.grid import Grid, grid_of
from bedside.annotation.annotation_plan import AnnotationPlan, TrainingItem
from bedside.annotation.answer_ratings import plan_scales
from bedside.annotation.answer_store import latest_answers, read_store
from bedside.annotation.items import problem
from bedside.ratings.run import Run
from bedside.stats.result import Result
from bedside.support.errors import DataError

#: Simulated studies behind each expected half-width.
SIMULATIONS = 40


#: Fewer ratings than this say nothing of how they vary.
FEWEST = 3


RatedUnit = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RatingProposal:
    """A unit to be rated next.

    Attributes:
        transcript, unit: what.
        system: of the transcript, where it has one.
        have: people who have rated it.
        need: how many more are wanted.
        why: in words.
    """

    transcript: str
    unit: str
    system: str | None
    have: int
    need: int
    why: str


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """What the proposed ratings would bring to one number.

    Attributes:
        metric: what is rated.
        quantity: ``kappa of people``, or the corrected mean of a system.
        units: units it rests on now.
        added: units that would be added.
        now, after: half-width of its 95 % interval, now and expected; None where it can't be said.
        missing: why not.
    """

    metric: str
    quantity: str
    units: int
    added: int
    now: float | None = None
    after: float | None = None
    missing: str | None = None


class RatingState:
    """What is rated, and what could be."""

    def __init__(self, run: Run, plan: AnnotationPlan) -> None:
        rubrics = [each.rubric for each in plan.rubrics]
        self.run = run
        self.plan = plan
        self.names = [rubric.name for rubric in rubrics]
        self.scales = plan_scales(plan)
        self.ratings = run.ratings.filter(pl.col("metric").is_in(self.names), pl.col("error").is_null())
        self.people = self.ratings.filter(pl.col("rater").str.starts_with("human:"))
        answered = latest_answers(read_store(run, plan))
        self.open = [
            (name, rater)
            for rater, order in plan.assignment.items()
            for name in order
            if (name, rater) not in answered and not isinstance(plan.by_id[name], TrainingItem)
        ]
        waiting = {
            (item.transcript, item.unit) for item in plan.items if item.id in {n for n, _ in self.open}
        }
        turns = plan.mode == "rate" and rubrics[0].unit == "turn"
        training = {(item.transcript, item.unit) for item in plan.training if item.content is None}
        self.systems = dict(run.index.select("id", "system").iter_rows())
        self.units: list[RatedUnit] = [
            (transcript.id, unit)
            for transcript in sorted(run.transcripts(), key=lambda transcript: transcript.id)
            if problem(rubrics, transcript) is None
            for unit in (
                [f"turn:{turn.index}" for turn in transcript.turns if turn.role == rubrics[0].role]
                if turns
                else ["transcript"]
            )
            if (transcript.id, unit) not in waiting | training
        ]
        self.raters: dict[RatedUnit, set[str]] = {}
        unit = pl.lit("transcript") if plan.mode == "codes" else pl.col("unit")
        for transcript, name, rater in (
            self.people.select("transcript_id", unit.alias("unit"), "rater").unique(maintain_order=True).iter_rows()
        ):  # fmt: skip
            self.raters.setdefault((transcript, name), set()).add(rater)

    def have(self, unit: RatedUnit) -> int:
        """How many people have rated a unit."""
        return len(self.raters.get(unit, ()))

    def proposal(self, unit: RatedUnit, need: int, why: str) -> RatingProposal:
        return RatingProposal(*unit, self.systems[unit[0]], self.have(unit), need, why)

    def grid(self, metric: str, ratings: pl.DataFrame | None = None) -> Grid:
        table = self.people if ratings is None else ratings
        return grid_of(table.filter(pl.col("metric") == metric))


def chosen_judge(state: RatingState, judge: str | None) -> str:
    known = sorted(set(state.ratings.filter(pl.col("rater").str.starts_with("judge:"))["rater"]))
    if judge in known:
        return str(judge)
    if judge is None and len(known) == 1:
        return str(known[0])
    what = "no judge has rated it" if not known else f"{len(known)} judges have rated it"
    todo = f"name one with --judge: {', '.join(known)}" if known else "score the run with --judge first"
    raise DataError(what, where=str(state.run.path), todo=todo)


def half_width(result: Result) -> float | None:
    return None if result.interval is None else (result.interval.high - result.interval.low) / 2
