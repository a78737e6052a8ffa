"""``bedside annotate page``: bedside's own rating page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.annotation import say_kept
from bedside.cli.json_output import refuse_json, show_records
from bedside.cli.label_studio import annotate_app as annotate_app
from bedside.cli.label_studio import words_of
from bedside.cli.options import RubricFolderOption
from bedside.cli.output import note, say
from bedside.cli.plans import PlanArgument, RunOption, check_plan_current, open_plan, run_option
from bedside.core.errors import BedsideError
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.rating_page.page_folder import PageFolder
    from bedside.core.page_serving import PagePlace
    from bedside.ratings.run import Run


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
            note(
                f"To put them there: bedside annotate page {typed(plan)}{run_option(plan, opened)} --collect"
            )
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
        say(
            f"The rating page is served at {place.address}. A link is a password: send it to its rater alone."
        )
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
        [
            {"rater": rater, "link": link, "items": len(plan.assignment[rater])}
            for rater, link in links.items()
        ],
    )


def _collect(folder: PageFolder, run: Run, plan: AnnotationPlan, plan_file: Path) -> None:
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.ratings.run import Run as OpenedRun

    say_kept(run, plan, plan_file, collect(folder, OpenedRun(run.path), plan))
