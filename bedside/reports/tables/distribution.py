"""Distribution of a metric over transcripts: where it lies, and whether it leans to one side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.number_text import DASH, n_of, number, p_value
from bedside.reports.samples import MeasureRow, Sample, measure
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.result import Result


class DistributionOptions(Options):
    """Which metrics' distributions a table describes.

    Attributes:
        metrics: the metrics of whole transcripts; all unless named.
    """

    metrics: Headed = Field(default_factory=dict)


def build(view: RatingsView, seed: int, options: DistributionOptions) -> Table | None:
    """Mean, spread, median, extremes and skewness with D'Agostino's test; None where no metric has a value."""
    from bedside.stats.families import family
    from bedside.stats.shape import skewness

    headed = options.metrics
    if not any(headed.values()):
        headed = {"": tuple(TableMeasure(metric=name) for name in view.metrics())}
    measured = measure(view, headed)
    if not measured.items:
        return None
    cells: list[tuple[MeasureRow, str, Sample]] = []
    for item, samples in measured.items:
        of_system = {system: sample for (system, _), sample in samples.items()}
        systems = view.order.ordered_systems(of_system)
        cells += [(item, system, of_system[system]) for system in systems if of_system[system].n]
    name = f"skewness of {len(cells)} distributions"
    tests = family([skewness(sample.values) for _, _, sample in cells], name)
    rows = tuple(
        Row((Cell(view.order.system_label(system)), *_cells(item, sample, test, position)), item.title)
        for position, ((item, system, sample), test) in enumerate(zip(cells, tests, strict=True))
    )
    return Table(
        name=options.id or "distribution",
        title=options.title or "Distribution over transcripts",
        columns=(
            Column("System", "left"), Column("n"), Column("Mean"), Column("SD"), Column("Median"), Column("Lowest"),
            Column("Highest"), Column("Skewness"), Column("z"), Column("p"), Column("p corrected"),
        ),
        rows=rows,
        notes=(*_notes(view, tests, cells), *absent_notes(measured.absent)),
        records=tuple(
            {
                "cell": f"{item.key}/{system}", "metric": item.metric, "raters": item.group, "system": system,
                "n": sample.n, "of": sample.of, "missing": sample.missing, "why_missing": sample.why,
                "mean": sample.estimate,
                "sd": sample.sd, "median": float(np.median(sample.values)), "minimum": float(sample.values.min()),
                "maximum": float(sample.values.max()), "skewness": test.estimate, "test": test.method,
                "statistic": test.statistic, "p": test.p, "p_corrected": test.p_adjusted,
                "correction": test.correction, "family": test.family, "family_size": test.family_size,
                "no_test": test.missing,
            }
            for (item, system, sample), test in zip(cells, tests, strict=True)
        ),
    )  # fmt: skip


def _cells(item: MeasureRow, sample: Sample, test: Result, position: int) -> list[Cell]:
    digits = item.digits
    values = sample.values * item.scale
    texts = [
        n_of(sample.n, sample.of),
        number(float(values.mean()), digits),
        number(float(values.std(ddof=1)) if values.size > 1 else None, digits),
        number(float(np.median(values)), digits),
        number(float(values.min()), digits),
        number(float(values.max()), digits),
        number(test.estimate, 2),
        number(test.statistic, 2),
        p_value(test.p),
        p_value(test.p_adjusted),
    ]
    return [Cell(text, record=position) for text in texts]


def _notes(view: RatingsView, tests: Sequence[Result], cells: Sequence[tuple[MeasureRow, str, Sample]]) -> list[str]:
    notes = ["Skewness: third standardised moment; z and p: D'Agostino's (1970) test that it is 0, two-sided."]
    size = tests[0].family_size
    notes.append(f"p corrected by Holm within the family “{tests[0].family}” of {counted(size or 0, 'test')}.")
    reasons: dict[str, list[str]] = {}
    for test, (item, system, _) in zip(tests, cells, strict=True):
        if test.missing:
            reasons.setdefault(test.missing, []).append(f"{view.facts(item.metric).title} of {system}")
    notes += [
        f"{DASH}: {reason}: {', '.join(of[:4])}{f' and {len(of) - 4} more' if len(of) > 4 else ''}."
        for reason, of in reasons.items()
    ]
    return notes


TABLE = TableKind("distribution", "Distribution over transcripts", 42, build, DistributionOptions, shown="named")
