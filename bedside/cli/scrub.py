"""``bedside scrub``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bedside.api.scrubbing import COPIES, ScrubSettings, scrub as look_through
from bedside.cli.output import in_options, is_json, note, say, show_tables
from bedside.cli.score import ScoredFilesArgument
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier

#: What the command ends with where something was seen; 2 is for input that can't be read.
SEEN = 1


@takes_settings
def scrub(files: ScoredFilesArgument, settings: ScrubSettings, *, reading: ReadOptions) -> None:
    from bedside.reports.identifiers import place_of

    last = ""

    def say_seen(seen: SeenIdentifier) -> None:
        nonlocal last
        if seen.source + seen.transcript != last:
            last = seen.source + seen.transcript
            say(f"{seen.source} ({seen.transcript})")
        text = " ".join((seen.text if settings.show else seen.masked).split())
        say(f"  {seen.kind:<13}  {text}  ({place_of(seen)})")

    seen = None if is_json() else say_seen
    tables = look_through.with_settings(files, replace(settings, options=reading, on_seen=seen))
    if last:
        say()
    show_tables(tables)
    results = tables.results
    for reason in results.skipped:
        note(f"Skipped: {in_options(reason)}")
    if settings.out is not None:
        note(f"Wrote {counted(results.transcripts, 'masked transcript')} to {Path(settings.out) / COPIES}")
        if results.left:
            note(
                f"Left as they are: {counted(results.left, 'identifier')} in ids, systems and cases, by which "
                "transcripts are told apart. Rename them in the files."
            )
    if results.counts:
        raise typer.Exit(SEEN)
