"""``bedside annotate serve``, ``push`` and ``pull``: Label Studio."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.annotation import (
    PlanArgument,
    RunOption,
    open_plan,
    say_kept,
    say_left_out,
    see_current,
)
from bedside.cli.annotation import annotate_app as annotate_app
from bedside.cli.common import RubricFolderOption, note, read_names, read_pairs, say
from bedside.support.errors import InputError

if TYPE_CHECKING:
    from bedside.annotation.server import OwnServer

UrlOption = Annotated[
    str, typer.Option(metavar="URL", help="Label Studio's address, as bedside annotate serve prints it.")
]
KeyOption = Annotated[
    str, typer.Option(metavar="VARIABLE", help="Environment variable that holds the API key.")
]


@annotate_app.command("serve")
def annotate_serve(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Where the server keeps its data; where a run is named, in RUN-label-studio beside it.",
        ),
    ],
    raters: Annotated[
        str | None, typer.Option(metavar="A,B", help="Who may log in: anna,ben. Can be added to later.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Port on this machine only; 8085 unless given.")
    ] = None,
    environment: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Virtual environment that has Label Studio; BEDSIDE_LABEL_STUDIO names one too.",
        ),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server; its data stay.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say whether the server runs.")] = False,
) -> None:
    """Start a Label Studio of your own on this machine, with a login for each rater.

    Where one runs already, it is found, and its logins are printed.

    Examples:
        $ bedside annotate serve run --raters anna,ben
        $ bedside annotate serve run --stop
    """
    from bedside.annotation import server

    # A run can be copied and sent on; passwords must not go with it.
    is_run = (folder / "manifest.json").is_file()
    place = folder.absolute().with_name(f"{folder.absolute().name}-label-studio") if is_run else folder
    if stop:
        say(f"Stopped the server of {place}." if server.stop(place) else f"No server of {place} runs.")
        return
    if status:
        found = server.find(place)
        if found is None:
            say(f"No server of {place} runs.")
        else:
            _say_server(found, folder)
        return
    names = read_names(raters) or ()
    _say_server(server.serve(place, raters=names, port=port, environment=environment, say=note), folder)


def _say_server(server: OwnServer, named: Path) -> None:
    state = "started" if server.started else "runs"
    say(f"Label Studio {server.version} {state} at {server.url}; only this machine can reach it.")
    width = max((len(login.email) for login in server.logins), default=0)
    for login in server.logins:
        say(f"  {login.rater} logs in as  {login.email:<{width}}  password  {login.password}")
    say(
        f"Passwords, the administrator's too: {server.logins_file}; key: {server.key_file}. You alone can read them."
    )
    say(f"For push and pull: export LABEL_STUDIO_API_KEY=$(cat {server.key_file})")
    say(f"To stop it: bedside annotate serve {named} --stop")


@annotate_app.command("push")
def annotate_push(
    plan: PlanArgument,
    url: UrlOption,
    key_env: KeyOption = "LABEL_STUDIO_API_KEY",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="A project for each rater, with that rater's items in their order."),
    ] = False,
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Markdown file: instructions, consent, training; shown first."),
    ] = None,
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Put a plan's tasks on a Label Studio server.

    Safe to repeat: what is there is not sent again.

    Examples:
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
    """
    from bedside.annotation.sync import LabelStudioServer
    from bedside.annotation.sync import push as run_push

    read, opened = open_plan(plan, run)
    see_current(read, rubric_folder, plan)
    words = _words(text)
    server = LabelStudioServer(url, _key(key_env))
    with _progress("Pushing tasks") as progress:
        pushed = run_push(read, opened, server, strict=strict, text=words, progress=progress)
    say(f"{pushed.sent:,} tasks sent, {pushed.present:,} were there already.")
    if pushed.removed:
        say(f"{pushed.removed:,} second copies that nobody had answered were removed.")
    if pushed.answered:
        say(
            f"{pushed.answered:,} are gone from the server and were not sent again: their answers are in the run."
        )
    for title, address in pushed.projects.items():
        say(f"{title}: {address}")
    say(
        "Raters open their project and choose Label All Tasks; a row of the table would open somebody else's answer."
    )
    note(f"Next, when raters are done: bedside annotate pull {plan} --url {url}")


@annotate_app.command("pull")
def annotate_pull(
    plan: PlanArgument,
    url: UrlOption,
    key_env: KeyOption = "LABEL_STUDIO_API_KEY",
    users: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS=NAME,…",
            help="Who is who, where an address doesn't begin with the rater's name: a@b.org=anna.",
        ),
    ] = None,
    run: RunOption = None,
) -> None:
    """Bring what raters answered on a Label Studio server into the run.

    Safe to repeat: nothing is there twice, nothing brought is lost.

    Examples:
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
    """
    from bedside.annotation.sync import LabelStudioServer
    from bedside.annotation.sync import pull as run_pull

    read, opened = open_plan(plan, run)
    server = LabelStudioServer(url, _key(key_env))
    with _progress("Pulling tasks") as progress:
        pulled = run_pull(read, opened, server, users=read_pairs(users, "--users"), progress=progress)
    say_left_out(pulled.read)
    say_kept(opened, read, pulled.kept)


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(
            "the environment variable of the server's key is not set",
            where=variable,
            todo=f"export {variable}=…: bedside annotate serve prints the command; or name another with --key-env",
        )
    return key


def _words(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("can't be read as UTF-8 text", where=str(path)) from error


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, plain lines elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    yield lambda done, total: note(f"{what}: {done:,} of {total:,}")
