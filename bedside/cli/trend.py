"""``bedside trend``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.options import (
    HOW,
    ColumnsOption,
    JsonOption,
    OutOption,
    QualityOption,
    RatersOption,
    ScaleOption,
    SystemsOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import open_source, read_names, read_whole_numbers


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
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show metrics by the number of messages, with a test of the trend.

    Examples:
        $ bedside trend run
        $ bedside trend run --edges 10,20,40 --metrics empathy
    """
    from bedside.analysis.trend import trend as trends_by_length
    from bedside.reports.tables.length import length_table

    trends = trends_by_length(
        open_source(source, scale, columns),
        edges=None if edges is None else read_whole_numbers(edges, "--edges"),
        systems=read_names(systems),
        metrics=read_names(metrics),
        raters=read_names(raters),
    )
    show_and_write([length_table(trends)], source=source, out=out, as_json=json)
