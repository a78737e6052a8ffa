"""Rows of a table of results that compare: with a system, or with the reference corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import StudyOrder
from bedside.reports.measures import TableMeasure
from bedside.reports.samples import MeasuredRows, MeasureRow, Place, Sample, Samples, measure

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
        place: replace(
            sample, estimate=None if sample.estimate is None else abs(sample.estimate - reference), sd=None
        )
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
