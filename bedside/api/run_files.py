"""A run from Python: its report, people's ratings brought into it, runs merged, looked at and given away."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from bedside.api.chosen_ratings import SYSTEMS, WHERE, MatchedBy, PartOfStudy
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.question_settings import (
    ARGUMENTS,
    HOW,
    OPTIONS,
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
    from convokit import Corpus

    from bedside.analysis.ratings_view import RatingsView
    from bedside.annotation.sheet_import import SheetImport
    from bedside.ratings.rating_files import RatingFile
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.reports.exports.export import ExportedFolder
    from bedside.reports.report_settings import ReportSettings as TableSettings
    from bedside.reports.table import Tables
    from bedside.reports.viewer.view_copy import ViewCopy
    from bedside.reports.viewer.viewed_run import ViewedRun
    from bedside.transcripts.transcript import Transcript

#: A run, or its folder.
RunOrFolder: TypeAlias = "Run | str | os.PathLike[str]"


def open_run(run: RunOrFolder) -> Run:
    """The run, opened where its folder is given.

    Raises:
        RunError: there is no run.
        InputError: it is something else.
    """
    from bedside.ratings.run import Run

    if not isinstance(run, Run | str | os.PathLike):
        raise InputError(f"what is of type {type(run).__name__} is no run", todo="give the run, or its folder")
    return run if isinstance(run, Run) else Run(run)


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written.

    Attributes:
        page: the HTML page with everything in it; None where ``formats`` doesn't name it.
        tables: its tables; ``tables.sentences()`` says what the ratings come to.
        files: all files, the page among them.
    """

    page: Path | None
    tables: Tables[None]
    files: tuple[Path, ...] = field(repr=False)

    def figure(self, name: str) -> Path:
        """The file of the figure of this name: as PNG where that was asked for, else as SVG.

        Raises:
            DataError: the report has none; the names are given.
        """

        figures = {file.stem: file for suffix in (".svg", ".png") for file in self.files if file.suffix == suffix}
        return figures[one_of(name, figures, "figure", DataError)]


@settings_class
class ReportWriting(PartOfStudy, MatchedBy, Seeded):
    """Write a run's report: a page, and every table and figure as files.

    Tables are written as Markdown, LaTeX and, with all digits, CSV; all of them as one Word document and one Excel
    workbook; figures as SVG, and as PDF and PNG where those are asked for.

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
        "Run of a reference corpus that systems are compared with, as in bedside compare --against.",
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
    main: Names | None = option(
        "Measures of the page's first figure, five at most. Without it, the suite's.",
        default=None, heading=HOW, metavar="A,B", form="names",
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
        "Formats of the files: md, latex, html, csv, docx (Word), xlsx (Excel), svg, pdf, png. Without it, all "
        "but pdf and png; with named tables, md, latex and csv.",
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
            main=tuple(
                one_of(name, view.metrics(), "metric", DataError, where="`main`")
                for name in listed(self.main, "main") or ()
            ),
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
    return Report(next((file for file in files if file.name == PAGE), None), written, files)


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
    reasons. Of ratings of the parts of a sheet, flow or points, the mean, results and points are computed.

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


# -- Several runs merged into one -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """Runs that were merged.

    Attributes:
        run: the new run.
        shared: transcripts that several of the runs had.
        repeated: ratings that several of the runs had, with the same value; they are there once.
        filled: ratings that were missing in one run and are taken from another.
        people: raters who rated in several runs; they count as the same people.
        cases: how many cases transcripts of several runs are of; they count as the same cases.
        unnamed: runs whose transcripts name no system, where there are several such runs: they count as of one system.
        left_out: of each run, as its folder is named, what was not taken over.
    """

    run: Run
    shared: int
    repeated: int
    filled: int
    people: tuple[str, ...]
    cases: int
    unnamed: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]


@settings_class
class MergeSettings:
    """Make one run of several, such as systems that were scored apart.

    Ratings, judgements, people's answers and what is known of simulations are kept, and what stands in several runs
    is kept once. Runs that mean different things by a metric, a rubric or an id are refused.

    Examples:
        $ bedside merge run-gpt run-claude --out both
        $ bedside merge monday tuesday --systems gpt,claude --out both
    """

    out: str | os.PathLike[str] = option(
        "Folder of the new run.", "--out", "-o", heading=OPTIONS, metavar="RUN", form="path", kw_only=False
    )
    systems: Names | None = option(
        "A system for each run, in their order, where runs have transcripts of the same ids. A transcript that names "
        "no system is of it, and its id becomes system/id.",
        default=None, heading=OPTIONS, metavar="A,B", form="names",
    )  # fmt: skip


@question(MergeSettings, "Two or more runs, or their folders; they stay as they are.")
def merge(runs: Sequence[RunOrFolder], settings: MergeSettings) -> MergedRuns:
    """A transcript that several runs have is there once, and so are its ratings; what is missing in one run is taken
    from another. A sample that people rated in one run is never taken for one of the others' transcripts. An id that a
    file gave is the case, where none is named.

    Raises:
        BedsideError: a folder is no run or ``out`` is there already; runs have different transcripts of one id, or
            different values of one rating; or a metric, rubric, judge, jury, suite or scale is another in one of them.
            Nothing is written then.
    """
    from bedside.annotation.answer_store import FOLDER
    from bedside.annotation.merged_plans import take_plans
    from bedside.ratings.run import Run
    from bedside.scoring.merged_runs import merge_sources, merging, not_taken

    if isinstance(runs, str | os.PathLike | Run):
        raise InputError("one run is named", where="`runs`", todo="name all that are to be merged, in a list")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    sources = merge_sources(paths, listed(settings.systems, "systems"))
    renamed = settings.systems is not None
    with merging(sources, Path(settings.out)) as (folder, done):
        # A plan names transcripts as the run does that it was drawn from, and can't be written anew.
        if not renamed:
            take_plans(folder, [source.run for source in sources])
    left_out = {
        source.name: names
        for source in sources
        if (names := tuple(not_taken(source, lambda name: name == FOLDER and not renamed)))
    }
    return MergedRuns(
        run=Run(settings.out),
        shared=done.shared,
        repeated=done.repeated,
        filled=done.filled,
        people=done.people,
        cases=done.cases,
        unnamed=done.unnamed,
        left_out=left_out,
    )


# -- A run looked at, and given away --------------------------------------------------------------------


@settings_class
class ViewSettings(Seeded):
    """Look at any conversation in the browser, its ratings beside it.

    The page is served on this machine alone, to whoever has the link, and changes nothing. Ctrl-C ends it.

    Examples:
        $ bedside view run
        $ bedside view run --export supplement --sample 50
    """

    port: int | None = option(
        "Port on this machine. Without it, 8087, or a free one.",
        default=None, heading=OPTIONS, metavar="NUMBER", least=0, most=65535,
    )  # fmt: skip
    browser: bool = option(
        "Print the link, and open no browser.", "--no-browser", default=True, heading=OPTIONS, form="unless"
    )
    export: str | os.PathLike[str] | None = option(
        "Write a copy that needs no server into this folder, as for a paper's supplement, and end. It holds the "
        "conversations.",
        default=None, heading="A copy, in place of the page", metavar="FOLDER", form="path",
    )  # fmt: skip
    systems: Names | None = SYSTEMS
    where: Mapping[str, Names] | None = WHERE
    sample: int | None = option(
        "Only so many of the transcripts, drawn at random.", default=None, heading=WHICH, metavar="NUMBER", least=1
    )
    started: Callable[[Path, str], None] | None = option(
        "Called when the page is served, with the run's folder and the link.", default=None, heading=None
    )
    progress: Callable[[int, int], None] | None = option(
        "Called with how many conversations are copied, and of how many.", default=None, heading=None
    )

    def __post_init__(self) -> None:
        unused = [f"`{name}`" for name in ("systems", "where", "sample") if getattr(self, name)]
        if self.export is None and unused:
            raise InputError(
                "this says what is in a copy, and no copy is written",
                where=", ".join(unused),
                todo="add `export=FOLDER`, or leave it out and filter on the page",
            )


@question(ViewSettings, "The run, or its folder.")
def view(run: RunOrFolder, settings: ViewSettings) -> ViewCopy | None:
    """Returns:
        The copy that was written; None when the page was served, until Ctrl-C.

    Raises:
        BedsideError: no such run, system, factor or level, or a folder or port that can't be had.
    """
    from bedside.reports.viewer.view_copy import chosen_transcripts, write_copy
    from bedside.reports.viewer.viewed_run import ViewedRun

    viewed = ViewedRun(open_run(run).path)
    if settings.export is None:
        _serve(viewed, settings)
        return None
    ids = chosen_transcripts(
        viewed,
        systems=listed(settings.systems, "systems"),
        where=listed_by_name(settings.where, "where"),
        sample=settings.sample,
        seed=settings.seed,
    )
    return write_copy(viewed, ids, Path(settings.export), progress=settings.progress)


def _serve(viewed: ViewedRun, settings: ViewSettings) -> None:
    """Serve until Ctrl-C."""
    from contextlib import ExitStack, closing, suppress

    from bedside.core.page_serving import PagePlace, free_port, new_secret, opened_in_browser, serve
    from bedside.core.stopping import run_coroutine
    from bedside.reports.viewer.view_server import PORT, ViewServer

    place = PagePlace(port=settings.port or free_port(PORT if settings.port is None else 0))
    secret = new_secret()
    link = f"{place.address}/#secret={secret}"

    with ExitStack() as ending:

        def started() -> None:
            if settings.started is not None:
                settings.started(viewed.path, link)
            if settings.browser:
                ending.enter_context(opened_in_browser(link))

        with closing(ViewServer(viewed)) as server, suppress(KeyboardInterrupt):
            run_coroutine(serve(server.page(secret), place, started=started))


_CARD, _HOLDS = "What its page says", "What goes into it"


@settings_class
class ExportSettings:
    """Write a run in a form that others' tools read, and say what it is.

    Nothing is uploaded: what becomes of the folder is up to you.

    Examples:
        $ bedside export run --to hf-folder --licence cc-by-4.0 --origin recorded --out dataset
        $ bedside export run --to csv-folder --out for-r
    """

    to: str = option(
        "Form of the folder: hf-folder (Parquet with a dataset card, which Hugging Face's datasets loads), csv-folder "
        "(for R and statistics programs) or convokit (a ConvoKit corpus with the ratings as meta).",
        heading=OPTIONS, metavar="FORM", offers="export_forms", kw_only=False,
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "Folder to write. One that is there already is replaced only if it is an export, unchanged since.",
        "--out", "-o", heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    licence: str | None = option(
        "Licence by which others may use the data, such as cc-by-4.0, or unknown; hf-folder needs one.",
        "--licence", "--license", default=None, heading=_CARD, metavar="NAME",
    )  # fmt: skip
    title: str | None = option(
        "Title of the data. Without it, the name of the run's folder.", default=None, heading=_CARD, metavar="TEXT"
    )
    citation: str | os.PathLike[str] | None = option(
        "File that says how to cite the data, such as BibTeX.",
        default=None, heading=_CARD, metavar="FILE", form="path",
    )  # fmt: skip
    origin: str | Mapping[str, str] | None = option(
        "Where the conversations come from: simulated, recorded (real people said it) or written; or by system, as "
        "gpt=simulated,clinic=recorded. What bedside simulated is known.",
        default=None, heading=_CARD, metavar="ORIGIN", form="text_or_pairs",
    )  # fmt: skip
    text: bool = option(
        "Leave out what was said, references, and what people and judges wrote.",
        "--no-text", default=True, heading=_HOLDS, form="unless",
    )  # fmt: skip
    rater_names: bool = option(
        "Keep the names of people who rated. Without it, they are rater-1, rater-2 and so on.",
        default=False, heading=_HOLDS,
    )  # fmt: skip
    judgements: bool = option("Add what judges were asked and replied, word for word.", default=False, heading=_HOLDS)


#: Largest file of a citation, in bytes.
_MOST_CITED = 2**16


@question(ExportSettings, "The run, or its folder; it stays as it is.")
def export(run: RunOrFolder, settings: ExportSettings) -> ExportedFolder:
    """What lies in the folder already is replaced only where it is an export as it was written. A citation that is no
    path object but a text is how to cite the data.

    Raises:
        BedsideError: no such run or form, no licence where one is needed, something else in the folder, or a choice
            that doesn't fit the run or the form. Nothing is written then.
    """
    from bedside.core.files import read_text
    from bedside.reports.exports.export import write_export

    opened, citation = open_run(run), settings.citation
    if isinstance(citation, os.PathLike):
        citation = read_text(Path(citation), "citation", most=_MOST_CITED)
    return write_export(
        opened,
        settings.to,
        Path(settings.out),
        licence=settings.licence,
        title=settings.title,
        citation=citation,
        origin=settings.origin,
        text=settings.text,
        rater_names=settings.rater_names,
        judgements=settings.judgements,
    )


def to_convokit(transcripts: Run | Iterable[Transcript]) -> Corpus:
    """A ConvoKit corpus in memory that holds everything the transcripts do, and of a run how they were rated.

    :func:`from_convokit` gives the same transcripts back, and a folder that ``corpus.dump`` writes is read by
    :func:`bedside.read_transcripts`. Nothing is written in the home folder.

    Args:
        transcripts: with ids that differ; or a run, whose ratings then stand in the meta of conversations and
            utterances as ``bedside_ratings``: ``{metric: {rater: value or label}}``, with None for what is missing.
            People have their real names there: :func:`export` writes a corpus in which they have others.

    Raises:
        MissingExtraError: ConvoKit is not installed.
        DataError: there is no transcript, or two have one id.
        RunError: the run keeps no text.
    """
    from bedside.ratings.run import Run
    from bedside.reports.exports.study_tables import add_ratings
    from bedside.transcripts.convokit_corpus import to_convokit as corpus_of

    if not isinstance(transcripts, Run):
        return corpus_of(transcripts)
    corpus = corpus_of(transcripts.transcripts())
    add_ratings(corpus, transcripts.ratings)
    return corpus
