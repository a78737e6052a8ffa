"""The report of a run, written from Python, and people's ratings brought into a run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from bedside.api.rating_questions import MatchedBy, PartOfStudy
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.question_settings import (
    ARGUMENTS,
    HOW,
    OUTPUT,
    READING,
    WHICH,
    Seeded,
    option,
    question,
    settings_class,
)
from bedside.core.words import Names, listed, listed_by_name
from bedside.ratings.rating_reading import SCALES, FileReading

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingsView
    from bedside.annotation.sheet_import import SheetImport
    from bedside.ratings.rating_files import RatingFile
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.reports.report_settings import ReportSettings as TableSettings
    from bedside.reports.table import Tables

#: A run, or its folder.
RunOrFolder: TypeAlias = "Run | str | os.PathLike[str]"


def open_run(run: RunOrFolder) -> Run:
    """The run, opened where its folder is given.

    Raises:
        RunError: there is no run.
    """
    from bedside.ratings.run import Run

    return run if isinstance(run, Run) else Run(run)


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written.

    Attributes:
        page: the HTML page with everything in it; None where ``formats`` doesn't name it.
        tables: its tables.
        files: all files, the page among them.
    """

    page: Path | None
    tables: Tables[None]
    files: tuple[Path, ...] = field(repr=False)

    def figure(self, name: str) -> Path:
        """The figure of this name as PNG.

        Raises:
            DataError: the report has none; the names are given.
        """

        figures = {file.stem: file for file in self.files if file.suffix == ".png"}
        return figures[one_of(name, figures, "figure", DataError)]


@settings_class
class ReportWriting(PartOfStudy, MatchedBy, Seeded):
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

    tables: Names | None = option(
        "Tables to write, such as results,agreement,comparison,missing. Without it, the whole report.",
        "--table", "--tables", default=None, heading=WHICH, metavar="A,B", form="names", offers="tables",
    )  # fmt: skip
    suite: str | None = option(
        "Suite or suite file whose tables are written in place of those of the run's own suites.",
        default=None, heading=WHICH, metavar="SUITE", offers="suites",
    )  # fmt: skip
    as_published: bool = option(
        "The tables and figures of the suite's source, in its rows, columns and digits, in place of the suite's.",
        default=False, heading=WHICH,
    )  # fmt: skip
    reference: RunOrFolder | None = option(
        "Run of a reference corpus that systems are compared with, as in bedside deviation.",
        default=None, heading=WHICH, metavar="RUN", form="path",
    )  # fmt: skip
    complete_cases: bool = option(
        "Of simulated conversations, only those whose case, persona, setting and length no system lost any of.",
        default=False, heading=WHICH,
    )  # fmt: skip
    against: str | None = option(
        "System to test the others against: asterisks mark what differs from it, and figures of means show its mean "
        "across.",
        default=None, heading=HOW, metavar="SYSTEM",
    )  # fmt: skip
    spread: Literal["sd", "ci", "none"] | None = option(
        "What stands beside a mean: sd, ci (95 % interval) or none. Without it, what the suite says, or sd.",
        default=None, heading=HOW, metavar="NAME",
    )  # fmt: skip
    best: Literal["interval", "always", "never"] | None = option(
        "What is bold: interval (the best and what can't be told from it), always (only the best) or never. Without "
        "it, what the suite says, or interval.",
        default=None, heading=HOW, metavar="NAME",
    )  # fmt: skip
    published_numbers: bool = option(
        "With --as-published: in braces beside each number the one that the source printed.", default=False, heading=HOW
    )
    text: bool = option(
        "Leave out what was said, and reasons, which may quote it.",
        "--no-text", default=True, heading=OUTPUT, form="unless",
    )  # fmt: skip
    formats: Names | None = option(
        "Formats of the files: md, latex, html, csv, docx (Word), xlsx (Excel), svg, pdf, png. Without it, all of "
        "them; with named tables, md, latex and csv.",
        "--format", default=None, heading=OUTPUT, metavar="A,B", form="names", offers="table_formats",
    )  # fmt: skip
    columns: Literal[1, 2] = option(
        "Columns of the paper that LaTeX's tables are for: 1 or 2. In a paper of two, wide tables stand across both.",
        default=1, heading=OUTPUT, metavar="N",
    )  # fmt: skip
    siunitx: bool = option(
        "Align numbers in LaTeX at their decimal points, by the package siunitx.", default=False, heading=OUTPUT
    )
    out: str | os.PathLike[str] | None = option(
        "Folder of the report. Without it, RUN/report.",
        "--out", "-o", default=None, heading=OUTPUT, metavar="FOLDER", kw_only=False,
    )  # fmt: skip

    def __post_init__(self) -> None:
        one_of(self.columns, (1, 2), "choice", InputError, where="`columns`")
        if self.published_numbers and not self.as_published:
            raise InputError(
                "published numbers stand in the tables of the source", where="`published_numbers`",
                todo="add `as_published`",
            )  # fmt: skip

    def view(self, run: Run) -> RatingsView:
        """The ratings that the report is about."""
        from bedside.analysis.ratings_view import open_ratings_view
        from bedside.analysis.simulated_talks import with_complete_cases

        view = open_ratings_view(
            run,
            rounds=listed(self.rounds, "rounds"),
            where=listed_by_name(self.where, "where"),
            match=listed(self.match, "match"),
        )
        return with_complete_cases(view) if self.complete_cases else view

    def of_tables(self, view: RatingsView) -> TableSettings:
        """What is the same for all tables."""
        from bedside.analysis.selection import chosen_systems
        from bedside.reports.report_settings import ReportSettings as TableSettings

        return TableSettings(
            against=None if self.against is None else chosen_systems(view, [self.against], fewest=1)[0],
            spread=self.spread,
            best=self.best,
            seed=self.seed,
            as_published=self.as_published,
            published_numbers=self.published_numbers,
        )

    def opened_reference(self) -> RatingsView | None:
        """The ratings of the reference corpus."""
        from bedside.analysis.ratings_view import open_ratings_view

        return None if self.reference is None else open_ratings_view(self.reference)

    def found_suite(self) -> Suite | None:
        """The suite that is named."""
        from bedside.ratings.suites import SUITES

        return None if self.suite is None else SUITES.find(self.suite)


@question(ReportWriting, "The run, or its folder.")
def report(run: RunOrFolder, settings: ReportWriting) -> Report:
    """Raises:
    BedsideError: no such run, round, factor, level, table, suite, system or format, no case that is complete, no suite
        that says what its source printed, or the folder can't be written.
    """
    from bedside.reports.build import PAGE, write_report
    from bedside.reports.renderers.latex import LatexPaper
    from bedside.reports.table import Tables

    opened = open_run(run)
    view = settings.view(opened)
    written, files = write_report(
        opened,
        view,
        tables=listed(settings.tables, "tables"),
        formats=listed(settings.formats, "formats"),
        out=None if settings.out is None else Path(settings.out),
        text=settings.text,
        suite=settings.found_suite(),
        reference=settings.opened_reference(),
        settings=settings.of_tables(view),
        paper=LatexPaper(columns=settings.columns, siunitx=settings.siunitx),
    )
    return Report(next((file for file in files if file.name == PAGE), None), Tables(written, None), files)


@settings_class
class ReadRatingsSettings(FileReading):
    """Ratings read from a file; every question takes them in place of it, and ``account`` says what was understood."""

    scales: Names = SCALES
    metric: str | None = option(
        "Name of the metric, where the file names none. Without it, rating.",
        default=None, heading=READING, metavar="NAME",
    )  # fmt: skip


@question(ReadRatingsSettings, "A table (CSV, TSV, XLSX, Parquet), or an annotation tool's JSON.")
def read_ratings(file: str | os.PathLike[str], settings: ReadRatingsSettings) -> RatingFile:
    """Raises:
    AmbiguousError: the file can be read in two ways; both are named, with what says which is meant.
    BedsideError: no such file, or one that ratings can't be read from.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.ratings.rating_files import read_rating_file

    return read_rating_file(file, settings.parsed(settings.scales, known_names(), metric=settings.metric))


@settings_class
class ImportSettings(ReadRatingsSettings):
    """Add ratings from a file (CSV, TSV, XLSX, Parquet, or an annotation tool's JSON) to a run.

    Before anything else it says how the file was understood. A rating replaces one in the run that
    is of the same transcript, unit, metric, rater, pass and round; an answer to a plan stands.
    Where people rated what a plan of the run drew, its draw is taken over. Spellings of one name are
    joined, and names and titles of metrics that the run has; texts beside ratings are kept as their
    reasons.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
        $ bedside ratings import run stars.csv --columns item=Session,rater=Coder --scale 1-5
        $ bedside ratings import run ours.csv --rename Warmth=empathy --without Mood
    """

    file: str | os.PathLike[str] = option(
        "A table with one rating a row, a column for each rater or one for each metric; or the export of a survey "
        "or an annotation tool. An item is a transcript's id. Where turns are rated, a column turn has their "
        "number, from 0.",
        heading=ARGUMENTS, metavar="FILE", kw_only=False,
    )  # fmt: skip
    metrics: Names | None = option(
        "Metrics to take, by the file's names. Without it, all columns that can hold ratings.",
        default=None, heading=WHICH, metavar="NAME,…", form="names",
    )  # fmt: skip
    without: Names = option(
        "Metrics and columns of comments to leave out.", default=(), heading=WHICH, metavar="NAME,…", form="names"
    )
    round: str = option(
        "The round of annotation, such as pilot, where the file has no column for it. Of units that a plan drew, the "
        "plan's.",
        default="import", heading=HOW, metavar="NAME",
    )  # fmt: skip
    plan: str | os.PathLike[str] | None = option(
        "The plan that drew what people rated: its file, hash or round. Without it, the run's plan whose units these "
        "are.",
        default=None, heading=HOW, metavar="FILE",
    )  # fmt: skip


@question(ImportSettings, "The run, or its folder.")
def import_ratings(run: RunOrFolder, settings: ImportSettings) -> SheetImport:
    """Raises:
    BedsideError: no such run, or a file that doesn't fit it.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.annotation.sheet_import import import_sheet
    from bedside.ratings.rating_files import note_numbering, read_rating_file, tell_of

    opened = open_run(run)
    reading = settings.parsed(
        settings.scales,
        known_names(opened),
        metric=settings.metric,
        metrics=listed(settings.metrics, "metrics"),
        without=listed(settings.without, "without"),
    )
    file = read_rating_file(settings.file, reading)
    note_numbering(opened, file)
    tell_of(file)
    return import_sheet(opened, Path(settings.file), file, round=settings.round, plan=settings.plan)
