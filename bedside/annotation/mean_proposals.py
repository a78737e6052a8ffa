"""Units that narrow the corrected means of the systems."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.analysis.case_values import own_case
from bedside.analysis.people_sample import cell_levels, drawn_by
from bedside.analysis.ratings_view import ALL
from bedside.annotation.annotation_plan import round_of
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
from bedside.stats.sampling_cells import Levels, sampling_cells
from bedside.stats.stratified_means import JudgedUnits, judged_units, mean
from bedside.support.errors import DataError


@dataclass(frozen=True, slots=True)
class CorrectedUnits:
    """A system's units by one metric, as ``estimate`` takes them.

    Attributes:
        units: those that the judge rated.
        share: whether the metric is of zeros and ones.
    """

    units: JudgedUnits
    share: bool = False

    @property
    def rated(self) -> int:
        """How many of them people rated."""
        return int(self.units.labelled.sum())

    @property
    def judged_alone(self) -> int:
        """How many only the judge rated."""
        return self.units.judge.size - self.rated


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
        state.proposal(unit, 1, f"narrows the corrected mean of {system}")
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
    picked = rated_by_humans() & (pl.col("drawn") == 0).fill_null(False)
    table = state.ratings.filter(pl.col("metric") == metric, pl.col("value").is_not_null(), ~picked)
    who = pl.when(pl.col("rater") == judge).then(pl.lit("judge"))
    means = (
        table.with_columns(who.when(rated_by_humans()).then(pl.lit("people")).alias("who"))
        .drop_nulls("who")
        .group_by("transcript_id", "unit", "who", "rater")
        .agg(pl.col("value").mean(), pl.col("case_id").first())
        .group_by("transcript_id", "unit")
        .agg(
            pl.col("value").filter(pl.col("who") == "judge").mean().alias("judge"),
            pl.col("value").filter(pl.col("who") == "people").mean().alias("people"),
            own_case().first(),
        )
        .drop_nulls("judge")
        .sort("transcript_id", "unit")
    )
    levels = cell_levels(state.run, drawn_by(state.run, [round_of(state.plan)]))
    share = set(state.scales[metric].levels) <= {0.0, 1.0}
    places: dict[str, list[int]] = {}
    for place, transcript in enumerate(means["transcript_id"]):
        places.setdefault(state.systems[transcript] or ALL, []).append(place)
    return {system: _corrected_units(means[rows], levels, share) for system, rows in places.items()}


def _corrected_units(means: pl.DataFrame, levels: Mapping[str, Levels], share: bool) -> CorrectedUnits:
    judge = means["judge"].to_numpy().astype(np.float64)
    human = means["people"].fill_null(float("nan")).to_numpy().astype(np.float64)
    cases = means["case"].to_numpy().astype(str)
    own = [levels.get(name, ()) for name in means["transcript_id"]]
    cells = sampling_cells(own, judge, ~np.isnan(human), cases)
    return CorrectedUnits(judged_units(judge, human, cells=cells.numbers, cases=cases), share)


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
        if data.rated + added < FEWEST:
            return float("inf")
        if data.rated < 2 or data.judged_alone - added < 3:
            continue
        levels = [float(level) for level in scales[metric].levels]
        step = _error(data, added) - _error(data, added + 1)
        total += step / (levels[-1] - levels[0])
    return total


def _error(data: CorrectedUnits, added: int) -> float:
    """Standard error of the corrected mean with ``added`` more units rated, all variances as they are now."""
    now = mean(data.units, share=data.share)
    if now.standard_error is None:
        return 0.0
    unlabelled = now.details["variance from unlabelled"] or 0.0
    labelled = now.standard_error**2 - unlabelled
    rated, alone = data.rated, data.judged_alone
    variance = unlabelled * alone / (alone - added) + labelled * rated / (rated + added)
    return float(np.sqrt(max(variance, 0.0)))


def _estimate_gain(metric: str, system: str, data: CorrectedUnits, added: int, seed: int) -> ExpectedGain:
    quantity = f"corrected mean of {system}"
    if data.rated < FEWEST or data.judged_alone < 2:
        reason = (
            f"people rated {data.rated} of it, fewer than {FEWEST}"
            if data.rated < FEWEST
            else "fewer than two are left that only the judge rated"
        )
        return ExpectedGain(metric, quantity, data.rated, added, missing=reason)
    now = half_width(mean(data.units, share=data.share))
    if added == 0:
        return ExpectedGain(
            metric, quantity, data.rated, 0, now, now, None if now is not None else "no interval"
        )
    if data.judged_alone - added < 2:
        reason = "too little would be left that only the judge rated"
        return ExpectedGain(metric, quantity, data.rated, added, now, None, reason)
    rng = np.random.default_rng(seed)
    alone = np.flatnonzero(~data.units.labelled)
    widths = []
    for _ in range(SIMULATIONS):
        new = rng.permutation(alone)[:added]
        human = data.units.human.copy()
        human[new] = _simulated_labels(data, new, rng)
        width = half_width(mean(replace(data.units, human=human), share=data.share))
        if width is not None:
            widths.append(width)
    after = float(np.mean(widths)) if widths else None
    missing = None if now is not None and after is not None else "the ratings don't vary"
    return ExpectedGain(metric, quantity, data.rated, added, now, after, missing)


def _simulated_labels(data: CorrectedUnits, new: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """What people could say of new units: what they said of others, as far as that goes with the judge's values."""
    seen = data.units.labelled
    human, judge = data.units.human[seen], data.units.judge[seen]
    if data.share:
        # Of zeros and ones, what they said of a unit on which the judge came nearest.
        answers = []
        for own in data.units.judge[new]:
            distances = np.abs(judge - own)
            answers.append(rng.choice(human[distances == distances.min()]))
        return np.array(answers)
    # People's mean as it goes with the judge's value, and how far it lies off that.
    slope = float(np.polyfit(judge, human, 1)[0]) if np.ptp(judge) else 0.0
    labels: NDArray[Any] = slope * data.units.judge[new] + rng.choice(human - slope * judge, size=new.size)
    return labels
