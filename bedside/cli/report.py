"""``bedside report``."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api.installation import installing
from bedside.api.run_files import ReportWriting, report as write_report
from bedside.cli.output import (
    Shown,
    comparing_groups,
    files_told,
    is_json,
    note,
    say,
    say_or_show,
    show_answer,
    show_findings,
    show_tables,
)
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import DataError, InputError
from bedside.core.question_settings import OUTPUT
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bedside.analysis.ratings_view import RatingsView
    from bedside.ratings.run import Run
    from bedside.reports.table import Table

#: Formats of the files of tables that are named, unless --format names others.
_FILES = ["md", "latex", "csv"]
_PARTS = "One part, printed instead"

AllOption = Annotated[
    bool, typer.Option("--all", help="Print all that was found, and the name of each file.", rich_help_panel=OUTPUT)
]
MethodsOption = Annotated[
    bool, typer.Option("--methods", help="The methods paragraph of a paper.", rich_help_panel=_PARTS)
]
CardOption = Annotated[
    bool, typer.Option("--card", help="The judge cards: how good each judge is.", rich_help_panel=_PARTS)
]
SafetyOption = Annotated[
    bool, typer.Option("--safety", help="The safety card: what people at risk did not get.", rich_help_panel=_PARTS)
]
ChecklistOption = Annotated[
    bool,
    typer.Option(
        "--checklist", help="The reporting checklists (CHART, GRRAS), filled in from the run.", rich_help_panel=_PARTS
    ),
]


@takes_settings
@files_told()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    settings: ReportWriting,
    methods: MethodsOption = False,
    card: CardOption = False,
    safety: SafetyOption = False,
    checklist: ChecklistOption = False,
    all: AllOption = False,
) -> None:
    from bedside.api.run_files import open_run
    from bedside.ratings.names import is_pair
    from bedside.reports.build import FIGURE_FORMATS, absent_formats
    from bedside.reports.checklist import checklists
    from bedside.reports.comparison_notes import version_notes

    if methods + card + safety + checklist > 1:
        raise InputError(
            "only one part can be printed", where="--methods, --card, --safety, --checklist", todo="name one of them"
        )
    opened = open_run(run)
    if methods or card or safety or checklist:
        view = settings.view(opened)
        if card:
            return _show_cards(view, settings.seed)
        if safety:
            _show_safety(view, all)
            return note(
                f"To read one: bedside view {typed(run)}. Its ratings: bedside explain {typed(run)} --table "
                "safety_cases --cell CONVERSATION"
            )
        shown = _tables(view, settings)
        return _say_methods(opened, view, shown) if methods else show_tables(checklists(opened, view, shown))
    if settings.tables is not None and settings.formats is None:
        # A page with one table would take the place of the whole report's.
        settings = replace(settings, formats=_FILES)
    written = write_report.with_settings(opened, settings)
    show_findings(written.tables, all=all)
    for text in version_notes(settings.view(opened)):
        say(text)
    folder = written.files[0].parent
    if all or len(written.files) == 1:
        say(f"Wrote {counted(len(written.files), 'file')} to {folder}:")
        for file in written.files:
            say(f"  {file}")
    else:
        figures = {file.stem for file in written.files if file.suffix[1:] in FIGURE_FORMATS}
        what = counted(len(written.tables), "table") + (f" and {counted(len(figures), 'figure')}" if figures else "")
        endings = ", ".join(sorted({file.suffix[1:] for file in written.files if file != written.page}))
        if written.page is not None:
            say(f"The report: {written.page}")
        say(f"{'Beside it' if written.page else folder}: {what} ({endings}). All {len(written.files)} names: --all.")
    if settings.tables is None and (groups := comparing_groups(opened)):
        note(f"To compare groups: {groups}")
    if settings.tables is None and settings.formats is None:
        for words in absent_formats().values():
            note(installing(words))
    pairs = find_spec("sklearn") is None and any(map(is_pair, opened.ratings["unit"].unique()))
    if settings.tables is None and pairs:
        note(installing('No tables of preferences: pip install "bedside[learning]".'))
    return None


def _tables(view: RatingsView, settings: ReportWriting) -> Sequence[Table]:
    """The tables whose tests the methods tell of."""
    from bedside.reports.contents import make_tables

    reference = settings.opened_reference()
    held = view if reference is None else replace(view, reference=reference)
    return make_tables(held, suite=settings.found_suite(), settings=settings.of_tables(view))


def _say_methods(run: Run, view: RatingsView, tables: Sequence[Table]) -> None:
    """Print the methods paragraph; ``tables`` are those whose tests it tells of."""
    from bedside.reports.methods import methods

    paragraphs = list(methods(run, view, tables))
    records = [{"paragraph": paragraph} for paragraph in paragraphs]
    say_or_show("\n".join(paragraphs), "methods", "The methods paragraph", records)


def _show_cards(view: RatingsView, seed: int) -> None:
    """Print the judge cards."""
    from bedside.reports.build import judge_cards

    cards = judge_cards(view, seed)
    if not cards:
        raise DataError(
            "no judge rated what a person rated too",
            where=view.name,
            todo="score with --judge, and import people's ratings with bedside ratings import",
        )
    show_tables(cards)


def _show_safety(view: RatingsView, all: bool) -> None:
    """Print the safety card: how often and how badly, with whom, the worst first."""
    from bedside.analysis.people_at_risk import escalation
    from bedside.reports.table import Tables
    from bedside.reports.tables.safety_card import card_table, safety_screen, safety_sentences
    from bedside.reports.tables.safety_cases import cases_table

    people = escalation(view)
    tables = [card_table(people), *([cases_table(people)] if people.missed else [])]
    if is_json():
        return show_tables(tables)
    screen = [safety_screen(people), *(table if all else replace(table, notes=()) for table in tables)]
    return show_answer(Tables(screen, people), Shown(all=all, notes=all), safety_sentences(people))
