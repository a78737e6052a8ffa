"""``bedside sample``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.api.annotating import SampleSettings, sample as draw_sample
from bedside.cli.output import note, show_tables
from bedside.cli.plans import run_option
from bedside.cli.settings_options import takes_settings
from bedside.core.words import typed


@takes_settings
def sample(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run that keeps the text, so one scored without --no-text."),
    ],
    settings: SampleSettings,
) -> None:
    from bedside.ratings.run import read_run

    opened = read_run(run)
    drawn = draw_sample.with_settings(opened, settings)
    for name, reason in drawn.left_out.items():
        note(f"People can't rate {name}, which is left out: {reason}.")
    show_tables(drawn.tables)
    named = f"{typed(drawn.file)}{run_option(drawn.file, opened)}"
    note(f"Wrote {drawn.file}. Next: bedside annotate push {named}, or bedside annotate export {named}")
