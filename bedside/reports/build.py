"""The report of a run: each table in each format, and one HTML page with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.errors import DataError
from bedside.evaluation import Evaluation, facts, open_evaluation
from bedside.files import saying_where, write_text
from bedside.ratings import Run
from bedside.registry import nearest
from bedside.reports import figures
from bedside.reports.page import Section, page
from bedside.reports.render import FORMATS
from bedside.reports.table import Table
from bedside.reports.tables import TABLES

PAGE = "report.html"


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
        table = kind.build(evaluation, seed)
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
    seed: int = 0,
) -> tuple[tuple[Table, ...], tuple[Path, ...]]:
    """Write a run's report.

    Args:
        run: the run.
        tables: names of tables; all unless named.
        formats: of ``md``, ``latex``, ``html`` and ``csv``; all unless named. ``html`` is one page with every table
            and figure.
        out: the folder; ``report`` in the run unless named.
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
        write_text(folder / PAGE, _page(run, evaluation, made))
        written.append(folder / PAGE)
    return made, tuple(written)


def _page(run: Run, evaluation: Evaluation, tables: Sequence[Table]) -> str:
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
    sections.append(Section("Methods", methods(run, evaluation)))
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


def methods(run: Run, evaluation: Evaluation) -> tuple[str, ...]:
    """What was done, as paragraphs for a paper's methods section."""
    source = run.manifest["transcripts"]
    systems = evaluation.systems()
    files = [file for file in source["inputs"] if file["transcripts"]]
    formats = sorted({file["format"] for file in files})
    of = f" of {len(systems)} systems ({', '.join(systems)})" if len(systems) > 1 else ""
    skipped = len(source["skipped"])
    left_out = f" {skipped} were left out as unreadable." if skipped else " None was left out."
    paragraphs = [
        f"{source['count']:,} transcripts{of} with {source['turns']:,} turns were read from {len(files):,} files "
        f"(format: {', '.join(formats)}).{left_out}"
    ]
    for entry in run.manifest["scorings"]:
        titles = list(dict.fromkeys(facts_title(name) for name in entry["metrics"]))
        raters = ", ".join(rater for rater in entry["raters"] if not rater.startswith("human:"))
        missing = sum(row["n"] for row in entry["missing"])
        if "judges" in entry:
            paragraphs += [_judged(rater, told, entry) for rater, told in entry["judges"].items()]
            continue
        paragraphs.append(
            f"bedside {entry['bedside']} (Python {entry['python']}, polars {entry['libraries'].get('polars', '?')}) "
            f"computed {', '.join(titles)} ({raters}): {entry['ratings']:,} ratings, {missing:,} of them missing with "
            f"the reason kept."
        )
    for entry in run.manifest["imports"]:
        scales = "; ".join(f"{name} {_levels(levels)}" for name, levels in entry["scales"].items())
        paragraphs.append(
            f"{entry['ratings']:,} ratings were imported from {Path(entry['file']).name}"
            + (f" (scales: {scales})." if scales else ".")
        )
    return tuple(paragraphs)


def _judged(rater: str, told: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """What one judge did."""
    titles = ", ".join(f"{facts(name).title} ({version})" for name, version in told["prompts"].items())
    missing = sum(row["n"] for row in entry["missing"])
    calls = sum(count["calls"] for count in told["rubrics"])
    heat = (
        "the provider's temperature"
        if told["temperature"] is None
        else f"temperature {told['temperature']:g}"
    )
    passes = "once" if told["passes"] == 1 else f"{told['passes']} times"
    return (
        f"{rater} was asked {passes} at {heat}, {told['order'].replace('-', ' ')}, by the rubrics (version) {titles}: "
        f"{entry['ratings']:,} ratings from {calls:,} calls, {missing:,} of them missing with the reason kept "
        f"(bedside {entry['bedside']})."
    )


def facts_title(metric: str) -> str:
    """A metric's title in running text, by its name without role."""
    for name in (metric, f"{metric}.clinician", f"{metric}.patient"):
        if facts(name).known:
            return facts(name).title.partition(",")[0]
    return metric


def _levels(levels: Sequence[float | str]) -> str:
    numbers = [level for level in levels if isinstance(level, int | float)]
    if len(numbers) == len(levels):
        return f"{min(numbers):g}–{max(numbers):g}"
    return ", ".join(map(str, levels))
