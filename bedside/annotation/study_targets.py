"""Rate until it is enough: targets such as ``kappa±.10, mean±.2``, how near a study is, and when it may stop.

It may stop at the first look at which every target is reached: half of its 95 % interval is within the target with a
few unseen items in the variance (:mod:`bedside.stats.fixed_width`). The interval itself is the usual one, and holds the
truth as often at that look as in a study of fixed size (``benchmarks/stopping_rule.py``). For that, items must come in
random order, as those of a plan do: of easy ones first, the numbers would be of easy items.

Only whole items count, all of whose ratings are in, so that who is quick decides nothing. The numbers are those that
``agree`` and ``estimate`` (people alone) make of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from bedside.analysis.agreement import agree, agreement_sample
from bedside.analysis.checked_units import drawn_ratings, grid_of
from bedside.analysis.estimation import is_share, people_samples
from bedside.analysis.fresh_view import linked_view
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem, round_of
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.plan_file import read_plan
from bedside.annotation.plan_progress import plan_metrics, plan_view
from bedside.annotation.reassignment import as_assigned
from bedside.core.errors import DataError, InputError, one_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.ratings.names import TRANSCRIPT, judge_rater, rated_by_humans
from bedside.ratings.rubric_metrics import adjudicated_metric
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.stats.many_raters import FEWEST_SHARED
from bedside.stats.result import Interval, Result

#: What a target can be of: agreement of people as kappa or alpha, or people's mean of each system.
Statistic = Literal["kappa", "alpha", "mean"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
_TARGET = re.compile(r"(?:(?P<metric>\S+)\s+)?(?P<statistic>[^\W\d_]+)\s*(?:±|\+/?-)\s*(?P<number>\d*\.?\d+)")
_LETTERS = {"κ": "kappa", "α": "alpha"}
_EXAMPLE = "write it as kappa±.10, mean±.2, or empathy kappa±.1"


@dataclass(frozen=True, slots=True)
class Target:
    """How precise a statistic is to be.

    Attributes:
        statistic, metric: which, and of which metric; None for all metrics that it can be said of.
        half_width: half the width of its 95 % interval at most: of a mean in the unit of its metric.
    """

    statistic: Statistic
    half_width: float
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class TargetState:
    """How near a target is, by the whole items.

    Attributes:
        target: what is asked for.
        metric, system: of which metric, and of a mean of which system; None without systems.
        statistic: what is looked at: alpha in place of kappa where two raters of the plan share too few items.
        estimate, interval, half_width: with the 95 % interval; None where there is none yet, and ``note`` says why.
        reached: whether the study may stop as far as this target goes.
        items, of: whole items that count, and items of the plan that would.
        more: ratings expected until the target is reached, or the plan ends; 0 where it is reached, None where nothing
            is known yet.
        at_end: the half-width that is expected where the plan ends before the target is reached; else None.
        note: what a reader must know, as sentences; empty where that is nothing.
    """

    target: Target
    metric: str
    system: str | None
    statistic: Statistic
    estimate: float | None = None
    interval: Interval | None = None
    half_width: float | None = None
    reached: bool = False
    items: int = 0
    of: int = 0
    more: int | None = None
    at_end: float | None = None
    note: str = ""


def read_targets(text: str) -> tuple[Target, ...]:
    """The targets that a text names, such as ``kappa±.10, mean±.2`` or ``empathy kappa±.1``; ``+-`` is read as ``±``.

    Raises:
        InputError: it names none, one twice, or one that can't be read.
    """
    targets: list[Target] = []
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", text))):
        read = _TARGET.fullmatch(part)
        if read is None or re.search("[±+]", read["metric"] or ""):
            raise InputError(f"{part!r} is no target", where="`until`", todo=_EXAMPLE)
        named = _LETTERS.get(read["statistic"], read["statistic"].casefold())
        one_of(named, STATISTICS, "statistic", InputError, where="`until`")
        (statistic,), half_width = (name for name in STATISTICS if name == named), float(read["number"])
        if half_width <= 0 or (statistic != "mean" and half_width >= 1):
            raise InputError(f"±{half_width:g} is no half-width of {statistic}", where="`until`", todo=_EXAMPLE)
        targets.append(Target(statistic, half_width, read["metric"]))
    named = Counter((target.metric, target.statistic) for target in targets)
    if not targets or max(named.values()) > 1:
        raise InputError("a target is there twice" if targets else "no target is named", where="`until`", todo=_EXAMPLE)
    return tuple(targets)


def target_states(
    run: Run, plan: AnnotationPlan, targets: Sequence[Target], *, seed: int = 0
) -> tuple[TargetState, ...]:
    """How near the targets are by the answers in the run, in their order; of a mean, one for each system.

    The study may stop once all of them are reached.

    Args:
        run: the run.
        plan: its plan, as it was drawn or as it is assigned now.
        targets: what is asked for.
        seed: of intervals that are drawn at random, as ``agree`` takes it.

    Raises:
        InputError: the plan asks nothing that a target could be of.
        RunError: the run can't be read.
    """
    study = _study(run, plan)
    states: list[TargetState] = []
    for target in targets:
        for metric in _metrics_of(study, target):
            mean = target.statistic == "mean"
            states += _of_mean(study, target, metric) if mean else [_of_agreement(study, target, metric, seed)]
    return tuple(states)


@dataclass(frozen=True, slots=True)
class _Study:
    """A plan as it was drawn, with people's ratings of whole items; those of its items that count (no second showings,
    and none that were picked where others were drawn), with how many ratings each is to have, and others have."""

    plan: AnnotationPlan
    view: RatingsView
    items: Sequence[PlanItem]
    wanted: dict[str, int]
    whole: Collection[str]
    begun: dict[str, int]


def _study(run: Run, plan: AnnotationPlan) -> _Study:
    stored = plan_folder(run, plan) / "plan.json"
    drawn = read_plan(stored) if stored.is_file() else plan
    now = as_assigned(run, drawn)
    items = [item for item in drawn.items if item.replicate == 0]
    items = [item for item in items if item.chance != 0] or items
    wanted = {item.id: max(drawn.overlap, len(drawn.raters_of.get(item.id, ()))) for item in items}
    answers = read_store(run, now).answers()
    came = Counter(item for item, _ in answers)
    whole = {item.id for item in items if came[item.id] >= wanted[item.id]}
    view = plan_view(run, now, {key: answer for key, answer in answers.items() if key[0] in whole})
    units = [(item.transcript, item.unit) for item in items if item.id in whole]
    rows = pl.DataFrame(units, schema={"transcript_id": pl.String(), "unit": pl.String()}, orient="row")
    on = ["transcript_id"] if drawn.mode == "codes" else ["transcript_id", "unit"]
    ratings = view.ratings.filter(rated_by_humans()).join(rows, on=on, how="semi", maintain_order="left")
    begun = {item.id: came[item.id] for item in items if item.id not in whole}
    return _Study(drawn, replace(view, ratings=ratings), items, wanted, whole, begun)


def _metrics_of(study: _Study, target: Target) -> list[str]:
    """The metrics that a target is of; InputError where there are none."""
    plan, scales = study.plan, study.view.scales
    asked = [] if plan.mode in ("audit", "adjudicate") else plan_metrics(plan)
    if target.statistic == "mean":
        of_wholes = plan.mode in ("rate", "findings") and all(item.unit == TRANSCRIPT for item in plan.items)
        asked = [name for name in asked if of_wholes and (name not in scales or scales[name].numeric)]
    elif max(study.wanted.values(), default=0) < 2:
        todo = "draw a plan with `overlap=2`, or name a mean"
        raise InputError("no item of the plan has two raters", where="`until`", todo=todo)
    elif target.statistic == "kappa":
        links = {rubric.name for rubric in plan.questions if rubric.kind in LINKED_KINDS}
        asked = [name for name in asked if name in scales or name in links]
    names = [name for name in asked if target.metric in (None, name)]
    if not names:
        what = f"no {target.statistic}{' of ' + target.metric if target.metric else ''} can be said of this plan"
        raise InputError(what, where="`until`", todo=f"there is one of {', '.join(asked)}" if asked else _EXAMPLE)
    return names


def _of_agreement(study: _Study, target: Target, metric: str, seed: int) -> TargetState:
    items, shown, note = [item for item in study.items if study.wanted[item.id] > 1], target.statistic, ""
    raters, pairs = len(study.plan.raters), sum(wanted * (wanted - 1) for wanted in study.wanted.values())
    if shown == "kappa" and pairs / (raters * (raters - 1)) < min(FEWEST_SHARED, len(items) / 2):
        shown, note = "alpha", "Two raters share too few items for a kappa of their own: alpha counts in its place."
    try:
        rows = agree(study.view, metrics=[metric], seed=seed)
    except DataError:
        rows = ()
    people = next((row for row in rows if row.kind == "people" and not row.is_any_or_none), None)
    result = None if people is None else people.statistics.get(shown)
    unseen = 0.0 if result is None else _unseen(study.view, metric, shown, result)
    return _state(study, target, TargetState(target, metric, None, shown, note=note), result, unseen, items)


def _unseen(view: RatingsView, metric: str, shown: Statistic, result: Result) -> float:
    """The variance of unseen items, of the ratings that the result is of."""
    from bedside.stats import fixed_width

    of_metric = linked_view(view).ratings.filter(pl.col("metric") == metric, pl.col("error").is_null())
    ratings, picked = drawn_ratings(of_metric)
    grid = grid_of(ratings)
    counted = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
    cells, options = grid.cells[counted], result.options
    if shown == "alpha":
        return fixed_width.unseen_in_alpha(cells, metric=options["metric"], scale=options["scale"])
    clusters = agreement_sample(view, ratings, grid, picked).clusters(counted)
    return fixed_width.unseen_in_kappa(cells, scale=options["scale"], weights=options["weights"], clusters=clusters)


def _of_mean(study: _Study, target: Target, metric: str) -> list[TargetState]:
    """A state for each system: people's mean as ``estimate`` has it, beside what is unseen."""
    from bedside.stats.fixed_width import unseen_in_mean
    from bedside.stats.stratified_means import mean

    assert study.view.run is not None
    origins = study.view.run.index.select("id", "system", "case_id").rows()
    # People's sample is told of what a judge rated, of whom nothing else is taken.
    nobody = judge_rater("nobody")
    zeros = frame_of([(*origin, TRANSCRIPT, metric, nobody, 0, 0.0, None, None, None) for origin in origins])
    view = replace(study.view, ratings=pl.concat([study.view.ratings, zeros]))
    of_system: dict[str, list[PlanItem]] = {}
    systems = {name: system or ALL for name, system, _ in origins}
    for item in study.items:
        of_system.setdefault(systems[item.transcript], []).append(item)
    final = study.view.run.ratings.filter(metric=adjudicated_metric(metric), round=round_of(study.plan)).height
    note = "A mean of raters' own answers: final labels are not in it." if final else ""
    share, states = is_share(view, metric, nobody), []
    samples = people_samples(view, metric, nobody, sorted(of_system))
    for system, items in sorted(of_system.items()):
        of_one = None if system == ALL else system
        state, result, unseen = TargetState(target, metric, of_one, "mean", note=note), None, 0.0
        if system in samples:
            sample, ends = samples[system], (0.0, 1.0) if share else view.value_ends(metric)
            result = mean(sample.units, ratings="people", share=share, scale=ends)
            if sample.undrawn is not None:
                result = replace(result, estimate=None, interval=None, missing=sample.undrawn)
            if result.estimate is not None:
                rated = sample.units.human[sample.units.labelled]
                ends = ends or (float(rated.min()), float(rated.max()))
                unseen = unseen_in_mean(sample.units, ends)
        states.append(_state(study, target, state, result, unseen, items))
    return states


def _state(
    study: _Study, target: Target, state: TargetState, result: Result | None, unseen: float, items: Sequence[PlanItem]
) -> TargetState:
    """The state with the numbers, and whether it is enough."""
    from bedside.stats.fixed_width import reach

    whole, of = sum(item.id in study.whole for item in items), len(items)
    state = replace(state, items=whole, of=of)
    widest = None if result is None else reach(result, unseen)
    if result is None or result.interval is None or widest is None:
        why = "no item has all of its ratings yet" if result is None else result.missing or "no interval yet"
        estimate = None if result is None else result.estimate
        return replace(state, estimate=estimate, note=f"{state.note} {why[0].upper()}{why[1:]}.".strip())
    half_width = (result.interval.high - result.interval.low) / 2
    state = replace(state, estimate=result.estimate, interval=result.interval, half_width=half_width)
    if widest <= target.half_width:
        return replace(state, reached=True, more=0)
    needed = whole * (widest / target.half_width) ** 2
    wanted = sum(study.wanted[item.id] for item in items) * (min(needed, of) - whole) / of
    more = max(int(np.ceil(wanted - 1e-9)) - sum(study.begun.get(item.id, 0) for item in items), int(whole < of))
    if needed <= of:
        return replace(state, more=more)
    at_end = half_width * float(np.sqrt(whole / of))
    note = f"{state.note} The plan ends with {state.statistic} ± {at_end:.2f}.".strip()
    return replace(state, more=more, at_end=at_end, note=note)
