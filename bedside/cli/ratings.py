"""``bedside ratings``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.help import App
from bedside.cli.options import ColumnsOption, ScaleOption
from bedside.cli.output import note_account, say, show_records
from bedside.cli.parsing import read_names, read_pairs
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, reads_ratings
from bedside.core.words import counted, typed

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
        typer.Option(metavar="NAME", help="Name of the metric, where the file names none. Without it, rating."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Metrics to take, by the file's names. Without it, all columns that can hold ratings.",
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="Metrics and columns of comments to leave out."),
    ] = None,
    round: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The round of annotation, such as pilot, where the file has no column for it. Of units that a plan "
            "drew, the plan's.",
        ),
    ] = "import",
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The plan that drew what people rated: its file, hash or round. Without it, the run's plan whose "
            "units these are.",
        ),
    ] = None,
) -> None:
    """Add ratings from a file (CSV, TSV, XLSX, Parquet, or an annotation tool's JSON) to a run.

    Before anything else it says how the file was understood. A rating replaces one in the run that
    is of the same transcript, unit, metric, rater, pass and round; an answer to a plan stands.
    Where people rated what a plan of the run drew, its draw is taken over. Spellings of one name are
    joined, and names and titles of metrics that the run has; texts beside ratings are kept as their
    reasons.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
        $ bedside ratings import run stars.csv --columns item=Session,rater=Coder --scale 1-5
        $ bedside ratings import run ours.csv --rename Warmth=empathy --without Mood
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.annotation.sheet_import import import_sheet
    from bedside.ratings.rating_files import note_numbering, read_rating_file
    from bedside.ratings.rating_reading import RatingReading, parse_missing
    from bedside.ratings.run import read_run
    from bedside.ratings.scales import parse_scales

    opened = read_run(run)
    typed_reading = reading.arguments()
    typed_reading["missing"] = parse_missing(typed_reading["missing"])
    rating_file = read_rating_file(
        file,
        RatingReading(
            scales=parse_scales(scale or []),
            columns=read_pairs(columns, "--columns"),
            metric=metric,
            metrics=read_names(metrics),
            without=read_names(without) or (),
            known=known_names(opened),
            **typed_reading,
        ),
    )
    note_numbering(opened, rating_file)
    note_account(rating_file.account.lines())
    done = import_sheet(opened, file, rating_file, round=round, plan=plan)
    new = done.added - done.replaced
    say(
        f"Read {counted(done.added, 'rating')} into {run}: {new:,} new, {done.replaced:,} replaced; "
        f"{counted(rating_file.empty, 'empty cell')}."
    )
    if done.standing:
        say(f"{counted(done.standing, 'rating')} of the same people and units came by a plan before: those stand.")
    if done.plan is not None:
        say(f"Plan {done.plan} drew these units: its round and chances are those of the ratings.")
    elif done.unknown:
        say(
            "No plan of the run is known to have drawn these units, so they give no corrected mean. If one did, name "
            "it with --plan."
        )
    say(f"Next: bedside agree {typed(run)}")
    show_records(
        "imported",
        f"Ratings that were read into {run}",
        [
            {
                "run": str(run),
                "file": str(file),
                "ratings": done.added,
                "new": new,
                "replaced": done.replaced,
                "standing": done.standing,
                "plan": done.plan,
                "empty_cells": rating_file.empty,
            }
        ],
    )
