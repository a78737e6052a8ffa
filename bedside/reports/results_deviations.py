"""How far the means of a table of results are from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.reports.number_text import DASH, number
from bedside.reports.results_layout import CellKey, ResultsLayout
from bedside.reports.samples import MeasureRow
from bedside.reports.table_content import Cell


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
