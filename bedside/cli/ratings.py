"""``bedside ratings``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.help import App
from bedside.cli.json_output import show_records
from bedside.cli.options import ColumnsOption, ScaleOption
from bedside.cli.output import note_account, say
from bedside.cli.parsing import read_pairs
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, reads_ratings
from bedside.support.plurals import counted
from bedside.support.shell_words import typed

ratings_app: App = App(
    """Bring ratings that people already gave into a run.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
    """
)


@ratings_app.command("import")
@reads_ratings
def ratings_import(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run to add the ratings to.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A table with one rating a row, a column for each rater or one for each metric; or the export of a "
            "survey or an annotation tool. An item is a transcript's id. Where turns are rated, a column turn has "
            "their number, from 0.",
        ),
    ],
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the metric, where the file names none. Without it, rating."
        ),
    ] = None,
    round: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The round of annotation, such as pilot, where the file has no column for it.",
        ),
    ] = "import",
) -> None:
    """Add ratings from a file (CSV, TSV, XLSX, Parquet, or an annotation tool's JSON) to a run.

    Before anything else it says how the file was understood. A rating replaces one in the run that
    is of the same transcript, unit, metric, rater, pass and round.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
        $ bedside ratings import run stars.csv --columns item=Session,rater=Coder --scale 1-5
    """
    from bedside.analysis.metric_facts import known_scale
    from bedside.ratings.rating_files import read_rating_file
    from bedside.ratings.rating_import import import_ratings, note_numbering
    from bedside.ratings.run import read_run
    from bedside.ratings.scales import parse_scales
    from bedside.rubrics.run_rubrics import own_rubrics

    opened = read_run(run)
    rating_file = read_rating_file(
        file,
        scales=parse_scales(scale or []),
        columns=read_pairs(columns, "--columns"),
        metric=metric,
        known_scale=partial(known_scale, rubrics=own_rubrics(opened)),
        **asdict(reading),
    )
    note_numbering(opened, rating_file)
    note_account(rating_file.account.lines())
    added, replaced = import_ratings(opened, file, rating_file, round)
    new = added - replaced
    say(
        f"Read {counted(added, 'rating')} into {run}: {new:,} new, {replaced:,} replaced; "
        f"{counted(rating_file.empty, 'empty cell')}."
    )
    say(f"Next: bedside agree {typed(run)}")
    show_records(
        "imported",
        f"Ratings that were read into {run}",
        [
            {
                "run": str(run),
                "file": str(file),
                "ratings": added,
                "new": new,
                "replaced": replaced,
                "empty_cells": rating_file.empty,
            }
        ],
    )
