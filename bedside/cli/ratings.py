"""``bedside ratings``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.api.run_files import ImportSettings, import_ratings
from bedside.cli.help import App
from bedside.cli.output import say, show_records
from bedside.cli.question_commands import files_told
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted, typed

ratings_app: App = App(
    """Bring ratings that people already gave into a run.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
    """
)


@ratings_app.command("import")
@takes_settings
def ratings_import(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run to add the ratings to.")], settings: ImportSettings
) -> None:
    with files_told():
        done = import_ratings.with_settings(run, settings)
    new = done.added - done.replaced
    say(
        f"Read {counted(done.added, 'rating')} into {run}: {new:,} new, {done.replaced:,} replaced; "
        f"{counted(done.file.empty, 'empty cell')}."
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
                "file": str(settings.file),
                "ratings": done.added,
                "new": new,
                "replaced": done.replaced,
                "standing": done.standing,
                "plan": done.plan,
                "empty_cells": done.file.empty,
            }
        ],
    )
