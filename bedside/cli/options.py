"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.core.question_settings import HOW, OUTPUT

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
