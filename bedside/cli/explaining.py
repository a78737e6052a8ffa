"""``bedside explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import (
    ColumnsOption,
    JsonOption,
    ScaleOption,
    SeedOption,
    open_source,
    say,
    show_tables,
)


def explain(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings.")],
    cell: Annotated[str, typer.Option(help="What the number is of, parts joined by slashes: empathy/sysA.")],
    table: Annotated[str, typer.Option(help="The table it stands in.")] = "results",
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show what stands behind one number of a table: the ratings, n, the definition, the tests."""
    from bedside.reports.build import build_tables
    from bedside.reports.explanation import explain as run_explain

    evaluation = open_source(source, scale, columns)
    (found,) = build_tables(evaluation, [table], seed)
    tests = None
    if table != "comparison" and len(evaluation.systems()) > 1:
        tests = next(iter(build_tables(evaluation, ["comparison"], seed)), None)
    explanation = run_explain(evaluation, found, cell, tests)
    if not json:
        for definition in explanation.definitions:
            say(definition + "\n")
    show_tables(explanation.tables, json)
