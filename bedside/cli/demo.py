"""``bedside demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import say, show_tables
from bedside.cli.completion import judges


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Folder of the run; an earlier demonstration is replaced."
        ),
    ] = Path("demo-run"),
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A model that rates the example too, as in bedside score.",
            autocompletion=judges,
        ),
    ] = None,
) -> None:
    """Run the whole loop on a bundled example: a first look.

    Twelve invented conversations of three systems, rated by two invented people: scored, compared, reported.

    Examples:
        $ bedside demo
        $ bedside demo --judge local
    """
    from bedside.cli.demo_run import run_demo

    run_demo(out, say, lambda table: show_tables([table]), judge)
