"""The questions put to ratings, each answered with tables: what the commands of the same names print.

Every function takes a run (the object or its folder), or a plain file of ratings (CSV, TSV, XLSX, Parquet).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.ratings.names import JUDGES, is_judge
from bedside.ratings.run import Run
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingsView
    from bedside.reports.explanation import Explanation

#: What questions are put to: a run, its folder, or a file of ratings.
RunOrFile = Run | str | os.PathLike[str]
#: A run, or its folder.
RunOrFolder = Run | str | os.PathLike[str]
#: Scales as the command line writes them: ``1-5``, ``none/open/closed``, or ``empathy=1-5`` for one metric.
WrittenScales = str | Iterable[str]


def _open(source: RunOrFile, scales: WrittenScales, columns: Mapping[str, str] | None) -> RatingsView:
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.scales import parse_scales

    path = source.path if isinstance(source, Run) else source
    return open_ratings_view(path, scales=parse_scales(_listed(scales)), columns=columns)


def _listed(scales: WrittenScales) -> list[str]:
    return [scales] if isinstance(scales, str) else list(scales)


def agree(
    source: RunOrFile,
    *,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    weights: Any = None,
    confusion: bool = False,
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Tables:
    """How well raters agree: people among themselves, and algorithms and judges beside them.

    Args:
        source: a run or a file of ratings.
        metrics: metrics or patterns such as ``percent_*``; all unless named.
        raters: raters or patterns such as ``human:*``; all unless named.
        weights: of kappa on ordered scales: ``quadratic`` unless named, ``linear`` or ``none``.
        confusion: whether to show who gave what, too.
        scales: scales of the ratings, where they are not known.
        columns: for a file, bedside's column names to the file's.
        seed: of what is drawn at random.

    Raises:
        BedsideError: an unknown name, or nothing that two raters rated.
    """
    from bedside.analysis.agreement import agree as run_agree
    from bedside.reports.tables.agreement import agreement_table, confusion_tables

    agreements = run_agree(
        _open(source, scales, columns), metrics=metrics, raters=raters, weights=weights, seed=seed
    )
    return Tables((agreement_table(agreements), *(confusion_tables(agreements) if confusion else ())))


def compare(
    source: RunOrFile,
    *,
    systems: Sequence[str] | None = None,
    reference: str | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    test: Any = "auto",
    family: Any = "all",
    correction: Any = "holm",
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Tables:
    """Systems compared pair by pair, paired by case where cases pair; before that all at once, where there are three.

    Args:
        source: a run or a file of ratings with systems.
        systems: all unless named.
        reference: compare each system with this one only.
        metrics: those that say something of quality unless named.
        raters: all unless named.
        test: ``auto``, ``wilcoxon``, ``permutation``, ``t``, ``mcnemar``, ``friedman``, ``mannwhitney``, ``welch``,
            ``student`` or ``kruskal``.
        family: which p-values are corrected together: ``all``, ``metric`` or ``level``.
        correction: ``holm``, ``bonferroni`` or ``bh``.
        scales, columns, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, or no metric to compare has a value.
    """
    from bedside.analysis.comparison import compare as run_compare
    from bedside.reports.tables.comparison import comparison_table, overall_table
    from bedside.support.errors import DataError

    view = _open(source, scales, columns)
    comparisons = run_compare(
        view,
        systems=systems,
        reference=reference,
        metrics=metrics,
        raters=raters,
        test=test,
        family=family,
        correction=correction,
        seed=seed,
    )
    if not comparisons.pairs:
        raise DataError("no metric to compare has a value", where=view.name, todo="name some with `metrics`")
    overall = (overall_table(comparisons.overall),) if comparisons.overall else ()
    return Tables((*overall, comparison_table(comparisons.pairs)))


def validate(
    source: RunOrFile,
    *,
    judges: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    epsilon: float = 0.2,
    weights: Any = None,
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Tables:
    """May a judge stand in for people: its agreement beside people's own, its bias, the alternative annotator test.

    Args:
        source: a run or a file of ratings by people and judges.
        judges: raters or patterns; all that are not people unless named.
        metrics: all that both rated unless named.
        epsilon: how much worse than a person the judge may be, 0 … 1.
        weights, scales, columns, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, or nothing that a judge and people rated.
    """
    from bedside.analysis.validation import validate as run_validate
    from bedside.reports.validation import validation_tables

    cards = run_validate(
        _open(source, scales, columns),
        judges=judges,
        metrics=metrics,
        epsilon=epsilon,
        weights=weights,
        seed=seed,
    )
    return Tables(validation_tables(cards))


def estimate(
    source: RunOrFile,
    *,
    judge: str = JUDGES,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Tables:
    """Each system's mean from a judge on everything, from people on a sample, and corrected by both.

    Args:
        source: a run or a file of ratings by people and a judge.
        judge: the rater that rated everything; a pattern that matches one.
        systems, metrics: all unless named.
        scales, columns, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, no such judge, or nothing that it and people rated.
    """
    from bedside.analysis.estimation import estimate as run_estimate
    from bedside.reports.validation import estimate_table
    from bedside.support.errors import DataError

    view = _open(source, scales, columns)
    if judge == JUDGES and not any(map(is_judge, view.raters())):
        raise DataError(
            "no judge has rated it",
            where=view.name,
            todo="score it with a judge first, or name another rater with `judge`, such as an algorithm",
        )
    return Tables(
        [estimate_table(run_estimate(view, judge=judge, systems=systems, metrics=metrics, seed=seed))]
    )


def tables(source: RunOrFile, names: Sequence[str] | None = None, *, seed: int = 0) -> Tables:
    """The tables of the report, or those of them that are named: ``results``, ``agreement``, ``comparison`` …

    Raises:
        BedsideError: an unknown name, or a table that has nothing to show.
    """
    from bedside.reports.build import build_tables

    return Tables(build_tables(_open(source, (), None), names, seed))


def explain(
    source: RunOrFile,
    cell: str,
    *,
    table: str = "results",
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Explanation:
    """What stands behind one number of a table: the ratings, the definition, the tests.

    Args:
        source: a run or a file of ratings.
        cell: what the number is of, row and column joined by a slash: ``empathy/steady``.
        table: the table it stands in.
        scales, columns, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown table or cell; the nearest are given.
    """
    from bedside.reports.build import build_tables
    from bedside.reports.explanation import explain as run_explain

    view = _open(source, scales, columns)
    (shown,) = build_tables(view, [table], seed)
    tests = None
    if table != "comparison" and len(view.systems()) > 1:
        tests = next(iter(build_tables(view, ["comparison"], seed)), None)
    return run_explain(view, shown, cell, tests)


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written.

    Attributes:
        page: the HTML page with everything in it.
        tables: its tables.
        files: all files, the page among them.
    """

    page: Path
    tables: Tables
    files: tuple[Path, ...]

    def figure(self, name: str) -> Path:
        """The figure of this name as PNG.

        Raises:
            DataError: the report has none; the names are given.
        """
        from bedside.support.errors import DataError
        from bedside.support.registry import nearest

        figures = {file.stem: file for file in self.files if file.suffix == ".png"}
        if name not in figures:
            raise DataError(f"the report has no figure {name!r}", todo=nearest(name, figures))
        return figures[name]


def report(run: RunOrFolder, out: str | os.PathLike[str] | None = None) -> Report:
    """Write a run's report: every table and figure as files, and one HTML page of them.

    Args:
        run: the run.
        out: the folder; ``report`` in the run unless named.

    Raises:
        BedsideError: no such run, or the folder can't be written.
    """
    from bedside.reports.build import PAGE, write_report

    opened = run if isinstance(run, Run) else Run(run)
    written, files = write_report(opened, out=None if out is None else Path(out))
    return Report(next(file for file in files if file.name == PAGE), Tables(written), files)


def import_ratings(
    run: RunOrFolder,
    file: str | os.PathLike[str],
    *,
    scales: WrittenScales = (),
    columns: Mapping[str, str] | None = None,
    metric: str = "rating",
) -> int:
    """Add people's ratings from a spreadsheet to a run; those of the same key are replaced.

    Args:
        run: the run.
        file: CSV, TSV, XLSX or Parquet, long (item, rater, metric, value) or wide (a column a rater).
        scales: scales of the ratings.
        columns: bedside's column names to the file's.
        metric: the metric, where the file has no column for it.

    Returns:
        How many ratings were added or replaced.

    Raises:
        BedsideError: no such run, or a file that doesn't fit it.
    """
    from bedside.analysis.ratings_view import known_scale
    from bedside.ratings.scales import parse_scales
    from bedside.ratings.spreadsheets import import_ratings as run_import
    from bedside.ratings.spreadsheets import read_rating_file
    from bedside.rubrics.run_rubrics import own_rubrics

    opened = run if isinstance(run, Run) else Run(run)
    own = own_rubrics(opened)
    rating_file = read_rating_file(
        file,
        scales=parse_scales(_listed(scales)),
        columns=columns,
        metric=metric,
        known_scale=lambda name: known_scale(name, own),
    )
    return run_import(opened, Path(file), rating_file)[0]
