"""``bedside annotate serve``, ``push``, ``pull`` (Label Studio) and ``page``, bedside's own rating page."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.annotation import annotate_app as annotate_app, say_kept, say_left_out
from bedside.cli.options import RubricFolderOption
from bedside.cli.output import note, refuse_json, say, show_records
from bedside.cli.parsing import read_names, read_pairs
from bedside.cli.plans import PlanArgument, RunOption, check_plan_current, open_plan, run_option
from bedside.cli.progress import task_progress
from bedside.core.errors import BedsideError, InputError
from bedside.core.files import read_text
from bedside.core.words import counted, typed
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.label_studio_server import OwnServer
    from bedside.annotation.rating_page.page_folder import PageFolder
    from bedside.core.page_serving import PagePlace
    from bedside.ratings.run import Run


# -- ``bedside annotate serve``, ``push`` and ``pull``: Label Studio ------------------------------------

UrlOption = Annotated[
    str, typer.Option(metavar="URL", help="Address of Label Studio, as bedside annotate serve prints it.")
]
KeyOption = Annotated[
    str, typer.Option(metavar="VARIABLE", help="Name of the environment variable that holds the API key.")
]


@annotate_app.command("serve")
def annotate_serve(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Folder in which the server keeps its data. If you name a run, it is RUN-label-studio beside it.",
        ),
    ],
    raters: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Raters who may log in, such as anna,ben; more can be added later."),
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="NUMBER", help="Port on this machine. Without it, 8085.")] = None,
    environment: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Virtual environment that has Label Studio; the variable BEDSIDE_LABEL_STUDIO can name it too.",
        ),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server and keep its data.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say whether the server runs.")] = False,
) -> None:
    """Start a Label Studio of your own on this machine, with a login for each rater.

    Where one runs already, its address and logins are printed.

    Examples:
        $ bedside annotate serve run --raters anna,ben
        $ bedside annotate serve run --stop
    """
    from bedside.annotation import label_studio_server as server

    # A run can be copied and sent on; passwords must not go with it.
    place = folder.absolute().with_name(f"{folder.absolute().name}-label-studio") if is_run(folder) else folder
    if stop:
        stopped = server.stop_server(place)
        say(f"Stopped the server of {place}." if stopped else f"No server of {place} runs.")
        show_records("server", "The Label Studio of this machine", [{"folder": str(place), "runs": False}])
        return
    if status:
        running = server.running_server(place)
        if running is None:
            say(f"No server of {place} runs.")
            show_records("server", "The Label Studio of this machine", [{"folder": str(place), "runs": False}])
        else:
            _say_server(running, folder, passwords=False)
        return
    names = read_names(raters) or ()
    running = server.serve(place, raters=names, port=port, environment=environment, say=note)
    _say_server(running, folder, passwords=True)


def _say_server(server: OwnServer, named: Path, *, passwords: bool) -> None:
    state = "started" if server.started else "runs"
    say(f"Label Studio {server.version} {state} at {server.url}; only this machine can reach it.")
    width = max((len(login.email) for login in server.logins), default=0)
    for login in server.logins:
        password = f"  password  {login.password}" if passwords else ""
        say(f"  {login.rater} logs in as  {login.email:<{width}}{password}".rstrip())
    say(
        f"The passwords, the administrator's too, are in {server.logins_file}, the key in {server.key_file}. Only you "
        "can read them."
    )
    say(f"Before push and pull: export LABEL_STUDIO_API_KEY=$(cat {typed(server.key_file)})")
    say(f"To stop it: bedside annotate serve {typed(named)} --stop")
    show_records(
        "server",
        "The Label Studio of this machine",
        [
            {
                "folder": str(named),
                "runs": True,
                "version": server.version,
                "address": server.url,
                "logins": [{"rater": login.rater, "email": login.email} for login in server.logins],
                "logins_file": str(server.logins_file),
                "key_file": str(server.key_file),
            }
        ],
        notes=["Passwords and the key stand in their files alone."],
    )


@annotate_app.command("push")
def annotate_push(
    plan: PlanArgument,
    url: UrlOption,
    key_env: KeyOption = "LABEL_STUDIO_API_KEY",
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--pool",
            help="--strict makes a project for each rater, with that rater's items in their order; --pool makes one "
            "for all, in which whoever comes first rates an item, whatever the plan assigns. Without either, it is "
            "--pool where every rater rates every item, else --strict.",
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Markdown file that raters are shown first: instructions, consent, training."
        ),
    ] = None,
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Put a plan's tasks on a Label Studio server.

    It is safe to repeat: tasks that are on the server are not sent again.

    Examples:
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
    """
    from bedside.annotation.label_studio_client import LabelStudioClient
    from bedside.annotation.label_studio_projects import push as run_push

    read, opened = open_plan(plan, run)
    check_plan_current(read, rubric_folder, plan)
    words = words_of(text)
    server = LabelStudioClient(url, key_of(key_env))
    with task_progress("Pushing tasks") as progress:
        pushed = run_push(read, opened, server, strict=strict, text=words, progress=progress)
    say(f"Sent {counted(pushed.sent, 'task')}; {pushed.present:,} there already.")
    if pushed.removed:
        say(f"Removed {counted(pushed.removed, 'task')} that stood there twice and that nobody had answered.")
    if pushed.taken_back:
        say(f"Took back {counted(pushed.taken_back, 'task')} that others rate now.")
    if pushed.answered:
        gone = counted(pushed.answered, "task")
        say(f"Did not send {gone} again that the server no longer has: the run has the answers.")
    for title, address in pushed.projects.items():
        say(f"{title}: {address}")
    show_records("pushed", "What was put on the server", [asdict(pushed)])
    say("Raters open their project and choose Label All Tasks: a row of the table may open another rater's answer.")
    note(f"Next, when raters are done: bedside annotate pull {typed(plan)} --url {url}{run_option(plan, opened)}")


@annotate_app.command("pull")
def annotate_pull(
    plan: PlanArgument,
    url: UrlOption,
    key_env: KeyOption = "LABEL_STUDIO_API_KEY",
    users: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS=NAME,…",
            help="Raters by their e-mail addresses, such as a@b.org=anna; needed where an address doesn't begin with "
            "the name.",
        ),
    ] = None,
    run: RunOption = None,
) -> None:
    """Bring what raters answered on a Label Studio server into the run.

    It is safe to repeat: no answer is added twice, and none is lost.

    Examples:
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
    """
    from bedside.annotation.label_studio_client import LabelStudioClient
    from bedside.annotation.label_studio_projects import pull as run_pull

    read, opened = open_plan(plan, run)
    server = LabelStudioClient(url, key_of(key_env))
    with task_progress("Pulling tasks") as progress:
        pulled = run_pull(read, opened, server, users=read_pairs(users, "--users"), progress=progress)
    say_left_out(pulled.collected)
    say_kept(opened, read, plan, pulled.stored)


def key_of(variable: str) -> str:
    """The API key of a Label Studio, from an environment variable."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(
            "the environment variable of the server's key is not set",
            where=variable,
            todo=f"export {variable}=… (bedside annotate serve prints the command), or name another variable with "
            "--key-env",
        )
    return key


def words_of(path: Path | None) -> str:
    """What raters are shown first, from its file."""
    if path is None:
        return ""
    return read_text(path)


# -- ``bedside annotate page``: bedside's own rating page -----------------------------------------------


@annotate_app.command("page")
def annotate_page(
    plan: PlanArgument,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where it listens: 127.0.0.1, which this machine alone can reach, an address of this machine on a "
            "network, or 0.0.0.0 for all of them.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", help="Port on this machine.")] = 8086,
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address that raters use, where it is another, as behind a proxy."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for TLS, as PEM; needs its --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Key of the certificate, as PEM.")] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Markdown file that raters are shown first: instructions, consent, training."
        ),
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="Print each rater's link and end; new raters get one.")
    ] = False,
    collect: Annotated[
        bool,
        typer.Option("--collect", help="Put what raters handed in into the run and end, without serving."),
    ] = False,
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Serve bedside's own rating page: each rater sees their share of a plan, and nothing else.

    Each rater has a link. What they type is kept as they type it; what they hand in goes into the run. Ctrl-C ends it,
    and the same command goes on.

    Examples:
        $ bedside annotate page plan.json
        $ bedside annotate page plan.json --links
    """
    from bedside.annotation.rating_page.page_folder import page_folder
    from bedside.core.page_serving import HOST, PORT, PagePlace, checked_place

    read, opened = open_plan(plan, run)
    folder = page_folder(opened, read)
    folder.make()
    place = checked_place(PagePlace(host, port, address, certificate, key))
    if links:
        _say_links(folder, read, folder.address() or place.address)
        return
    if collect:
        _collect(folder, opened, read, plan)
        return
    refuse_json("add --links or --collect")
    check_plan_current(read, rubric_folder, plan)
    options: dict[str, object] = {
        "--host": host if host != HOST else None,
        "--port": port if port != PORT else None,
        "--address": address,
        "--certificate": certificate,
        "--key": key,
        "--text": text,
        "--rubric-folder": rubric_folder,
    }
    words = "".join(f" {name} {typed(str(value))}" for name, value in options.items() if value is not None)
    command = f"bedside annotate page {typed(plan)}{words}{run_option(plan, opened)}"
    with folder.serving():
        _serve(folder, opened, read, place=place, text=words_of(text))
        try:
            _collect(folder, opened, read, plan)
        except BedsideError as error:
            note(f"Answers are kept, and not in the run yet: {error}")
            note(f"To put them there: bedside annotate page {typed(plan)}{run_option(plan, opened)} --collect")
    note(f"Stopped. Nothing is lost; links stay as they are. To go on: {command}")


def _serve(folder: PageFolder, run: Run, plan: AnnotationPlan, *, place: PagePlace, text: str) -> None:
    """Serve until Ctrl-C."""
    from contextlib import closing, suppress

    from bedside.annotation.rating_page.page_server import serve_page
    from bedside.annotation.rating_page.page_state import PageState
    from bedside.core.stopping import run_coroutine

    state = PageState(plan, run, folder, text)

    def started() -> None:
        folder.remember_address(place.address)
        say(f"The rating page is served at {place.address}. A link is a password: send it to its rater alone.")
        _say_links(folder, plan, place.address)
        if place.is_readable:
            say(
                "What raters read and write goes over the network unencrypted: give --certificate and --key, or put it "
                "behind a proxy with TLS."
            )
        elif place.only_here and place.public is None:
            say("Only this machine can reach it.")
        note(f"Answers are kept in {folder.path} and go into {run.path} as they come. Ctrl-C ends it.")

    with closing(state.database), suppress(KeyboardInterrupt):
        run_coroutine(serve_page(state, place, folder, run, started=started, say=note))


def _say_links(folder: PageFolder, plan: AnnotationPlan, address: str) -> None:
    from bedside.annotation.rating_page.page_folder import rater_links

    links = rater_links(address, folder.secrets(plan.raters))
    width = max(map(len, links))
    for rater, link in links.items():
        say(f"  {rater:<{width}}  {link}  {counted(len(plan.assignment[rater]), 'item')}")
    show_records(
        "links",
        "The raters' links, each a password",
        [{"rater": rater, "link": link, "items": len(plan.assignment[rater])} for rater, link in links.items()],
    )


def _collect(folder: PageFolder, run: Run, plan: AnnotationPlan, plan_file: Path) -> None:
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.ratings.run import Run as OpenedRun

    say_kept(run, plan, plan_file, collect(folder, OpenedRun(run.path), plan))
