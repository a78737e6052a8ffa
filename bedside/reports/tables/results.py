"""Results: means and ratios of metrics, set out by metric, system and factors in rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.analysis.comparison import Comparison, compare, means_differ
from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import ARROWS
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.number_text import DASH, counted, number, p_value
from bedside.reports.samples import MeasuredRows, MeasureRow, Place, Sample, in_order, measure
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.stats.result import Interval, Result
from bedside.support.errors import DataError

METRIC, SYSTEM = "metric", "system"
Spread = Literal["sd", "ci", "none"]
Best = Literal["interval", "always", "never"]
CORRECTION_WORDS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini and Hochberg",
    None: "none",
}
_LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


class ResultsOptions(Options):
    """What a table of results shows, and how it is laid out.

    Attributes:
        metrics: the measures, under headings or as a bare list; all metrics of whole transcripts unless named.
        rows, columns: ``metric``, ``system`` or the name of a factor. The last of the rows labels a row, those before
            it head groups of rows; likewise for columns. Without ``system`` all systems are taken together.
        spread: beside a mean its standard deviation (``sd``), its 95 % interval (``ci``), or nothing.
        best: bold for the best of systems where the 95 % ``interval`` of differences tells it from another,
            ``always``, or ``never``.
        test: test each system against ``against``; where that isn't named and there are two systems in columns, the
            test stands in columns of its own.
        against: the system that others are tested against.
        family, correction: as for ``bedside compare``.
        deviation: beside each mean its distance from the mean of the reference corpus.
        case_level: after each ratio of sums the mean of the transcripts' own values.
        counts: begin with the number of transcripts and of cases.
    """

    metrics: Headed = Field(default_factory=dict)
    rows: tuple[str, ...] = (METRIC,)
    columns: tuple[str, ...] = (SYSTEM,)
    spread: Spread = "sd"
    best: Best = "interval"
    test: Test | None = None
    against: str | None = None
    family: CorrectionFamily = "all"
    correction: Correction = "holm"
    deviation: bool = False
    case_level: bool = False
    counts: bool = False

    @model_validator(mode="after")
    def _laid_out(self) -> ResultsOptions:
        dimensions = (*self.rows, *self.columns)
        if not self.rows or not self.columns or len(set(dimensions)) < len(dimensions):
            raise ValueError("rows and columns need one dimension each, and none twice")
        if METRIC not in dimensions:
            raise ValueError("either the rows or the columns hold the metric")
        if self.deviation and (self.rows, self.columns) != ((METRIC,), (SYSTEM,)):
            raise ValueError("deviation needs metrics in rows and systems in columns")
        return self

    @property
    def factors(self) -> tuple[str, ...]:
        """The dimensions that are factors."""
        return tuple(name for name in (*self.rows, *self.columns) if name not in (METRIC, SYSTEM))


@dataclass(frozen=True, slots=True)
class _ResultsLayout:
    """Where each number stands: keys of rows and columns, each a value for each of its dimensions."""

    options: ResultsOptions
    items: tuple[MeasureRow, ...]
    samples: Mapping[tuple[int, Place], Sample]
    rows: tuple[tuple[Any, ...], ...]
    columns: tuple[tuple[Any, ...], ...]

    def place(self, row: tuple[Any, ...], column: tuple[Any, ...]) -> tuple[int, Place]:
        """The item and the place of a cell."""
        at = dict(zip((*self.options.rows, *self.options.columns), (*row, *column), strict=True))
        return at[METRIC], (at.get(SYSTEM, ALL), tuple(at[name] for name in self.options.factors))

    def sample(self, row: tuple[Any, ...], column: tuple[Any, ...]) -> Sample | None:
        return self.samples.get(self.place(row, column))


def results_table(view: RatingsView, metrics: Sequence[str]) -> Table | None:
    """The results of these metrics; None where none of them rates whole transcripts."""
    headed = {"": tuple(TableMeasure(metric=name) for name in metrics)}
    return build(view, 0, ResultsOptions(metrics=headed)) if metrics else None


def build(view: RatingsView, seed: int, options: ResultsOptions) -> Table | None:
    """The table that the options describe; None where none of its metrics has a value."""
    options, lacking = _with_known_factors(view, options)
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
    layout = _laid_out(measured, options)
    tests = _Tests.of(view, layout, seed)
    table = _table(view, layout, measured, tests)
    if not lacking:
        return table
    note = f"No transcript has the factor {', '.join(lacking)}, by which this table would be divided too."
    return replace(table, notes=(*table.notes, note))


def _with_known_factors(view: RatingsView, options: ResultsOptions) -> tuple[ResultsOptions, tuple[str, ...]]:
    """The options without the factors that no transcript has, and these.

    Raises:
        DataError: nothing is left of the rows or of the columns.
    """
    known = set() if view.factors is None else set(view.factors.columns)
    lacking = tuple(name for name in options.factors if name not in known)
    rows = tuple(name for name in options.rows if name not in lacking)
    columns = tuple(name for name in options.columns if name not in lacking)
    if not rows or not columns:
        raise DataError(f"no transcript has the factor {', '.join(lacking)}", where=view.name)
    return options.model_copy(update={"rows": rows, "columns": columns}), lacking


def _laid_out(measured: MeasuredRows, options: ResultsOptions) -> _ResultsLayout:
    items = tuple(item for item, _ in measured.items)
    samples = {
        (position, place): sample
        for position, (_, found) in enumerate(measured.items)
        for place, sample in found.items()
    }
    strata = [in_order([stratum[i] for _, (_, stratum) in samples]) for i, _ in enumerate(options.factors)]
    order: dict[str, Sequence[Any]] = {
        METRIC: range(len(items)),
        SYSTEM: sorted({system for _, (system, _) in samples}),
        **dict(zip(options.factors, strata, strict=True)),
    }
    ranks = {name: {value: rank for rank, value in enumerate(values)} for name, values in order.items()}

    def keys(dimensions: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
        found = set()
        for item, (system, stratum) in samples:
            at = {METRIC: item, SYSTEM: system, **dict(zip(options.factors, stratum, strict=True))}
            found.add(tuple(at[name] for name in dimensions))
        ordered = sorted(
            found, key=lambda key: [ranks[name][value] for name, value in zip(dimensions, key, strict=True)]
        )
        return tuple(ordered)

    return _ResultsLayout(options, items, samples, keys(options.rows), keys(options.columns))


# --- tests and what is best


@dataclass(frozen=True, slots=True)
class _Tests:
    """Tests of systems, by item, stratum and the two systems."""

    found: Mapping[tuple[str, str, tuple[str, ...], str, str], Comparison]
    against: str | None

    @classmethod
    def of(cls, view: RatingsView, layout: _ResultsLayout, seed: int) -> _Tests:
        options = layout.options
        systems = view.systems()
        against = options.against if options.against in systems else None
        if options.test is None and against is None:
            return cls({}, None)
        if len(systems) < 2 or SYSTEM not in (*options.rows, *options.columns):
            return cls({}, None)
        metrics = sorted({item.metric for item in layout.items})
        found = {}
        for stratum, part in _parts(view, layout):
            here = part.systems()
            if len(here) < 2 or (against is not None and against not in here):
                continue
            compared = compare(
                part, metrics=metrics, reference=against, test=options.test or "auto", family=options.family,
                correction=options.correction, seed=seed,
            )  # fmt: skip
            for one in compared.pairs:
                found[one.metric, one.raters, stratum, one.a, one.b] = one
        return cls(found, against)

    def between(self, item: MeasureRow, stratum: tuple[str, ...], a: str, b: str) -> Comparison | None:
        return self.found.get((item.metric, item.group, stratum, a, b))

    def made(self) -> list[Comparison]:
        return list(self.found.values())


def _parts(view: RatingsView, layout: _ResultsLayout) -> list[tuple[tuple[str, ...], RatingsView]]:
    """The evaluation of the table's metrics in each stratum."""
    names = layout.options.factors
    rated = view.ratings.filter(pl.col("metric").is_in({item.metric for item in layout.items}))
    if not names:
        return [((), replace(view, ratings=rated))]
    assert view.factors is not None
    found = []
    for stratum in sorted({stratum for _, (_, stratum) in layout.samples}):
        chosen = view.factors.filter(
            *(
                pl.col(name).fill_null("none given") == value
                for name, value in zip(names, stratum, strict=True)
            )
        )["transcript_id"]
        part = rated.filter(pl.col("transcript_id").is_in(chosen.implode()))
        found.append((stratum, replace(view, ratings=part)))
    return found


def interval_of(sample: Sample, level: str) -> Interval | None:
    """The 95 % interval of a mean (Wilson's where all values are 0 or 1) or of a ratio of sums."""
    from bedside.stats.intervals import mean_t, proportion

    if not sample.n:
        return None
    if level == "mean" and np.isin(sample.values, (0.0, 1.0)).all():
        return proportion(sample.values).interval
    return mean_t(sample.values).interval


def best_of(item: MeasureRow, samples: Mapping[str, Sample], how: Best) -> tuple[set[str], set[str]]:
    """The systems that are best, and second best, by what is printed."""
    shown = {
        system: round(sample.estimate * item.scale, item.digits)
        for system, sample in samples.items()
        if sample.estimate is not None
    }
    if how == "never" or item.direction == "none" or len(set(shown.values())) < 2:
        return set(), set()
    sign = 1 if item.direction == "higher" else -1
    ranked = sorted(set(shown.values()), key=lambda value: -sign * value)
    first = next(system for system, value in shown.items() if value == ranked[0])
    best = {system for system, value in shown.items() if value == ranked[0]}
    if how == "interval":
        best |= {
            system
            for system in shown
            if system not in best and not means_differ(samples[first], samples[system])
        }
        if len(best) == len(shown):
            return set(), set()
    rest = [value for system, value in shown.items() if system not in best]
    if len(shown) < 3 or not rest:
        return best, set()
    next_best = max(rest, key=lambda value: sign * value)
    return best, {system for system, value in shown.items() if system not in best and value == next_best}


# --- the table


def _table(view: RatingsView, layout: _ResultsLayout, measured: MeasuredRows, tests: _Tests) -> Table:
    options = layout.options
    in_rows = METRIC in options.rows
    usual = _usual(layout)
    records: list[dict[str, Any]] = []
    positions: dict[tuple[int, Place], int] = {}
    for row in layout.rows:
        for column in layout.columns:
            at = layout.place(row, column)
            if at in layout.samples:
                positions[at] = len(records)
                records.append(_record(layout, at, tests))
    marked = _marked(layout)
    reference = _deviations(view, layout) if options.deviation else None
    columns = [Column(_label(options.rows[-1]), "left")]
    if not in_rows:
        columns.append(Column("n"))
    if reference is not None:
        columns.append(Column("Reference"))
    for column in layout.columns:
        title, group = _column_title(layout, column)
        if reference is None:
            columns.append(Column(title, group=group))
        else:
            columns += [Column(_spread_words(options.spread), group=title), Column("Δ", group=title)]
    pair = _shown_pair(layout, tests)
    if pair is not None:
        columns += [Column("Statistic"), Column("p"), Column("p corrected")]
    rows = []
    if options.counts and in_rows:
        rows += _count_rows(layout, records)
    for row in layout.rows:
        cells = [Cell(_row_title(layout, row))]
        if not in_rows:
            cells.append(Cell(f"{usual[row]:,}"))
        item = layout.items[row[options.rows.index(METRIC)]] if in_rows else None
        if reference is not None and item is not None:
            cells.append(_reference_cell(item, reference))
        for column in layout.columns:
            at = layout.place(row, column)
            cell = _cell(layout, at, usual[row if not in_rows else column], options.spread)
            best, second = marked.get(at, (False, False))
            cell = replace(
                cell, bold=best, underline=second, marks=_mark(layout, at, tests), record=positions.get(at)
            )
            cells.append(cell)
            if reference is not None and item is not None:
                cells.append(_deviation_cell(item, at[1][0], reference, records, positions.get(at)))
        if pair is not None and item is not None:
            cells += _test_cells(item, pair, tests)
        rows.append(Row(tuple(cells), _heading(layout, row)))
    notes = _notes(view, layout, measured, tests, usual, rows, pair, reference)
    return Table(
        name=options.id or "results",
        title=options.title or _caption(options),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(notes),
        records=(*records, *_valueless(layout, measured)),
    )


def _valueless(layout: _ResultsLayout, measured: MeasuredRows) -> Iterator[dict[str, Any]]:
    """Records of what has no value anywhere, so that the CSV counts it."""
    names = layout.options.factors
    for metric, group, samples in measured.valueless:
        for (system, stratum), sample in sorted(samples.items()):
            yield {
                "cell": "/".join((f"{metric}@{group}", *stratum, system)), "metric": metric, "raters": group,
                "system": system, **dict(zip(names, stratum, strict=True)), "value": None, "sd": None, "n": 0,
                "missing": sample.missing, "why_missing": sample.why,
            }  # fmt: skip


def _caption(options: ResultsOptions) -> str:
    by = [_label(name).lower() for name in (*options.rows, *options.columns) if name != METRIC]
    return f"Results by {' and '.join(by)}: {_spread_words(options.spread)} over transcripts"


def _spread_words(spread: Spread) -> str:
    return {"sd": "mean (standard deviation)", "ci": "mean [95 % interval]", "none": "mean"}[spread]


def _label(dimension: str) -> str:
    return dimension.replace("_", " ").capitalize()


def _value_title(layout: _ResultsLayout, dimension: str, value: Any) -> str:
    if dimension == METRIC:
        item = layout.items[int(value)]
        return f"{item.title}{ARROWS[item.direction]}"
    return str(value)


def _row_title(layout: _ResultsLayout, row: tuple[Any, ...]) -> str:
    return _value_title(layout, layout.options.rows[-1], row[-1])


def _heading(layout: _ResultsLayout, row: tuple[Any, ...]) -> str | None:
    """What a group of rows stands under."""
    options = layout.options
    if options.rows == (METRIC,):
        return layout.items[int(row[0])].heading
    return _joined(layout, options.rows[:-1], row[:-1])


def _column_title(layout: _ResultsLayout, column: tuple[Any, ...]) -> tuple[str, str | None]:
    options = layout.options
    title = _value_title(layout, options.columns[-1], column[-1])
    if options.columns == (METRIC,):
        item = layout.items[int(column[0])]
        return title, item.heading if item.headed else None
    return title, _joined(layout, options.columns[:-1], column[:-1])


def _joined(layout: _ResultsLayout, dimensions: Sequence[str], values: Sequence[Any]) -> str | None:
    parts = [
        _value_title(layout, name, value) if name in (METRIC, SYSTEM) else f"{_label(name)}: {value}"
        for name, value in zip(dimensions, values, strict=True)
    ]
    return " · ".join(parts) or None


def _usual(layout: _ResultsLayout) -> dict[tuple[Any, ...], int]:
    """The number of transcripts that most cells of a column rest on; of a row, where columns hold the metrics."""
    usual: dict[tuple[Any, ...], int] = {}
    in_rows = METRIC in layout.options.rows
    for row in layout.rows:
        for column in layout.columns:
            sample = layout.sample(row, column)
            key = column if in_rows else row
            usual[key] = max(usual.get(key, 0), sample.n if sample is not None else 0)
    return usual


def _cell(layout: _ResultsLayout, at: tuple[int, Place], usual: int, spread: Spread) -> Cell:
    item, sample = layout.items[at[0]], layout.samples.get(at)
    if sample is None or sample.estimate is None:
        return Cell(DASH)
    text = number(sample.estimate * item.scale, item.digits)
    if spread == "sd" and sample.sd is not None:
        text += f" ({number(sample.sd * item.scale, item.digits)})"
    if spread == "ci":
        interval = interval_of(sample, item.level)
        if interval is not None:
            low, high = (number(bound * item.scale, item.digits) for bound in (interval.low, interval.high))
            text += f" [{low}, {high}]"
    if sample.n != usual:
        text += f" n={sample.n:,}" + (f"/{sample.n + sample.missing:,}" if sample.missing else "")
    return Cell(text)


def _record(layout: _ResultsLayout, at: tuple[int, Place], tests: _Tests) -> dict[str, Any]:
    position, (system, stratum) = at
    item, sample = layout.items[position], layout.samples[at]
    options = layout.options
    parts = {METRIC: item.key, SYSTEM: system, **dict(zip(options.factors, stratum, strict=True))}
    interval = interval_of(sample, item.level)
    test = tests.between(item, stratum, system, tests.against) if tests.against is not None else None
    record = {
        "cell": "/".join(parts[name] for name in (*options.rows, *options.columns)),
        "measure": item.title,
        "metric": item.metric,
        "raters": item.group,
        "system": system,
        **dict(zip(options.factors, stratum, strict=True)),
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
    }
    if test is not None:
        record |= {"against": tests.against, **_test_record(test.test)}
    return record


def _test_record(test: Result) -> dict[str, Any]:
    return {
        "test": test.method, "statistic": test.statistic, "p": test.p, "p_corrected": test.p_adjusted,
        "correction": test.correction, "family": test.family, "family_size": test.family_size,
    }  # fmt: skip


def _marked(layout: _ResultsLayout) -> dict[tuple[int, Place], tuple[bool, bool]]:
    """Which cells are best and second best among those that differ only in the system."""
    together: dict[tuple[int, tuple[str, ...]], dict[str, Sample]] = {}
    for (position, (system, stratum)), sample in layout.samples.items():
        together.setdefault((position, stratum), {})[system] = sample
    found = {}
    for (position, stratum), samples in together.items():
        ordered = {system: samples[system] for system in sorted(samples)}
        best, second = best_of(layout.items[position], ordered, layout.options.best)
        for system in samples:
            found[position, (system, stratum)] = (system in best, system in second)
    return found


def _mark(layout: _ResultsLayout, at: tuple[int, Place], tests: _Tests) -> str:
    position, (system, stratum) = at
    if tests.against is None:
        return ""
    found = tests.between(layout.items[position], stratum, system, tests.against)
    p = found.test.p_adjusted if found is not None else None
    return next((mark for level, mark in _LEVELS if p is not None and p < level), "")


def _shown_pair(layout: _ResultsLayout, tests: _Tests) -> tuple[str, str] | None:
    """The two systems whose test stands in columns."""
    options = layout.options
    systems = [column[0] for column in layout.columns]
    if (
        tests.against is not None
        or not tests.found
        or (options.rows, options.columns) != ((METRIC,), (SYSTEM,))
    ):
        return None
    return (systems[0], systems[1]) if len(systems) == 2 else None


def _test_cells(item: MeasureRow, pair: tuple[str, str], tests: _Tests) -> list[Cell]:
    found = tests.between(item, (), *pair)
    if found is None:
        return [Cell(DASH)] * 3
    test = found.test
    digits = 0 if "U (" in test.method else 2
    return [Cell(number(test.statistic, digits)), Cell(p_value(test.p)), Cell(p_value(test.p_adjusted))]


def _count_rows(layout: _ResultsLayout, records: list[dict[str, Any]]) -> list[Row]:
    """Transcripts and cases of each column."""
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
            key = "/".join((name.lower(), *map(str, column)))
            records.append(
                {"cell": key, "measure": name, "level": "count", "system": column[0], "value": count}
            )
        rows.append(Row(tuple(cells), "Number"))
    return rows


# --- distance from a reference corpus

_Deviations = Mapping[tuple[str, str, str], Deviation]


def _deviations(view: RatingsView, layout: _ResultsLayout) -> _Deviations | None:
    """The deviation of each metric, group of raters and system; None where no corpus is named or has any of them."""
    if view.reference is None:
        return None
    metrics = sorted({item.metric for item in layout.items if item.level == "mean"})
    try:
        found = deviation(view, view.reference, metrics=metrics)
    except DataError:
        return None
    return {(one.metric, one.raters, one.system): one for one in found}


def _reference_cell(item: MeasureRow, deviations: _Deviations) -> Cell:
    found = [
        one
        for (metric, raters, _), one in deviations.items()
        if (metric, raters) == (item.metric, item.group)
    ]
    mean = found[0].reference if found and item.level == "mean" else None
    return Cell(DASH if mean is None else number(mean * item.scale, item.digits))


def _deviation_cell(
    item: MeasureRow,
    system: str,
    deviations: _Deviations,
    records: list[dict[str, Any]],
    position: int | None,
) -> Cell:
    """|mean − mean of the reference|, which goes into the record too."""
    found = deviations.get((item.metric, item.group, system))
    if found is None or found.deviation is None or position is None or item.level != "mean":
        return Cell(DASH)
    records[position] |= {
        "reference": found.reference, "reference_n": found.reference_n, "deviation": found.deviation
    }  # fmt: skip
    return Cell(number(found.deviation * item.scale, item.digits), record=position)


# --- notes


def _notes(
    view: RatingsView,
    layout: _ResultsLayout,
    measured: MeasuredRows,
    tests: _Tests,
    usual: Mapping[tuple[Any, ...], int],
    rows: Sequence[Row],
    pair: tuple[str, str] | None,
    reference: _Deviations | None,
) -> list[str]:
    options = layout.options
    cells = [cell for row in rows for cell in row.cells[1:]]
    notes = []
    if METRIC in options.rows:
        notes.append(_n_note(layout, usual))
    elif any(" n=" in cell.text for cell in cells):
        notes.append("n: transcripts with a value; a cell that rests on fewer says so.")
    if any("/" in cell.text.partition(" n=")[2] for cell in cells):
        notes.append(
            "n=3/4: three of four have a value; the table of missing values says why not the others."
        )
    micro = [item for item in layout.items if item.level == "micro"]
    if micro:
        notes.append(
            "Micro: sums over transcripts divided by one another"
            + (", beside the mean of the transcripts' own values (case-level), which is what tests compare."
               if options.case_level else "; tests compare the transcripts' own values.")
        )  # fmt: skip
    if any(cell.bold for cell in cells):
        rule = {
            "interval": "Bold: the best, and what the 95 % t interval of the difference can't tell from it",
            "always": "Bold: the best, with no regard to chance",
        }[options.best]
        second = "; underlined: the next" if any(cell.underline for cell in cells) else ""
        notes.append(f"{rule}{second}. ↑ higher is better, ↓ lower is.")
    elif (
        options.best == "interval"
        and any(item.direction != "none" for item in layout.items)
        and _several(layout)
    ):
        notes.append(
            "Nothing is bold: no 95 % interval of a difference leaves out 0. ↑ higher is better, ↓ lower is."
        )
    if options.spread == "ci":
        binary = any(
            item.level == "mean" and _binary(layout, index) for index, item in enumerate(layout.items)
        )
        notes.append(
            "Intervals: t over transcripts" + (", Wilson's for shares of 0 and 1." if binary else ".")
        )
    if any("(people)" in item.title for item in layout.items):
        notes.append("People: ratings are averaged over the people who rated a transcript.")
    notes += _test_notes(layout, tests, pair)
    if options.deviation:
        notes.append(
            "Δ: distance of the mean from the mean of the reference corpus under the same raters."
            if reference is not None
            else "No reference corpus is named that has these metrics, so no Δ: bedside report RUN --reference RUN2."
        )
        if reference is not None and view.reference is not None:
            notes.append(f"Reference: {view.reference.name}.")
    if measured.empty:
        reasons: dict[str, list[str]] = {}
        for title, why in measured.empty.items():
            reasons.setdefault(why, []).append(title)
        listed = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in reasons.items())
        notes.append(f"Missing for every transcript: {listed}.")
    return [*notes, *absent_notes(measured.absent)]


def _several(layout: _ResultsLayout) -> bool:
    return len({system for _, (system, _) in layout.samples}) > 1


def _binary(layout: _ResultsLayout, index: int) -> bool:
    values = [sample.values for (position, _), sample in layout.samples.items() if position == index]
    together = np.concatenate(values)
    return bool(together.size) and bool(np.isin(together, (0.0, 1.0)).all())


def _n_note(layout: _ResultsLayout, usual: Mapping[tuple[Any, ...], int]) -> str:
    counts = set(usual.values())
    if len(counts) > 1:
        listed = ", ".join(
            f"{' · '.join(_value_title(layout, d, v) for d, v in zip(layout.options.columns, key, strict=True))} {n:,}"
            for key, n in usual.items()
        )
        return f"n, transcripts: {listed}, unless a cell says otherwise."
    each = ""
    if len(usual) > 1:
        each = " a system" if layout.options.columns == (SYSTEM,) else " a column"
    return f"n = {next(iter(counts), 0):,} transcripts{each} unless a cell says otherwise."


def _test_notes(layout: _ResultsLayout, tests: _Tests, pair: tuple[str, str] | None) -> list[str]:
    made = tests.made()
    if not made:
        if layout.options.against is not None and tests.against is None and _several(layout):
            return [f"No system is called {layout.options.against}, so nothing is tested against it."]
        return []
    if tests.against is None and pair is None:
        return [
            "More than two systems and none named to test against (--against): the pairwise table has all tests."
        ]
    notes = []
    if tests.against is not None:
        notes.append(f"Against {tests.against}: * p < .05, ** p < .01, *** p < .001, corrected.")
    for method in dict.fromkeys(one.test.method for one in made):
        reasons = "; ".join(dict.fromkeys(one.why for one in made if one.test.method == method))
        notes.append(f"Test: {method} ({reasons}).")
    families = dict.fromkeys((one.test.correction, one.test.family, one.test.family_size) for one in made)
    strata = " in each stratum" if layout.options.factors else ""
    for correction, family, size in list(families)[:3]:
        notes.append(
            f"p corrected by {CORRECTION_WORDS[correction]} within the family “{family}” of "
            f"{counted(size or 0, 'test')}{strata}."
        )
    if len(families) > 3:
        notes[-3:] = [f"p corrected within {len(families)} families; the CSV names them."]
    return notes


TABLE = TableKind("results", "Results by system", 10, build, ResultsOptions)
