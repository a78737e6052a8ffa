"""``bedside report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import JsonOption, SeedOption, read_names, say, show_tables


def report(
    run: Path,
    table: Annotated[str | None, typer.Option(help="Tables to write; all unless named.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Of md,latex,html,csv; all unless named.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; RUN/report unless named.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Write a run's report: tables as Markdown, LaTeX and CSV, and one HTML page with tables and figures."""
    from bedside.ratings import read_run
    from bedside.reports.build import write_report

    tables, files = write_report(
        read_run(run), tables=read_names(table), formats=read_names(format_), out=out, seed=seed
    )
    if json:
        show_tables(tables, True)
        return
    say(f"Wrote {len(files)} files to {files[0].parent}:")
    for file in files:
        say(f"  {file}")
