"""Drift: percentage change from the shortest to the longest length condition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field

from bedside.analysis.drift import Change, Drift, MeanChange, drift
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.ratings.names import judge_model
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, cell_name, number, rater_words, several_raters, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes

_MEANS = "mean of absolute changes"


class DriftOptions(Options):
    """What a table of drift follows.

    Attributes:
        by: the factor that holds the length condition.
        lengths: the two conditions; the least and the greatest unless given.
        metrics: those that say something of quality unless named.
    """

    by: str = "target_length"
    lengths: tuple[float, float] | None = None
    metrics: Headed = Field(default_factory=dict)


def drift_table(length_drift: Drift, order: StudyOrder = UNLISTED) -> Table:
    """The table of drift already computed; ``order`` has the labels of systems."""
    doubled = several_raters({(system_change.metric, system_change.raters) for system_change in length_drift.changes})
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for system_change in length_drift.changes:
        by = f" ({rater_words(system_change.raters)})" if system_change.metric in doubled else ""
        others = _cells(system_change, system_change.facts.digits)
        cells = (
            Cell(order.system_label(system_change.system)),
            *(Cell(text, record=len(records)) for text in others),
        )
        rows.append(Row(cells, system_change.facts.title + by))
        records.append(_record(length_drift, system_change, doubled))
    kinds = several_raters({(_MEANS, system_change.raters) for system_change in length_drift.means})
    for mean in length_drift.means:
        rows.append(Row(_mean_cells(mean, len(records), length_drift, order), _MEANS.capitalize()))
        records.append({**dict.fromkeys(records[0]), **_mean_record(length_drift, mean, kinds)})
    return Table(
        name="drift",
        title=f"Change from {length_drift.by} {length_drift.shortest:g} to {length_drift.longest:g}",
        columns=(
            Column("System", "left"), Column("n"), Column(f"Mean at {length_drift.shortest:g}"),
            Column(f"Mean at {length_drift.longest:g}"), Column("Change, %"), Column("95 % CI"),
        ),
        rows=tuple(rows),
        notes=_notes(length_drift),
        records=tuple(records),
    )  # fmt: skip


def _cells(system_change: Change, digits: int) -> tuple[str, ...]:
    change = system_change.change
    interval = change.interval
    return (
        str(change.n),
        number(change.details.get("mean before"), digits),
        number(change.details.get("mean after"), digits),
        signed(change.estimate, 2),
        f"[{signed(interval.low, 2)}, {signed(interval.high, 2)}]" if interval else DASH,
    )


def _mean_cells(mean: MeanChange, position: int, length_drift: Drift, order: StudyOrder) -> tuple[Cell, ...]:
    kinds = {other.raters for other in length_drift.means}
    by = f" ({judge_model(mean.raters)})" if len(kinds) > 1 else ""
    metrics = counted(mean.n, "metric")
    texts = (metrics, DASH, DASH, number(mean.mean, 2), DASH)
    return (Cell(order.system_label(mean.system) + by), *(Cell(text, record=position) for text in texts))


def _notes(length_drift: Drift) -> tuple[str, ...]:
    notes = [
        f"Change: of the mean at {length_drift.by} {length_drift.longest:g} over the mean at "
        f"{length_drift.shortest:g}, in per cent of the latter. n: cases with a value at both, over which both means "
        "are taken.",
    ]
    changes = [system_change.change for system_change in length_drift.changes]
    methods = dict.fromkeys(change.interval.method for change in changes if change.interval)
    notes += [f"Interval: {method}." for method in methods]
    fewer = sum(any("undefined on" in remark for remark in change.remarks) for change in changes)
    if fewer:
        notes.append(
            f"{counted(fewer, 'interval')}: some resamples have no mean above zero to take per "
            "cent of and are left out; the CSV says how many."
        )
    if length_drift.between:
        listed = ", ".join(f"{length:g}" for length in length_drift.between)
        notes.append(f"Lengths between are left out: {listed}.")
    alone = sum(system_change.alone_shortest + system_change.alone_longest for system_change in length_drift.changes)
    if alone:
        notes.append(
            f"{counted(alone, 'value')} had no partner at the other length and {'was' if alone == 1 else 'were'} left "
            "out; the CSV counts them."
        )
    if length_drift.without:
        have = "transcript has" if length_drift.without == 1 else "transcripts have"
        were = "was" if length_drift.without == 1 else "were"
        notes.append(f"{length_drift.without:,} {have} no {length_drift.by} and {were} left out.")
    for reason in dict.fromkeys(change.missing for change in changes if change.missing):
        count = sum(change.missing == reason for change in changes)
        notes.append(f"{DASH} {counted(count, 'time')}: {reason}.")
    if length_drift.means:
        notes.append(f"{DASH}: a mean over metrics is of their changes alone, and has no interval.")
    return tuple(notes)


def _record(length_drift: Drift, system_change: Change, several: Collection[str]) -> Mapping[str, Any]:
    change = system_change.change
    return {
        "cell": cell_name(system_change.metric, system_change.raters, several, system_change.system),
        "metric": system_change.metric,
        "raters": system_change.raters,
        "system": system_change.system,
        "by": length_drift.by,
        "shortest": length_drift.shortest,
        "longest": length_drift.longest,
        "n": change.n,
        "alone_shortest": system_change.alone_shortest,
        "alone_longest": system_change.alone_longest,
        "mean_shortest": change.details.get("mean before"),
        "mean_longest": change.details.get("mean after"),
        "change_percent": change.estimate,
        "low": change.interval.low if change.interval else None,
        "high": change.interval.high if change.interval else None,
        "method": change.interval.method if change.interval else change.method,
        "remarks": "; ".join(change.remarks),
        "missing": change.missing,
    }


def _mean_record(length_drift: Drift, mean: MeanChange, several: Collection[str]) -> Mapping[str, Any]:
    return {
        "cell": cell_name(_MEANS, mean.raters, several, mean.system),
        "metric": _MEANS,
        "raters": mean.raters,
        "system": mean.system,
        "by": length_drift.by,
        "shortest": length_drift.shortest,
        "longest": length_drift.longest,
        "n": mean.n,
        "change_percent": mean.mean,
        "method": "mean over metrics of the absolute change in per cent",
        "missing": f"{mean.undefined} changes are undefined" if mean.undefined else None,
    }


def drift_of(view: RatingsView, options: DriftOptions, seed: int) -> Drift:
    """The drift that the options name, computed once for a table and a figure.

    Raises:
        DataError: as :func:`~bedside.analysis.drift.drift` does.
    """
    metrics = named_metrics(view, options.metrics).rated
    return view.once(
        ("drift", options.by, options.lengths, metrics, seed),
        lambda: drift(view, options.by, lengths=options.lengths, metrics=metrics or None, seed=seed),
    )


def build(view: RatingsView, seed: int, options: DriftOptions) -> Table | None:
    """The drift of the metrics wanted; None where nobody rated any of them.

    Raises:
        NothingError: the factor, two lengths or cases with both are lacking.
    """
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    length_drift = drift_of(view, options, seed)
    if not any(system_change.change.n for system_change in length_drift.changes):
        raise NothingError(
            f"no case has a value at {options.by} {length_drift.shortest:g} and at {length_drift.longest:g}",
            where=view.name,
        )
    table = drift_table(length_drift, view.order)
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("drift", "Change from the shortest to the longest condition", 30, build, DriftOptions)
