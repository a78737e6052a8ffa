"""``bedside deviation``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.options import (
    WHICH,
    ColumnsOption,
    JsonOption,
    MetricsOption,
    OutOption,
    RatersOption,
    ScaleOption,
    SystemsOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import open_source, read_names


def deviation(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings.")],
    reference: Annotated[
        str,
        typer.Option(
            metavar="REFERENCE",
            help="The reference corpus: a run, a file of ratings, or one of RUN's systems.",
            rich_help_panel=WHICH,
        ),
    ],
    systems: SystemsOption = None,
    metrics: MetricsOption = None,
    raters: RatersOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how far systems' means lie from those of a reference corpus.

    Examples:
        $ bedside deviation run --reference annomi-run
        $ bedside deviation run --reference human --metrics 'percent_*'
    """
    from bedside.analysis.deviation import deviation as deviations_from
    from bedside.reports.tables.deviation import deviation_table

    deviations = deviations_from(
        open_source(source, scale, columns),
        open_source(Path(reference), scale, columns) if Path(reference).exists() else reference,
        systems=read_names(systems),
        metrics=read_names(metrics),
        raters=read_names(raters),
    )
    table = deviation_table(deviations, Path(reference).name)
    show_and_write([table], source=source, out=out, as_json=json)
