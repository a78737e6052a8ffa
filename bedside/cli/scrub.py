"""``bedside scrub``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.output import in_options, is_json, note, say, show_tables
from bedside.cli.score import ScoredFilesArgument
from bedside.cli.settings_options import takes_settings
from bedside.core.question_settings import HOW, OUTPUT
from bedside.core.words import counted
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier

#: What the command ends with where something was seen; 2 is for input that can't be read.
SEEN = 1


@takes_settings
def scrub(
    files: ScoredFilesArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Folder for a copy of the transcripts in which what was seen is its kind, such as [NAME]. Nothing "
            "there is overwritten.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    show: Annotated[
        bool,
        typer.Option("--show", help="Print what was seen as it stands; else it is covered.", rich_help_panel=OUTPUT),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Package or folder of a spaCy pipeline that sees English names; none takes patterns alone. Without "
            "it, spaCy's small English model where it is installed. Nothing is downloaded.",
            rich_help_panel=HOW,
        ),
    ] = None,
    *,
    reading: ReadOptions,
) -> None:
    """Warn of what may say who somebody is, before transcripts leave this machine.

    It looks for names, dates, numbers and addresses. It ends with exit code 1 where it saw any, else with 0. It is no
    promise of anonymity: a person must read what is to be handed on.

    Examples:
        $ bedside scrub talks/
        $ bedside scrub talks/ --show
        $ bedside scrub talks/ --out masked
    """
    from bedside.api.scrubbing import COPIES, scrub as look_through
    from bedside.reports.identifiers import place_of

    last = ""

    def say_seen(seen: SeenIdentifier) -> None:
        nonlocal last
        if seen.source + seen.transcript != last:
            last = seen.source + seen.transcript
            say(f"{seen.source} ({seen.transcript})")
        text = " ".join((seen.text if show else seen.masked).split())
        say(f"  {seen.kind:<13}  {text}  ({place_of(seen)})")

    tables = look_through(
        files,
        options=reading,
        model="" if model == "none" else model,
        show=show,
        out=out,
        on_seen=None if is_json() else say_seen,
    )
    if last:
        say()
    show_tables(tables)
    results = tables.results
    for reason in results.skipped:
        note(f"Skipped: {in_options(reason)}")
    if out is not None:
        note(f"Wrote {counted(results.transcripts, 'masked transcript')} to {out / COPIES}")
        if results.left:
            note(
                f"Left as they are: {counted(results.left, 'identifier')} in ids, systems and cases, by which "
                "transcripts are told apart. Rename them in the files."
            )
    if results.counts:
        raise typer.Exit(SEEN)
