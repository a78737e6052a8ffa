"""Deviation: how far each system's means lie from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, cell_name, number, rater_words, several_raters, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes


class DeviationOptions(Options):
    """What a table of deviations shows.

    Attributes:
        reference: a system whose transcripts are the reference corpus; the report's reference corpus unless named.
        metrics: all that both have unless named.
    """

    reference: str | None = None
    metrics: Headed = Field(default_factory=dict)


def deviation_table(deviations: Sequence[Deviation], reference: str, order: StudyOrder = UNLISTED) -> Table:
    """The table of deviations already computed.

    Args:
        deviations: the deviations.
        reference: the name of the corpus.
        order: has the labels of systems.
    """
    doubled = several_raters({(mean_deviation.metric, mean_deviation.raters) for mean_deviation in deviations})
    rows = []
    for position, mean_deviation in enumerate(deviations):
        by = f" ({rater_words(mean_deviation.raters)})" if mean_deviation.metric in doubled else ""
        others = _cells(mean_deviation, mean_deviation.facts.digits)
        cells = (
            Cell(order.system_label(mean_deviation.system)),
            *(Cell(text, record=position) for text in others),
        )
        rows.append(Row(cells, mean_deviation.facts.title + by))
    return Table(
        name="deviation",
        title=f"Deviation from the reference corpus {reference}",
        columns=(
            Column("System", "left"), Column("n"), Column("Mean"), Column("n, reference"),
            Column("Mean, reference"), Column("Deviation"), Column("Difference [95 % CI]"),
        ),
        rows=tuple(rows),
        notes=_notes(deviations),
        records=tuple(_record(mean_deviation, doubled) for mean_deviation in deviations),
    )  # fmt: skip


def _cells(mean_deviation: Deviation, digits: int) -> tuple[str, ...]:
    difference = mean_deviation.difference
    text = signed(difference.estimate, digits)
    if difference.interval is not None:
        text += f" [{signed(difference.interval.low, digits)}, {signed(difference.interval.high, digits)}]"
    return (
        str(mean_deviation.n),
        number(mean_deviation.mean, digits),
        str(mean_deviation.reference_n),
        number(mean_deviation.reference, digits),
        number(mean_deviation.deviation, digits),
        text,
    )


def _notes(deviations: Sequence[Deviation]) -> tuple[str, ...]:
    notes = [
        "Deviation: absolute difference between the mean over the system's cases and the mean over the reference's. "
        "Difference: system minus reference, with Welch's t interval.",
    ]
    if any(d.transcripts > d.n or d.reference_transcripts > d.reference_n for d in deviations):
        notes.append("n: cases; the transcripts of a case are averaged first, and each case counts once.")
    missing = sum(
        {
            (mean_deviation.metric, mean_deviation.raters, mean_deviation.system): mean_deviation.missing
            for mean_deviation in deviations
        }.values()
    )
    absent = sum(
        {
            (mean_deviation.metric, mean_deviation.raters): mean_deviation.reference_missing
            for mean_deviation in deviations
        }.values()
    )
    if missing or absent:
        notes.append(f"Missing values, left out of the means: {missing}, and {absent} in the reference.")
    for reason in dict.fromkeys(
        mean_deviation.difference.missing for mean_deviation in deviations if mean_deviation.difference.missing
    ):
        count = sum(mean_deviation.difference.missing == reason for mean_deviation in deviations)
        what = (
            DASH
            if any(
                mean_deviation.deviation is None and mean_deviation.difference.missing == reason
                for mean_deviation in deviations
            )
            else ""
        )
        notes.append(f"{what} {counted(count, 'time')}: {reason}.".strip().capitalize())
    return tuple(notes)


def _record(mean_deviation: Deviation, several: Collection[str]) -> Mapping[str, Any]:
    difference = mean_deviation.difference
    return {
        "cell": cell_name(mean_deviation.metric, mean_deviation.raters, several, mean_deviation.system),
        "metric": mean_deviation.metric,
        "raters": mean_deviation.raters,
        "system": mean_deviation.system,
        "mean": mean_deviation.mean,
        "n": mean_deviation.n,
        "transcripts": mean_deviation.transcripts,
        "missing_values": mean_deviation.missing,
        "reference_mean": mean_deviation.reference,
        "reference_n": mean_deviation.reference_n,
        "reference_transcripts": mean_deviation.reference_transcripts,
        "reference_missing_values": mean_deviation.reference_missing,
        "deviation": mean_deviation.deviation,
        "difference": difference.estimate,
        "difference_low": difference.interval.low if difference.interval else None,
        "difference_high": difference.interval.high if difference.interval else None,
        "method": difference.interval.method if difference.interval else difference.method,
        "missing": difference.missing,
    }


def build(view: RatingsView, seed: int, options: DeviationOptions) -> Table | None:
    """The deviations of the metrics wanted; None where nobody rated any of them.

    Raises:
        NothingError: there is no reference corpus, or nothing in common with it.
    """
    reference = options.reference or view.reference
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    if reference is None:
        raise NothingError("no reference corpus is named", where=view.name, todo="bedside report RUN --reference RUN2")
    deviations = deviation(view, reference, metrics=metrics.rated or None)
    table = deviation_table(deviations, reference if isinstance(reference, str) else reference.name, view.order)
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("deviation", "Deviation from a reference corpus", 34, build, DeviationOptions)
