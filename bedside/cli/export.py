"""``bedside export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.api.run_files import ExportSettings, export as write_export
from bedside.cli.output import note, say, show_records
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted


@takes_settings
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    settings: ExportSettings,
) -> None:
    written, out = write_export.with_settings(run, settings), Path(settings.out)
    holds = ", ".join(f"{table.name} ({table.rows:,})" for table in written.tables)
    say(f"Wrote {out}, {written.size / 1e3:,.0f} kB: {holds}.")
    say(f"Read {out / 'README.md'}: it says what the folder holds and how the ratings were made.")
    if written.text:
        say("What was said is in it, with all names that occur there. See that you may give it away.")
    if written.judgements:
        say("What judges were asked and replied is in it, word for word.")
    if written.pseudonyms:
        people = "person who rated has another name" if written.pseudonyms == 1 else "people who rated have other names"
        say(f"{written.pseudonyms:,} {people} in it; what is written in reasons may still name them.")
    if written.unknown_origins:
        note(
            f"Of {counted(written.unknown_origins, 'conversation')} nobody says where they come from: "
            "--origin simulated, recorded or written does."
        )
    note("Nothing was uploaded.")
    show_records(
        "export",
        f"What was written to {out}",
        [
            {
                "folder": str(out),
                "form": written.form,
                "bytes": written.size,
                "rows": {table.name: table.rows for table in written.tables},
                "text": written.text,
                "judgements": written.judgements,
                "people_renamed": written.pseudonyms,
                "transcripts_of_unknown_origin": written.unknown_origins,
            }
        ],
    )
