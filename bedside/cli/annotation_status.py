"""``bedside annotate status``: where raters are, and how they keep up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.adjudication import annotate_app as annotate_app
from bedside.cli.annotation import say_left_out
from bedside.cli.label_studio import KeyOption, key_of
from bedside.cli.options import SeedOption
from bedside.cli.output import note, show_tables
from bedside.cli.parsing import read_pairs
from bedside.cli.plans import RunOption, open_plan
from bedside.cli.progress import task_progress
from bedside.core.errors import InputError
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_store import StoreSummary
    from bedside.ratings.run import Run
    from bedside.reports.table import Table


@annotate_app.command("status")
def annotate_status(
    source: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, or a run to show all of its plans.")],
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Bring in first what was answered since: from the Label Studio at --url, else from the plan's rating "
            "page.",
        ),
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With --live: address of Label Studio."),
    ] = None,
    key_env: KeyOption = "LABEL_STUDIO_API_KEY",
    users: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS=NAME,…",
            help="With --live: raters by their e-mail addresses, as pull takes them.",
        ),
    ] = None,
    run: RunOption = None,
    seed: SeedOption = 0,
) -> None:
    """Show how much each rater has done, how they keep up, and how well they agree so far.

    Examples:
        $ bedside annotate status plan.json
        $ bedside annotate status plan.json --live --url http://127.0.0.1:8085
    """
    from bedside.annotation.plan_progress import plan_progress
    from bedside.ratings.run import Run as OpenedRun
    from bedside.reports.annotation import status_tables

    if not live and (url is not None or users is not None):
        raise InputError(
            "nothing is brought in unless it is asked for",
            where="--url" if url is not None else "--users",
            todo="add --live, or leave it out",
        )
    opened = [open_plan(path, its_run) for path, its_run in _plan_files(source, run)]
    tables: list[Table] = []
    for plan, its_run in opened:
        if live:
            _bring_in(its_run, plan, url, key_env, users)
        current = OpenedRun(its_run.path) if live else its_run
        tables += status_tables(plan, plan_progress(current, plan, seed=seed))
    show_tables(tables)


def _plan_files(source: Path, run: Path | None) -> list[tuple[Path, Path | None]]:
    """The plan that is named, or all of a run."""
    from bedside.annotation.answer_store import FOLDER

    if not source.is_dir():
        return [(source, run)]
    plans = sorted((source / FOLDER).glob("*/plan.json"))
    if not plans:
        raise InputError("the run has no annotation plan", where=str(source), todo="make one with bedside sample")
    return [(path, source) for path in plans]


def _bring_in(run: Run, plan: AnnotationPlan, url: str | None, key_env: str, users: str | None) -> None:
    """Put into a run what was answered since."""
    if url is not None:
        from bedside.annotation.label_studio_client import LabelStudioClient
        from bedside.annotation.label_studio_projects import pull

        server = LabelStudioClient(url, key_of(key_env))
        with task_progress("Pulling tasks") as progress:
            pulled = pull(plan, run, server, users=read_pairs(users, "--users"), progress=progress)
        say_left_out(pulled.collected, tell=note)
        _note_new(pulled.stored)
        return
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.annotation.rating_page.page_folder import page_folder

    folder = page_folder(run, plan)
    if not folder.database.is_file():
        raise InputError(
            "the plan has no rating page of bedside's own, and no server is named",
            where="--live",
            todo="name the Label Studio with --url, or leave --live out",
        )
    _note_new(collect(folder, run, plan))


def _note_new(stored: StoreSummary) -> None:
    note(f"{counted(stored.new, 'new answer')}, {counted(stored.revised, 'correction')}.")
