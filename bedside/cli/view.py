"""``bedside view``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.run_files import ViewSettings, view as view_run
from bedside.cli.output import note, refuse_json, say, show_records
from bedside.cli.progress import task_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted


@takes_settings
def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")], settings: ViewSettings
) -> None:
    copying = settings.export is not None
    if not copying:
        refuse_json("add --export FOLDER")
    with task_progress("Conversations copied") if copying else nullcontext() as progress:
        copied = view_run.with_settings(run, replace(settings, started=_say_served, progress=progress))
    if settings.export is None or copied is None:
        note("Stopped.")
        return
    page = Path(settings.export) / "index.html"
    say(f"Wrote {counted(copied.transcripts, 'conversation')} to {page}, which opens without a server.")
    say(f"The folder has {counted(copied.files, 'file')} and {copied.size / 1e6:,.1f} MB.")
    record = {
        "page": str(page),
        "transcripts": copied.transcripts,
        "files": copied.files,
        "bytes": copied.size,
        "text": copied.text,
    }
    show_records("copy", "A copy to look at without a server", [record])
    if copied.text:
        say(
            "It holds the conversations themselves, reasons, and what judges were asked and replied: whoever has the "
            "folder can read them. See that you may give them away."
        )


def _say_served(run: Path, link: str) -> None:
    say(f"{run} can be looked at here, by whoever has this link on this machine:")
    say(f"  {link}")
    note("Nothing is changed, and nothing leaves this machine. Ctrl-C ends it.")
