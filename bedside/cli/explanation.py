"""``bedside explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.completion import table_names
from bedside.cli.options import (
    WHICH,
    ColumnsOption,
    MatchOption,
    RoundOption,
    ScaleOption,
    SeedOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import say, show_tables
from bedside.cli.parsing import read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings


@reads_ratings
def explain(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings.")],
    cell: Annotated[
        str,
        typer.Option(
            metavar="METRIC/SYSTEM",
            help="Row and column of the number, such as empathy/A. The table's CSV file has this name for every "
            "number, in its column cell.",
            rich_help_panel=WHICH,
        ),
    ],
    table: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The table that the number stands in.",
            autocompletion=table_names,
            rich_help_panel=WHICH,
        ),
    ] = "results",
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    seed: SeedOption = 0,
) -> None:
    """Show what stands behind one number of a table.

    It shows the definition, every rating with its transcript and turn, how many there are, what is missing and why, the
    tests, and of simulated conversations the hidden states.

    Examples:
        $ bedside explain run --cell empathy/A
        $ bedside explain run --table agreement --cell empathy
    """
    from bedside.api import explain as explain_cell

    explanation = explain_cell(
        rating_source(source, scale, columns, reading),
        cell,
        table=table,
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        match=read_names(match),
        within=within,
        seed=seed,
    )
    for definition in explanation.definitions:
        say(definition + "\n")
    show_tables(explanation.tables)
