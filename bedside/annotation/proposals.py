"""What to have rated next, and what it would bring.

- ``kappa``: units that narrow the interval of people's kappa. One more rating of a unit that one person rated makes a
  pair at half the price, so those come first; then units nobody rated, at random.
- ``estimate``: units that narrow the corrected means of the systems most. New units go, one by one, to the system where
  the standard error of the corrected mean shrinks most by its variance formula; which ones is drawn at random, because
  the correction rests on a random sample.
- ``disagreement``: units where judge and people, or people among themselves, are furthest apart: to be settled by
  somebody else, and to learn from. They are no random sample.

What it would bring is the expected half-width of the 95 % interval, by simulation with the library's own intervals: new
units are given ratings like those there are. For kappa, they are drawn from the rated units with all their ratings; for
the corrected mean, they have the judge's rating and an error drawn from the judge's errors so far.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.analysis.agreement import Grid, grid_of
from bedside.analysis.estimation import ALL
from bedside.annotation.answers import current, read_store, scales
from bedside.annotation.items import problem
from bedside.annotation.plan import AnnotationPlan, Focus, PlanItem, Stratum, TrainingItem, plan_hash, sealed
from bedside.annotation.sampling import opaque_id
from bedside.ratings.run import Run
from bedside.stats.result import Result
from bedside.support.errors import DataError

Aim = Literal["kappa", "estimate", "disagreement"]
AIMS: tuple[Aim, ...] = ("kappa", "estimate", "disagreement")
#: Simulated studies behind each expected half-width.
SIMULATIONS = 40
#: Fewer ratings than this say nothing of how they vary.
_FEWEST = 3

_Unit = tuple[str, str]


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
class Gain:
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
    gains: tuple[Gain, ...]
    open: int


def propose(
    run: Run,
    plan: AnnotationPlan,
    *,
    aim: Aim = "kappa",
    count: int = 10,
    judge: str | None = None,
    seed: int = 0,
) -> Proposals:
    """Say which units to have rated next.

    Args:
        run: the run.
        plan: a plan of mode rate, or for kappa codes, whose rubrics are asked about.
        aim: to what end, see above.
        count: how many units.
        judge: for ``estimate`` and ``disagreement``, which judge; the only one unless named.
        seed: of what is drawn at random.

    Raises:
        DataError: a mode that has no kappa, no judge, nobody's ratings, or nothing left to rate.
    """
    if aim not in AIMS:
        raise DataError(f"{aim!r} is not known", where="--aim", todo=f"one of {', '.join(AIMS)}")
    if plan.mode not in ("rate", "codes") or (plan.mode == "codes" and aim != "kappa"):
        raise DataError(
            f"mode {plan.mode} has nothing to propose for {aim}",
            where="the plan",
            todo="give a plan of mode rate (or, for kappa, codes)",
        )
    if count < 1:
        raise DataError(f"{count} units", where="--count", todo="give a number from 1")
    state = _State(run, plan)
    rng = random.Random(f"{seed}:{aim}")
    if aim == "kappa":
        chosen = _for_kappa(state, count, rng)
        gains = _kappa_gains(state, chosen, seed)
    elif aim == "estimate":
        chosen, gains = _for_estimate(state, _judge(state, judge), count, rng, seed)
    else:
        chosen, gains = _for_disagreement(state, _judge(state, judge), count), []
    if not chosen:
        raise DataError("nothing is left to propose", where=str(run.path), todo="see bedside annotate status")
    return Proposals(aim, tuple(chosen), tuple(gains), len(state.open))


class _State:
    """What is rated, and what could be."""

    def __init__(self, run: Run, plan: AnnotationPlan) -> None:
        rubrics = [each.rubric for each in plan.rubrics]
        self.run = run
        self.plan = plan
        self.names = [rubric.name for rubric in rubrics]
        self.scales = scales(plan)
        self.ratings = run.ratings.filter(pl.col("metric").is_in(self.names), pl.col("error").is_null())
        self.people = self.ratings.filter(pl.col("rater").str.starts_with("human:"))
        answered = current(read_store(run, plan))
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
        self.units: list[_Unit] = [
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
        self.raters: dict[_Unit, set[str]] = {}
        unit = pl.lit("transcript") if plan.mode == "codes" else pl.col("unit")
        for transcript, name, rater in (
            self.people.select("transcript_id", unit.alias("unit"), "rater").unique(maintain_order=True).iter_rows()
        ):  # fmt: skip
            self.raters.setdefault((transcript, name), set()).add(rater)

    def have(self, unit: _Unit) -> int:
        """How many people have rated a unit."""
        return len(self.raters.get(unit, ()))

    def proposal(self, unit: _Unit, need: int, why: str) -> RatingProposal:
        return RatingProposal(*unit, self.systems[unit[0]], self.have(unit), need, why)

    def grid(self, metric: str, ratings: pl.DataFrame | None = None) -> Grid:
        table = self.people if ratings is None else ratings
        return grid_of(table.filter(pl.col("metric") == metric))


def _judge(state: _State, judge: str | None) -> str:
    known = sorted(set(state.ratings.filter(pl.col("rater").str.starts_with("judge:"))["rater"]))
    if judge in known:
        return str(judge)
    if judge is None and len(known) == 1:
        return str(known[0])
    what = "no judge has rated it" if not known else f"{len(known)} judges have rated it"
    todo = f"name one with --judge: {', '.join(known)}" if known else "score the run with --judge first"
    raise DataError(what, where=str(state.run.path), todo=todo)


# -- kappa ------------------------------------------------------------------------------------------


def _for_kappa(state: _State, count: int, rng: random.Random) -> list[RatingProposal]:
    half = [unit for unit in state.units if state.have(unit) == 1]
    new = [unit for unit in state.units if state.have(unit) == 0]
    rng.shuffle(half)
    rng.shuffle(new)
    found = [state.proposal(unit, 1, "one person rated it: a second rating makes a pair") for unit in half]
    found += [state.proposal(unit, 2, "nobody rated it") for unit in new]
    return found[:count]


def _kappa_gains(state: _State, chosen: Sequence[RatingProposal], seed: int) -> list[Gain]:
    gains = []
    for metric in state.names:
        table = state.people.filter(pl.col("metric") == metric)
        if table.is_empty() or metric not in state.scales:
            gains.append(Gain(metric, "kappa of people", 0, len(chosen), missing="nobody has rated it"))
            continue
        grid = state.grid(metric)
        rated = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
        cells, members = grid.cells[rated], grid.transcripts[rated]
        groups = list(dict.fromkeys(members))
        if len(groups) < _FEWEST:
            reason = f"two people rated {len(groups)} of it, fewer than {_FEWEST}"
            gains.append(Gain(metric, "kappa of people", len(cells), len(chosen), missing=reason))
            continue
        gains.append(_kappa_gain(state, metric, cells, members, groups, len(chosen), seed))
    return gains


def _kappa_gain(
    state: _State,
    metric: str,
    cells: NDArray[Any],
    members: NDArray[Any],
    groups: Sequence[str],
    added: int,
    seed: int,
) -> Gain:
    scale = state.scales[metric]
    rng = np.random.default_rng(seed)
    by_group = {group: cells[members == group] for group in groups}

    def half_width(rows: NDArray[Any], clusters: NDArray[Any]) -> float | None:
        from bedside.stats import many_raters

        nested = len(set(clusters)) < len(clusters)
        found = many_raters.mean_pairwise_kappa(
            rows, scale=scale.levels, weights="quadratic" if scale.ordered else "unweighted",
            clusters=clusters if nested else None,
        )  # fmt: skip
        return _half_width(found)

    widths = []
    for _ in range(SIMULATIONS):
        drawn = [by_group[groups[position]] for position in rng.integers(len(groups), size=added)]
        clusters = [members, *(np.full(len(rows), f"new {place}") for place, rows in enumerate(drawn))]
        width = half_width(np.concatenate([cells, *drawn]), np.concatenate(clusters))
        if width is not None:
            widths.append(width)
    now = half_width(cells, members)
    after = float(np.mean(widths)) if widths else None
    missing = None if now is not None and after is not None else "kappa has no interval yet"
    return Gain(metric, "kappa of people", len(cells), added, now, after, missing)


def _half_width(result: Result) -> float | None:
    return None if result.interval is None else (result.interval.high - result.interval.low) / 2


# -- corrected means --------------------------------------------------------------------------------


@dataclass(slots=True)
class _System:
    """A system's units by one metric.

    Attributes:
        human, judge: people's mean and the judge's value of the units that both rated.
        rest: the judge's values of the others.
    """

    human: NDArray[Any]
    judge: NDArray[Any]
    rest: NDArray[Any]


def _for_estimate(
    state: _State, judge: str, count: int, rng: random.Random, seed: int
) -> tuple[list[RatingProposal], list[Gain]]:
    values = {
        metric: _by_system(state, judge, metric) for metric in state.names if state.scales[metric].ordered
    }
    if not values:
        raise DataError("no rubric of the plan has levels", where="the plan", todo="aim for kappa")
    free: dict[str, list[_Unit]] = {}
    for unit in state.units:
        if state.have(unit) == 0:
            free.setdefault(state.systems[unit[0]] or ALL, []).append(unit)
    for units in free.values():
        rng.shuffle(units)
    shares = _allocate(values, state.scales, {system: len(units) for system, units in free.items()}, count)
    chosen = [
        state.proposal(unit, 1, f"narrows the corrected mean of {system}")
        for system, number in sorted(shares.items())
        for unit in free[system][:number]
    ]
    gains = [
        _estimate_gain(metric, system, data, shares.get(system, 0), seed)
        for metric, systems in values.items()
        for system, data in sorted(systems.items())
    ]
    return chosen, gains


def _by_system(state: _State, judge: str, metric: str) -> dict[str, _System]:
    table = state.ratings.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
    who = pl.when(pl.col("rater") == judge).then(pl.lit("judge"))
    means = (
        table.with_columns(who.when(pl.col("rater").str.starts_with("human:")).then(pl.lit("people")).alias("who"))
        .drop_nulls("who")
        .group_by("transcript_id", "unit", "who", maintain_order=True)
        .agg(pl.col("value").mean())
    )  # fmt: skip
    said: dict[_Unit, dict[str, float]] = {}
    for transcript, unit, name, value in means.iter_rows():
        said.setdefault((transcript, unit), {})[name] = value
    found: dict[str, tuple[list[float], list[float], list[float]]] = {}
    for key, each in sorted(said.items()):
        if "judge" not in each:
            continue
        human, own, rest = found.setdefault(state.systems[key[0]] or ALL, ([], [], []))
        if "people" in each:
            human.append(each["people"])
            own.append(each["judge"])
        else:
            rest.append(each["judge"])
    return {system: _System(*map(np.array, lists)) for system, lists in found.items()}


def _allocate(
    values: Mapping[str, Mapping[str, _System]],
    known: Mapping[str, Any],
    free: Mapping[str, int],
    count: int,
) -> dict[str, int]:
    """How many of the ``count`` new units each system gets.

    Systems with fewer than three rated units come first, because nothing is known of their variance; then each unit
    goes where it takes most off the standard errors, in parts of the scale, summed over metrics.
    """
    shares = dict.fromkeys(free, 0)
    for _ in range(min(count, sum(free.values()))):
        left = [system for system in sorted(free) if shares[system] < free[system]]
        shares[max(left, key=lambda system: _saving(values, known, system, shares[system]))] += 1
    return {system: number for system, number in shares.items() if number}


def _saving(
    values: Mapping[str, Mapping[str, _System]], known: Mapping[str, Any], system: str, added: int
) -> float:
    total = 0.0
    for metric, systems in values.items():
        if system not in systems:
            continue
        data = systems[system]
        if data.human.size + added < _FEWEST:
            return float("inf")
        if data.human.size < 2 or data.rest.size - added < 3:
            continue
        levels = known[metric].levels
        step = _error(data, added) - _error(data, added + 1)
        total += step / (levels[-1] - levels[0])
    return total


def _error(data: _System, added: int) -> float:
    """Standard error of the corrected mean with ``added`` more units rated, all variances as they are now."""
    from bedside.stats import prediction_powered

    weight = (
        prediction_powered.mean(data.human, data.judge, data.rest, interval="t").details.get("weight") or 0.0
    )
    error = float((data.human - weight * data.judge).var(ddof=1))
    spread = float(data.rest.var(ddof=1))
    variance = weight**2 * spread / (data.rest.size - added) + error / (data.human.size + added)
    return float(np.sqrt(variance))


def _estimate_gain(metric: str, system: str, data: _System, added: int, seed: int) -> Gain:
    from bedside.stats import prediction_powered

    quantity = f"corrected mean of {system}"
    if data.human.size < _FEWEST or data.rest.size < 2:
        reason = (
            f"people rated {data.human.size} of it, fewer than {_FEWEST}"
            if data.human.size < _FEWEST
            else "fewer than two are left that only the judge rated"
        )
        return Gain(metric, quantity, data.human.size, added, missing=reason)
    now = _half_width(prediction_powered.mean(data.human, data.judge, data.rest, interval="t"))
    if added == 0:
        return Gain(
            metric, quantity, data.human.size, 0, now, now, None if now is not None else "no interval"
        )
    if data.rest.size - added < 2:
        reason = "too little would be left that only the judge rated"
        return Gain(metric, quantity, data.human.size, added, now, None, reason)
    rng = np.random.default_rng(seed)
    errors = data.human - data.judge
    widths = []
    for _ in range(SIMULATIONS):
        order = rng.permutation(data.rest.size)
        new, rest = data.rest[order[:added]], data.rest[order[added:]]
        human = np.concatenate([data.human, new + rng.choice(errors, size=added)])
        width = _half_width(
            prediction_powered.mean(human, np.concatenate([data.judge, new]), rest, interval="t")
        )
        if width is not None:
            widths.append(width)
    after = float(np.mean(widths)) if widths else None
    missing = None if now is not None and after is not None else "the ratings don't vary"
    return Gain(metric, quantity, data.human.size, added, now, after, missing)


# -- disagreement -----------------------------------------------------------------------------------


def _for_disagreement(state: _State, judge: str, count: int) -> list[RatingProposal]:
    found: dict[_Unit, tuple[float, str]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    said: dict[tuple[_Unit, str], dict[str, Any]] = {}
    for transcript, unit, metric, rater, value, label in state.ratings.select(columns).iter_rows():
        given = label if label is not None else value
        said.setdefault(((transcript, unit), metric), {}).setdefault(rater, given)
    for (key, metric), by_rater in sorted(said.items()):
        people = [given for rater, given in by_rater.items() if rater.startswith("human:")]
        if not people:
            continue
        for score, why in _apart(metric, people, by_rater.get(judge), judge, state.scales[metric]):
            if score > found.get(key, (0.0, ""))[0]:
                found[key] = (score, why)
    known = set(state.units)
    order = sorted((key for key in found if key in known), key=lambda key: (-found[key][0], key))
    return [state.proposal(key, 1, found[key][1]) for key in order[:count]]


def _apart(metric: str, people: Sequence[Any], own: Any, judge: str, scale: Any) -> list[tuple[float, str]]:
    """How far apart people are, and judge and people, in parts of the scale (labels: 1 where they differ)."""
    if not scale.ordered:
        differ = len(set(people)) > 1
        off = own is not None and own not in people
        return [
            (float(differ), f"people differ on {metric}"),
            (float(off), f"{judge} differs from people on {metric}"),
        ]
    width = scale.levels[-1] - scale.levels[0]
    middle = float(np.median(people))
    spread = (max(people) - min(people)) / width
    found = [(spread, f"people gave {min(people):g} to {max(people):g} on {metric}")]
    if own is not None:
        found.append((abs(own - middle) / width, f"{judge} gave {own:g} on {metric}, people {middle:g}"))
    return found


# -- a plan of it -------------------------------------------------------------------------------------


def follow_up(run: Run, plan: AnnotationPlan, found: Proposals, seed: int = 0) -> AnnotationPlan:
    """A plan of the proposed units by the raters and rubrics of an earlier one.

    Nobody gets a unit they have rated: each goes to those with the least to do of the others.

    Raises:
        DataError: everybody has rated all of it.
    """
    state = _State(run, plan)
    rng = random.Random(f"{seed}:follow-up")
    focus: Focus = "disagreement" if found.aim == "disagreement" else "random"
    own: dict[str, list[str]] = {rater: [] for rater in plan.raters}
    items = []
    for each in found.proposals:
        rated = state.raters.get((each.transcript, each.unit), set())
        others = [rater for rater in plan.raters if f"human:{rater}" not in rated]
        rng.shuffle(others)
        others.sort(key=lambda rater: len(own[rater]))
        if not others:
            continue
        name = opaque_id(
            plan.run, seed, f"after {plan_hash(plan)} for {found.aim}", each.transcript, each.unit
        )
        items.append(PlanItem(id=name, transcript=each.transcript, unit=each.unit, stratum=0, drawn=focus))
        for rater in others[: each.need]:
            own[rater].append(name)
    if not items:
        raise DataError(
            "all raters of the plan have rated all that is proposed",
            where=str(run.path),
            todo="draw a plan with another rater: bedside sample --raters",
        )
    for mine in own.values():
        rng.shuffle(mine)
    stratum = Stratum(factors={}, available=len(state.units), wanted=len(found.proposals), drawn=len(items))
    return sealed(
        AnnotationPlan(
            mode=plan.mode,
            run=plan.run,
            rubrics=plan.rubrics,
            raters=plan.raters,
            overlap=max(each.need for each in found.proposals),
            focus=focus,
            random_share=1.0 if focus == "random" else 0.0,
            seed=seed,
            strata=(stratum,),
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={rater: tuple(mine) for rater, mine in own.items()},
        )
    )
