"""Units that narrow the corrected means of the systems."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.analysis.ratings_view import ALL
from bedside.annotation.rating_state import (
    FEWEST,
    SIMULATIONS,
    ExpectedGain,
    RatedUnit,
    RatingProposal,
    RatingState,
    half_width,
)
from bedside.ratings.names import rated_by_humans
from bedside.ratings.scales import Scale
from bedside.support.errors import DataError


@dataclass(slots=True)
class CorrectedUnits:
    """A system's units by one metric.

    Attributes:
        human, judge: people's mean and the judge's value of the units that both rated.
        judge_alone: the judge's values of the others.
    """

    human: NDArray[Any]
    judge: NDArray[Any]
    judge_alone: NDArray[Any]


def mean_proposals(
    state: RatingState, judge: str, count: int, rng: random.Random, seed: int
) -> tuple[list[RatingProposal], list[ExpectedGain]]:
    """The units to rate next, and what their ratings would bring.

    Args:
        state: what is rated, and what could be.
        judge: whose ratings are corrected.
        count: how many units.
        rng: what they are drawn with.
        seed: of the simulations.

    Raises:
        DataError: no rubric of the plan has levels.
    """
    values = {
        metric: _by_system(state, judge, metric) for metric in state.metrics if state.scales[metric].ordered
    }
    if not values:
        raise DataError("no rubric of the plan has levels", where="the plan", todo="choose `aim=kappa`")
    free: dict[str, list[RatedUnit]] = {}
    for unit in state.units:
        if state.rated_by(unit) == 0:
            free.setdefault(state.systems[unit[0]] or ALL, []).append(unit)
    for units in free.values():
        rng.shuffle(units)
    shares = _allocate(values, state.scales, {system: len(units) for system, units in free.items()}, count)
    chosen = [
        state.proposal(unit, 1, f"narrows the corrected mean of {system}", chance=share / len(free[system]))
        for system, share in sorted(shares.items())
        for unit in free[system][:share]
    ]
    gains = [
        _estimate_gain(metric, system, data, shares.get(system, 0), seed)
        for metric, systems in values.items()
        for system, data in sorted(systems.items())
    ]
    return chosen, gains


def _by_system(state: RatingState, judge: str, metric: str) -> dict[str, CorrectedUnits]:
    table = state.ratings.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
    who = pl.when(pl.col("rater") == judge).then(pl.lit("judge"))
    means = (
        table.with_columns(who.when(rated_by_humans()).then(pl.lit("people")).alias("who"))
        .drop_nulls("who")
        .group_by("transcript_id", "unit", "who", maintain_order=True)
        .agg(pl.col("value").mean())
    )
    means_by_unit: dict[RatedUnit, dict[str, float]] = {}
    for transcript, unit, name, value in means.iter_rows():
        means_by_unit.setdefault((transcript, unit), {})[name] = value
    by_system: dict[str, tuple[list[float], list[float], list[float]]] = {}
    for (transcript, _), unit_means in sorted(means_by_unit.items()):
        if "judge" not in unit_means:
            continue
        human, judged, judged_alone = by_system.setdefault(state.systems[transcript] or ALL, ([], [], []))
        if "people" in unit_means:
            human.append(unit_means["people"])
            judged.append(unit_means["judge"])
        else:
            judged_alone.append(unit_means["judge"])
    return {system: CorrectedUnits(*map(np.array, lists)) for system, lists in by_system.items()}


def _allocate(
    values: Mapping[str, Mapping[str, CorrectedUnits]],
    scales: Mapping[str, Scale],
    free: Mapping[str, int],
    count: int,
) -> dict[str, int]:
    """How many of the ``count`` new units each system gets.

    Systems with fewer than three rated units come first, because nothing is known of their variance; then each unit
    goes where it takes most off the standard errors, in parts of the scale, summed over metrics.
    """
    shares = dict.fromkeys(free, 0)
    for _ in range(min(count, sum(free.values()))):
        systems = [system for system in sorted(free) if shares[system] < free[system]]
        shares[max(systems, key=lambda system: _saving(values, scales, system, shares[system]))] += 1
    return {system: share for system, share in shares.items() if share}


def _saving(
    values: Mapping[str, Mapping[str, CorrectedUnits]], scales: Mapping[str, Scale], system: str, added: int
) -> float:
    """What one more unit of a system takes off its standard errors, where ``added`` are added already."""
    total = 0.0
    for metric, systems in values.items():
        if system not in systems:
            continue
        data = systems[system]
        if data.human.size + added < FEWEST:
            return float("inf")
        if data.human.size < 2 or data.judge_alone.size - added < 3:
            continue
        levels = [float(level) for level in scales[metric].levels]
        step = _error(data, added) - _error(data, added + 1)
        total += step / (levels[-1] - levels[0])
    return total


def _error(data: CorrectedUnits, added: int) -> float:
    """Standard error of the corrected mean with ``added`` more units rated, all variances as they are now."""
    from bedside.stats import prediction_powered

    weight = (
        prediction_powered.mean(data.human, data.judge, data.judge_alone, interval="t").details.get("weight")
        or 0.0
    )
    error = float((data.human - weight * data.judge).var(ddof=1))
    spread = float(data.judge_alone.var(ddof=1))
    variance = weight**2 * spread / (data.judge_alone.size - added) + error / (data.human.size + added)
    return float(np.sqrt(variance))


def _estimate_gain(metric: str, system: str, data: CorrectedUnits, added: int, seed: int) -> ExpectedGain:
    from bedside.stats import prediction_powered

    quantity = f"corrected mean of {system}"
    if data.human.size < FEWEST or data.judge_alone.size < 2:
        reason = (
            f"people rated {data.human.size} of it, fewer than {FEWEST}"
            if data.human.size < FEWEST
            else "fewer than two are left that only the judge rated"
        )
        return ExpectedGain(metric, quantity, data.human.size, added, missing=reason)
    now = half_width(prediction_powered.mean(data.human, data.judge, data.judge_alone, interval="t"))
    if added == 0:
        return ExpectedGain(
            metric, quantity, data.human.size, 0, now, now, None if now is not None else "no interval"
        )
    if data.judge_alone.size - added < 2:
        reason = "too little would be left that only the judge rated"
        return ExpectedGain(metric, quantity, data.human.size, added, now, None, reason)
    rng = np.random.default_rng(seed)
    # People's mean as it goes with the judge's value, and how far it lies off that.
    slope = float(np.polyfit(data.judge, data.human, 1)[0]) if np.ptp(data.judge) else 0.0
    distances = data.human - slope * data.judge
    widths = []
    for _ in range(SIMULATIONS):
        order = rng.permutation(data.judge_alone.size)
        new, judged_alone = data.judge_alone[order[:added]], data.judge_alone[order[added:]]
        human = np.concatenate([data.human, slope * new + rng.choice(distances, size=added)])
        width = half_width(
            prediction_powered.mean(human, np.concatenate([data.judge, new]), judged_alone, interval="t")
        )
        if width is not None:
            widths.append(width)
    after = float(np.mean(widths)) if widths else None
    missing = None if now is not None and after is not None else "the ratings don't vary"
    return ExpectedGain(metric, quantity, data.human.size, added, now, after, missing)
