"""Cumulative values by clinician turn: how much has been reached after the first, second, … turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from bedside.analysis.case_values import mean_in_group, own_case
from bedside.analysis.checked_units import mean_within, value_bounds
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.names import turn_indices
from bedside.reports.columns import Block, Column, Table, grid_of, recorded
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import ARROWS, n_of, number, rater_words
from bedside.reports.samples import Place, counts_there, strata_of
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes

_TITLE = "Cumulative values by clinician turn"

# -- Curves of what has been reached after each clinician turn, averaged over transcripts ---------------


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
        pl.col("system").fill_null(ALL), view.rater_group().alias("group"), turn_indices(pl.Int32).alias("turn")
    )
    if strata is not None:
        rated = rated.join(strata, on="transcript_id", how="left")
    counts_by_place = counts_there(view, strata)
    keys = ["metric", "group", "system", *([] if strata is None else strata.columns[1:])]
    curves: list[Curve] = []
    for (metric, group, system, *stratum), part in rated.partition_by(keys, as_dict=True).items():
        place = (str(system), tuple(map(str, stratum)))
        curve = _curve(view, str(metric), str(group), place, part, counts_by_place.get(place, 0))
        curves += [] if curve is None else [curve]
    positions = {name: position for position, name in enumerate(metrics)}
    systems = view.order.ordered_systems(curve.place[0] for curve in curves)
    levels = [view.order.ordered_levels(name, [curve.place[1][i] for curve in curves]) for i, name in enumerate(by)]
    return sorted(
        curves,
        key=lambda curve: (
            positions[curve.metric],
            curve.group != PEOPLE,
            curve.group,
            [ordered.index(level) for ordered, level in zip(levels, curve.place[1], strict=True)],
            systems.index(curve.place[0]),
        ),
    )


def _curve(view: RatingsView, metric: str, group: str, place: Place, rated: pl.DataFrame, most: int) -> Curve | None:
    """One curve; None where nothing has a value. ``most`` is how many transcripts are there, rated or not."""
    by_transcript = (
        rated.drop_nulls("value")
        .with_columns(own_case())
        .group_by("transcript_id", "case", "turn", "rater")
        .agg(mean_in_group("value"))
        .group_by("transcript_id", "case", "turn")
        .agg(mean_in_group("value"))
        .sort("turn", "transcript_id")
        .partition_by("transcript_id", maintain_order=True)
    )
    if not by_transcript:
        return None
    paths = [transcript["value"].to_numpy() for transcript in by_transcript]
    length = max(path.size for path in paths)
    grid = np.vstack([np.pad(path, (0, length - path.size), mode="edge") for path in paths])
    n, missing = len(paths), rated["transcript_id"].n_unique() - len(paths)
    cases = [str(transcript["case"][0]) for transcript in by_transcript]
    clustered = len(set(cases)) < n
    bounds = value_bounds(view, metric)
    intervals = [mean_within(column, bounds, clusters=cases if clustered else None).interval for column in grid.T]
    means = grid.mean(axis=0)
    return Curve(
        metric=metric,
        group=group,
        place=place,
        means=means,
        low=np.array([end.low if end else mean for end, mean in zip(intervals, means, strict=True)]),
        high=np.array([end.high if end else mean for end, mean in zip(intervals, means, strict=True)]),
        turns=float(np.mean([path.size for path in paths])),
        n=n,
        missing=missing,
        of=max(n + missing, most),
        clustered=clustered,
    )


# -- The table ------------------------------------------------------------------------------------------

_TURNS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)


class CumulativeOptions(Options):
    """Which curves a table samples.

    Attributes:
        metrics: metrics of turns that can only rise.
        by: factors that tell conditions apart.
        turns: after how many clinician turns.
    """

    metrics: Headed = Field(default_factory=dict)
    by: tuple[str, ...] = ()
    turns: tuple[int, ...] = _TURNS


def build(view: RatingsView, seed: int, options: CumulativeOptions) -> Table | None:
    """The curves at the turns asked for; None where there are none."""
    metrics = named_metrics(view, options.metrics)
    curves = curves_of(view, metrics.rated, options.by)
    if not curves:
        return None
    longest = max(curve.means.size for curve in curves)
    groups = {(curve.metric, curve.group) for curve in curves}
    several = {metric for metric, _ in groups if sum(metric == other for other, _ in groups) > 1}

    def label(curve: Curve) -> str:
        levels = (view.order.level_label(*level) for level in zip(options.by, curve.place[1], strict=True))
        return " · ".join((*levels, view.order.system_label(curve.place[0])))

    def heading(curve: Curve) -> str:
        facts, by = view.facts(curve.metric), f" ({rater_words(curve.group)})" if curve.metric in several else ""
        return facts.title + by + ARROWS[facts.direction]

    def block(turn: int) -> Block:
        def cell(curve: Curve) -> str:
            named = curve.metric + (f"@{curve.group}" if curve.metric in several else "")
            return "/".join((named, *curve.place[1], curve.place[0], str(turn)))

        record = recorded(cell=cell, metric="metric", raters="group", system=lambda curve: curve.place[0])
        factors = recorded(lambda curve: dict(zip(options.by, curve.place[1], strict=True)))
        value = Column(
            str(turn), group="After clinician turn", field="value", value=lambda curve: curve.at(turn),
            text=lambda curve: number(curve.at(turn), view.facts(curve.metric).digits),
        )  # fmt: skip
        return Block((record, factors, recorded(turn=lambda curve: turn), value, recorded("n", "of", "missing")))

    heads = Block((Column("System", "left", text=label), Column("n", text=lambda curve: n_of(curve.n, curve.of))))
    # The last turn stands for all after it, so that the table ends where the curves do.
    turns = [turn for turn in options.turns if turn < longest] + [longest]
    table = grid_of("cumulative", _TITLE, curves, (heads, *map(block, turns)), group=heading,
                    notes=("Mean over transcripts; one that has ended keeps its last value.",))  # fmt: skip
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("cumulative", _TITLE, 44, build, CumulativeOptions, shown="named")
