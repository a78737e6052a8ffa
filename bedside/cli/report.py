"""``bedside report``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.options import (
    HOW,
    OUTPUT,
    WHICH,
    MatchOption,
    RoundOption,
    SeedOption,
    WhereOption,
)
from bedside.cli.output import is_json, note, say, say_or_show, show_tables
from bedside.cli.parsing import check_choice, open_source, read_names
from bedside.core.errors import DataError, InputError
from bedside.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bedside.analysis.ratings_view import RatingsView
    from bedside.ratings.run import Run
    from bedside.reports.report_settings import ReportSettings
    from bedside.reports.table import Table

#: Formats of the files of tables that are named, unless --format names others.
_FILES = ["md", "latex", "csv"]
_FORMATS = ("md", "latex", "html", "csv", "docx", "xlsx", "svg", "pdf", "png")
_SPREADS = ("sd", "ci", "none")
_BESTS = ("interval", "always", "never")
_PARTS = "One part, printed instead"

TablesOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        "--tables",
        metavar="A,B",
        help="Tables to write, such as results,agreement,comparison,missing. Without it, the whole report.",
        autocompletion=complete.tables,
        rich_help_panel=WHICH,
    ),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        metavar="SUITE",
        help="Suite or suite file whose tables are written in place of those of the run's own suites.",
        autocompletion=complete.suites,
        rich_help_panel=WHICH,
    ),
]
AsPublishedOption = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="The tables and figures of the suite's source, in its rows, columns and digits, in place of the suite's.",
        rich_help_panel=WHICH,
    ),
]
PublishedNumbersOption = Annotated[
    bool,
    typer.Option(
        "--published-numbers",
        help="With --as-published: in braces beside each number the one that the source printed.",
        rich_help_panel=HOW,
    ),
]
ReferenceOption = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Run of a reference corpus that systems are compared with, as in bedside deviation.",
        rich_help_panel=WHICH,
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        metavar="SYSTEM",
        help="System to test the others against: asterisks mark what differs from it, and figures of means show its "
        "mean across.",
        rich_help_panel=HOW,
    ),
]
SpreadOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What stands beside a mean: sd, ci (95 % interval) or none. Without it, what the suite says, or sd.",
        autocompletion=complete.choices(*_SPREADS),
        rich_help_panel=HOW,
    ),
]
BestOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What is bold: interval (the best and what can't be told from it), always (only the best) or never. "
        "Without it, what the suite says, or interval.",
        autocompletion=complete.choices(*_BESTS),
        rich_help_panel=HOW,
    ),
]
CompleteCasesOption = Annotated[
    bool,
    typer.Option(
        "--complete-cases",
        help="Of simulated conversations, only those whose case, persona, setting and length no system lost any of.",
        rich_help_panel=WHICH,
    ),
]
FormatsOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="A,B",
        help="Formats of the files: md, latex, html, csv, docx (Word), xlsx (Excel), svg, pdf, png. Without it, all of "
        "them; with --table, md, latex and csv.",
        autocompletion=complete.some_of(*_FORMATS),
        rich_help_panel=OUTPUT,
    ),
]
PaperColumnsOption = Annotated[
    int,
    typer.Option(
        "--columns",
        metavar="N",
        min=1,
        max=2,
        help="Columns of the paper that LaTeX's tables are for: 1 or 2. In a paper of two, wide tables stand across "
        "both.",
        rich_help_panel=OUTPUT,
    ),
]
SiunitxOption = Annotated[
    bool,
    typer.Option(
        "--siunitx",
        help="Align numbers in LaTeX at their decimal points, by the package siunitx.",
        rich_help_panel=OUTPUT,
    ),
]
ReportFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder of the report. Without it, RUN/report.",
        rich_help_panel=OUTPUT,
    ),
]
NoTextOption = Annotated[
    bool,
    typer.Option(
        "--no-text",
        help="Leave out what was said, and reasons, which may quote it.",
        rich_help_panel=OUTPUT,
    ),
]
MethodsOption = Annotated[
    bool, typer.Option("--methods", help="The methods paragraph of a paper.", rich_help_panel=_PARTS)
]
CardOption = Annotated[
    bool, typer.Option("--card", help="The judge cards: how good each judge is.", rich_help_panel=_PARTS)
]
ChecklistOption = Annotated[
    bool,
    typer.Option(
        "--checklist",
        help="The reporting checklists (CHART, GRRAS), filled in from the run.",
        rich_help_panel=_PARTS,
    ),
]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    table: TablesOption = None,
    suite: SuiteOption = None,
    as_published: AsPublishedOption = False,
    reference: ReferenceOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    complete_cases: CompleteCasesOption = False,
    against: AgainstOption = None,
    spread: SpreadOption = None,
    best: BestOption = None,
    published_numbers: PublishedNumbersOption = False,
    seed: SeedOption = 0,
    no_text: NoTextOption = False,
    format_: FormatsOption = None,
    columns: PaperColumnsOption = 1,
    siunitx: SiunitxOption = False,
    out: ReportFolderOption = None,
    methods: MethodsOption = False,
    card: CardOption = False,
    checklist: ChecklistOption = False,
) -> None:
    """Write a run's report: one HTML page, and every table and figure as files.

    Tables are written as Markdown, LaTeX and, with all digits, CSV; all of them as one Word document and one Excel
    workbook; figures as SVG, PDF and PNG.

    Examples:
        $ bedside report run
        $ bedside report run --table results --format latex --columns 2 --out paper/tables
        $ bedside report run --table results --format docx,xlsx
        $ bedside report run --as-published --published-numbers
        $ bedside report run --methods
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.simulated_talks import with_complete_cases
    from bedside.ratings.run import read_run
    from bedside.ratings.suites import SUITES
    from bedside.reports.build import usual_formats, write_report
    from bedside.reports.checklist import checklists
    from bedside.reports.contents import make_tables
    from bedside.reports.renderers.latex import LatexPaper

    if methods + card + checklist > 1:
        raise InputError(
            "only one part can be printed", where="--methods, --card, --checklist", todo="name one of them"
        )
    if published_numbers and not as_published:
        raise InputError(
            "published numbers stand in the tables of the source", where="--published-numbers",
            todo="add --as-published",
        )  # fmt: skip
    opened = read_run(run)
    view = open_source(run, rounds=rounds, where=where, match=match)
    if complete_cases:
        view = with_complete_cases(view)
    chosen_suite = SUITES.find(suite) if suite is not None else None
    if methods or checklist:
        settings = replace(_settings(view, against, spread, best, seed), as_published=as_published)
        held = replace(view, reference=open_ratings_view(reference)) if reference is not None else view
        shown = make_tables(held, suite=chosen_suite, settings=settings)
        return _say_methods(opened, view, shown) if methods else show_tables(checklists(opened, view, shown))
    if card:
        return _show_cards(view, seed)
    tables, files = write_report(
        opened,
        view,
        tables=read_names(table),
        # A page with one table would take the place of the whole report's.
        formats=read_names(format_) or (_FILES if table is not None else None),
        out=out,
        text=not no_text,
        suite=chosen_suite,
        reference=open_ratings_view(reference) if reference is not None else None,
        settings=replace(
            _settings(view, against, spread, best, seed),
            as_published=as_published,
            published_numbers=published_numbers,
        ),
        paper=LatexPaper(columns=1 if columns == 1 else 2, siunitx=siunitx),
    )
    if is_json():
        show_tables(tables)
    say(f"Wrote {counted(len(files), 'file')} to {files[0].parent}:")
    for file in files:
        say(f"  {file}")
    if table is None and format_ is None and "docx" not in usual_formats():
        note('No Word document: that needs python-docx, which isn\'t installed; pip install "bedside[forms]".')
    return None


def _settings(
    view: RatingsView, against: str | None, spread: str | None, best: str | None, seed: int
) -> ReportSettings:
    """What is the same for all tables of the report."""
    from bedside.analysis.selection import chosen_systems
    from bedside.reports.report_settings import ReportSettings

    check_choice(spread, _SPREADS, "--spread")
    check_choice(best, _BESTS, "--best")
    system = None
    if against is not None:
        (system,) = chosen_systems(view, [against], fewest=1)
    return ReportSettings(against=system, spread=spread, best=best, seed=seed)


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
