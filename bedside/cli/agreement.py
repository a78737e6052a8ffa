"""``bedside agree``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bedside.cli.options import (
    HOW,
    ColumnsOption,
    JsonOption,
    MetricsOption,
    OutOption,
    RatersOption,
    RoundOption,
    ScaleOption,
    SeedOption,
    WeightsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import read_names, read_pairs, read_rounds, read_where


def agree(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings (CSV, TSV, XLSX or Parquet).")
    ],
    metrics: MetricsOption = None,
    raters: RatersOption = None,
    weights: WeightsOption = None,
    confusion: Annotated[
        bool,
        typer.Option(
            "--confusion",
            help="Show, for each pair of raters, how often one gave what the other gave.",
            rich_help_panel=HOW,
        ),
    ] = False,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how well raters agree.

    It shows how well people agree among themselves, and beside them each algorithm or judge that rated the same things.

    Examples:
        $ bedside agree run
        $ bedside agree run --metrics empathy,partnership --confusion
        $ bedside agree stars.csv --scale 1-5
    """
    from bedside.api import agree as agreement_tables

    tables = agreement_tables(
        source,
        metrics=read_names(metrics),
        raters=read_names(raters),
        weights=cast(Any, weights),
        confusion=confusion,
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        rounds=read_rounds(rounds),
        where=read_where(where),
        within=within,
        seed=seed,
    )
    next_commands = f"bedside validate {source}; bedside report {source}"
    show_and_write(tables, source=source, out=out, as_json=json, next_commands=next_commands)
