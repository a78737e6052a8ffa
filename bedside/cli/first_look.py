"""``bedside demo``, ``doctor``, ``verify``, ``sign``: the bundled example, what is installed, unchanged, signed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api import verifying
from bedside.api.demonstration import DemoSettings, demo as demonstrate
from bedside.api.installation import DoctorSettings, doctor as examine, said_of_installation
from bedside.api.verifying import SignSettings, VerifySettings, all_as_written, said_of_files
from bedside.cli.output import Shown, is_json, say, show_answer, show_tables
from bedside.cli.settings_options import takes_settings
from bedside.core.question_settings import OUTPUT

if TYPE_CHECKING:
    from bedside.reports.table import Table


@takes_settings
def demo(settings: DemoSettings) -> None:
    demonstrate.with_settings(replace(settings, show=_show))
    if settings.judge is None:
        say(
            "  To add a judge: bedside demo --judge MODEL (openai/…, http://host:port/v1#model or local; see "
            "docs/judges.md)"
        )


def _show(part: str | Iterable[Table]) -> None:
    from bedside.reports.table import Tables

    if isinstance(part, str):
        for line in part.split("\n"):
            say(line)
    elif isinstance(part, Tables):
        show_answer(part, Shown())
    else:
        show_tables(part if is_json() else [replace(table, notes=()) for table in part])


@takes_settings
def doctor(
    settings: DoctorSettings,
    whole: Annotated[bool, typer.Option("--all", help="Print all that was looked at.", rich_help_panel=OUTPUT)] = False,
) -> None:
    tables = examine.with_settings(settings)
    if whole or is_json():
        show_tables(tables)
    else:
        for line in said_of_installation(tables.results):
            say(line)
        say("All that was looked at: bedside doctor --all")
    if any(fact.good is False for fact in tables.results):
        raise typer.Exit(1)


@takes_settings
def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATHS", help="Runs, simulations, plans, answers, judges, reports; a report's file and its run."
        ),
    ],
    settings: VerifySettings,
    whole: Annotated[bool, typer.Option("--all", help="Print each file.", rich_help_panel=OUTPUT)] = False,
) -> None:
    tables = verifying.verify.with_settings(paths, settings)
    for line in said_of_files(tables.results):
        say(line)
    if whole or is_json():
        show_tables(tables)
    if not all_as_written(tables.results):
        raise typer.Exit(1)


@takes_settings
def sign(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or another one that bedside wrote.")],
    settings: SignSettings,
) -> None:
    tables = verifying.sign.with_settings(folder, settings)
    for line in said_of_files(tables.results):
        say(line)
    if is_json():
        show_tables(tables)
