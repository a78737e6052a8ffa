"""The units of a run that can be rated, stratum by stratum, and those of a stratum that are drawn."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from bedside.analysis.plan_draws import routed_levels
from bedside.annotation.items import problem
from bedside.annotation.plan_choices import Focus, Mode
from bedside.core.errors import DataError, one_of
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import TRANSCRIPT, unit_name
from bedside.ratings.run import Run

#: The stratum of transcripts without a value.
_NO_VALUE = "(none)"


@dataclass(slots=True)
class DrawableUnit:
    """A transcript or turn that can be drawn.

    Attributes:
        transcript: id of the transcript.
        unit: the unit of it.
        place: what it has in common with those of other systems that it pairs with: the case, which of the system's
            transcripts of that case it is, and the unit.
        drawn: why it comes into the plan, if it does.
        chance: with which it does; 0 where it is picked for what it is.
    """

    transcript: str
    unit: str
    place: str
    drawn: Focus = "random"
    chance: float = 0.0


@dataclass(slots=True)
class UnitPool:
    """What can be rated.

    Attributes:
        strata: the values of a stratum's factors → its units.
        left_out: reason → how many units can't be rated for it.
    """

    strata: dict[tuple[str, ...], list[DrawableUnit]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def unit_pool(
    run: Run,
    mode: Mode,
    rubrics: Sequence[Rubric],
    by: Sequence[str],
    judge: str | None,
    excluded: set[tuple[str, str]],
) -> UnitPool:
    """What of a run can be rated.

    Args:
        run: the run.
        mode: how people rate.
        rubrics: what they are asked.
        by: factors that divide the strata.
        judge: in audit mode, who must have rated a unit by every rubric.
        excluded: (transcript, unit) to leave out.

    Raises:
        DataError: a factor that the run doesn't have, or one named twice.
        RunError: the run keeps no text.
    """
    values = _strata_values(run, by)
    places = places_of(run)
    judged = _judged_units(run, rubrics, judge) if judge is not None else None
    about_turns = mode != "codes" and rubrics[0].unit == "turn"
    role = rubrics[0].role
    pool = UnitPool()
    for transcript in sorted(run.transcripts(), key=lambda transcript: transcript.id):
        reason = problem(rubrics, transcript)
        if reason is not None:
            pool.left_out[reason] += 1
            continue
        units = (
            [unit_name(turn.index) for turn in transcript.turns if role in (None, turn.role)]
            if about_turns
            else [TRANSCRIPT]
        )
        for unit in units:
            if judged is not None and (transcript.id, unit) not in judged:
                pool.left_out[f"not rated by {judge}"] += 1
            elif (transcript.id, unit) in excluded:
                pool.left_out["rated already, or in the training set"] += 1
            else:
                pool.strata.setdefault(values[transcript.id], []).append(
                    DrawableUnit(transcript.id, unit, f"{places[transcript.id]}:{unit}")
                )
    return pool


def _strata_values(run: Run, by: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Transcript → the values of the factors that divide the strata."""
    table = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id", "language").join(
        run.factors, on="transcript_id", how="left", suffix=" (factor)"
    )
    factors = [name for name in table.columns if name != "transcript_id"]
    for name in by:
        routed = routed_levels(run, name)
        if routed is not None:
            levels = pl.col("transcript_id").replace_strict(routed, default=None, return_dtype=pl.String())
            table, factors = table.with_columns(levels.alias(name)), [*factors, name]
        one_of(name, factors, "factor", DataError, where="`by`")
    if len(set(by)) != len(by):
        raise DataError("a factor is named twice", where="`by`", todo="name each factor once")
    return {
        name: tuple(_NO_VALUE if value is None else str(value) for value in values)
        for name, *values in table.select("transcript_id", *by).iter_rows()
    }


def places_of(run: Run) -> dict[str, str]:
    """Transcript → its case, and which of its system's transcripts of that case it is; without a case, itself."""
    counts: Counter[tuple[str | None, str]] = Counter()
    places = {}
    for name, system, case in run.index.sort("id").select("id", "system", "case_id").iter_rows():
        places[name] = f"transcript:{name}" if case is None else f"case:{counts[system, case]}:{case}"
        if case is not None:
            counts[system, case] += 1
    return places


def _judged_units(run: Run, rubrics: Sequence[Rubric], judge: str) -> set[tuple[str, str]]:
    """Units that the judge rated by every rubric."""
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(pl.col("rater") == judge, pl.col("metric").is_in(names), pl.col("error").is_null())
    counts = rated.group_by("transcript_id", "unit").agg(pl.col("metric").n_unique())
    return {(name, unit) for name, unit, count in counts.iter_rows() if count == len(names)}


def drawn_units(
    units: Sequence[DrawableUnit],
    count: int,
    priority: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    seed: str,
) -> list[DrawableUnit]:
    """The units of a stratum that come into the plan.

    Each has a random number of its own, and those with the lowest are drawn: a simple random sample of the stratum, so
    that all enter with the same chance, whatever number of transcripts their cases have. The number of the first unit
    of a place hangs on the seed and the place alone: where strata are systems, the same cases of each are drawn
    (coordination by permanent random numbers: Ohlsson 1995, in Business Survey Methods, ch. 9).

    Args:
        units: all of the stratum.
        count: how many are drawn; all where there are fewer.
        priority: (transcript, unit) → how early it comes, with a focus other than random.
        focus: what comes first.
        random_share: share drawn at random whatever the focus.
        seed: of the random numbers.
    """
    candidates = _in_random_order(units, seed)
    wanted = min(count, len(candidates))
    at_random = wanted if focus == "random" else math.floor(random_share * wanted + 0.5)
    chosen, candidates = candidates[:at_random], candidates[at_random:]
    for unit in units if wanted == len(units) else chosen:
        unit.chance = 1.0 if wanted == len(units) else at_random / len(units)
    # What has no priority can't be compared and goes last, at random. The sort is stable, so ties stay shuffled.
    candidates.sort(key=lambda unit: -priority.get((unit.transcript, unit.unit), -1.0))
    for unit in candidates[: wanted - at_random]:
        if (unit.transcript, unit.unit) in priority:
            unit.drawn = focus
        chosen.append(unit)
    return chosen


def _in_random_order(units: Sequence[DrawableUnit], seed: str) -> list[DrawableUnit]:
    """The units of a stratum by their random numbers, which are independent of each other."""
    numbers: dict[tuple[str, str], float] = {}
    of_place: Counter[str] = Counter()
    for unit in sorted(units, key=lambda unit: (unit.transcript, unit.unit)):
        before = of_place[unit.place]
        of_place[unit.place] += 1
        numbers[unit.transcript, unit.unit] = _number(seed, unit.place, *([before] if before else []))
    return sorted(units, key=lambda unit: numbers[unit.transcript, unit.unit])


def _number(*parts: object) -> float:
    """A random number from 0 to 1 that belongs to these parts."""
    return random.Random(":".join(map(str, parts))).random()
