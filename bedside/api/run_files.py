"""The report of a run, written from Python, and people's ratings brought into a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bedside.ratings.rating_files import RatingFile
from bedside.ratings.run import Run
from bedside.ratings.table import IMPORTED
from bedside.reports.table import Tables
from bedside.support.errors import DataError, InputError
from bedside.support.name_lists import Names, listed, listed_by_name

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
        page: the HTML page with everything in it.
        tables: its tables.
        files: all files, the page among them.
    """

    page: Path
    tables: Tables[None]
    files: tuple[Path, ...] = field(repr=False)

    def figure(self, name: str) -> Path:
        """The figure of this name as PNG.

        Raises:
            DataError: the report has none; the names are given.
        """
        from bedside.support.registry import nearest

        figures = {file.stem: file for file in self.files if file.suffix == ".png"}
        if name not in figures:
            raise DataError(f"the report has no figure {name!r}", todo=nearest(name, figures))
        return figures[name]


def report(
    run: RunOrFolder,
    out: str | os.PathLike[str] | None = None,
    *,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    complete_cases: bool = False,
    reference: RunOrFolder | None = None,
    as_published: bool = False,
    published_numbers: bool = False,
) -> Report:
    """Write a run's report: every table and figure as files, and one HTML page of them.

    Args:
        run: the run.
        out: the folder; ``report`` in the run unless named.
        rounds, where: the part of the study that it is about, as for :func:`bedside.agree`.
        complete_cases: of simulated conversations, whether only those count whose case, persona, setting and length
            no system lost any of.
        reference: a run of a reference corpus that systems are held against.
        as_published: whether it shows the tables and figures of the suites' sources, in their rows, columns, order and
            digits, in place of the suites' own.
        published_numbers: whether these show in braces beside each number the one that the source printed.

    Raises:
        BedsideError: no such run, round, factor or level, no case that is complete, no suite that says what its source
            printed, or the folder can't be written.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.simulated_talks import with_complete_cases
    from bedside.reports.build import PAGE, write_report
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
    )
    if complete_cases:
        view = with_complete_cases(view)
    written, files = write_report(
        opened,
        view,
        out=None if out is None else Path(out),
        reference=None if reference is None else open_ratings_view(reference),
        settings=ReportSettings(as_published=as_published, published_numbers=published_numbers),
    )
    return Report(next(file for file in files if file.name == PAGE), Tables(written, None), files)


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

    Raises:
        AmbiguousError: the file can be read in two ways; both are named, with what says which is meant.
        BedsideError: no such file, or one that ratings can't be read from.
    """
    from bedside.analysis.metric_facts import known_scale
    from bedside.ratings.rating_files import read_rating_file
    from bedside.ratings.scales import parse_scales

    return read_rating_file(
        file,
        scales=parse_scales(listed(scales, "scales")),
        columns=columns,
        metric=metric,
        form=form,
        sheet=sheet,
        header_row=header_row,
        encoding=encoding,
        known_scale=known_scale,
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
    round: str = IMPORTED,
) -> int:
    """Add people's ratings from a file to a run; those of the same key (and round) are replaced.

    Args:
        run: the run.
        file: a table (CSV, TSV, XLSX, Parquet), or an annotation tool's JSON.
        scales: scales of the ratings, as for :func:`bedside.agree`.
        columns, metric, form, sheet, header_row, encoding: as for :func:`read_ratings`.
        round: the round of annotation, such as pilot, where the file has no column for it.

    Returns:
        How many ratings were added or replaced.

    Raises:
        BedsideError: no such run, or a file that doesn't fit it.
    """
    from bedside.analysis.metric_facts import known_scale
    from bedside.ratings.rating_files import read_rating_file
    from bedside.ratings.rating_import import import_ratings as run_import
    from bedside.ratings.scales import parse_scales
    from bedside.rubrics.run_rubrics import own_rubrics

    opened = open_run(run)
    own = own_rubrics(opened)
    rating_file = read_rating_file(
        file,
        scales=parse_scales(listed(scales, "scales")),
        columns=columns,
        metric=metric,
        form=form,
        sheet=sheet,
        header_row=header_row,
        encoding=encoding,
        known_scale=lambda name: known_scale(name, own),
    )
    return run_import(opened, Path(file), rating_file, round)[0]
