"""The report of a run: each table in each format, and one HTML page with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.errors import DataError
from bedside.evaluation import Evaluation, open_evaluation
from bedside.files import saying_where, write_text
from bedside.ratings import Run
from bedside.registry import nearest
from bedside.reports import figures
from bedside.reports.checklist import checklists
from bedside.reports.extremes import review
from bedside.reports.methods import methods
from bedside.reports.page import Section, page
from bedside.reports.render import FORMATS
from bedside.reports.table import Table
from bedside.reports.tables import TABLES
from bedside.reports.validation import card_tables

PAGE = "report.html"
_CHECKLISTS = (
    "What reporting guidelines ask for, as far as the run knows it. The rest is for the authors to say."
)


def build_tables(
    evaluation: Evaluation, names: Sequence[str] | None = None, seed: int = 0
) -> tuple[Table, ...]:
    """The tables named, or all, that the evaluation has something for, in the order of a report.

    Raises:
        RegistryError: a name is unknown.
        DataError: a table that was asked for by name has nothing to show.
    """
    kinds = sorted(
        (TABLES.load(name) for name in names or TABLES.names()), key=lambda kind: (kind.order, kind.name)
    )
    made = []
    for kind in kinds:
        table = kind.make(evaluation, seed)
        if table is not None:
            made.append(table)
        elif names:
            raise DataError(f"there is nothing for the table {kind.name!r}", where=evaluation.name)
    return tuple(made)


def write_tables(
    tables: Sequence[Table], folder: Path, formats: Sequence[str] = ("md", "latex", "csv")
) -> tuple[Path, ...]:
    """Write each table in each format into ``folder``, named after the table."""
    with saying_where(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        ending, render = FORMATS[name]
        for table in tables:
            written.append(folder / f"{table.name}.{ending}")
            write_text(written[-1], render(table))
    return tuple(written)


def write_report(
    run: Run,
    *,
    tables: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    out: Path | None = None,
    text: bool = True,
    seed: int = 0,
) -> tuple[tuple[Table, ...], tuple[Path, ...]]:
    """Write a run's report.

    Args:
        run: the run.
        tables: names of tables; all unless named.
        formats: of ``md``, ``latex``, ``html`` and ``csv``; all unless named. ``html`` is one page with every table
            and figure.
        out: the folder; ``report`` in the run unless named.
        text: whether the page shows what was said at either end of each metric, and raters' reasons.
        seed: of what the tables draw at random.

    Returns:
        The tables, and the files written.
    """
    chosen = list(formats) if formats is not None else list(FORMATS)
    for name in chosen:
        if name not in FORMATS:
            raise DataError(f"no format {name!r}", where="--format", todo=nearest(name, FORMATS))
    evaluation = open_evaluation(run.path)
    made = build_tables(evaluation, tables, seed)
    folder = out or run.path / "report"
    written = list(write_tables(made, folder, [name for name in chosen if name != "html"]))
    if "html" in chosen:
        write_text(folder / PAGE, _page(run, evaluation, made, text, seed))
        written.append(folder / PAGE)
    return made, tuple(written)


def _page(run: Run, evaluation: Evaluation, tables: Sequence[Table], text: bool, seed: int) -> str:
    by_name = {table.name: table for table in tables}
    source = run.manifest["transcripts"]
    missing = evaluation.ratings["error"].drop_nulls().len()
    systems = evaluation.systems()
    sections = []
    drawings = []
    drawing = figures.distributions(evaluation) if "results" in by_name else None
    if drawing is not None:
        caption = "One dot a transcript; the marked point is the mean, the bar its 95 % t interval."
        drawings.append((drawing, caption))
    if "results" in by_name:
        sections.append(Section("Results", tables=(by_name.pop("results"),), figures=tuple(drawings)))
    if "comparison" in by_name:
        sections.append(Section("Comparison", tables=(by_name.pop("comparison"),)))
    if "agreement" in by_name:
        forest = figures.agreement(by_name["agreement"])
        caption = "Krippendorff's alpha or kappa with its 95 % interval; bands after Landis and Koch (1977)."
        sections.append(
            Section(
                "Agreement",
                tables=(by_name.pop("agreement"),),
                figures=((forest, caption),) if forest is not None else (),
            )
        )
    absent = by_name.pop("missing", None)
    sections += [Section(table.title, tables=(table,)) for table in by_name.values()]
    if absent is not None:
        sections.append(Section("Missing", ("Nothing is scored 0 for want of a value.",), (absent,)))
    sections += _review(evaluation, run, text)
    card = card_tables(evaluation, seed)
    if card:
        sections.append(Section("Judge card", tables=card))
    sections.append(Section("Methods", methods(run, evaluation)))
    sections.append(Section("Checklists", (_CHECKLISTS,), checklists(run, evaluation, tables)))
    counts = (
        ("Transcripts", f"{source['count']:,}"),
        ("Turns", f"{source['turns']:,}"),
        ("Systems", f"{len(systems) or 1:,}"),
        ("Raters", f"{len(evaluation.raters()):,}"),
        ("Ratings", f"{evaluation.ratings.height:,}"),
        ("Missing", f"{missing:,}"),
    )
    lead = f"Made by bedside from the ratings in {run.path.name}; every table can be made again with one command."
    return page(f"Report on {run.path.name}", lead, counts, sections)


def _review(evaluation: Evaluation, run: Run, text: bool) -> list[Section]:
    """The section of the transcripts at either end of each metric."""
    found = review(evaluation, run, text=text)
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
