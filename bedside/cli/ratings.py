"""``bedside ratings``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import ColumnsOption, ScaleOption, read_pairs, say
from bedside.cli.help import App

ratings_app = App("Bring ratings that people already gave into a run.")


@ratings_app.command("import")
def ratings_import(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run that the ratings are of.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A spreadsheet with columns item, rater, metric, value; or item, metric and one for each rater. The "
            "item is the transcript's id; a column turn is for ratings of turns, from 0.",
        ),
    ],
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="The metric, where the file has no column for it.")
    ] = "rating",
) -> None:
    """Add ratings from a spreadsheet (CSV, TSV, XLSX, Parquet) to a run.

    A rating of the same transcript, unit, metric, rater and pass replaces the one in the run.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
        $ bedside ratings import run stars.csv --columns item=Session,rater=Coder --scale 1-5
    """
    from bedside.analysis.ratings_view import known_scale, own_rubrics
    from bedside.ratings.run import read_run
    from bedside.ratings.spreadsheets import import_ratings, parse_scales, read_rating_file

    opened = read_run(run)
    found = read_rating_file(
        file,
        scales=parse_scales(scale or []),
        columns=read_pairs(columns, "--columns"),
        metric=metric,
        known_scale=partial(known_scale, own=own_rubrics(opened)),
    )
    added, replaced = import_ratings(opened, file, found)
    new = added - replaced
    say(
        f"Read {added:,} ratings into {run}: {new:,} new, {replaced:,} replaced; {found.empty:,} empty cells."
    )
    say(f"Next: bedside agree {run}")
