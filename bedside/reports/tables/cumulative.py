"""Cumulative values by clinician turn: how much has been reached after the first, second, … turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import ARROWS, rater_words
from bedside.reports.measures import Headed, matching
from bedside.reports.number_text import number
from bedside.reports.samples import Place, in_order, strata_of
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind

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


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean over transcripts after each clinician turn, and how many transcripts it is over.

    A transcript that has ended keeps its last value. ``missing`` transcripts have no values.
    """

    metric: str
    group: str
    place: Place
    means: np.ndarray[Any, Any]
    errors: np.ndarray[Any, Any]
    n: int
    missing: int

    def at(self, turn: int) -> float:
        """The mean after so many clinician turns."""
        return float(self.means[min(turn, self.means.size) - 1])


def curves(view: RatingsView, metrics: Sequence[str], by: Sequence[str] = ()) -> list[Curve]:
    """The curves of each metric, group of raters, system and stratum; passes and people are averaged first."""
    people = pl.col("rater").str.starts_with("human:")
    strata = strata_of(view, by)
    rated = view.ratings.filter(pl.col("metric").is_in(list(metrics))).with_columns(
        pl.col("system").fill_null(ALL),
        pl.when(people).then(pl.lit(PEOPLE)).otherwise(pl.col("rater")).alias("group"),
        pl.col("unit").str.strip_prefix("turn:").cast(pl.Int32, strict=False).alias("turn"),
    )
    if strata is not None:
        rated = rated.join(strata, on="transcript_id", how="left")
    factors = [] if strata is None else strata.columns[1:]
    found: list[Curve] = []
    keys = ["metric", "group", "system", *factors]
    for (metric, group, system, *stratum), part in rated.partition_by(keys, as_dict=True).items():
        values = (
            part.drop_nulls("value")
            .group_by("transcript_id", "turn")
            .agg(pl.col("value").mean())
            .sort("turn")
        )
        paths = [one["value"].to_numpy() for one in values.partition_by("transcript_id", maintain_order=True)]
        if not paths:
            continue
        length = max(path.size for path in paths)
        grid = np.vstack([np.pad(path, (0, length - path.size), mode="edge") for path in paths])
        n = len(paths)
        errors = grid.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(length)
        missing = part["transcript_id"].n_unique() - n
        place = (str(system), tuple(map(str, stratum)))
        found.append(Curve(str(metric), str(group), place, grid.mean(axis=0), errors, n, missing))
    order = {name: position for position, name in enumerate(metrics)}
    ranks = [
        {value: rank for rank, value in enumerate(in_order([curve.place[1][i] for curve in found]))}
        for i in range(len(by))
    ]

    def key(curve: Curve) -> tuple[object, ...]:
        strata_ranks = [rank[value] for rank, value in zip(ranks, curve.place[1], strict=True)]
        return order[curve.metric], curve.group != PEOPLE, curve.group, strata_ranks, curve.place[0]

    return sorted(found, key=key)


def names_of(view: RatingsView, headed: Mapping[str, Sequence[object]]) -> tuple[list[str], list[str]]:
    """The metrics named that are rated, and those that aren't."""
    wanted = [one.metric for measures in headed.values() for one in measures]  # type: ignore[attr-defined]
    names = [name for metric in wanted for name in matching(view, metric)]
    return names, [metric for metric in wanted if not matching(view, metric)]


def build(view: RatingsView, seed: int, options: CumulativeOptions) -> Table | None:
    """The curves at the turns asked for; None where there are none."""
    names, absent = names_of(view, options.metrics)
    found = curves(view, names, options.by)
    if not found:
        return None
    longest = max(curve.means.size for curve in found)
    # The last turn stands for all after it, so that the table ends where the curves do.
    turns = [turn for turn in options.turns if turn < longest] + [longest]
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for curve in found:
        system, stratum = curve.place
        groups = {other.group for other in found if other.metric == curve.metric}
        by = f" ({rater_words(curve.group)})" if len(groups) > 1 else ""
        known = view.facts(curve.metric)
        label = " · ".join((*stratum, system))
        cells = [
            Cell(label),
            Cell(f"{curve.n:,}" + (f"/{curve.n + curve.missing:,}" if curve.missing else "")),
        ]
        for turn in turns:
            cells.append(Cell(number(curve.at(turn), known.digits), record=len(records)))
            records.append(
                {
                    "cell": "/".join((curve.metric + (f"@{curve.group}" if by else ""), *stratum, system, str(turn))),
                    "metric": curve.metric, "raters": curve.group, "system": system,
                    **dict(zip(options.by, stratum, strict=True)), "turn": turn, "value": curve.at(turn),
                    "n": curve.n, "missing": curve.missing,
                }
            )  # fmt: skip
        rows.append(Row(tuple(cells), known.title + by + ARROWS[known.direction]))
    return Table(
        name=options.id or "cumulative",
        title=options.title or "Cumulative values by clinician turn",
        columns=(
            Column("System", "left"),
            Column("n"),
            *(Column(str(turn), group="After clinician turn") for turn in turns),
        ),
        rows=tuple(rows),
        notes=(
            "Mean over transcripts; one that has ended keeps its last value. n=3/4: three of four have values.",
            *absent_notes(absent),
        ),
        records=tuple(records),
    )


TABLE = TableKind(
    "cumulative", "Cumulative values by clinician turn", 44, build, CumulativeOptions, general=False
)
