"""Where each number of a table of results stands, and the titles of its rows and columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bedside.analysis.ratings_view import ALL
from bedside.analysis.study_parts import StudyOrder
from bedside.reports.number_text import ARROWS, rater_words
from bedside.reports.results_options import METRIC, RATERS, SYSTEM, ResultsOptions
from bedside.reports.samples import MeasuredRows, MeasureRow, Place, Sample

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
        return values[METRIC], (
            values.get(SYSTEM, ALL),
            tuple(values[name] for name in self.options.factors),
        )

    def sample(self, row: Key, column: Key) -> Sample | None:
        """The values behind the cell of a row and a column; None where there are none."""
        return self.samples.get(self.cell_key(row, column))

    def usual_counts(self) -> dict[Key, int]:
        """The transcripts that most cells of a column rest on; of a row, where columns hold the metrics."""
        counts: dict[Key, int] = {}
        for row in self.rows:
            for column in self.columns:
                sample = self.sample(row, column)
                key = column if self.metrics_in_rows else row
                counts[key] = max(counts.get(key, 0), sample.n if sample is not None else 0)
        return counts

    def whole_counts(self) -> dict[Key, int]:
        """All transcripts of a column, rated or not; of a row, where columns hold the metrics."""
        counts: dict[Key, int] = {}
        for row in self.rows:
            for column in self.columns:
                sample = self.sample(row, column)
                key = column if self.metrics_in_rows else row
                counts[key] = max(counts.get(key, 0), (sample.of or 0) if sample is not None else 0)
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
    merged: dict[tuple[str, int], tuple[MeasureRow, dict[Place, Sample]]] = {}
    for item, samples in measured.items:
        words = f" ({rater_words(item.group)})"
        plain = replace(
            item, group="", title=item.title.removesuffix(words), key=item.key.removesuffix(f"@{item.group}")
        )
        _, places = merged.setdefault((item.metric, id(item.measure)), (plain, {}))
        for (system, stratum), sample in samples.items():
            places[system, (*stratum[:at], item.group, *stratum[at:])] = sample
    return replace(measured, items=tuple(merged.values()))


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
        order.ordered_levels(name, [stratum[i] for _, (_, stratum) in cells])
        for i, name in enumerate(options.factors)
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
            sorted(
                used,
                key=lambda key: [ranks[name][value] for name, value in zip(dimensions, key, strict=True)],
            )
        )

    return ResultsLayout(
        options=options,
        items=items,
        samples=samples,
        rows=keys(options.rows),
        columns=keys(options.columns),
        order=order,
    )
