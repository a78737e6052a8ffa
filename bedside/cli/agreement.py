"""``bedside agree``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bedside.analysis.choices import ALPHA_METRICS, ICC_FORMS
from bedside.cli import completion as _complete
from bedside.cli.options import (
    HOW,
    ColumnsOption,
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
from bedside.cli.parsing import read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.words import typed


@reads_ratings
def agree(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings (CSV, TSV, XLSX or Parquet).")
    ],
    metrics: MetricsOption = None,
    raters: RatersOption = None,
    weights: WeightsOption = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="NAME",
            help="How Krippendorff's alpha takes two answers that differ: nominal, ordinal or interval. Without it, as "
            "the scale has it; labels without an order are nominal.",
            autocompletion=_complete.choices(*ALPHA_METRICS),
            rich_help_panel=HOW,
        ),
    ] = None,
    icc: Annotated[
        str,
        typer.Option(
            "--icc",
            metavar="FORM",
            help="Form of the intraclass correlation. It begins with 1 where every unit has raters of its own, with 2 "
            "where the raters stand for others like them, with 3 where these raters are all there are. It ends in 1 "
            "for the ratings of one rater, in k for the mean of all.",
            autocompletion=_complete.choices(*ICC_FORMS),
            rich_help_panel=HOW,
        ),
    ] = "2,1",
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
    reading: TypedReading = TYPED_NOTHING,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Show how well raters agree.

    It shows how well people agree among themselves, and beside them each algorithm or judge that rated the same things.
    Where people audited a judge, how often they confirm it stands in a table of its own.

    Examples:
        $ bedside agree run
        $ bedside agree run --metrics empathy,partnership --confusion
        $ bedside agree stars.csv --scale 1-5 --icc 2,k
    """
    from bedside.api import agree as agreement_tables

    tables = agreement_tables(
        rating_source(source, scale, columns, reading),
        metrics=read_names(metrics),
        raters=read_names(raters),
        weights=cast(Any, weights),
        alpha=cast(Any, alpha),
        icc=cast(Any, icc),
        confusion=confusion,
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        within=within,
        seed=seed,
    )
    next_commands = f"bedside validate {typed(source)}; bedside report {typed(source)}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
