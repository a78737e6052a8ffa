"""Units with people's ratings, split into a part to learn from and a part to show it on.

Cases are split, not units: two transcripts of a case, or two turns of a transcript, are not independent, so that what
was learnt from one would be shown on the other. A transcript without a case is one of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement import agreement_sample
from bedside.analysis.checked_units import Chances, drawn_ratings, grid_of
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.ratings.learnt_units import is_learnt, unit_digests
from bedside.ratings.names import rated_by_humans
from bedside.stats import consensus

#: Fewest units and cases of each part. With fewer cases an interval by case is so wide that it can show nothing, and
#: what is learnt from fewer units is chance.
FEWEST_UNITS, FEWEST_CASES = 12, 6


@dataclass(frozen=True, slots=True)
class LabelledUnit:
    """A unit that people rated.

    Attributes:
        transcript, unit: which.
        case_id: its transcript's case; None where it has none.
        case: what is drawn independently: the case, or a name that no other transcript has.
        ratings: each person's level or label, by rater, in the order of their names.
        reasons: what people wrote, by rater; only of those who wrote something.
        consensus: what people say together: the median of levels in order, the majority of labels, the mean of other
            numbers. A median between two levels is their mean; None where labels have no majority.
        weight: one over the chance with which it was drawn, where these differ; else 1.
        stratum: what it was drawn from, where chances differ; else 0.
    """

    transcript: str
    unit: str
    case_id: str | None
    case: str
    ratings: Mapping[str, float | str]
    reasons: Mapping[str, str]
    consensus: float | str | None
    weight: float
    stratum: int

    @property
    def key(self) -> tuple[str, str]:
        """Transcript and unit."""
        return self.transcript, self.unit


@dataclass(frozen=True, slots=True)
class LabelSplit:
    """The units of one metric that people rated, in two parts that share no case.

    Attributes:
        metric: the metric.
        training: what may be learnt from; held_out: what it is shown on, and nothing else is done with.
        share: the share of cases that was asked for training; seed: of the draw.
        chances: how the units were drawn; picked: units left out because they were picked for what they are.
        earlier: cases that are in training because they were learnt from before.
    """

    metric: str
    training: tuple[LabelledUnit, ...]
    held_out: tuple[LabelledUnit, ...]
    share: float
    seed: int
    chances: Chances
    picked: int
    earlier: int

    def digests(self) -> tuple[str, ...]:
        """The digests of what may be learnt from, for :mod:`bedside.ratings.learnt_units`."""
        return unit_digests((unit.transcript, unit.case_id) for unit in self.training)

    def record(self) -> dict[str, Any]:
        """What a file or a manifest keeps of the split."""
        return {
            "metric": self.metric,
            "share": self.share,
            "seed": self.seed,
            "training": {"units": len(self.training), "cases": case_count(self.training)},
            "held_out": {"units": len(self.held_out), "cases": case_count(self.held_out)},
            "learnt_from": list(self.digests()),
            "held_out_digests": list(unit_digests((unit.transcript, unit.case_id) for unit in self.held_out)),
        }


def case_count(units: Collection[LabelledUnit]) -> int:
    """Number of cases that units are of."""
    return len({unit.case for unit in units})


def split_labels(
    view: RatingsView,
    metric: str,
    *,
    share: float = 0.5,
    seed: int = 0,
    rated: Collection[tuple[str, str]] | None = None,
    learnt: Collection[str] = (),
) -> LabelSplit:
    """Split the units of a metric that people rated by case.

    The cases in the order of their names are shuffled with the seed, and the first ``share`` of them, rounded, are for
    training: the same ratings and seed give the same parts.

    Args:
        view: the ratings.
        metric: the metric's name.
        share: of cases for training, above 0 and below 1.
        seed: of the draw.
        rated: the units (transcript, unit) that can be used at all, such as those that a judge rated; all by default.
        learnt: digests of what was learnt from before: cases that they name are for training, whatever is drawn.

    Raises:
        DataError: people rated nothing by the metric; the share is none; or a part has too few units or cases, or
            people gave its units a single level: then nothing can be learnt, or shown.
    """
    if not 0 < share < 1:
        raise DataError(
            f"a share lies above 0 and below 1, and {share:g} doesn't", where="`split`", todo="give .5 for half"
        )
    units, chances, picked = labelled_units(view, metric)
    units = tuple(unit for unit in units if rated is None or unit.key in rated)
    digests = frozenset(learnt)
    earlier = {unit.case for unit in units if is_learnt(digests, unit.transcript, unit.case_id)}
    cases = sorted({unit.case for unit in units})
    _check_enough(view, metric, units, share=share)
    drawn = list(np.random.default_rng(seed).permutation(np.array(cases, dtype=object)))
    order = [*(case for case in drawn if case in earlier), *(case for case in drawn if case not in earlier)]
    number = max(len(earlier), round(share * len(cases)))
    chosen = set(order[:number])
    split = LabelSplit(
        metric=metric, share=share, seed=seed, chances=chances, picked=picked, earlier=len(earlier),
        training=tuple(unit for unit in units if unit.case in chosen),
        held_out=tuple(unit for unit in units if unit.case not in chosen),
    )  # fmt: skip
    for part, aim in ((split.training, "to learn from"), (split.held_out, "held out to show it on")):
        _check_part(view, metric, part, aim=aim)
    return split


def labelled_units(view: RatingsView, metric: str) -> tuple[tuple[LabelledUnit, ...], Chances, int]:
    """The units of a metric that people rated, how they were drawn, and how many were left out as picked.

    Raises:
        DataError: there is none.
    """
    view.metrics([metric])
    ratings, picked = drawn_ratings(view.ratings.filter(pl.col("metric") == metric))
    ratings = ratings.filter(rated_by_humans(), pl.col("error").is_null())
    if ratings.is_empty():
        raise DataError(
            f"people rated nothing by {metric}",
            where=view.name,
            todo="import their ratings with bedside ratings import, or plan some with bedside annotate",
        )
    grid = grid_of(ratings)
    sample = agreement_sample(view, ratings, grid, picked)
    together = _consensus(view, metric, grid.cells)
    final = view.final_labels(metric)
    reasons = _reasons(ratings)
    case_of = dict(ratings.select("transcript_id", "case_id").unique("transcript_id").iter_rows())
    unequal = sample.chances == "unequal"
    units = []
    for row, (transcript, unit) in enumerate(zip(grid.transcripts, grid.units, strict=True)):
        cells = grid.cells[row]
        units.append(
            LabelledUnit(
                transcript=str(transcript),
                unit=str(unit),
                case_id=case_of[transcript],
                case=str(sample.cases[row]),
                ratings={rater: cell for rater, cell in zip(grid.raters, cells, strict=True) if cell is not None},
                reasons=reasons.get((str(transcript), str(unit)), {}),
                consensus=final.get((str(transcript), str(unit)), together[row]),
                weight=float(1 / sample.drawn[row]) if unequal else 1.0,
                stratum=int(sample.strata[row]) if unequal else 0,
            )
        )
    units.sort(key=lambda labelled: labelled.key)
    return tuple(units), sample.chances, picked


def _consensus(view: RatingsView, metric: str, cells: np.ndarray[Any, Any]) -> list[float | str | None]:
    """What people say together of each unit."""
    scale = view.scales.get(metric)
    labels = any(isinstance(cell, str) for cell in cells.ravel())
    if labels and scale is not None and scale.ordered:
        places = {label: place for place, label in enumerate(scale.levels)}
        middle = consensus.median([[places.get(cell) for cell in row] for row in cells])
        return [None if place is None or place != int(place) else scale.levels[int(place)] for place in middle.values]
    if labels:
        return list(consensus.majority(cells).values)
    if scale is not None:
        return list(consensus.median(cells).values)
    return list(consensus.mean(cells).values)


def _reasons(ratings: pl.DataFrame) -> dict[tuple[str, str], dict[str, str]]:
    """What people wrote of each unit, by rater."""
    written: dict[tuple[str, str], dict[str, str]] = {}
    said = ratings.filter(pl.col("reason").str.strip_chars().str.len_chars() > 0).sort("rater", "replicate")
    for transcript, unit, rater, reason in said.select("transcript_id", "unit", "rater", "reason").iter_rows():
        written.setdefault((transcript, unit), {}).setdefault(rater, reason)
    return written


def _check_enough(view: RatingsView, metric: str, units: tuple[LabelledUnit, ...], *, share: float) -> None:
    """Raise DataError where no split of these units leaves enough in both parts."""
    smaller = min(share, 1 - share)
    cases, needed = case_count(units), math.ceil((FEWEST_CASES - 0.5) / smaller)
    least = math.ceil(FEWEST_UNITS / smaller)
    if cases >= needed and len(units) >= least:
        return
    raise DataError(
        f"people rated {counted(len(units), 'unit')} of {counted(cases, 'case')} by {metric}, and a split at {share:g} "
        f"needs {least} of {needed}: {FEWEST_UNITS} of {FEWEST_CASES} cases on either side, as fewer can show nothing",
        where=view.name,
        todo=f"have people rate at least {counted(max(least - len(units), needed - cases), 'more unit')} of other "
        "cases, drawn at random",
    )


def _check_part(view: RatingsView, metric: str, part: tuple[LabelledUnit, ...], *, aim: str) -> None:
    """Raise DataError where one part can't do what it is for."""
    if len(part) < FEWEST_UNITS or case_count(part) < FEWEST_CASES:
        raise DataError(
            f"of what people rated by {metric}, {counted(len(part), 'unit')} of {counted(case_count(part), 'case')} "
            f"are {aim}, and {FEWEST_UNITS} of {FEWEST_CASES} cases are needed",
            where=view.name,
            todo="give another `split`, or have people rate more cases",
        )
    if len({level for unit in part for level in unit.ratings.values()}) < 2:
        raise DataError(
            f"people gave a single level of {metric} to all units {aim}: agreement beyond chance can't be told there",
            where=view.name,
            todo="have people rate more cases, or give another `seed`",
        )
