"""What a table of results shows: where each number stands, rows that compare, deviations from a reference corpus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.study_parts import StudyOrder
from bedside.core.errors import DataError
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.number_text import ARROWS, DASH, number, rater_words
from bedside.reports.samples import MeasuredRows, MeasureRow, Place, Sample, Samples, measure
from bedside.reports.table_content import Cell
from bedside.reports.table_kind import Options

# -- What a table of results shows ----------------------------------------------------------------------

#: Names of the dimensions that are not factors.
METRIC, SYSTEM, RATERS = "metric", "system", "raters"
Spread = Literal["sd", "ci", "none"]
Best = Literal["interval", "always", "never"]


class ResultsOptions(Options):
    """What a table of results shows, and how it is laid out.

    Attributes:
        metrics: the measures, under headings or as a bare list; all metrics of whole transcripts unless named.
        rows, columns: ``metric``, ``system``, ``raters`` or the name of a factor. Without ``raters`` groups of raters
            that gave values have measures of their own. The last of the rows labels a row, those before
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
        reference: a column with the reference corpus's own means, the last; the name is the one that the source gives
            its corpus.
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*", "algorithm:*"]``: a
            measure has one row, of the first that has values. Without it each group has its own.
        n: say in a column or in cells how many transcripts a number rests on.
        arrows: of which directions titles have an arrow.
        second: underline the second best.
        matched: levels by factor; in place of the second best the best of these is underlined, unless it is bold.
        best_among: dimensions over which the best is looked for: of systems, unless factors are named too.
        headings: whether metrics stand in rows under headings of their own, where the suite gives none.
        percent_signs: print ``(%)`` after the titles of measures in per cent.
        key_columns: how many of the rows' dimensions, the last ones, stand in columns of their own, each name once;
            those before them head groups of rows.
        names: what dimensions are called in print.
        heading: what stands over all columns of numbers, where these are systems or levels.
        published: the numbers that the suite's source printed in this table, to stand beside; a report sets them.
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
    reference: str | None = None
    raters: tuple[str, ...] = ()
    n: bool = True
    arrows: tuple[Literal["higher", "lower"], ...] = ("higher", "lower")
    second: bool = True
    matched: Mapping[str, tuple[str, ...]] = {}
    best_among: tuple[str, ...] = (SYSTEM,)
    headings: bool = True
    percent_signs: bool = True
    key_columns: int = Field(default=1, ge=1)
    names: Mapping[str, str] = {}
    heading: str | None = None
    published: tuple[PublishedNumber, ...] = ()

    @model_validator(mode="after")
    def _laid_out(self) -> ResultsOptions:
        dimensions = (*self.rows, *self.columns)
        if not self.rows or not self.columns or len(set(dimensions)) < len(dimensions):
            raise ValueError("rows and columns need one dimension each, and none twice")
        if METRIC not in dimensions:
            raise ValueError("either the rows or the columns hold the metric")
        if RATERS in dimensions and (self.test or self.against or self.raters or self.reference):
            raise ValueError("raters in rows or columns go with no test, preferred raters or reference corpus")
        if self.deviation and (self.rows, self.columns) != ((METRIC,), (SYSTEM,)):
            raise ValueError("deviation needs metrics in rows and systems in columns")
        if self.reference and METRIC not in self.rows:
            raise ValueError("a column of the reference corpus needs metrics in rows")
        if self.key_columns > len(self.rows):
            raise ValueError("there are fewer dimensions in rows than key_columns")
        for option in ("best_among", "matched"):
            unknown = [name for name in getattr(self, option) if name not in dimensions or name == METRIC]
            if unknown and unknown != [SYSTEM]:
                raise ValueError(f"{option} names {unknown[0]!r}, by which neither rows nor columns are divided")
        return self

    @property
    def transcript_factors(self) -> tuple[str, ...]:
        """The dimensions that are factors of transcripts, and not who rated."""
        return tuple(name for name in self.factors if name != RATERS)

    @property
    def factors(self) -> tuple[str, ...]:
        """The dimensions that are factors; who rated is one of them."""
        return tuple(name for name in (*self.rows, *self.columns) if name not in (METRIC, SYSTEM))


# -- Where each number of a table of results stands -----------------------------------------------------

#: What a row or a column is of: a value for each of its dimensions, of the metric its position among the items.
Key = tuple[Any, ...]
#: What a cell is of: the position of its item, and its system and stratum.
CellKey = tuple[int, Place]


@dataclass(frozen=True, slots=True)
class ResultsLayout:
    """Where each number stands.

    Attributes:
        options: which dimensions rows and columns have.
        items: what is measured.
        samples: the values behind each cell; cells without any are not among them.
        rows, columns: their keys, in order.
        order: of systems and levels, with their labels.
    """

    options: ResultsOptions
    items: tuple[MeasureRow, ...]
    samples: Mapping[CellKey, Sample]
    rows: tuple[Key, ...]
    columns: tuple[Key, ...]
    order: StudyOrder

    @property
    def metrics_in_rows(self) -> bool:
        """Whether rows hold the metrics; columns do otherwise."""
        return METRIC in self.options.rows

    @property
    def is_plain(self) -> bool:
        """Whether rows are metrics and columns systems, with no factor."""
        return (self.options.rows, self.options.columns) == ((METRIC,), (SYSTEM,))

    @property
    def has_several_systems(self) -> bool:
        """Whether more than one system has values."""
        return len({system for _, (system, _) in self.samples}) > 1

    def cell_key(self, row: Key, column: Key) -> CellKey:
        """What the cell of a row and a column is of."""
        values = dict(zip((*self.options.rows, *self.options.columns), (*row, *column), strict=True))
        return values[METRIC], (values.get(SYSTEM, ALL), tuple(values[name] for name in self.options.factors))

    def sample(self, row: Key, column: Key) -> Sample | None:
        """The values behind the cell of a row and a column; None where there are none."""
        return self.samples.get(self.cell_key(row, column))

    def usual_counts(self) -> dict[Key, int]:
        """The transcripts that most cells of a column rest on; of a row, where columns hold the metrics."""
        return self._most(lambda sample: sample.n)

    def whole_counts(self) -> dict[Key, int]:
        """All transcripts of a column, rated or not; of a row, where columns hold the metrics."""
        return self._most(lambda sample: sample.of or 0)

    def _most(self, count: Callable[[Sample], int]) -> dict[Key, int]:
        """The largest count among the cells of a column, or of a row."""
        counts: dict[Key, int] = {}
        for row in self.rows:
            for column in self.columns:
                sample = self.sample(row, column)
                key = column if self.metrics_in_rows else row
                counts[key] = max(counts.get(key, 0), 0 if sample is None else count(sample))
        return counts

    def value_title(self, dimension: str, value: Any) -> str:
        """How one value of a dimension is printed."""
        if dimension == METRIC:
            item = self.items[int(value)]
            return f"{self.plain_title(item)}{ARROWS[item.direction] if item.direction in self.options.arrows else ''}"
        if dimension == SYSTEM:
            return self.order.system_label(str(value))
        if dimension == RATERS and value not in self.order.levels.get(RATERS, {}):
            return rater_words(str(value))
        return self.order.level_label(dimension, str(value))

    def plain_title(self, item: MeasureRow) -> str:
        """A measure's title without its arrow."""
        return item.title if self.options.percent_signs else item.title.replace(" (%)", "")

    def row_titles(self, row: Key, before: Key | None) -> list[str]:
        """What labels a row, a title for each column of keys: the first ones once, above the rows that share them.

        Args:
            row: the row's key.
            before: that of the row above; None where there is none.
        """
        first = len(self.options.rows) - self.options.key_columns
        titles = []
        for place in range(first, len(row)):
            said = before is not None and place < len(row) - 1 and before[: place + 1] == row[: place + 1]
            titles.append("" if said else self.value_title(self.options.rows[place], row[place]))
        return titles

    def row_heading(self, row: Key) -> str | None:
        """What a group of rows stands under; None where it stands under nothing."""
        if self.options.rows == (METRIC,):
            item = self.items[int(row[0])]
            return item.heading if item.headed or self.options.headings else None
        heads = len(self.options.rows) - self.options.key_columns
        return self._joined_titles(self.options.rows[:heads], row[:heads])

    def column_title(self, column: Key) -> tuple[str, str | None]:
        """What labels a column, and what it shares with the columns beside it."""
        title = self.value_title(self.options.columns[-1], column[-1])
        if self.options.columns == (METRIC,):
            item = self.items[int(column[0])]
            return title, item.heading if item.headed else None
        return title, self._joined_titles(self.options.columns[:-1], column[:-1]) or self.options.heading

    def _joined_titles(self, dimensions: Sequence[str], values: Sequence[Any]) -> str | None:
        titles = [
            self.value_title(name, value)
            if name in (METRIC, SYSTEM) or value in self.order.levels.get(name, {})
            else f"{self.dimension_title(name)}: {value}"
            for name, value in zip(dimensions, values, strict=True)
        ]
        return " · ".join(titles) or None

    def dimension_title(self, dimension: str) -> str:
        """A dimension's name as it is printed."""
        return self.options.names.get(dimension) or dimension_title(dimension)


def dimension_title(dimension: str) -> str:
    """A dimension's name as it is printed."""
    return dimension.replace("_", " ").capitalize()


def raters_apart(measured: MeasuredRows, options: ResultsOptions) -> MeasuredRows:
    """The measured values, who rated a factor of each place in place of a measure of its own."""
    at = options.factors.index(RATERS)

    def placed(group: str, samples: Samples) -> dict[Place, Sample]:
        return {(system, (*of[:at], group, *of[at:])): sample for (system, of), sample in samples.items()}

    merged: dict[tuple[str, int], tuple[MeasureRow, dict[Place, Sample]]] = {}
    for item, samples in measured.items:
        words = f" ({rater_words(item.group)})"
        plain = replace(
            item, group="", title=item.title.removesuffix(words), key=item.key.removesuffix(f"@{item.group}")
        )
        _, places = merged.setdefault((item.metric, id(item.measure)), (plain, {}))
        places |= placed(item.group, samples)
    valueless = tuple((metric, group, placed(group, samples)) for metric, group, samples in measured.valueless)
    return replace(measured, items=tuple(merged.values()), valueless=valueless)


def layout_of(
    measured: MeasuredRows, options: ResultsOptions, order: StudyOrder, printed: Collection[CellKey] = ()
) -> ResultsLayout:
    """The measured values set out as the options say; rows and columns without any value are left out.

    Args:
        measured: the values.
        options: what rows and columns hold.
        order: of systems and of levels.
        printed: further cells, of which the suite's source printed a number.
    """
    items = tuple(item for item, _ in measured.items)
    samples = {
        (position, place): sample
        for position, (_, item_samples) in enumerate(measured.items)
        for place, sample in item_samples.items()
    }
    cells = {*samples, *printed}
    strata = [
        order.ordered_levels(name, [stratum[i] for _, (_, stratum) in cells]) for i, name in enumerate(options.factors)
    ]
    values: dict[str, Sequence[Any]] = {
        METRIC: range(len(items)),
        SYSTEM: order.ordered_systems(system for _, (system, _) in cells),
        **dict(zip(options.factors, strata, strict=True)),
    }
    ranks = {name: {value: rank for rank, value in enumerate(ordered)} for name, ordered in values.items()}

    def keys(dimensions: Sequence[str]) -> tuple[Key, ...]:
        used = set()
        for item, (system, stratum) in cells:
            of_cell = {METRIC: item, SYSTEM: system, **dict(zip(options.factors, stratum, strict=True))}
            used.add(tuple(of_cell[name] for name in dimensions))
        return tuple(
            sorted(used, key=lambda key: [ranks[name][value] for name, value in zip(dimensions, key, strict=True)])
        )

    return ResultsLayout(
        options=options,
        items=items,
        samples=samples,
        rows=keys(options.rows),
        columns=keys(options.columns),
        order=order,
    )


# -- How far the means of a table of results are from those of a reference corpus -----------------------


@dataclass(frozen=True, slots=True)
class ResultsDeviations:
    """Deviations of the means of a table.

    Attributes:
        layout: the table.
        corpus: the name of the reference corpus.
        deviations: by metric, raters and system.
    """

    layout: ResultsLayout
    corpus: str
    deviations: Mapping[tuple[str, str, str], Deviation]

    def of_cell(self, key: CellKey) -> Deviation | None:
        """The deviation of a cell's mean; None where there is none."""
        position, (system, _) = key
        item = self.layout.items[position]
        mean_deviation = self.deviations.get((item.metric, item.group, system))
        if mean_deviation is None or mean_deviation.deviation is None or item.level != "mean":
            return None
        return mean_deviation

    def reference_cell(self, item: MeasureRow) -> Cell:
        """The corpus's own mean."""
        means = [
            mean_deviation.reference
            for (metric, raters, _), mean_deviation in self.deviations.items()
            if (metric, raters) == (item.metric, item.group)
        ]
        mean = means[0] if means and item.level == "mean" else None
        return Cell(DASH if mean is None else number(mean * item.scale, item.digits))

    def cell(self, key: CellKey, record: int | None) -> Cell:
        """|mean − mean of the reference| of a cell; ``record`` is the position of the cell's record."""
        mean_deviation = self.of_cell(key)
        if mean_deviation is None or mean_deviation.deviation is None or record is None:
            return Cell(DASH)
        item = self.layout.items[key[0]]
        return Cell(number(mean_deviation.deviation * item.scale, item.digits), record=record)

    def record(self, key: CellKey) -> dict[str, Any]:
        """What a cell's record says of the corpus; nothing where there is no deviation."""
        mean_deviation = self.of_cell(key)
        if mean_deviation is None:
            return {}
        return {
            "reference": mean_deviation.reference,
            "reference_n": mean_deviation.reference_n,
            "deviation": mean_deviation.deviation,
        }


def results_deviations(view: RatingsView, layout: ResultsLayout) -> ResultsDeviations | None:
    """The deviations of a table's means; None where the options ask for none, or no corpus has any of its metrics."""
    if not layout.options.deviation or view.reference is None:
        return None
    metrics = sorted({item.metric for item in layout.items if item.level == "mean"})
    try:
        deviations = deviation(view, view.reference, metrics=metrics)
    except DataError:
        return None
    by_mean = {
        (mean_deviation.metric, mean_deviation.raters, mean_deviation.system): mean_deviation
        for mean_deviation in deviations
    }
    return ResultsDeviations(layout, view.reference.name, by_mean)


# -- Rows of a table of results that compare ------------------------------------------------------------

#: What brings a reference corpus, where there is none.
NO_REFERENCE = "no reference corpus is named: bedside report RUN --reference RUN2"
_NOT_THERE = "the reference corpus has no value of it by the same raters"


def reference_samples(
    view: RatingsView, headed: Mapping[str, Sequence[TableMeasure]], measured: MeasuredRows
) -> dict[int, Sample]:
    """What the reference corpus has of each measure under the same raters, by the measure's position."""
    if view.reference is None:
        return {}
    of_corpus = {
        (item.measure, item.metric, item.group): samples
        for item, samples in measure(view.reference, headed, pool=True).items
    }
    references: dict[int, Sample] = {}
    for position, (item, _) in enumerate(measured.items):
        samples = of_corpus.get((item.measure, item.metric, item.group), {})
        sample = next(iter(samples.values()), None)
        if sample is not None and sample.estimate is not None:
            references[position] = sample
    return references


def corpus_name(reference: RatingsView) -> str:
    """What a reference corpus is called: by its only system, else by its run."""
    systems = reference.systems()
    return reference.order.system_label(systems[0]) if len(systems) == 1 else Path(reference.name).name


def with_comparisons(
    view: RatingsView, measured: MeasuredRows, references: Mapping[int, Sample]
) -> tuple[MeasuredRows, dict[int, Sample]]:
    """The measured values, those of measures that compare replaced by what they are compared to.

    Args:
        view: the ratings.
        measured: the values.
        references: of the reference corpus, by position.

    Returns:
        What is left of the rows, and the reference's values by their positions.
    """
    items: list[tuple[MeasureRow, Samples]] = []
    kept: dict[int, Sample] = {}
    uncompared: dict[str, str] = {}
    for position, (item, samples) in enumerate(measured.items):
        reference = references.get(position)
        if item.measure.deviation:
            if reference is None or reference.estimate is None:
                uncompared[item.title] = NO_REFERENCE if view.reference is None else _NOT_THERE
                continue
            items.append((_row(item, "deviation"), _distances(samples, reference.estimate)))
            continue
        if item.measure.minus is not None:
            differences = _differences(samples, item.measure.minus, view.order)
            if not differences:
                uncompared[item.title] = f"no system is called {item.measure.minus}"
                continue
            items.append((_row(item, "difference"), differences))
            continue
        if reference is not None:
            kept[len(items)] = reference
        items.append((item, samples))
    return replace(measured, items=tuple(items), uncompared=uncompared), kept


def _row(item: MeasureRow, level: str) -> MeasureRow:
    """The row of a measure that compares."""
    if level == "deviation":
        return replace(item, level="deviation", direction="lower", key=f"{item.key}:deviation")
    return replace(item, level="difference", key=f"{item.key}:difference")


def _distances(samples: Samples, reference: float) -> dict[Place, Sample]:
    return {
        place: replace(sample, estimate=None if sample.estimate is None else abs(sample.estimate - reference), sd=None)
        for place, sample in samples.items()
    }


def _differences(samples: Samples, base: str, order: StudyOrder) -> dict[Place, Sample]:
    """Each place's difference from the base system, in its own stratum or in the only one that has it."""
    bases = {
        stratum: sample.estimate
        for (system, stratum), sample in samples.items()
        if base in (system, order.system_label(system)) and sample.estimate is not None
    }
    differences: dict[Place, Sample] = {}
    for (system, stratum), sample in samples.items():
        of_base = bases.get(stratum, next(iter(bases.values())) if len(bases) == 1 else None)
        is_base = base in (system, order.system_label(system))
        if of_base is None or sample.estimate is None or is_base:
            why = "others are compared with it" if is_base else sample.why or f"{base} has no value"
            differences[system, stratum] = replace(sample, estimate=None, sd=None, why=why)
        else:
            differences[system, stratum] = replace(sample, estimate=sample.estimate - of_base, sd=None)
    return differences if bases else {}
