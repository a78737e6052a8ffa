"""Drift: percentage change from the shortest to the longest length condition."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from bedside.analysis.drift import Drift, MeanChange, drift
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.ratings.names import judge_model
from bedside.reports.columns import (
    SYSTEM_COLUMN,
    MetricNames,
    Part,
    by_kind,
    ends,
    metric_heading,
    metric_record,
    metric_rows,
    recorded,
    table_of,
)
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import note, noted
from bedside.reports.number_text import DASH, cell_name, number, several_raters, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
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


def _columns(shown: Drift) -> tuple[Column | Recorded, ...]:
    """The columns of rows about changes and, below them, about the means of these."""

    def mean(length: float, which: str) -> Column:
        return Column(
            f"Mean at {length:g}",
            text=lambda row: number(row.part.change.details.get(which), row.part.facts.digits),
        )

    condition = recorded(lambda row: {"by": shown.by, "shortest": shown.shortest, "longest": shown.longest})
    changes = (
        metric_record(),
        condition,
        recorded(
            n="part.change.n", alone_shortest="part.alone_shortest", alone_longest="part.alone_longest",
            mean_shortest=lambda row: row.part.change.details.get("mean before"),
            mean_longest=lambda row: row.part.change.details.get("mean after"),
            change_percent="part.change.estimate",
        ),
        recorded(lambda row: ends(row.part.change)),
        recorded(
            method=lambda row: (row.part.change.interval or row.part.change).method,
            remarks=lambda row: "; ".join(row.part.change.remarks), missing="part.change.missing",
        ),
        SYSTEM_COLUMN,
        Column("n", text=lambda row: str(row.part.change.n)),
        mean(shown.shortest, "mean before"),
        mean(shown.longest, "mean after"),
        Column("Change, %", text=lambda row: signed(row.part.change.estimate, 2)),
        Column("95 % CI", text=_interval),
    )  # fmt: skip
    several_kinds = len({mean.raters for mean in shown.means}) > 1
    nothing = Column("", text=lambda row: DASH)
    means = (
        recorded(
            cell=lambda row: cell_name(_MEANS, row.part.raters, row.whole.several, row.part.system),
            metric=lambda row: _MEANS, raters="part.raters", system="part.system",
        ),
        condition,
        recorded(
            n="part.n", **dict.fromkeys(("alone_shortest", "alone_longest", "mean_shortest", "mean_longest"), _none),
            change_percent="part.mean", low=_none, high=_none,
            method=lambda row: "mean over metrics of the absolute change in per cent", remarks=_none,
            missing=lambda row: f"{row.part.undefined} changes are undefined" if row.part.undefined else None,
        ),
        Column("", text=lambda row: SYSTEM_COLUMN.text_of(row)
               + (f" ({judge_model(row.part.raters)})" if several_kinds else "")),
        Column("", text=lambda row: counted(row.part.n, "metric")),
        nothing,
        nothing,
        Column("", text=lambda row: number(row.part.mean, 2)),
        nothing,
    )  # fmt: skip
    return by_kind(changes, {MeanChange: means})


def _interval(row: Part) -> str:
    interval = row.part.change.interval
    return f"[{signed(interval.low, 2)}, {signed(interval.high, 2)}]" if interval else DASH


def _none(row: Part) -> None:
    """What means don't have."""


@note("drift.meaning")
def meaning(shown: Drift) -> Iterator[str]:
    """What a change and its interval are."""
    yield (
        f"Change: of the mean at {shown.by} {shown.longest:g} over the mean at {shown.shortest:g}, in per cent of the "
        "latter. n: cases with a value at both, over which both means are taken."
    )
    changes = [own.change for own in shown.changes]
    yield from dict.fromkeys(f"Interval: {change.interval.method}." for change in changes if change.interval)
    fewer = sum(any("undefined on" in remark for remark in change.remarks) for change in changes)
    if fewer:
        yield (
            f"{counted(fewer, 'interval')}: some resamples have no mean above zero to take per "
            "cent of and are left out; the CSV says how many."
        )


@note("drift.left out")
def left_out(shown: Drift) -> Iterator[str]:
    """What is in no change."""
    if shown.between:
        yield f"Lengths between are left out: {', '.join(f'{length:g}' for length in shown.between)}."
    alone = sum(own.alone_shortest + own.alone_longest for own in shown.changes)
    if alone:
        yield (
            f"{counted(alone, 'value')} had no partner at the other length and {'was' if alone == 1 else 'were'} left "
            "out; the CSV counts them."
        )
    if shown.without:
        have, were = ("transcript has", "was") if shown.without == 1 else ("transcripts have", "were")
        yield f"{shown.without:,} {have} no {shown.by} and {were} left out."


@note("drift.missing", "Change, %", "95 % CI")
def missing(shown: Drift) -> Iterator[str]:
    """Why there is no change, or no interval."""
    reasons = [own.change.missing for own in shown.changes if own.change.missing]
    for reason in dict.fromkeys(reasons):
        yield f"{DASH} {counted(reasons.count(reason), 'time')}: {reason}."
    if shown.means:
        yield f"{DASH}: a mean over metrics is of their changes alone, and has no interval."


def drift_table(length_drift: Drift, order: StudyOrder = UNLISTED) -> Table:
    """The table of drift already computed; ``order`` has the labels of systems."""
    kinds = MetricNames(order, several_raters({(_MEANS, mean.raters) for mean in length_drift.means}))
    return table_of(
        "drift",
        f"Change from {length_drift.by} {length_drift.shortest:g} to {length_drift.longest:g}",
        [*metric_rows(length_drift.changes, order), *(Part(kinds, mean) for mean in length_drift.means)],
        _columns(length_drift),
        group=lambda row: _MEANS.capitalize() if isinstance(row.part, MeanChange) else metric_heading(row),
        notes=noted((meaning, left_out, missing), length_drift),
    )


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
