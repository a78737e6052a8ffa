"""Curves of what has been reached after each clinician turn, averaged over transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group, own_case
from bedside.analysis.checked_units import mean_within, value_bounds
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.names import turn_indices
from bedside.reports.samples import Place, counts_there, strata_of


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean over transcripts after each clinician turn, and how many transcripts it is over.

    A transcript that has ended keeps its last value.

    Attributes:
        metric, group, place: what was rated, by whom, and where.
        means: after the first, second, … clinician turn.
        low, high: ends of the 95 % intervals of these, over cases where one has several transcripts.
        turns: mean number of clinician turns of a transcript.
        n, missing: transcripts with values, and rated ones without.
        of: all transcripts there.
        clustered: whether a case has several of the transcripts.
    """

    metric: str
    group: str
    place: Place
    means: np.ndarray[Any, Any]
    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]
    turns: float
    n: int
    missing: int
    of: int
    clustered: bool

    def at(self, turn: int) -> float:
        """The mean after so many clinician turns."""
        return float(self.means[min(turn, self.means.size) - 1])


def curves_of(view: RatingsView, metrics: Sequence[str], by: Sequence[str] = ()) -> list[Curve]:
    """The curves of each metric, group of raters, system and stratum; passes and people are averaged first."""
    strata = strata_of(view, by)
    rated = view.ratings.filter(pl.col("metric").is_in(list(metrics))).with_columns(
        pl.col("system").fill_null(ALL),
        view.rater_group().alias("group"),
        turn_indices(pl.Int32).alias("turn"),
    )
    if strata is not None:
        rated = rated.join(strata, on="transcript_id", how="left")
    counts_by_place = counts_there(view, strata)
    factors = [] if strata is None else strata.columns[1:]
    curves: list[Curve] = []
    keys = ["metric", "group", "system", *factors]
    for (metric, group, system, *stratum), part in rated.partition_by(keys, as_dict=True).items():
        values = (
            part.drop_nulls("value")
            .with_columns(own_case())
            .group_by("transcript_id", "case", "turn", "rater")
            .agg(mean_in_group("value"))
            .group_by("transcript_id", "case", "turn")
            .agg(mean_in_group("value"))
            .sort("turn", "transcript_id")
        )
        by_transcript = values.partition_by("transcript_id", maintain_order=True)
        paths = [transcript["value"].to_numpy() for transcript in by_transcript]
        if not paths:
            continue
        length = max(path.size for path in paths)
        grid = np.vstack([np.pad(path, (0, length - path.size), mode="edge") for path in paths])
        n = len(paths)
        cases = [str(transcript["case"][0]) for transcript in by_transcript]
        clustered = len(set(cases)) < n
        bounds = value_bounds(view, str(metric))
        intervals = [mean_within(column, bounds, clusters=cases if clustered else None).interval for column in grid.T]
        means = grid.mean(axis=0)
        missing = part["transcript_id"].n_unique() - n
        curves.append(
            Curve(
                metric=str(metric),
                group=str(group),
                place=(str(system), tuple(map(str, stratum))),
                means=means,
                low=np.array([end.low if end else mean for end, mean in zip(intervals, means, strict=True)]),
                high=np.array([end.high if end else mean for end, mean in zip(intervals, means, strict=True)]),
                turns=float(np.mean([path.size for path in paths])),
                n=n,
                missing=missing,
                of=max(n + missing, counts_by_place.get((str(system), tuple(map(str, stratum))), 0)),
                clustered=clustered,
            )
        )
    positions = {name: position for position, name in enumerate(metrics)}
    ranks = [
        {
            value: rank
            for rank, value in enumerate(view.order.ordered_levels(name, [curve.place[1][i] for curve in curves]))
        }
        for i, name in enumerate(by)
    ]

    systems = view.order.ordered_systems(curve.place[0] for curve in curves)

    def key(curve: Curve) -> tuple[object, ...]:
        strata_ranks = [rank[value] for rank, value in zip(ranks, curve.place[1], strict=True)]
        return (
            positions[curve.metric],
            curve.group != PEOPLE,
            curve.group,
            strata_ranks,
            systems.index(curve.place[0]),
        )

    return sorted(curves, key=key)
