"""Drift: percentage change from the shortest to the longest length condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from bedside.analysis.drift import Change, Drift, MeanChange, drift
from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.ratings.names import judge_model
from bedside.reports.columns import Column, MetricRow, Recorded, Table, ends, recorded, table_of
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import note, noted
from bedside.reports.number_text import DASH, number, signed
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.result import Result

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


def _as_change(mean: MeanChange) -> Change:
    """A mean of changes as the change of a metric of its own."""
    method = "mean over metrics of the absolute change in per cent"
    missing = f"{mean.undefined} changes are undefined" if mean.undefined else None
    result = Result(name=_MEANS, method=method, estimate=mean.mean, n=mean.n, missing=missing)
    return Change(MetricFacts(_MEANS, _MEANS.capitalize(), ""), mean.raters, mean.system, result, 0, 0)


def _is_mean(row: MetricRow) -> bool:
    return bool(row.part.metric == _MEANS)


def _of_change(value: Callable[[Change], Any]) -> Callable[[MetricRow], Any]:
    """A value that means of changes don't have."""
    return lambda row: None if _is_mean(row) else value(row.part)


def _heading(row: MetricRow) -> str:
    return _MEANS.capitalize() if _is_mean(row) else row.heading()


def _system(row: MetricRow) -> str:
    by = f" ({judge_model(row.part.raters)})" if _is_mean(row) and row.names.has_several(_MEANS) else ""
    return row.system_label() + by


def _interval(row: MetricRow) -> str:
    interval = row.part.change.interval
    return f"[{signed(interval.low, 2)}, {signed(interval.high, 2)}]" if interval else DASH


def _mean_column(length: float, field: str, which: str) -> Column:
    """The mean at one of the lengths, by its name among the details of a change."""

    def mean(row: MetricRow) -> float | None:
        value: float | None = row.part.change.details.get(which)
        return value

    return Column(f"Mean at {length:g}", field=field, value=mean,
                  text=lambda row: number(mean(row), row.part.facts.digits))  # fmt: skip


def _columns(shown: Drift) -> tuple[Column | Recorded, ...]:
    return (
        MetricRow.record("system"),
        recorded(lambda row: {"by": shown.by, "shortest": shown.shortest, "longest": shown.longest}),
        Column("System", "left", text=_system, brief=True),
        Column("n", field="n", value="part.change.n", brief=True,
               text=lambda row: counted(row.part.change.n, "metric") if _is_mean(row) else str(row.part.change.n)),
        recorded(alone_shortest=_of_change(lambda own: own.alone_shortest),
                 alone_longest=_of_change(lambda own: own.alone_longest)),
        _mean_column(shown.shortest, "mean_shortest", "mean before"),
        _mean_column(shown.longest, "mean_longest", "mean after"),
        Column("Change, %", field="change_percent", value="part.change.estimate", brief=True,
               text=lambda row: (number if _is_mean(row) else signed)(row.part.change.estimate, 2)),
        Column("95 % CI", text=_interval, brief=True),
        recorded(lambda row: ends(row.part.change)),
        recorded(method=lambda row: (row.part.change.interval or row.part.change).method,
                 remarks=_of_change(lambda own: "; ".join(own.change.remarks)), missing="part.change.missing"),
    )  # fmt: skip


@note("drift.meaning")
def meaning(shown: Drift) -> Iterator[str]:
    """What a change and its interval are."""
    yield (
        f"Change: from the mean at {shown.by} {shown.shortest:g} to the mean at {shown.longest:g}, in per cent of the "
        "first. n: cases with a value at both; both means are over these."
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
    rows = MetricRow.rows([*length_drift.changes, *map(_as_change, length_drift.means)], order)
    title = f"Change from {length_drift.by} {length_drift.shortest:g} to {length_drift.longest:g}"
    notes = noted((meaning, left_out, missing), length_drift)
    return table_of("drift", title, rows, _columns(length_drift), group=_heading,
                    brief=lambda row: not _is_mean(row), notes=notes)  # fmt: skip


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
