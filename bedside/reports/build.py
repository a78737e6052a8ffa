"""The report of a run: each table in each format, and one HTML page with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.run import Run
from bedside.ratings.table import wordless
from bedside.reports.checklist import checklists
from bedside.reports.contents import ReportPart, Settings, make_parts, make_tables
from bedside.reports.extremes import review
from bedside.reports.methods import methods
from bedside.reports.page import Section, page
from bedside.reports.table import Table
from bedside.reports.table_formats import TABLE_FORMATS
from bedside.reports.validation import card_tables
from bedside.suites import Suite
from bedside.support.errors import DataError
from bedside.support.files import make_folder, saying_where, write_bytes, write_text
from bedside.support.registry import nearest

PAGE = "report.html"
_CHECKLISTS = (
    "What reporting guidelines ask for, as far as the run knows it. The rest is for the authors to say."
)


#: Formats of figures.
FIGURE_FORMATS = ("svg", "pdf", "png")


def build_tables(view: RatingsView, names: Sequence[str] | None = None, seed: int = 0) -> tuple[Table, ...]:
    """The tables named, or all, that the evaluation has something for, in the order of a report.

    Raises:
        RegistryError: a name is unknown.
        DataError: a table that was asked for by name has nothing to show.
    """
    return make_tables(view, names, settings=Settings(seed=seed))


def write_tables(
    tables: Sequence[Table], folder: Path, formats: Sequence[str] = ("md", "latex", "csv")
) -> tuple[Path, ...]:
    """Write each table in each format into ``folder``, named after the table."""
    with saying_where(folder):
        make_folder(folder)
    written = []
    for name in formats:
        form = TABLE_FORMATS[name]
        for table in tables:
            written.append(folder / f"{table.name}.{form.ending}")
            write_text(written[-1], form.render(table))
    return tuple(written)


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
    *,
    tables: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    out: Path | None = None,
    text: bool = True,
    suite: Suite | None = None,
    reference: RatingsView | None = None,
    settings: Settings | None = None,
) -> tuple[tuple[Table, ...], tuple[Path, ...]]:
    """Write a run's report.

    Args:
        run: the run.
        tables: names of tables, of the run's suites or kinds of tables; all and all figures unless named.
        formats: of ``md``, ``latex``, ``html`` and ``csv`` for tables, ``svg``, ``pdf`` and ``png`` for figures; all
            unless named. ``html`` is one page with every table and figure.
        out: the folder; ``report`` in the run unless named.
        text: whether the page shows what was said at either end of each metric, and raters' reasons.
        suite: whose tables to make in place of those of the suites the run was scored by.
        reference: a corpus that systems are held against.
        settings: what is the same for all tables.

    Returns:
        The tables, and the files written.
    """
    known = (*TABLE_FORMATS, *FIGURE_FORMATS)
    chosen = list(formats) if formats is not None else list(known)
    for name in chosen:
        if name not in known:
            raise DataError(f"no format {name!r}", where="--format", todo=nearest(name, known))
    chosen_settings = settings or Settings()
    view = replace(open_ratings_view(run.path), reference=reference)
    if not text:
        view = replace(view, ratings=wordless(view.ratings.lazy()).collect())
    if tables is None:
        parts = make_parts(view, suite=suite, settings=chosen_settings)
    else:
        made = make_tables(view, tables, suite=suite, settings=chosen_settings)
        parts = tuple(ReportPart(table.title, tables=(table,)) for table in made)
    all_tables = tuple(table for part in parts for table in part.tables)
    folder = out or run.path / "report"
    plain = [name for name in chosen if name in TABLE_FORMATS and name != "html"]
    written = list(write_tables(all_tables, folder, plain))
    kinds = [name for name in chosen if name in FIGURE_FORMATS]
    wanted = sorted({*kinds, *(["svg"] if "html" in chosen else [])})
    drawn = {drawing.name: drawing.rendered(wanted) for part in parts for drawing in part.figures if wanted}
    written += write_figures(drawn, folder, kinds)
    if "html" in chosen:
        write_text(folder / PAGE, _page(run, view, parts, drawn, text, chosen_settings.seed))
        written.append(folder / PAGE)
    return all_tables, tuple(written)


def _page(
    run: Run,
    view: RatingsView,
    parts: Sequence[ReportPart],
    drawn: Mapping[str, Mapping[str, bytes]],
    text: bool,
    seed: int,
) -> str:
    source = run.manifest["transcripts"]
    missing = view.ratings["error"].drop_nulls().len()
    systems = view.systems()
    sections = []
    for part in parts:
        told = [part.about] if part.about else []
        if part.left_out:
            told.append("Left out, for want of their metrics: " + " ".join(part.left_out))
        if any(table.name == "missing" for table in part.tables):
            told.append("Nothing is scored 0 for want of a value.")
        captioned = tuple(
            (drawn[drawing.name]["svg"].decode(), " ".join((f"{drawing.title}.", *drawing.notes)))
            for drawing in part.figures
        )
        sections.append(Section(part.title, tuple(told), part.tables, captioned))
    sections += _review(view, run, text)
    card = card_tables(view, seed)
    if card:
        sections.append(Section("Judge card", tables=card))
    tables = tuple(table for part in parts for table in part.tables)
    sections.append(Section("Methods", methods(run, view, tables)))
    sections.append(Section("Checklists", (_CHECKLISTS,), checklists(run, view, tables)))
    counts = (
        ("Transcripts", f"{source['count']:,}"),
        ("Turns", f"{source['turns']:,}"),
        ("Systems", f"{len(systems) or 1:,}"),
        ("Raters", f"{len(view.raters()):,}"),
        ("Ratings", f"{view.ratings.height:,}"),
        ("Missing", f"{missing:,}"),
    )
    lead = f"Made by bedside from the ratings in {run.path.name}; every table can be made again with one command."
    return page(f"Report on {run.path.name}", lead, counts, sections)


def _review(view: RatingsView, run: Run, text: bool) -> list[Section]:
    """The section of the transcripts at either end of each metric."""
    found = review(view, run, text=text)
    if not found.extremes:
        return []
    told = [
        "For each metric the transcript with the lowest and the highest value, and the turns that made it so."
    ]
    if not text or not run.manifest["transcripts"]["text"]:
        told.append("What was said is left out.")
    elif found.left_out:
        told.append(f"{found.left_out} of these transcripts are not shown, to keep the page small.")
    return [Section("Transcripts to look at", tuple(told), review=found)]
