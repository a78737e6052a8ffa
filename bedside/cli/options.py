"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.core.question_settings import HOW, OUTPUT, WHICH

# -- what every command has ----------------------------------------------------------------------------

JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print an array of tables as JSON, with all digits of their numbers; lines go to standard error.",
        rich_help_panel=OUTPUT,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Seed of everything that is drawn at random; the same seed gives the same result.",
        rich_help_panel=HOW,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder to write the tables to, as Markdown, LaTeX and CSV. Without it, they are printed alone.",
        rich_help_panel=OUTPUT,
    ),
]

# -- which ratings are looked at -------------------------------------------------------------------------

SystemsOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Systems to look at. Without it, all of them.", rich_help_panel=WHICH),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=LEVEL,…",
        help="Only transcripts with this level of a factor, such as setting=8. May be repeated: several levels of one "
        "factor are taken together.",
        rich_help_panel=WHICH,
    ),
]

# -- what people rate by ----------------------------------------------------------------------------------

RubricFolderOption = Annotated[
    Path | None, typer.Option("--rubric-folder", metavar="FOLDER", help="Folder of your own rubrics.")
]
