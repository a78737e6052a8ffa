"""Deviation: how far each system's means lie from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import cell_name, rater_words, several_raters
from bedside.reports.measures import Headed, matching
from bedside.reports.number_text import DASH, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.tables.drift import signed


class DeviationOptions(Options):
    """What a table of deviations shows.

    Attributes:
        reference: a system whose transcripts are the reference corpus; the report's reference corpus unless named.
        metrics: all that both have unless named.
    """

    reference: str | None = None
    metrics: Headed = Field(default_factory=dict)


def deviation_table(deviations: Sequence[Deviation], reference: str) -> Table:
    """The table of deviations already computed; ``reference`` is the name of the corpus."""
    doubled = several_raters({(one.metric, one.raters) for one in deviations})
    rows = []
    for position, one in enumerate(deviations):
        by = f" ({rater_words(one.raters)})" if one.metric in doubled else ""
        first, *others = _cells(one, one.facts.digits)
        cells = (Cell(first), *(Cell(text, record=position) for text in others))
        rows.append(Row(cells, one.facts.title + by))
    return Table(
        name="deviation",
        title=f"Deviation from the reference corpus {reference}",
        columns=(
            Column("System", "left"), Column("n"), Column("Mean"), Column("n, reference"),
            Column("Mean, reference"), Column("Deviation"), Column("Difference [95 % CI]"),
        ),
        rows=tuple(rows),
        notes=_notes(deviations),
        records=tuple(_record(one, doubled) for one in deviations),
    )  # fmt: skip


def _cells(one: Deviation, digits: int) -> tuple[str, ...]:
    difference = one.difference
    text = signed(difference.estimate, digits)
    if difference.interval is not None:
        text += f" [{signed(difference.interval.low, digits)}, {signed(difference.interval.high, digits)}]"
    return (
        one.system,
        str(one.n),
        number(one.mean, digits),
        str(one.reference_n),
        number(one.reference, digits),
        number(one.deviation, digits),
        text,
    )


def _notes(deviations: Sequence[Deviation]) -> tuple[str, ...]:
    notes = [
        "Deviation: absolute difference between the mean over the system's transcripts and the mean over the "
        "reference's. Difference: system minus reference, with Welch's t interval.",
    ]
    missing = sum({(one.metric, one.raters, one.system): one.missing for one in deviations}.values())
    absent = sum({(one.metric, one.raters): one.reference_missing for one in deviations}.values())
    if missing or absent:
        notes.append(f"Missing values, left out of the means: {missing}, and {absent} in the reference.")
    for reason in dict.fromkeys(one.difference.missing for one in deviations if one.difference.missing):
        count = sum(one.difference.missing == reason for one in deviations)
        what = (
            DASH
            if any(one.deviation is None and one.difference.missing == reason for one in deviations)
            else ""
        )
        notes.append(f"{what} {count} time{'' if count == 1 else 's'}: {reason}.".strip().capitalize())
    return tuple(notes)


def _record(one: Deviation, several: Collection[str]) -> Mapping[str, Any]:
    difference = one.difference
    return {
        "cell": cell_name(one.metric, one.raters, several, one.system),
        "metric": one.metric,
        "raters": one.raters,
        "system": one.system,
        "mean": one.mean,
        "n": one.n,
        "missing_values": one.missing,
        "reference_mean": one.reference,
        "reference_n": one.reference_n,
        "reference_missing_values": one.reference_missing,
        "deviation": one.deviation,
        "difference": difference.estimate,
        "difference_low": difference.interval.low if difference.interval else None,
        "difference_high": difference.interval.high if difference.interval else None,
        "method": difference.interval.method if difference.interval else difference.method,
        "missing": difference.missing,
    }


def build(view: RatingsView, seed: int, options: DeviationOptions) -> Table | None:
    """The deviations of the metrics wanted; None where there is no reference corpus or nothing in common with it."""
    reference = options.reference or view.reference
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    names = [name for metric in wanted for name in matching(view, metric)]
    if reference is None or (wanted and not names):
        return None
    try:
        found = deviation(view, reference, metrics=names or None)
    except NothingError:
        return None
    table = deviation_table(found, reference if isinstance(reference, str) else reference.name)
    absent = absent_notes(metric for metric in wanted if not matching(view, metric))
    return replace(
        table,
        name=options.id or table.name,
        title=options.title or table.title,
        notes=(*table.notes, *absent),
    )


TABLE = TableKind("deviation", "Deviation from a reference corpus", 34, build, DeviationOptions)
