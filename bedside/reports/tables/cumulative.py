"""Cumulative values by clinician turn: how much has been reached after the first, second, … turn."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import ARROWS, n_of, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.reports.turn_curves import curves_of

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
    # The last turn stands for all after it, so that the table ends where the curves do.
    turns = [turn for turn in options.turns if turn < longest] + [longest]
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for curve in curves:
        system, stratum = curve.place
        groups = {other.group for other in curves if other.metric == curve.metric}
        by = f" ({rater_words(curve.group)})" if len(groups) > 1 else ""
        metric_facts = view.facts(curve.metric)
        levels = (view.order.level_label(*level) for level in zip(options.by, stratum, strict=True))
        label = " · ".join((*levels, view.order.system_label(system)))
        cells = [
            Cell(label),
            Cell(n_of(curve.n, curve.of)),
        ]
        for turn in turns:
            cells.append(Cell(number(curve.at(turn), metric_facts.digits), record=len(records)))
            records.append(
                {
                    "cell": "/".join((curve.metric + (f"@{curve.group}" if by else ""), *stratum, system, str(turn))),
                    "metric": curve.metric, "raters": curve.group, "system": system,
                    **dict(zip(options.by, stratum, strict=True)), "turn": turn, "value": curve.at(turn),
                    "n": curve.n, "of": curve.of, "missing": curve.missing,
                }
            )  # fmt: skip
        rows.append(Row(tuple(cells), metric_facts.title + by + ARROWS[metric_facts.direction]))
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
            "Mean over transcripts; one that has ended keeps its last value.",
            *absent_notes(metrics.absent),
        ),
        records=tuple(records),
    )


TABLE = TableKind("cumulative", "Cumulative values by clinician turn", 44, build, CumulativeOptions, shown="named")
