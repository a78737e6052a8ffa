"""Results: means and ratios of metrics, set out by metric, system and factors in rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.best_systems import BestCells, best_cells
from bedside.reports.measures import TableMeasure
from bedside.reports.number_text import DASH, number
from bedside.reports.results_deviations import ResultsDeviations, results_deviations
from bedside.reports.results_layout import CellKey, Key, ResultsLayout, dimension_title, layout_of
from bedside.reports.results_notes import results_notes
from bedside.reports.results_options import METRIC, SYSTEM, ResultsOptions, Spread
from bedside.reports.samples import MeasuredRows, interval_of, measure
from bedside.reports.system_tests import SystemTests, system_tests
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.support.errors import DataError


def results_table(view: RatingsView, metrics: Sequence[str]) -> Table | None:
    """The results of these metrics; None where none of them rates whole transcripts."""
    headed = {"": tuple(TableMeasure(metric=name) for name in metrics)}
    return build(view, 0, ResultsOptions(metrics=headed)) if metrics else None


def build(view: RatingsView, seed: int, options: ResultsOptions) -> Table | None:
    """The table that the options describe; None where none of its metrics has a value."""
    options, missing_factors = _with_factors_of(view, options)
    headed = options.metrics
    if not any(headed.values()):
        headed = {"": tuple(TableMeasure(metric=name) for name in view.metrics())}
    measured = measure(
        view,
        headed,
        by=options.factors,
        pool=SYSTEM not in (*options.rows, *options.columns),
        case_level=options.case_level,
    )
    if not measured.items:
        return None
    layout = layout_of(measured, options)
    cells = _ResultsCells(
        layout=layout,
        tests=system_tests(view, layout, seed),
        deviations=results_deviations(view, layout),
        usual_counts=layout.usual_counts(),
        best=best_cells(layout),
    )
    table = _table(cells, measured)
    if not missing_factors:
        return table
    note = f"No transcript has the factor {', '.join(missing_factors)}, by which this table would be divided too."
    return replace(table, notes=(*table.notes, note))


def _with_factors_of(view: RatingsView, options: ResultsOptions) -> tuple[ResultsOptions, tuple[str, ...]]:
    """The options without the factors that no transcript has, and these.

    Raises:
        DataError: nothing is left of the rows or of the columns.
    """
    factors = set() if view.factors is None else set(view.factors.columns)
    missing_factors = tuple(name for name in options.factors if name not in factors)
    rows = tuple(name for name in options.rows if name not in missing_factors)
    columns = tuple(name for name in options.columns if name not in missing_factors)
    if not rows or not columns:
        raise DataError(f"no transcript has the factor {', '.join(missing_factors)}", where=view.name)
    return options.model_copy(update={"rows": rows, "columns": columns}), missing_factors


@dataclass(frozen=True, slots=True)
class _ResultsCells:
    """What the cells of the table are made from.

    Attributes:
        layout: where each number stands.
        tests: of systems.
        deviations: from the reference corpus; None where the table shows none.
        usual_counts: the transcripts that the cells of a column rest on, of a row where columns hold the metrics.
        best: the cells that are best and second best.
    """

    layout: ResultsLayout
    tests: SystemTests
    deviations: ResultsDeviations | None
    usual_counts: Mapping[Key, int]
    best: BestCells

    def usual_count(self, row: Key, column: Key) -> int:
        """The transcripts that a cell rests on unless it says otherwise."""
        return self.usual_counts[column if self.layout.metrics_in_rows else row]


def _table(cells: _ResultsCells, measured: MeasuredRows) -> Table:
    layout, options = cells.layout, cells.layout.options
    records: list[dict[str, Any]] = []
    positions: dict[CellKey, int] = {}
    for row_key in layout.rows:
        for column_key in layout.columns:
            key = layout.cell_key(row_key, column_key)
            if key in layout.samples:
                positions[key] = len(records)
                records.append(_record(cells, key))
    rows = [_row(cells, row_key, positions) for row_key in layout.rows]
    if options.counts and layout.metrics_in_rows:
        rows = [*_count_rows(layout, records), *rows]
    return Table(
        name=options.id or "results",
        title=options.title or _caption(options),
        columns=tuple(_columns(cells)),
        rows=tuple(rows),
        notes=results_notes(
            layout,
            rows,
            usual_counts=cells.usual_counts,
            measured=measured,
            tests=cells.tests,
            deviations=cells.deviations,
        ),
        records=(*records, *_valueless_records(layout, measured)),
    )


def _columns(cells: _ResultsCells) -> list[Column]:
    layout, options = cells.layout, cells.layout.options
    columns = [Column(dimension_title(options.rows[-1]), "left")]
    if not layout.metrics_in_rows:
        columns.append(Column("n"))
    if cells.deviations is not None:
        columns.append(Column("Reference"))
    for key in layout.columns:
        title, group = layout.column_title(key)
        if cells.deviations is None:
            columns.append(Column(title, group=group))
        else:
            columns += [Column(_spread_words(options.spread), group=title), Column("Δ", group=title)]
    if cells.tests.pair is not None:
        columns += [Column("Statistic"), Column("p"), Column("p corrected")]
    return columns


def _row(cells: _ResultsCells, row_key: Key, positions: Mapping[CellKey, int]) -> Row:
    """One row; ``positions`` are those of the cells' records."""
    layout, deviations = cells.layout, cells.deviations
    row = [Cell(layout.row_title(row_key))]
    if not layout.metrics_in_rows:
        row.append(Cell(f"{cells.usual_counts[row_key]:,}"))
    # Deviations and tests stand only where rows are metrics.
    if deviations is not None:
        row.append(deviations.reference_cell(layout.items[row_key[0]]))
    for column_key in layout.columns:
        key = layout.cell_key(row_key, column_key)
        row.append(
            Cell(
                _text(cells, key, cells.usual_count(row_key, column_key)),
                bold=key in cells.best.best,
                marks=cells.tests.marks(key),
                underline=key in cells.best.second,
                record=positions.get(key),
            )
        )
        if deviations is not None:
            row.append(deviations.cell(key, positions.get(key)))
    if cells.tests.pair is not None:
        row += cells.tests.pair_cells(layout.items[row_key[0]])
    return Row(tuple(row), layout.row_heading(row_key))


def _text(cells: _ResultsCells, key: CellKey, usual_count: int) -> str:
    """A number with its spread, and with its transcripts where they aren't as many as usual."""
    item, sample = cells.layout.items[key[0]], cells.layout.samples.get(key)
    spread = cells.layout.options.spread
    if sample is None or sample.estimate is None:
        return DASH
    text = number(sample.estimate * item.scale, item.digits)
    if spread == "sd" and sample.sd is not None:
        text += f" ({number(sample.sd * item.scale, item.digits)})"
    if spread == "ci":
        interval = interval_of(sample, item.level)
        if interval is not None:
            low, high = (number(bound * item.scale, item.digits) for bound in (interval.low, interval.high))
            text += f" [{low}, {high}]"
    if sample.n != usual_count:
        text += f" n={sample.n:,}" + (f"/{sample.n + sample.missing:,}" if sample.missing else "")
    return text


def _record(cells: _ResultsCells, key: CellKey) -> dict[str, Any]:
    position, (system, stratum) = key
    item, sample, options = cells.layout.items[position], cells.layout.samples[key], cells.layout.options
    factors = dict(zip(options.factors, stratum, strict=True))
    names = {METRIC: item.key, SYSTEM: system, **factors}
    interval = interval_of(sample, item.level)
    return {
        "cell": "/".join(names[dimension] for dimension in (*options.rows, *options.columns)),
        "measure": item.title,
        "metric": item.metric,
        "raters": item.group,
        "system": system,
        **factors,
        "level": item.level,
        "value": sample.estimate,
        "sd": sample.sd,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.method if interval else None,
        "n": sample.n,
        "missing": sample.missing,
        "why_missing": sample.why,
        "numerator": sample.numerator,
        "denominator": sample.denominator,
        "direction": item.direction,
        **cells.tests.record(key),
        **(cells.deviations.record(key) if cells.deviations is not None else {}),
    }


def _valueless_records(layout: ResultsLayout, measured: MeasuredRows) -> Iterator[dict[str, Any]]:
    """Records of what has no value anywhere, so that the CSV counts it."""
    factors = layout.options.factors
    for metric, group, samples in measured.valueless:
        for (system, stratum), sample in sorted(samples.items()):
            yield {
                "cell": "/".join((f"{metric}@{group}", *stratum, system)), "metric": metric, "raters": group,
                "system": system, **dict(zip(factors, stratum, strict=True)), "value": None, "sd": None, "n": 0,
                "missing": sample.missing, "why_missing": sample.why,
            }  # fmt: skip


def _count_rows(layout: ResultsLayout, records: list[dict[str, Any]]) -> list[Row]:
    """Transcripts and cases of each column; their records are added to ``records``."""
    transcripts, cases = {}, {}
    for column in layout.columns:
        samples = [s for s in (layout.sample(row, column) for row in layout.rows) if s is not None]
        transcripts[column] = max((s.n + s.missing for s in samples), default=0)
        cases[column] = len({int(case) for s in samples for case in np.unique(s.cases) if case >= 0})
    rows = []
    for name, counts in (("Transcripts", transcripts), ("Cases", cases)):
        if not any(counts.values()):
            continue
        cells = [Cell(name)]
        for column, count in counts.items():
            cells.append(Cell(f"{count:,}" if count else DASH, record=len(records)))
            cell_name = "/".join((name.lower(), *map(str, column)))
            records.append(
                {"cell": cell_name, "measure": name, "level": "count", "system": column[0], "value": count}
            )
        rows.append(Row(tuple(cells), "Number"))
    return rows


def _caption(options: ResultsOptions) -> str:
    by = [dimension_title(name).lower() for name in (*options.rows, *options.columns) if name != METRIC]
    return f"Results by {' and '.join(by)}: {_spread_words(options.spread)} over transcripts"


def _spread_words(spread: Spread) -> str:
    return {"sd": "mean (standard deviation)", "ci": "mean [95 % interval]", "none": "mean"}[spread]


TABLE = TableKind("results", "Results by system", 10, build, ResultsOptions)
