"""``bedside demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import say, show_tables


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run; it is made anew.")] = Path(
        "demo-run"
    ),
    judge: Annotated[str | None, typer.Option(help="A model to rate the example too.")] = None,
) -> None:
    """Run the whole loop on the bundled example: score, ratings, agreement, comparison, report."""
    from bedside.demo import run_demo

    run_demo(out, say, lambda table: show_tables([table]), judge)
