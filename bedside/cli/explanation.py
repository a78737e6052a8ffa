"""``bedside explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import (
    WHICH,
    ColumnsOption,
    JsonOption,
    ScaleOption,
    SeedOption,
    read_pairs,
    say,
    show_tables,
)
from bedside.cli.completion import table_names


def explain(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings.")],
    cell: Annotated[
        str,
        typer.Option(
            metavar="METRIC/SYSTEM",
            help="What the number is of, its row and column: empathy/A. The column cell of the table's CSV has the "
            "names of all.",
            rich_help_panel=WHICH,
        ),
    ],
    table: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The table it stands in.", autocompletion=table_names, rich_help_panel=WHICH
        ),
    ] = "results",
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show what stands behind one number of a table.

    The definition, every rating with its transcript and turn, n, what is missing and why, the tests.

    Examples:
        $ bedside explain run --cell empathy/A
        $ bedside explain run --table agreement --cell empathy
    """
    from bedside.api import explain as run_explain

    explanation = run_explain(
        source,
        cell,
        table=table,
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        seed=seed,
    )
    if not json:
        for definition in explanation.definitions:
            say(definition + "\n")
    show_tables(explanation.tables, json)
