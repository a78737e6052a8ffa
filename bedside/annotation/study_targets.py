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

from bedside.analysis.agreement import agree
from bedside.analysis.checked_units import drawn_ratings, grid_of
from bedside.analysis.estimation import PeopleSample, is_share, people_samples
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.plan_file import read_plan
from bedside.annotation.plan_progress import plan_metrics, plan_view
from bedside.annotation.reassignment import as_assigned
from bedside.core.errors import InputError, one_of
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.run import Run
from bedside.stats.many_raters import FEWEST_SHARED
from bedside.stats.result import Interval, Result

#: What a target can be of: agreement of people as kappa or alpha, or people's mean of each system.
Statistic = Literal["kappa", "alpha", "mean"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
_TARGET = re.compile(r"(?:(?P<metric>\S+)\s+)?(?P<statistic>[a-z]+)\s*(?:±|\+/?-)\s*(?P<number>\d*\.?\d+)")
_EXAMPLE = "write it as kappa±.10, mean±.2, or empathy kappa±.1"
#: Who stands in for a judge where people's mean alone is asked for, which takes nothing of what a judge says.
_NOBODY = "judge:nobody"


@dataclass(frozen=True, slots=True)
class Target:
    """How precise a statistic is to be.

    Attributes:
        statistic: which.
        half_width: half the width of its 95 % interval at most: of a mean in the unit of its metric.
        metric: of which metric; None for all metrics that it can be said of.
    """

    statistic: Statistic
    half_width: float
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class TargetState:
    """How near a target is, by the whole items.

    Attributes:
        target: what is asked for.
        metric: of this metric.
        system: of a mean, the system whose it is; None without systems.
        statistic: what is looked at: alpha in place of kappa where two raters of the plan share too few items.
        estimate, interval: with the 95 % interval; None where there is none yet, and ``note`` says why.
        half_width: half the interval's width.
        reached: whether the study may stop as far as this target goes.
        items: whole items that count.
        of: items of the plan that would.
        more: ratings that are still expected until the target is reached, or the plan ends; 0 where it is reached, None
            where nothing is known yet.
        at_end: half of the width that is expected where the plan ends before the target is reached; else None.
        note: what a reader must know, as sentences; empty where that is nothing.
    """

    target: Target
    metric: str
    system: str | None
    statistic: Statistic
    estimate: float | None
    interval: Interval | None
    half_width: float | None
    reached: bool
    items: int
    of: int
    more: int | None
    at_end: float | None
    note: str = ""


def read_targets(text: str) -> tuple[Target, ...]:
    """The targets that a text names, such as ``kappa±.10, mean±.2`` or ``empathy kappa±.1``; ``+-`` is read as ``±``.

    Raises:
        InputError: it names none, one twice, or one that can't be read.
    """
    targets: list[Target] = []
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", text))):
        read = _TARGET.fullmatch(part)
        if read is None:
            raise InputError(f"{part!r} is no target", where="`until`", todo=_EXAMPLE)
        statistic, half_width = read["statistic"], float(read["number"])
        one_of(statistic, STATISTICS, "statistic", InputError, where="`until`")
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
        metrics = _metrics_of(study, target)
        for metric in metrics:
            of_target = _of_mean(study, target, metric) if target.statistic == "mean" else None
            states += of_target if of_target is not None else [_of_agreement(study, target, metric, seed)]
    return tuple(states)


@dataclass(frozen=True, slots=True)
class _Study:
    """A plan with what came of it.

    Attributes:
        plan: as it was drawn.
        view: people's ratings of whole items.
        items: those of the plan that count: no second showings, and none that were picked where others were drawn.
        wanted: item → how many ratings it is to have.
        whole: items that have them.
        begun: ratings of the others, by item.
    """

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
    """The metrics that a target is of.

    Raises:
        InputError: there are none.
    """
    plan, scales = study.plan, study.view.scales
    names = [name for name in plan_metrics(plan) if target.metric is None or name == target.metric]
    if target.metric is not None and not names:
        known = ", ".join(plan_metrics(plan))
        raise InputError(f"{target.metric} is not asked by the plan", where="`until`", todo=f"it asks {known}")
    if target.statistic == "mean":
        of_wholes = plan.mode in ("rate", "findings") and all(item.unit == TRANSCRIPT for item in plan.items)
        names = [name for name in names if of_wholes and (name not in scales or scales[name].numeric)]
    elif target.statistic == "kappa":
        names = [name for name in names if name in scales]
    if target.statistic != "mean" and max(study.wanted.values(), default=0) < 2:
        raise InputError(
            "no item of the plan has two raters, so that their agreement is not known", where="`until`",
            todo="draw a plan with `overlap=2`, or name a mean",
        )  # fmt: skip
    if not names or plan.mode in ("audit", "adjudicate"):
        raise InputError(f"no {target.statistic} can be said of what the plan asks", where="`until`", todo=_EXAMPLE)
    return names


# -- Agreement ------------------------------------------------------------------------------------------


def _of_agreement(study: _Study, target: Target, metric: str, seed: int) -> TargetState:
    from bedside.core.errors import DataError
    from bedside.stats import fixed_width

    shown: Statistic = target.statistic
    note = ""
    if shown == "kappa" and _shared(study) < FEWEST_SHARED:
        shown = "alpha"
        note = "Two raters share too few items for a kappa of their own: alpha counts in its place."
    counted = [item for item in study.items if study.wanted[item.id] > 1]
    whole = sum(item.id in study.whole for item in counted)
    result, unseen = None, 0.0
    try:
        rows = agree(study.view, metrics=[metric], seed=seed) if whole else ()
    except DataError:
        rows = ()
    people = next((row for row in rows if row.kind == "people" and not row.is_any_or_none), None)
    if people is not None:
        result = people.statistics[shown]
        ratings, _ = drawn_ratings(study.view.ratings.filter(pl.col("metric") == metric, pl.col("error").is_null()))
        cells = grid_of(ratings).cells
        if shown == "kappa":
            unseen = fixed_width.unseen_in_kappa(
                cells, scale=result.options["scale"], weights=result.options["weights"]
            )
        else:
            unseen = fixed_width.unseen_in_alpha(cells, metric=result.options["metric"], scale=result.options["scale"])
    return _state(study, target, metric, None, shown, result, unseen, counted, note)


def _shared(study: _Study) -> float:
    """How many items two raters of the plan share on average, or half of its items where that is less."""
    pairs = sum(wanted * (wanted - 1) / 2 for wanted in study.wanted.values())
    raters = len(study.plan.raters)
    shared = pairs / max(raters * (raters - 1) / 2, 1)
    return FEWEST_SHARED if shared >= len(study.items) / 2 else shared


# -- Means ----------------------------------------------------------------------------------------------


def _of_mean(study: _Study, target: Target, metric: str) -> list[TargetState]:
    """A state for each system of the plan."""
    run = study.view.run
    assert run is not None
    systems = {name: system or ALL for name, system in run.index.select("id", "system").iter_rows()}
    by_system: dict[str, list[PlanItem]] = {}
    for item in study.items:
        by_system.setdefault(systems[item.transcript], []).append(item)
    view = _beside_nobody(study.view, metric)
    samples = people_samples(view, metric, _NOBODY, sorted(by_system))
    share = is_share(view, metric, _NOBODY)
    states = []
    for system, items in sorted(by_system.items()):
        sample = samples.get(system)
        result, unseen = (None, 0.0) if sample is None else _mean(study.view, metric, sample, share)
        states.append(
            _state(study, target, metric, None if system == ALL else system, "mean", result, unseen, items, "")
        )
    return states


def _beside_nobody(view: RatingsView, metric: str) -> RatingsView:
    """The view with a judge who gives 0 to every transcript: people's sample is told of what a judge rated."""
    run = view.run
    assert run is not None
    zeros = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id").with_columns(
        pl.lit(TRANSCRIPT).alias("unit"), pl.lit(metric).alias("metric"), pl.lit(_NOBODY).alias("rater"),
        pl.lit(0, dtype=view.ratings.schema["replicate"]).alias("replicate"), pl.lit(0.0).alias("value"),
    )  # fmt: skip
    return replace(view, ratings=pl.concat([view.ratings, zeros], how="diagonal"))


def _mean(view: RatingsView, metric: str, sample: PeopleSample, share: bool) -> tuple[Result, float]:
    """People's mean as ``estimate`` has it, and the variance of two unseen cases, one at each end of its scale."""
    from bedside.stats.confidence_sequences import error_with_unseen
    from bedside.stats.stratified_means import mean

    ends = (0.0, 1.0) if share else view.value_ends(metric)
    result = mean(sample.units, ratings="people", share=share, scale=ends)
    if sample.undrawn is not None:
        return replace(result, estimate=None, interval=None, missing=sample.undrawn), 0.0
    if result.estimate is None:
        return result, 0.0
    if ends is None:
        rated = sample.units.human[sample.units.labelled]
        ends = float(rated.min()), float(rated.max())
    return result, error_with_unseen(None, [result.estimate], [len(sample.labelled_cases)], ends) ** 2


# -- Whether it is enough -------------------------------------------------------------------------------


def _state(
    study: _Study, target: Target, metric: str, system: str | None, statistic: Statistic, result: Result | None,
    unseen: float, counted: Sequence[PlanItem], note: str,
) -> TargetState:  # fmt: skip
    from bedside.stats.fixed_width import items_needed, reach

    whole, of = sum(item.id in study.whole for item in counted), len(counted)
    interval = None if result is None else result.interval
    state = TargetState(
        target, metric, system, statistic, None if result is None else result.estimate, interval,
        None if interval is None else (interval.high - interval.low) / 2,
        False, whole, of, None, None, note,
    )  # fmt: skip
    widest = None if result is None else reach(result, unseen)
    if widest is None or state.half_width is None:
        why = "no item has all of its ratings yet" if result is None else result.missing or "no interval yet"
        return replace(state, note=" ".join(filter(None, (note, f"{why[0].upper()}{why[1:]}."))))
    if widest <= target.half_width:
        return replace(state, reached=True, more=0)
    needed = items_needed(widest, whole, target.half_width)
    planned = sum(study.wanted[item.id] for item in counted)
    more = (min(needed, of) - whole) * planned / of - sum(study.begun.get(item.id, 0) for item in counted)
    at_end = state.half_width * float(np.sqrt(whole / of)) if needed > of else None
    if at_end is not None:
        ends = f"The plan ends with {statistic} ± {at_end:.2f}."
        state = replace(state, note=" ".join(filter(None, (note, ends))))
    return replace(state, more=max(int(np.ceil(more)), 1 if whole < of else 0), at_end=at_end)
