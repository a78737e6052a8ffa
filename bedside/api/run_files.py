"""The report of a run, written from Python, and people's ratings brought into a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bedside.core.errors import DataError, InputError, one_of
from bedside.core.words import Names, listed, listed_by_name
from bedside.ratings.rating_files import RatingFile
from bedside.ratings.rating_reading import RatingReading, Struck, parse_missing
from bedside.ratings.run import Run
from bedside.ratings.table import IMPORTED
from bedside.reports.table import Tables

#: A run, or its folder.
RunOrFolder = Run | str | os.PathLike[str]


def open_run(run: RunOrFolder) -> Run:
    """The run, opened where its folder is given.

    Raises:
        RunError: there is no run.
    """
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


def report(
    run: RunOrFolder,
    out: str | os.PathLike[str] | None = None,
    *,
    tables: Names | None = None,
    suite: str | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
    complete_cases: bool = False,
    reference: RunOrFolder | None = None,
    against: str | None = None,
    spread: Literal["sd", "ci", "none"] | None = None,
    best: Literal["interval", "always", "never"] | None = None,
    as_published: bool = False,
    published_numbers: bool = False,
    text: bool = True,
    formats: Names | None = None,
    columns: Literal[1, 2] = 1,
    siunitx: bool = False,
    seed: int = 0,
) -> Report:
    """Write a run's report: every table and figure as files, and one HTML page of them.

    Args:
        run: the run.
        out: the folder; ``report`` in the run unless named.
        tables: names of tables, of the suites or kinds of tables; all and all figures unless named.
        suite: name or file of the suite whose tables are written in place of those of the run's own suites.
        rounds, where: the part of the study that it is about, as for :func:`bedside.agree`.
        match: the factors by which systems are matched, as for :func:`bedside.compare`.
        complete_cases: of simulated conversations, whether only those count whose case, persona, setting and length
            no system lost any of.
        reference: a run of a reference corpus that systems are held against.
        against: a system to test the others against: asterisks mark what differs from it.
        spread: what stands beside a mean: the standard deviation, a 95 % interval or nothing; what the suite says, or
            the standard deviation, unless named.
        best: what is bold: the best and what can't be told from it, only the best, or nothing; what the suite says, or
            the first, unless named.
        as_published: whether it shows the tables and figures of the suites' sources, in their rows, columns, order and
            digits, in place of the suites' own.
        published_numbers: whether these show in braces beside each number the one that the source printed.
        text: whether the page shows what was said at either end of each metric, and raters' reasons.
        formats: of ``md``, ``latex``, ``html``, ``csv``, ``docx``, ``xlsx``, ``svg``, ``pdf`` and ``png``; all unless
            named, without ``docx`` where its library isn't installed.
        columns: columns of the paper that LaTeX's tables are for.
        siunitx: whether LaTeX's numbers are aligned at their decimal points, by the package siunitx.
        seed: of all that is drawn at random.

    Raises:
        BedsideError: no such run, round, factor, level, table, suite, system or format, no case that is complete, no
            suite that says what its source printed, or the folder can't be written.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.selection import chosen_systems
    from bedside.analysis.simulated_talks import with_complete_cases
    from bedside.ratings.suites import SUITES
    from bedside.reports.build import PAGE, write_report
    from bedside.reports.renderers.latex import LatexPaper
    from bedside.reports.report_settings import ReportSettings

    if published_numbers and not as_published:
        raise InputError(
            "published numbers stand in the tables of the source", where="`published_numbers`",
            todo="add `as_published=True`",
        )  # fmt: skip
    opened = open_run(run)
    view = open_ratings_view(
        opened,
        rounds=listed(rounds, "rounds"),
        where=listed_by_name(where, "where"),
        match=listed(match, "match"),
    )
    if complete_cases:
        view = with_complete_cases(view)
    written, files = write_report(
        opened,
        view,
        tables=listed(tables, "tables"),
        formats=listed(formats, "formats"),
        out=None if out is None else Path(out),
        text=text,
        suite=None if suite is None else SUITES.find(suite),
        reference=None if reference is None else open_ratings_view(reference),
        settings=ReportSettings(
            against=None if against is None else chosen_systems(view, [against], fewest=1)[0],
            spread=spread,
            best=best,
            seed=seed,
            as_published=as_published,
            published_numbers=published_numbers,
        ),
        paper=LatexPaper(columns=columns, siunitx=siunitx),
    )
    return Report(next((file for file in files if file.name == PAGE), None), Tables(written, None), files)


def read_ratings(
    file: str | os.PathLike[str],
    *,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    form: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
    rename: Mapping[str, str] | None = None,
    exact: bool = False,
    missing: Names = (),
    struck: Struck | None = None,
) -> RatingFile:
    """Ratings read from a file; every question takes them in place of it, and ``account`` says what was understood.

    Args:
        file: a table (CSV, TSV, XLSX, Parquet), or an annotation tool's JSON.
        scales: scales of the ratings, as for :func:`bedside.agree`.
        columns: bedside's column names to the file's.
        metric: the metric, where the file names none.
        form: name of the form, such as ``by_metric``; it is recognised by the content unless named.
        sheet: of a workbook: a worksheet's name, or ``all``.
        header_row: line or row of the column names, from 1.
        encoding: of a text file.
        rename: names of the file's metrics and raters to those that they get.
        exact: whether names of metrics and raters, and labels, stay as they are written. Without it, spellings that
            differ in case and blanks are one, and so are a metric's name, title and aliases.
        missing: what stands for no answer, such as ``99``; ``METRIC=99`` says it of one metric, and ``METRIC=`` that
            all its numbers are ratings.
        struck: whether a workbook's cells that are struck through count (``keep``) or not (``leave``).

    Raises:
        AmbiguousError: the file can be read in two ways; both are named, with what says which is meant.
        BedsideError: no such file, or one that ratings can't be read from.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.ratings.rating_files import read_rating_file
    from bedside.ratings.scales import parse_scales

    return read_rating_file(
        file,
        RatingReading(
            scales=parse_scales(listed(scales, "scales")),
            columns=columns or {},
            metric=metric,
            form=form,
            sheet=sheet,
            header_row=header_row,
            encoding=encoding,
            rename=rename or {},
            exact=exact,
            missing=parse_missing(listed(missing, "missing")),
            struck=struck,
            known=known_names(),
        ),
    )


def import_ratings(
    run: RunOrFolder,
    file: str | os.PathLike[str],
    *,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    form: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
    metrics: Names | None = None,
    without: Names = (),
    rename: Mapping[str, str] | None = None,
    exact: bool = False,
    missing: Names = (),
    struck: Struck | None = None,
    round: str = IMPORTED,
    plan: str | os.PathLike[str] | None = None,
) -> int:
    """Add people's ratings from a file to a run; those of the same key (and round) are replaced.

    Args:
        run: the run.
        file: a table (CSV, TSV, XLSX, Parquet), or an annotation tool's JSON.
        scales: scales of the ratings, as for :func:`bedside.agree`.
        columns, metric, form, sheet, header_row, encoding, rename, exact, missing, struck: as for
            :func:`read_ratings`; names are those that the run has, too.
        metrics: the metrics that are taken, by the file's names; all that can be unless named.
        without: metrics and columns of comments that are left.
        round: the round of annotation, such as pilot, where the file has no column for it; of units that a plan drew,
            the plan's unless another is named.
        plan: the plan that drew what people rated: its file, its hash, or the name of its round; the one of the run
            whose units these are unless named.

    Returns:
        How many ratings were added or replaced.

    Raises:
        BedsideError: no such run, or a file that doesn't fit it.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.annotation.sheet_import import import_sheet
    from bedside.ratings.rating_files import read_rating_file
    from bedside.ratings.scales import parse_scales

    opened = open_run(run)
    rating_file = read_rating_file(
        file,
        RatingReading(
            scales=parse_scales(listed(scales, "scales")),
            columns=columns or {},
            metric=metric,
            form=form,
            sheet=sheet,
            header_row=header_row,
            encoding=encoding,
            metrics=listed(metrics, "metrics"),
            without=listed(without, "without"),
            rename=rename or {},
            exact=exact,
            missing=parse_missing(listed(missing, "missing")),
            struck=struck,
            known=known_names(opened),
        ),
    )
    return import_sheet(opened, Path(file), rating_file, round=round, plan=plan).added
