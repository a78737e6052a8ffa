"""``bedside view``."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.options import WHICH, SeedOption, SystemsOption, WhereOption
from bedside.cli.output import is_json, note, say, show_records
from bedside.cli.parsing import read_names, read_where
from bedside.cli.progress import task_progress
from bedside.core.errors import InputError
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.reports.viewer.viewed_run import ViewedRun

_COPY = "A copy, in place of the page"


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="NUMBER", help="Port on this machine. Without it, 8087, or a free one."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the link, and open no browser.")
    ] = False,
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
    if is_json():
        raise InputError(
            "a page that is served prints no JSON",
            where="--json",
            todo="leave it out, or add --export FOLDER",
        )
    import secrets
    from contextlib import ExitStack, closing, suppress

    from bedside.core.page_addresses import PagePlace, free_port
    from bedside.core.stopping import run_coroutine
    from bedside.reports.viewer.view_server import PORT, ViewServer, serve_view

    place = PagePlace(port=port or free_port(PORT if port is None else 0))
    secret = secrets.token_urlsafe(24)
    link = f"{place.address}/#secret={secret}"

    with ExitStack() as ending:

        def started() -> None:
            say(f"{viewed.path} can be looked at here, by whoever has this link on this machine:")
            say(f"  {link}")
            if not no_browser:
                ending.enter_context(opened_in_browser(link))
            note("Nothing is changed, and nothing leaves this machine. Ctrl-C ends it.")

        with closing(ViewServer(viewed)) as server, suppress(KeyboardInterrupt):
            run_coroutine(serve_view(server, place, secret, started=started))
    note("Stopped.")


@contextmanager
def opened_in_browser(link: str) -> Iterator[threading.Thread | None]:
    """Have the browser open a link, where there is one that has a window of its own; what starts it is given.

    The link goes by a file that its owner alone can read: others see the words that a program was started with.
    """
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        yield None
        return
    with TemporaryDirectory(prefix="bedside-view-") as folder:  # nobody else can look into it
        page = Path(folder) / "open.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>bedside view</title>'
            f'<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Go on to the run</a>\n',
            "utf-8",
        )
        # Some ways to start a browser wait for it; the page is served meanwhile.
        starting = threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True)
        starting.start()
        yield starting


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

    ids = chosen_transcripts(
        viewed, systems=read_names(systems), where=read_where(where), sample=sample, seed=seed
    )
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
