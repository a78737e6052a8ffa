"""``bedside preferences``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.options import (
    WHICH,
    ColumnsOption,
    OutOption,
    RatersOption,
    RoundOption,
    SeedOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.words import typed


@reads_ratings
def preferences(
    source: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run, or a file of ratings, in which conversations were compared."),
    ],
    rubrics: Annotated[
        str | None,
        typer.Option(
            "--rubrics",
            "--rubric",
            metavar="A,B*",
            help="Rubrics by which conversations were compared. Without it, all of them.",
            autocompletion=complete.rubrics,
            rich_help_panel=WHICH,
        ),
    ] = None,
    systems: SystemsOption = None,
    raters: RatersOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Show which system is preferred where two conversations were compared.

    The answer has each system's strength and share of wins, systems two by two, whether the one shown first is
    preferred, how judges and people agree on what is better, and whether the levels that they gave say the same. Each
    case counts once. It asks nobody: bedside judge pairs has judges compare.

    Examples:
        $ bedside preferences run
        $ bedside preferences run --rubric empathy --raters 'judge:*' --systems A,B
    """
    from bedside.api import preferences as preference_tables

    tables = preference_tables(
        rating_source(source, None, columns, reading),
        rubrics=read_names(rubrics),
        raters=read_names(raters),
        systems=read_names(systems),
        rounds=read_rounds(rounds),
        where=read_where(where),
        within=within,
        seed=seed,
    )
    next_commands = f"bedside explain {typed(source)} --table strengths; bedside report {typed(source)}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
