"""``bedside report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.common import (
    HOW,
    OUTPUT,
    WHICH,
    JsonOption,
    SeedOption,
    read_names,
    say,
    show_tables,
)
from bedside.cli.completion import one_of, some_of, suites, tables
from bedside.support.errors import DataError, InputError

if TYPE_CHECKING:
    from bedside.ratings.run import Run


#: Written of tables that are named, unless formats are.
_FILES = ["md", "latex", "csv"]
_PARTS = "A part alone, printed"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score made.")],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            "--tables",
            metavar="A,B",
            help="Tables to write, by name: results,agreement,comparison,missing …; all unless named.",
            autocompletion=tables,
            rich_help_panel=WHICH,
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE",
            help="Tables of this suite or suite file, not of the run's own.",
            autocompletion=suites,
            rich_help_panel=WHICH,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A run of a reference corpus that systems are held against, as in bedside deviation.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Mark with asterisks what differs from this system, and show its means across figures of means.",
            rich_help_panel=HOW,
        ),
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Beside means: sd (unless named), ci (95 % interval) or none.",
            autocompletion=one_of("sd", "ci", "none"),
            rich_help_panel=HOW,
        ),
    ] = None,
    best: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Bold: interval (unless named: the best, and what can't be told from it), always (the best "
            "alone) or never.",
            autocompletion=one_of("interval", "always", "never"),
            rich_help_panel=HOW,
        ),
    ] = None,
    seed: SeedOption = 0,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text",
            help="Show nothing of what was said, nor reasons that may quote it.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="A,B",
            help="Of md,latex,html,csv,svg,pdf,png; all unless named; of single tables, no page unless html is named.",
            autocompletion=some_of("md", "latex", "html", "csv", "svg", "pdf", "png"),
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="RUN/report unless named.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: JsonOption = False,
    methods: Annotated[
        bool, typer.Option("--methods", help="The methods paragraph of a paper.", rich_help_panel=_PARTS)
    ] = False,
    card: Annotated[
        bool,
        typer.Option("--card", help="How good each judge is: the judge cards.", rich_help_panel=_PARTS),
    ] = False,
    checklist: Annotated[
        bool,
        typer.Option(
            "--checklist",
            help="The reporting checklists (CHART, GRRAS), filled from the run.",
            rich_help_panel=_PARTS,
        ),
    ] = False,
) -> None:
    """Write a run's report: one HTML page, and every table and figure as files.

    Tables as Markdown, LaTeX and CSV at full precision, figures as SVG, PDF and PNG.

    Examples:
        $ bedside report run
        $ bedside report run --table results --format latex --out paper/tables
        $ bedside report run --methods
    """
    from bedside.analysis.comparison import chosen_systems
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.run import read_run
    from bedside.reports.build import write_report
    from bedside.reports.contents import Settings
    from bedside.reports.table import counted
    from bedside.suites import SUITES

    if methods + card + checklist > 1:
        raise InputError("one at a time", where="--methods, --card, --checklist", todo="name one of them")
    opened = read_run(run)
    if methods or card or checklist:
        _show_part(opened, methods, card, seed, json)
        return
    made, files = write_report(
        opened,
        tables=read_names(table),
        # A page with one table would take the place of the whole report's.
        formats=read_names(format_) or (_FILES if table is not None else None),
        out=out,
        text=not no_text,
        suite=SUITES.find(suite) if suite is not None else None,
        reference=open_ratings_view(reference) if reference is not None else None,
        settings=Settings(
            against=chosen_systems(open_ratings_view(run), [against], fewest=1)[0] if against else None,
            spread=_one_of(spread, ("sd", "ci", "none"), "--spread"),
            best=_one_of(best, ("interval", "always", "never"), "--best"),
            seed=seed,
        ),
    )
    if json:
        show_tables(made, True)
        return
    say(f"Wrote {counted(len(files), 'file')} to {files[0].parent}:")
    for file in files:
        say(f"  {file}")


def _one_of(value: str | None, known: tuple[str, ...], option: str) -> str | None:
    if value is not None and value not in known:
        raise InputError(f"{value!r} is not known", where=option, todo="one of " + ", ".join(known))
    return value


def _show_part(run: Run, methods: bool, card: bool, seed: int, json: bool) -> None:
    """Print the methods paragraph, the judge cards, or the checklists."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.reports.build import build_tables
    from bedside.reports.checklist import checklists
    from bedside.reports.methods import methods as paragraphs
    from bedside.reports.validation import card_tables

    view = open_ratings_view(run.path)
    if methods:
        for paragraph in paragraphs(run, view, build_tables(view, seed=seed)):
            say(paragraph)
    elif card:
        cards = card_tables(view, seed)
        if not cards:
            raise DataError(
                "no judge rated what a person rated too",
                where=str(run.path),
                todo="score with --judge, and import people's ratings with bedside ratings import",
            )
        show_tables(cards, json)
    else:
        show_tables(checklists(run, view, build_tables(view, seed=seed)), json)
