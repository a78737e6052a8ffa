"""``bedside view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.options import SeedOption, SystemsOption, WhereOption
from bedside.cli.output import note, refuse_json, say, show_records
from bedside.cli.parsing import read_names, read_where
from bedside.cli.progress import task_progress
from bedside.core.errors import InputError
from bedside.core.question_settings import WHICH
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.reports.viewer.viewed_run import ViewedRun

_COPY = "A copy, in place of the page"


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="NUMBER", help="Port on this machine. Without it, 8087, or a free one."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link, and open no browser.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write a copy that needs no server into this folder, as for a paper's supplement, and end. It holds "
            "the conversations.",
            rich_help_panel=_COPY,
        ),
    ] = None,
    systems: SystemsOption = None,
    where: WhereOption = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Only so many of the transcripts, drawn at random.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Look at any conversation of a run in the browser, its ratings and reasons beside it.

    The page is served on this machine alone, to whoever has the link, and changes nothing. Ctrl-C ends it.

    Examples:
        $ bedside view run
        $ bedside view run --export supplement --sample 50
    """
    from bedside.reports.viewer.viewed_run import ViewedRun

    if export is None:
        of_copy = {"--systems": systems, "--where": where, "--sample": sample}
        unused = [option for option, value in of_copy.items() if value]
        if unused:
            raise InputError(
                "this says what is in a copy, and no copy is written",
                where=", ".join(unused),
                todo="add --export FOLDER, or leave it out and filter on the page",
            )
        return _serve(ViewedRun(run), port, no_browser)
    return _copy(ViewedRun(run), export, systems, where, sample, seed)


def _serve(viewed: ViewedRun, port: int | None, no_browser: bool) -> None:
    """Serve until Ctrl-C."""
    refuse_json("add --export FOLDER")
    from contextlib import ExitStack, closing, suppress

    from bedside.core.page_serving import PagePlace, free_port, new_secret, opened_in_browser, serve
    from bedside.core.stopping import run_coroutine
    from bedside.reports.viewer.view_server import PORT, ViewServer

    place = PagePlace(port=port or free_port(PORT if port is None else 0))
    secret = new_secret()
    link = f"{place.address}/#secret={secret}"

    with ExitStack() as ending:

        def started() -> None:
            say(f"{viewed.path} can be looked at here, by whoever has this link on this machine:")
            say(f"  {link}")
            if not no_browser:
                ending.enter_context(opened_in_browser(link))
            note("Nothing is changed, and nothing leaves this machine. Ctrl-C ends it.")

        with closing(ViewServer(viewed)) as server, suppress(KeyboardInterrupt):
            run_coroutine(serve(server.page(secret), place, started=started))
    note("Stopped.")


def _copy(
    viewed: ViewedRun,
    folder: Path,
    systems: str | None,
    where: list[str] | None,
    sample: int | None,
    seed: int,
) -> None:
    """Write a copy, and say what it holds."""
    from bedside.reports.viewer.view_copy import chosen_transcripts, write_copy

    ids = chosen_transcripts(viewed, systems=read_names(systems), where=read_where(where), sample=sample, seed=seed)
    with task_progress("Conversations copied") as step:
        copied = write_copy(viewed, ids, folder, progress=step)
    say(
        f"Wrote {counted(copied.transcripts, 'conversation')} to {folder / 'index.html'}, which opens without a server."
    )
    say(f"The folder has {counted(copied.files, 'file')} and {copied.size / 1e6:,.1f} MB.")
    show_records(
        "copy",
        "A copy to look at without a server",
        [
            {
                "page": str(folder / "index.html"),
                "transcripts": copied.transcripts,
                "files": copied.files,
                "bytes": copied.size,
                "text": copied.text,
            }
        ],
    )
    if copied.text:
        say(
            "It holds the conversations themselves, reasons, and what judges were asked and replied: whoever has the "
            "folder can read them. See that you may give them away."
        )
