"""``bedside trend``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.options import (
    HOW,
    ColumnsOption,
    OutOption,
    QualityOption,
    RatersOption,
    RoundOption,
    ScaleOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import open_source, read_names, read_whole_numbers
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingsView
    from bedside.analysis.trend import Trend


@reads_ratings
def trend(
    source: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run, or a file of ratings that has a metric called turns."),
    ],
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="Numbers of messages at which a new column begins, such as 10,20,40. Without it, quartiles.",
            rich_help_panel=HOW,
        ),
    ] = None,
    systems: SystemsOption = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    out: OutOption = None,
) -> None:
    """Show metrics by the number of messages, with a test of the trend.

    Examples:
        $ bedside trend run
        $ bedside trend run --edges 10,20,40 --metrics empathy
    """
    from bedside.analysis.trend import trend as trends_by_length
    from bedside.reports.levels import answered
    from bedside.reports.table import Tables
    from bedside.reports.tables.length import length_table

    cuts = None if edges is None else read_whole_numbers(edges, "--edges")

    def answer(view: RatingsView) -> Tables[tuple[Trend, ...]]:
        trends = trends_by_length(
            view,
            edges=cuts,
            systems=read_names(systems),
            metrics=read_names(metrics),
            raters=read_names(raters),
        )
        return Tables([length_table(trends, view.order)], trends)

    opened = rating_source(source, scale, columns, reading)
    view = open_source(opened, scale, rounds=rounds, where=where)
    show_and_write(answered(view, within, answer), source=source, out=out)
