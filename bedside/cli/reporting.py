"""``bedside report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli._common import JsonOption, SeedOption, read_names, say, show_tables
from bedside.errors import DataError, InputError

if TYPE_CHECKING:
    from bedside.ratings import Run


def report(
    run: Path,
    table: Annotated[str | None, typer.Option(help="Tables to write; all unless named.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Of md,latex,html,csv,svg,pdf,png; all unless named.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="Tables of this suite, or suite file, not of the run's own.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="A run of a reference corpus that systems are held against.")
    ] = None,
    against: Annotated[str | None, typer.Option(help="Mark what differs from this system.")] = None,
    spread: Annotated[str | None, typer.Option(help="Beside means: sd, ci (95 % interval) or none.")] = None,
    best: Annotated[
        str | None, typer.Option(help="Bold: interval (where told apart), always or never.")
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Show nothing of what was said, nor reasons that may quote it.")
    ] = False,
    methods: Annotated[bool, typer.Option("--methods", help="Print the methods paragraph alone.")] = False,
    card: Annotated[bool, typer.Option("--card", help="Print the judge card alone.")] = False,
    checklist: Annotated[
        bool,
        typer.Option("--checklist", help="Print the reporting checklists alone, filled from the run."),
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; RUN/report unless named.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Write a run's report: tables as Markdown, LaTeX and CSV, and one HTML page with tables and figures."""
    from bedside.comparison import chosen_systems
    from bedside.evaluation import open_evaluation
    from bedside.ratings import read_run
    from bedside.reports.build import write_report
    from bedside.reports.contents import Settings
    from bedside.suites import SUITES

    if methods + card + checklist > 1:
        raise InputError("one at a time", where="--methods, --card, --checklist", todo="name one of them")
    opened = read_run(run)
    if methods or card or checklist:
        _show_part(opened, methods, card, seed, json)
        return
    tables, files = write_report(
        opened,
        tables=read_names(table),
        formats=read_names(format_),
        out=out,
        text=not no_text,
        suite=SUITES.find(suite) if suite is not None else None,
        reference=open_evaluation(reference) if reference is not None else None,
        settings=Settings(
            against=chosen_systems(open_evaluation(run), [against], fewest=1)[0] if against else None,
            spread=_one_of(spread, ("sd", "ci", "none"), "--spread"),
            best=_one_of(best, ("interval", "always", "never"), "--best"),
            seed=seed,
        ),
    )
    if json:
        show_tables(tables, True)
        return
    say(f"Wrote {len(files)} files to {files[0].parent}:")
    for file in files:
        say(f"  {file}")


def _one_of(value: str | None, known: tuple[str, ...], option: str) -> str | None:
    if value is not None and value not in known:
        raise InputError(f"{value!r} is not known", where=option, todo="one of " + ", ".join(known))
    return value


def _show_part(run: Run, methods: bool, card: bool, seed: int, json: bool) -> None:
    """Print the methods paragraph, the judge cards, or the checklists."""
    from bedside.evaluation import open_evaluation
    from bedside.reports.build import build_tables
    from bedside.reports.checklist import checklists
    from bedside.reports.methods import methods as paragraphs
    from bedside.reports.validation import card_tables

    evaluation = open_evaluation(run.path)
    if methods:
        for paragraph in paragraphs(run, evaluation, build_tables(evaluation, seed=seed)):
            say(paragraph)
    elif card:
        cards = card_tables(evaluation, seed)
        if not cards:
            raise DataError(
                "no judge rated what a person rated too",
                where=str(run.path),
                todo="score with --judge, and import people's ratings with bedside ratings import",
            )
        show_tables(cards, json)
    else:
        show_tables(checklists(run, evaluation, build_tables(evaluation, seed=seed)), json)
