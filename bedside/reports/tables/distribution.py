"""Distribution of a metric over transcripts: where it lies, and whether it leans to one side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, n_of, number, p_value
from bedside.reports.samples import MeasuredRows, MeasureRow, Sample, measure
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.result import Result

_TITLE = "Distribution over transcripts"


class DistributionOptions(Options):
    """Which metrics' distributions a table describes.

    Attributes:
        metrics: the metrics of whole transcripts; all unless named.
        cases: whether a case has one value, the mean over its transcripts.
    """

    metrics: Headed = Field(default_factory=dict)
    cases: bool = False


class Distribution(NamedTuple):
    """How one measure is distributed over the transcripts of a system.

    Attributes:
        name: the system's, as the study calls it.
        title: the metric's.
        item, system, sample: what was measured, of which system, and the values.
        test: of its skewness.
    """

    name: str
    title: str
    item: MeasureRow
    system: str
    sample: Sample
    test: Result


def _of_values(statistic: Callable[[np.ndarray[Any, Any]], float | None]) -> Callable[[Distribution], str]:
    """What prints a statistic of the values, scaled as the measure is."""
    return lambda own: number(statistic(own.sample.values * own.item.scale), own.item.digits)


def _of_test(name: str) -> Callable[[Distribution], str]:
    """What prints a number of the test, with the decimals that a suite gives the measure."""
    return lambda own: number(getattr(own.test, name), own.item.measure.digits or 2)


COLUMNS = (
    recorded(cell=lambda own: f"{own.item.key}/{own.system}", metric="item.metric", raters="item.group",
             system="system"),
    Column("System", "left", value="name"),
    Column("n", field="n", value="sample.n", text=lambda own: n_of(own.sample.n, own.sample.of)),
    recorded(of="sample.of", missing="sample.missing", why_missing="sample.why"),
    Column("Mean", field="mean", value="sample.estimate", text=_of_values(lambda values: float(values.mean()))),
    Column("SD", field="sd", value="sample.sd",
           text=_of_values(lambda values: float(values.std(ddof=1)) if values.size > 1 else None)),
    Column("Median", field="median", value=lambda own: float(np.median(own.sample.values)),
           text=_of_values(lambda values: float(np.median(values)))),
    Column("Lowest", field="minimum", value=lambda own: float(own.sample.values.min()),
           text=_of_values(lambda values: float(values.min()))),
    Column("Highest", field="maximum", value=lambda own: float(own.sample.values.max()),
           text=_of_values(lambda values: float(values.max()))),
    Column("Skewness", field="skewness", value="test.estimate", text=_of_test("estimate")),
    recorded(test="test.method"),
    Column("z", field="statistic", value="test.statistic", text=_of_test("statistic")),
    Column("p", field="p", value="test.p", form=p_value),
    Column("p corrected", field="p_corrected", value="test.p_adjusted", form=p_value),
    recorded(correction="test.correction", family="test.family", family_size="test.family_size",
             no_test="test.missing"),
)  # fmt: skip
MEANING = Note(
    "distribution.meaning",
    "Skewness: third standardised moment; z and p: D'Agostino's (1970) test that it is 0, two-sided.",
)


@note("distribution.p", "p corrected")
def corrected(shown: Sequence[Distribution]) -> Iterator[str]:
    """What the family of tests is."""
    test = shown[0].test
    yield f"p corrected by Holm within the family “{test.family}” of {counted(test.family_size or 0, 'test')}."


@note("distribution.missing", "Skewness", "z", "p", "p corrected")
def missing(shown: Sequence[Distribution]) -> Iterator[str]:
    """Why there is no test."""
    reasons: dict[str, list[str]] = {}
    for own in shown:
        if own.test.missing:
            reasons.setdefault(own.test.missing, []).append(f"{own.title} of {own.system}")
    for reason, of in reasons.items():
        yield f"{DASH}: {reason}: {', '.join(of[:4])}{f' and {len(of) - 4} more' if len(of) > 4 else ''}."


def measured_distributions(view: RatingsView, options: DistributionOptions) -> MeasuredRows:
    """The values whose distributions the options name, one for each transcript or each case."""
    headed = options.metrics
    if not any(headed.values()):
        headed = {"": tuple(TableMeasure(metric=name) for name in view.metrics())}
    measured = measure(view, headed)
    if not options.cases:
        return measured
    items = ((item, {place: _by_case(own) for place, own in samples.items()}) for item, samples in measured.items)
    return replace(measured, items=tuple(items))


def _by_case(sample: Sample) -> Sample:
    cases, values = sample.case_means()
    mean, sd = float(values.mean()) if values.size else None, float(values.std(ddof=1)) if values.size > 1 else None
    return replace(sample, values=values, cases=cases, of=None, estimate=mean, sd=sd)


def build(view: RatingsView, seed: int, options: DistributionOptions) -> Table | None:
    """Mean, spread, median, extremes and skewness with D'Agostino's test; None where no metric has a value."""
    from bedside.stats.families import family
    from bedside.stats.shape import skewness

    measured = measured_distributions(view, options)
    cells: list[tuple[MeasureRow, str, Sample]] = []
    for item, samples in measured.items:
        of_system = {system: sample for (system, _), sample in samples.items()}
        systems = view.order.ordered_systems(of_system)
        cells += [(item, system, of_system[system]) for system in systems if of_system[system].n]
    if not cells:
        return None
    tests = family([skewness(sample.values) for _, _, sample in cells], f"skewness of {len(cells)} distributions")
    rows = [
        Distribution(view.order.system_label(system), view.facts(item.metric).title, item, system, sample, test)
        for (item, system, sample), test in zip(cells, tests, strict=True)
    ]
    caseless = [bool((sample.cases < 0).all()) for _, _, sample in cells]
    words = "transcripts, as none names its case" if all(caseless) else "cases, each with the mean over its transcripts"
    own_notes = [f"n: {words}."] if options.cases else []
    table = table_of("distribution", _TITLE, rows, COLUMNS, group=lambda own: own.item.title,
                     notes=(MEANING, *own_notes, corrected, missing))  # fmt: skip
    return options.finish(table, absent_notes(measured.absent))


TABLE = TableKind("distribution", _TITLE, 42, build, DistributionOptions, shown="named")
