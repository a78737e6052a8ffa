"""Results: means and ratios of metrics, set out by metric, system and factors in rows and columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bedside.analysis.comparison import means_differ
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.study_parts import StudyOrder
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.ratings.names import ALGORITHMS
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import TableMeasure, shares_shown
from bedside.reports.notes import noted
from bedside.reports.number_text import DASH, n_of, number, signed, trimmed
from bedside.reports.results_layout import (
    METRIC,
    RATERS,
    SYSTEM,
    Best,
    CellKey,
    Key,
    ResultsDeviations,
    ResultsLayout,
    ResultsOptions,
    Spread,
    corpus_name,
    dimension_title,
    layout_of,
    raters_apart,
    reference_samples,
    results_deviations,
    with_comparisons,
)
from bedside.reports.results_notes import NOTES, ShownResults, SystemTests, system_tests
from bedside.reports.samples import MeasuredRows, MeasureRow, Place, Sample, interval_of, measure
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import preferences_apart

# -- Where the numbers that a suite's source printed stand in a table of results ------------------------

#: Numbers without a place that a note names one by one.
_MOST = 6


@dataclass(frozen=True, slots=True)
class PublishedCells:
    """Printed numbers by where they stand.

    Attributes:
        cells: by position of the measure, and place.
        references: those of the source's reference corpus, by position of the measure.
        tests: those of the test of two systems, by position of the measure and ``Statistic`` or ``p``.
        elsewhere: those that have no place in the table.
        nameless: whether those of systems stand apart, as the transcripts name none.
    """

    cells: Mapping[tuple[int, Place], PublishedNumber] = field(default_factory=dict)
    references: Mapping[int, PublishedNumber] = field(default_factory=dict)
    tests: Mapping[tuple[int, str], PublishedNumber] = field(default_factory=dict)
    elsewhere: tuple[PublishedNumber, ...] = ()
    nameless: bool = False

    def notes(self) -> list[str]:
        """How many printed numbers the table can't show, and which; why none stands beside one of the run."""
        apart = ["No transcript names its system: name it as the source does, and printed numbers stand beside yours."]
        if not self.elsewhere:
            return apart if self.nameless else []
        named = "; ".join(map(str, self.elsewhere[:_MOST]))
        more = f"; and {len(self.elsewhere) - _MOST} more" if len(self.elsewhere) > _MOST else ""
        every = len({*self.cells.values(), *self.references.values(), *self.elsewhere})
        return [
            f"{len(self.elsewhere):,} of {counted(every, 'printed number')} stand nowhere above, for this run has "
            f"nothing of their measure or condition: {named}{more}.",
            *(apart if self.nameless else []),
        ]


def published_cells(
    items: Sequence[MeasureRow], places: Collection[Place], options: ResultsOptions, order: StudyOrder
) -> PublishedCells:
    """Where each printed number stands: by the titles of measures, and the names or labels of systems and levels.

    Args:
        items: what the table measures.
        places: the systems and strata that have values.
        options: what the table shows, with the printed numbers.
        order: of systems and levels, with their labels.
    """
    positions: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        positions.setdefault(_key(item.measure.title or item.title), []).append(place)
    dimensions = (*options.rows, *options.columns)
    present = order.ordered_systems(name for name, _ in places)
    listed = [name for name in order.systems if name not in present]
    systems = _by_label({name: order.system_label(name) for name in (*listed, *present)})
    levels = [_levels_of(name, place, places, order) for place, name in enumerate(options.factors)]
    cells: dict[tuple[int, Place], PublishedNumber] = {}
    references: dict[int, PublishedNumber] = {}
    tests: dict[tuple[int, str], PublishedNumber] = {}
    elsewhere: list[PublishedNumber] = []
    for printed in options.published:
        of_measure = positions.get(_key(printed.measure), [])
        if of_measure and options.reference is not None and printed.system == options.reference:
            references.update(dict.fromkeys(of_measure, printed))
            continue
        statistic = {"U": "Statistic", "t": "Statistic", "p": "p"}.get(printed.levels[-1] if printed.levels else "")
        if of_measure and statistic is not None and options.test is not None:
            tests.update({(position, statistic): printed for position in of_measure})
            continue
        system = systems.get(_key(printed.system)) if SYSTEM in dimensions else ALL
        stratum = _stratum(printed.levels, levels)
        if stratum is None or len(printed.levels) < len(levels):
            stratum = _only_stratum(printed, system, places, options, order) or stratum
        if not of_measure or system is None or stratum is None:
            elsewhere.append(printed)
            continue
        cells.update({(position, (system, stratum)): printed for position in of_measure})
    nameless = SYSTEM in dimensions and present == [ALL] and bool(cells)
    return PublishedCells(cells, references, tests, tuple(elsewhere), nameless)


def _stratum(printed: Sequence[str], levels: Sequence[Mapping[str, str]]) -> tuple[str, ...] | None:
    """The level of each factor that a printed number is of, an empty one of factors that it doesn't name; None where a
    level is not among those known."""
    rest = [_key(level) for level in printed]
    stratum = []
    for names in levels:
        level = next((level for level in rest if level in names), None)
        if level is not None:
            rest.remove(level)
        stratum.append("" if level is None else names[level])
    return None if rest else tuple(stratum)


def _levels_of(factor: str, position: int, places: Collection[Place], order: StudyOrder) -> dict[str, str]:
    """The levels of a factor by how they or their labels are written."""
    present = sorted({stratum[position] for _, stratum in places})
    listed = [level for level in order.levels.get(factor, {}) if level not in present]
    # Of several levels under one label the last is taken: one that has values.
    return _by_label({level: order.level_label(factor, level) for level in (*listed, *present)})


def _only_stratum(
    number: PublishedNumber, system: str | None, places: Collection[Place], options: ResultsOptions, order: StudyOrder
) -> tuple[str, ...] | None:
    """The only stratum of a system that has all levels of a printed number; None where there are none, or several."""
    printed = {_key(level) for level in number.levels}
    fitting = []
    for name, stratum in places:
        known: set[str] = set()
        for factor, level in zip(options.factors, stratum, strict=True):
            known |= {_key(level), _key(order.level_label(factor, level))}
        if name == system and printed <= known:
            fitting.append(stratum)
    return fitting[0] if len(fitting) == 1 else None


def _by_label(labels: Mapping[str, str]) -> dict[str, str]:
    """Names by how they or their labels are written, whatever the case of letters; of several the last."""
    return {_key(text): name for name, label in labels.items() for text in (name, label)}


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


# -- Which cells of a table of results hold the best system ---------------------------------------------


@dataclass(frozen=True, slots=True)
class BestCells:
    """The cells that are best, and second best, among those that differ only in the system."""

    best: frozenset[CellKey]
    second: frozenset[CellKey]


def best_cells(layout: ResultsLayout, references: Mapping[int, Sample]) -> BestCells:
    """The best cells of a table, and the second best or those best among some levels, as its options say.

    Args:
        layout: the table.
        references: the means of the reference corpus, by position of the item.
    """
    options = layout.options
    apart = [place for place, name in enumerate(options.factors) if name not in options.best_among]
    by_place: dict[tuple[int, tuple[str, ...]], dict[Place, Sample]] = {}
    for (position, place), sample in layout.samples.items():
        stratum = tuple(place[1][factor] for factor in apart)
        by_place.setdefault((position, stratum), {})[place] = sample
    best: set[CellKey] = set()
    second: set[CellKey] = set()
    for (position, _), samples in by_place.items():
        systems = layout.order.ordered_systems(system for system, _ in samples)
        ordered = {place: samples[place] for place in sorted(samples, key=lambda key: (systems.index(key[0]), key[1]))}
        reference = references.get(position)
        best_places, second_places = places_ranked(
            layout.items[position], ordered, options.best, reference.estimate if reference is not None else None
        )
        if options.matched:
            levels = [(options.factors.index(name), of) for name, of in options.matched.items()]
            within = {place: own for place, own in ordered.items() if all(place[1][at] in of for at, of in levels)}
            second_places = places_ranked(layout.items[position], within, options.best)[0] - best_places
        best |= {(position, place) for place in best_places}
        second |= {(position, place) for place in second_places}
    return BestCells(frozenset(best), frozenset(second if options.second or options.matched else ()))


def places_ranked(
    item: MeasureRow, samples: Mapping[Place, Sample], rule: Best, reference: float | None = None
) -> tuple[set[Place], set[Place]]:
    """The places that are best, and second best, by what is printed.

    Args:
        item: what is measured.
        samples: the values of each system, and of each level where the best is looked for over these too.
        reference: the mean of the reference corpus; None where there is none.
        rule: whether the best are ``always`` those with the best number, even where all have it, by ``interval`` those
            too that no 95 % interval of the difference tells from them, or ``never`` any.
    """
    printed = {
        place: round(sample.estimate * item.scale, item.digits)
        for place, sample in samples.items()
        if sample.estimate is not None
    }
    if item.nearest and reference is not None:
        near = round(reference * item.scale, item.digits)
        printed = {place: round(abs(number - near), item.digits) for place, number in printed.items()}
    undirected = item.direction == "none" and (not item.nearest or reference is None)
    different = printed if rule == "always" else set(printed.values())
    if rule == "never" or undirected or len(different) < 2:
        return set(), set()
    choose = max if item.direction == "higher" else min
    if item.nearest or item.measure.compared or item.level == "count":
        # The distance of two distances has no interval here.
        rule = "always"
    best_number = choose(printed.values())
    first = next(place for place, number in printed.items() if number == best_number)
    best = {place for place, number in printed.items() if number == best_number}
    if rule == "interval":
        best |= {place for place in printed if place not in best and not means_differ(samples[first], samples[place])}
        if len(best) == len(printed):
            return set(), set()
    other_numbers = [number for place, number in printed.items() if place not in best]
    if len(printed) < 3 or not other_numbers:
        return best, set()
    second_number = choose(other_numbers)
    return best, {place for place, number in printed.items() if place not in best and number == second_number}


# -- Results --------------------------------------------------------------------------------------------


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
    view = shares_shown(view, headed)
    measured = measure(
        view,
        headed,
        by=options.transcript_factors,
        pool=SYSTEM not in (*options.rows, *options.columns),
        case_level=options.case_level,
        raters=options.raters,
    )
    if RATERS in options.factors:
        measured = raters_apart(measured, options)
    references: Mapping[int, Sample] = {}
    if options.reference or any(item.nearest or item.measure.deviation for item, _ in measured.items):
        references = reference_samples(view, headed, measured)
    measured, references = with_comparisons(view, measured, references)
    if not measured.items:
        return None
    places = {place for _, samples in measured.items for place in samples}
    published = published_cells([item for item, _ in measured.items], places, options, view.order)
    layout = layout_of(measured, options, view.order, published.cells)
    cells = _ResultsCells(
        layout=layout,
        tests=system_tests(view, layout, seed),
        deviations=results_deviations(view, layout),
        usual_counts=layout.usual_counts(),
        best=best_cells(layout, references),
        references=references,
        corpus=None if view.reference is None else corpus_name(view.reference),
        published=published,
    )
    table = _table(cells, measured)
    table = replace(table, notes=(*table.notes, *published.notes(), *preferences_apart(view)))
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
    missing_factors = tuple(name for name in options.transcript_factors if name not in factors)
    rows = tuple(name for name in options.rows if name not in missing_factors)
    columns = tuple(name for name in options.columns if name not in missing_factors)
    if not rows or not columns:
        raise DataError(f"no transcript has the factor {', '.join(missing_factors)}", where=view.name)
    keys = min(options.key_columns, len(rows))
    matched = {name: levels for name, levels in options.matched.items() if name not in missing_factors}
    chosen = options.model_copy(update={"rows": rows, "columns": columns, "key_columns": keys, "matched": matched})
    return chosen, missing_factors


@dataclass(frozen=True, slots=True)
class _ResultsCells:
    """What the cells of the table are made from.

    Attributes:
        layout: where each number stands.
        tests: of systems.
        deviations: from the reference corpus; None where the table shows none.
        usual_counts: the transcripts that the cells of a column rest on, of a row where columns hold the metrics.
        best: the cells that are best and second best.
        references: the reference corpus's own values, by position of the item.
        corpus: what the corpus is called; None where there is none.
        published: the numbers that the suite's source printed.
    """

    layout: ResultsLayout
    tests: SystemTests
    deviations: ResultsDeviations | None
    usual_counts: Mapping[Key, int]
    best: BestCells
    references: Mapping[int, Sample]
    corpus: str | None
    published: PublishedCells

    @property
    def has_corpus(self) -> bool:
        """Whether the corpus's own means, or those of the source's corpus, stand in the last column."""
        named = self.layout.options.reference is not None
        return named and (self.corpus is not None or bool(self.published.references))

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
            if key in layout.samples or key in cells.published.cells:
                positions[key] = len(records)
                records.append(_record(cells, key) if key in layout.samples else _printed_record(cells, key))
    rows = [
        _row(cells, row_key, positions, before=before)
        for before, row_key in zip((None, *layout.rows), layout.rows, strict=False)
    ]
    numbers = slice(options.key_columns, None if cells.tests.pair is None else -3)
    shown = [cell for row in rows for cell in row.cells[numbers]]
    keys = [layout.cell_key(row, column) for row in layout.rows for column in layout.columns]
    if options.counts and layout.metrics_in_rows:
        counts = _count_rows(layout, records)
        shown += [cell for row in counts for cell in row.cells[options.key_columns :]]
        rows = [*counts, *rows]
    results = ShownResults(
        layout,
        shown,
        [key for key in keys if key not in cells.published.cells and _text(cells, key, 0) == DASH],
        cells.usual_counts,
        measured,
        cells.tests,
        cells.deviations,
        cells.references,
        cells.corpus,
    )
    return Table(
        name=options.id or "results",
        title=options.title or _caption(options),
        columns=tuple(_columns(cells)),
        rows=tuple(rows),
        notes=noted(NOTES, results),
        records=(*records, *_valueless_records(layout, measured)),
    )


def _columns(cells: _ResultsCells) -> list[Column]:
    layout, options = cells.layout, cells.layout.options
    columns = [Column(layout.dimension_title(name), "left") for name in options.rows[-options.key_columns :]]
    if not layout.metrics_in_rows and options.n:
        columns.append(Column("n"))
    if cells.deviations is not None:
        columns.append(Column("Reference"))
    for key in layout.columns:
        title, group = layout.column_title(key)
        if cells.deviations is None:
            columns.append(Column(title, group=group))
        else:
            columns += [Column(_spread_words(options.spread), group=title), Column("Δ", group=title)]
    if cells.has_corpus:
        columns.append(Column(cells.corpus or str(options.reference)))
    if cells.tests.pair is not None:
        columns += [Column("Statistic"), Column("p"), Column("p corrected")]
    return columns


def _row(cells: _ResultsCells, row_key: Key, positions: Mapping[CellKey, int], *, before: Key | None) -> Row:
    """One row.

    Args:
        cells: what they are made from.
        row_key: what the row is of.
        positions: those of the cells' records.
        before: what the row above is of; None where there is none.
    """
    layout, deviations = cells.layout, cells.deviations
    row = [Cell(title) for title in layout.row_titles(row_key, before)]
    if not layout.metrics_in_rows and layout.options.n:
        row.append(Cell(n_of(cells.usual_counts[row_key], layout.whole_counts()[row_key])))
    # Deviations and tests stand only where rows are metrics.
    if deviations is not None:
        row.append(deviations.reference_cell(layout.items[row_key[0]]))
    for column_key in layout.columns:
        key = layout.cell_key(row_key, column_key)
        text = _text(cells, key, cells.usual_count(row_key, column_key))
        row.append(
            Cell(
                _beside(text, cells.published.cells.get(key)),
                bold=key in cells.best.best,
                marks=cells.tests.marks(key),
                underline=key in cells.best.second,
                record=positions.get(key),
            )
        )
        if deviations is not None:
            row.append(deviations.cell(key, positions.get(key)))
    if cells.has_corpus:
        row.append(_reference_cell(cells, row_key[layout.options.rows.index(METRIC)]))
    if cells.tests.pair is not None:
        for cell, name in zip(cells.tests.pair_cells(layout.items[row_key[0]]), ("Statistic", "p", ""), strict=True):
            row.append(replace(cell, text=_beside(cell.text, cells.published.tests.get((row_key[0], name)))))
    # Where nobody chose the metrics, those that say nothing of quality stand back.
    item = layout.items[row_key[0]] if layout.is_plain and not any(layout.options.metrics.values()) else None
    brief = item is None or item.direction != "none" or not item.group.startswith(ALGORITHMS.removesuffix("*"))
    return Row(tuple(row), layout.row_heading(row_key), brief)


def _reference_cell(cells: _ResultsCells, position: int) -> Cell:
    """The reference corpus's own value of a measure."""
    sample = cells.references.get(position)
    text = DASH
    if sample is not None and sample.estimate is not None:
        text = _number(cells.layout.items[position], sample.estimate)
    return Cell(_beside(text, cells.published.references.get(position)))


def _beside(text: str, printed: PublishedNumber | None) -> str:
    """A cell's text with the number that the source printed, in braces; that alone where the run has none."""
    if printed is None:
        return text
    braced = f"{{{printed.printed}}}"
    return braced if text == DASH else f"{text} {braced}"


def _number(item: MeasureRow, estimate: float) -> str:
    """A measure's number as its row prints it."""
    write = signed if item.level == "difference" else number
    text = write(estimate * item.scale, item.digits)
    return trimmed(text) if item.measure.trim else text


def _text(cells: _ResultsCells, key: CellKey, usual_count: int) -> str:
    """A number with its spread, and with its transcripts where they aren't as many as usual."""
    item, sample = cells.layout.items[key[0]], cells.layout.samples.get(key)
    spread = cells.layout.options.spread
    if item.measure.words:
        return dict(item.measure.words).get(cells.layout.order.system_label(key[1][0]), DASH)
    if item.measure.yes_no and sample is not None and sample.estimate is not None:
        return "yes" if sample.estimate else "no"
    if sample is None or sample.estimate is None:
        return DASH
    text = _number(item, sample.estimate)
    if spread == "sd" and sample.sd is not None:
        text += f" ({number(sample.sd * item.scale, item.digits)})"
    if spread == "ci":
        interval = interval_of(sample, item.level)
        if interval is not None:
            low, high = (number(bound * item.scale, item.digits) for bound in (interval.low, interval.high))
            text += f" [{low}, {high}]"
    if sample.n != usual_count and cells.layout.options.n:
        text += f" n={n_of(sample.n, sample.of)}"
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
        **({"share_of": item.share_of} if item.share_of else {}),
        "raters": item.group,
        "system": system,
        **factors,
        "level": item.level,
        "value": None if item.measure.words else sample.estimate,
        "sd": sample.sd,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.method if interval else None,
        "n": sample.n,
        "of": sample.of,
        "missing": sample.missing,
        "why_missing": sample.why,
        "numerator": sample.numerator,
        "denominator": sample.denominator,
        "direction": "reference" if item.nearest else item.direction,
        **_reference_record(cells, position),
        **_published_record(cells.published.cells.get(key)),
        **cells.tests.record(key),
        **(cells.deviations.record(key) if cells.deviations is not None else {}),
    }


def _printed_record(cells: _ResultsCells, key: CellKey) -> dict[str, Any]:
    """The record of a cell of which only the suite's source has a number."""
    position, (system, stratum) = key
    item, options = cells.layout.items[position], cells.layout.options
    factors = dict(zip(options.factors, stratum, strict=True))
    names = {METRIC: item.key, SYSTEM: system, **factors}
    return {
        "cell": "/".join(names[dimension] for dimension in (*options.rows, *options.columns)),
        "measure": item.title, "metric": item.metric, "system": system, **factors, "value": None, "n": 0,
        **_published_record(cells.published.cells[key]),
    }  # fmt: skip


def _published_record(printed: PublishedNumber | None) -> dict[str, Any]:
    """What a record says of the number that the suite's source printed; nothing where it printed none."""
    if printed is None:
        return {}
    record: dict[str, Any] = {"published": printed.value, "published_in": f"{printed.paper}, {printed.place}"}
    record |= {"published_bound": printed.bound} if printed.bound else {}
    return record | ({"published_sd": float(printed.sd)} if printed.sd else {})


def _reference_record(cells: _ResultsCells, position: int) -> dict[str, Any]:
    """What a cell's record says of the reference corpus; nothing where the table shows nothing of it."""
    sample = cells.references.get(position)
    return {} if sample is None else {"reference": sample.estimate, "reference_n": sample.n}


def _valueless_records(layout: ResultsLayout, measured: MeasuredRows) -> Iterator[dict[str, Any]]:
    """Records of what has no value anywhere, so that the CSV counts it."""
    factors = layout.options.factors
    for metric, group, samples in measured.valueless:
        for (system, stratum), sample in sorted(samples.items()):
            yield {
                "cell": "/".join((f"{metric}@{group}", *stratum, system)), "metric": metric, "raters": group,
                "system": system, **dict(zip(factors, stratum, strict=True)), "value": None, "sd": None, "n": 0,
                "of": sample.of, "missing": sample.missing, "why_missing": sample.why,
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
            of_column = {SYSTEM: ALL, **dict(zip(layout.options.columns, column, strict=True))}
            records.append({"cell": cell_name, "measure": name, "level": "count", **of_column, "value": count})
        rows.append(Row(tuple(cells), "Number"))
    return rows


def _caption(options: ResultsOptions) -> str:
    by = [dimension_title(name).lower() for name in (*options.rows, *options.columns) if name != METRIC]
    return f"Results by {' and '.join(by)}: {_spread_words(options.spread)} over transcripts"


def _spread_words(spread: Spread) -> str:
    return {"sd": "mean (standard deviation)", "ci": "mean [95 % interval]", "none": "mean"}[spread]


TABLE = TableKind("results", "Results by system", 10, build, ResultsOptions, heading="Results")
