"""The report of a run: each table in each format, and one HTML page with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.core.files import make_folder, saying_where, write_bytes, write_text
from bedside.core.registry import nearest
from bedside.ratings.run import Run
from bedside.ratings.suites import Suite
from bedside.ratings.table import missing_counts, wordless
from bedside.ratings.values import failures
from bedside.reports.averaging_notes import BY_WHERE, with_averaging_notes
from bedside.reports.checklist import checklists
from bedside.reports.contents import ReportPart, make_parts, make_tables
from bedside.reports.extremes import review
from bedside.reports.figure_kind import RenderedFigure
from bedside.reports.methods import methods
from bedside.reports.page import PageFigure, Section, page
from bedside.reports.renderers.latex import LatexPaper
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.reports.table_formats import DOCUMENT_FORMATS, TABLE_FORMATS, text_formats
from bedside.reports.validation import card_tables

PAGE = "report.html"
#: Name of the file of all tables, without its ending.
TOGETHER = "tables"
_CHECKLISTS = (
    "What reporting guidelines ask for, as far as the run knows it. The rest is for the authors to say."
)


#: Formats of figures.
FIGURE_FORMATS = ("svg", "pdf", "png")


def usual_formats() -> tuple[str, ...]:
    """The formats of a report where none are named: all whose library is installed."""
    documents = [name for name in DOCUMENT_FORMATS if name != "docx" or find_spec("docx") is not None]
    return *TABLE_FORMATS, *documents, *FIGURE_FORMATS


def build_tables(view: RatingsView, names: Sequence[str] | None = None, seed: int = 0) -> tuple[Table, ...]:
    """The tables named, or all, that the ratings have something for, in the order of a report.

    Raises:
        RegistryError: a name is unknown.
        DataError: a table that was asked for by name has nothing to show.
    """
    return make_tables(view, names, settings=ReportSettings(seed=seed))


def write_tables(
    tables: Sequence[Table],
    folder: Path,
    formats: Sequence[str] = ("md", "latex", "csv"),
    *,
    paper: LatexPaper | None = None,
    together: bool = False,
) -> tuple[Path, ...]:
    """Write each table in each format into ``folder``, named after the table.

    Args:
        tables: the tables.
        folder: is made if it isn't there.
        formats: by name.
        paper: what LaTeX's tables are set for.
        together: whether a format of an office program has one file of all tables, ``tables.docx``, instead.

    Raises:
        MissingExtraError: a format's library isn't installed; nothing is written.
    """
    texts = text_formats(paper)
    contents: dict[str, bytes] = {}
    for name in formats:
        if name in texts:
            form = texts[name]
            contents |= {f"{table.name}.{form.ending}": form.render(table).encode() for table in tables}
            continue
        document = DOCUMENT_FORMATS[name]
        if together:
            contents[f"{TOGETHER}.{document.ending}"] = document.render(tables)
        else:
            contents |= {f"{table.name}.{document.ending}": document.render([table]) for table in tables}
    with saying_where(folder):
        make_folder(folder)
    for name, content in contents.items():
        write_bytes(folder / name, content)
    return tuple(folder / name for name in contents)


def write_figures(
    rendered: Mapping[str, Mapping[str, bytes]], folder: Path, formats: Sequence[str]
) -> tuple[Path, ...]:
    """Write figures, each by its name and in each format, into ``folder``."""
    written = []
    with saying_where(folder):
        make_folder(folder)
    for name, contents in rendered.items():
        for ending in formats:
            written.append(folder / f"{name}.{ending}")
            write_bytes(written[-1], contents[ending])
    return tuple(written)


def write_report(
    run: Run,
    ratings: RatingsView | None = None,
    *,
    tables: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    out: Path | None = None,
    text: bool = True,
    suite: Suite | None = None,
    reference: RatingsView | None = None,
    settings: ReportSettings | None = None,
    paper: LatexPaper | None = None,
) -> tuple[tuple[Table, ...], tuple[Path, ...]]:
    """Write a run's report.

    Args:
        run: the run.
        ratings: the part of its ratings that the report is about; all of them unless given.
        tables: names of tables, of the run's suites or kinds of tables; all and all figures unless named.
        formats: of ``md``, ``latex``, ``html``, ``csv``, ``docx`` and ``xlsx`` for tables, ``svg``, ``pdf`` and
            ``png`` for figures; all unless named, without ``docx`` where its library isn't installed. ``html`` is one
            page with every table and figure. ``docx`` and ``xlsx`` are one file of all tables, ``tables.docx``; of
            tables that are named, one of each.
        out: the folder; ``report`` in the run unless named.
        text: whether the page shows what was said at either end of each metric, and raters' reasons.
        suite: whose tables to make in place of those of the suites the run was scored by.
        reference: a corpus that systems are held against.
        settings: what is the same for all tables.
        paper: what LaTeX's tables are set for; a paper of one column unless given.

    Returns:
        The tables, and the files written.

    Raises:
        DataError: a format is unknown, or a table that is named has nothing to show.
        MissingExtraError: the library of a format that is named isn't installed.
    """
    all_formats = (*TABLE_FORMATS, *DOCUMENT_FORMATS, *FIGURE_FORMATS)
    format_names = list(formats) if formats is not None else list(usual_formats())
    for name in format_names:
        if name not in all_formats:
            raise DataError(
                f"there is no format {name!r}", where="`formats`", todo=nearest(name, all_formats)
            )
    chosen_settings = settings or ReportSettings()
    view = replace(ratings or open_ratings_view(run.path), reference=reference)
    if not text:
        view = replace(view, ratings=wordless(view.ratings.lazy()).collect())
    if tables is None:
        parts = make_parts(view, suite=suite, settings=chosen_settings)
    else:
        tables_named = make_tables(view, tables, suite=suite, settings=chosen_settings)
        parts = tuple(ReportPart(table.title, tables=(table,)) for table in tables_named)
    all_tables = tuple(table for part in parts for table in part.tables)
    folder = out or run.path / "report"
    table_formats = [name for name in format_names if name not in FIGURE_FORMATS and name != "html"]
    written = list(write_tables(all_tables, folder, table_formats, paper=paper, together=tables is None))
    figure_formats = [name for name in format_names if name in FIGURE_FORMATS]
    drawn_formats = sorted({*figure_formats, *(["svg"] if "html" in format_names else [])})
    drawings = [drawing for part in parts for drawing in part.figures if drawn_formats]
    drawn = {drawing.name: drawing.written(drawn_formats) for drawing in drawings}
    contents = {name: figure.contents for name, figure in drawn.items()}
    written += write_figures(contents, folder, figure_formats)
    if "html" in format_names:
        html_page = _page(run, view, parts, drawn=drawn, text=text, seed=chosen_settings.seed)
        write_text(folder / PAGE, html_page)
        written.append(folder / PAGE)
    return all_tables, tuple(written)


def _page(
    run: Run,
    view: RatingsView,
    parts: Sequence[ReportPart],
    *,
    drawn: Mapping[str, RenderedFigure],
    text: bool,
    seed: int,
) -> str:
    """The page; ``drawn`` has each figure by its name, as SVG and as it is written beside the page."""
    missing = failures(missing_counts(view.ratings.lazy()))
    systems = view.systems()
    sections = [_part_section(part, drawn) for part in parts]
    sections += _review_sections(view, run, text)
    card = judge_cards(view, seed)
    if card:
        sections.append(Section("Judge card", tables=card))
    tables = tuple(table for part in parts for table in part.tables)
    sections.append(Section("Methods", methods(run, view, tables)))
    sections.append(Section("Checklists", (_CHECKLISTS,), checklists(run, view, tables)))
    looked_at = view.transcripts()["transcript_id"]
    turns = run.index.filter(pl.col("id").is_in(looked_at.implode()))["turns"].sum()
    counts = (
        ("Transcripts", f"{looked_at.len():,}"),
        ("Turns", f"{turns:,}"),
        ("Systems", f"{len(systems) or 1:,}"),
        ("Raters", f"{len(view.raters()):,}"),
        ("Ratings", f"{view.ratings.height:,}"),
        ("Missing", f"{missing:,}"),
    )
    lead = f"Made by bedside from the ratings in {run.path.name}; every table can be made again with one command."
    return page(f"Report on {run.path.name}", lead, counts, sections)


def judge_cards(view: RatingsView, seed: int) -> tuple[Table, ...]:
    """The cards of all judges, saying what they average over; none where no judge rated what a person rated."""
    return tuple(with_averaging_notes(table, view, shown=BY_WHERE) for table in card_tables(view, seed))


def _part_section(part: ReportPart, drawn: Mapping[str, RenderedFigure]) -> Section:
    """The section of a part; ``drawn`` has each figure by its name."""
    paragraphs = [part.about] if part.about else []
    if part.left_out:
        paragraphs.append("Left out. " + " ".join(part.left_out))
    if any(table.name == "missing" for table in part.tables):
        paragraphs.append("Nothing is scored 0 for want of a value.")
    figures = tuple(
        PageFigure(
            drawing.name,
            drawing.title,
            (*drawing.notes, *drawn[drawing.name].notes),
            drawn[drawing.name].contents["svg"].decode(),
        )
        for drawing in part.figures
    )
    return Section(part.title, tuple(paragraphs), part.tables, figures)


def _review_sections(view: RatingsView, run: Run, text: bool) -> list[Section]:
    """The section of the transcripts at either end of each metric."""
    reviewed = review(view, run, text=text)
    if not reviewed.extremes:
        return []
    paragraphs = [
        "For each metric the transcript with the lowest and the highest value, and the turns that made it so."
    ]
    if not text or not run.manifest["transcripts"]["text"]:
        paragraphs.append("What was said is left out.")
    elif reviewed.left_out:
        paragraphs.append(f"{reviewed.left_out} of these transcripts are not shown, to keep the page small.")
    return [Section("Transcripts to look at", tuple(paragraphs), review=reviewed)]
