"""Options that several commands of ``bedside note2chat`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete

#: The panel of options that say what is made of what.
MADE_OF = "What about"

FolderOption = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder to write; the same command goes on where it was stopped.",
    ),
]
RecordCasesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CASES", help="Cases: JSON, JSON lines or YAML files, or folders of them.", show_default=False
    ),
]
RecordEvaluatorOption = Annotated[
    str,
    typer.Option(
        metavar="ACTOR",
        help="Model that is asked, named as judges are; rules is a toy that needs none.",
        autocompletion=complete.actors,
    ),
]
TestCasesOption = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Ids of cases that are kept for testing, one a line: they come into no training file.",
        rich_help_panel=MADE_OF,
    ),
]
