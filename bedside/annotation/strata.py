"""What can be rated."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from bedside.annotation.annotation_plan import Focus, Mode
from bedside.annotation.items import problem
from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import DataError
from bedside.support.registry import nearest

_NO_VALUE = "(none)"


@dataclass(slots=True)
class DrawableUnit:
    transcript: str
    unit: str
    drawn: Focus = "random"


@dataclass(slots=True)
class UnitPool:
    """What can be rated: by stratum (the values of its factors), and why the rest can't."""

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
    values = _strata_values(run, by)
    audited = _audited(run, rubrics, judge) if judge is not None else None
    turns = mode != "codes" and rubrics[0].unit == "turn"
    role = rubrics[0].role
    pool = UnitPool()
    for transcript in sorted(run.transcripts(), key=lambda transcript: transcript.id):
        wrong = problem(rubrics, transcript)
        if wrong is not None:
            pool.left_out[wrong] += 1
            continue
        units = (
            [f"turn:{turn.index}" for turn in transcript.turns if role in (None, turn.role)]
            if turns
            else ["transcript"]
        )
        for unit in units:
            if audited is not None and (transcript.id, unit) not in audited:
                pool.left_out[f"not rated by {judge}"] += 1
            elif (transcript.id, unit) in excluded:
                pool.left_out["rated already, or in the training set"] += 1
            else:
                pool.strata.setdefault(values[transcript.id], []).append(DrawableUnit(transcript.id, unit))
    return pool


def _strata_values(run: Run, by: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Transcript → the values of the factors that divide the strata."""
    table = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id", "language").join(
        run.factors, on="transcript_id", how="left", suffix=" (factor)"
    )
    known = [name for name in table.columns if name != "transcript_id"]
    for name in by:
        if name not in known:
            raise DataError(f"there is no factor {name!r}", where="--by", todo=nearest(name, known))
    if len(set(by)) != len(by):
        raise DataError("a factor is named twice", where="--by")
    return {
        name: tuple(_NO_VALUE if value is None else str(value) for value in values)
        for name, *values in table.select("transcript_id", *by).iter_rows()
    }


def _audited(run: Run, rubrics: Sequence[Rubric], judge: str) -> set[tuple[str, str]]:
    """Units that the judge rated by every rubric."""
    names = [rubric.name for rubric in rubrics]
    rated = run.ratings.filter(
        pl.col("rater") == judge, pl.col("metric").is_in(names), pl.col("error").is_null()
    )
    counts = rated.group_by("transcript_id", "unit").agg(pl.col("metric").n_unique())
    return {(name, unit) for name, unit, count in counts.iter_rows() if count == len(names)}


def drawn_units(
    units: Sequence[DrawableUnit],
    wanted: int,
    scores: Mapping[tuple[str, str], float],
    focus: Focus,
    random_share: float,
    rng: random.Random,
) -> list[DrawableUnit]:
    left = list(units)
    rng.shuffle(left)
    if focus == "random":
        return left[:wanted]
    at_random = math.floor(random_share * min(wanted, len(left)) + 0.5)
    chosen, left = left[:at_random], left[at_random:]
    # What has no score can't be compared and goes last, at random. The sort is stable, so ties stay shuffled.
    left.sort(key=lambda unit: -scores.get((unit.transcript, unit.unit), -1.0))
    for unit in left[: wanted - len(chosen)]:
        if (unit.transcript, unit.unit) in scores:
            unit.drawn = focus
        chosen.append(unit)
    return chosen
