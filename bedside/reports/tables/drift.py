"""Drift: percentage change from the shortest to the longest length condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pydantic import Field

from bedside.analysis.choices import ChangeOf
from bedside.analysis.drift import Change, Drift, MeanChange, drift, mean_changes
from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.ratings.names import judge_model
from bedside.reports.columns import Column, MetricRow, Recorded, Table, ends, recorded, table_of
from bedside.reports.measures import Headed, RaterChoice, TableMeasure, named_metrics, rater_choice
from bedside.reports.notes import note, noted
from bedside.reports.number_text import DASH, n_of, number, signed
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.result import Result

#: Means of changes as metrics of their own, and what these stand under instead of a family.
_ABSOLUTE, _SIGNED = "mean of absolute changes", "mean of changes"
_MEANS = "means"


class DriftOptions(Options):
    """What a table of drift follows.

    Attributes:
        by: the factor that holds the length condition.
        lengths: the two conditions; the least and the greatest unless given.
        change: of the ``means``, or the mean of the ``pairs``' own changes.
        metrics: those that say something of quality unless named; under headings, their changes have means by heading.
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*"]``: a metric is shown
            of the first that has values. Without it each group has its own row.
    """

    by: str = "target_length"
    lengths: tuple[float, float] | None = None
    change: ChangeOf = "means"
    metrics: Headed = Field(default_factory=dict)
    raters: tuple[str, ...] = ()


def _as_change(mean: MeanChange, name: str) -> Change:
    """A mean of changes as the change of a metric of its own, which is called ``name``."""
    method = f"{name} in per cent, over metrics"
    missing = f"{mean.undefined} changes are undefined" if mean.undefined else None
    estimate = mean.mean if name == _ABSOLUTE else mean.signed
    result = Result(name=name, method=method, estimate=estimate, n=mean.n, missing=missing)
    named = f"{name}, {mean.level}" if mean.level else name
    return Change(MetricFacts(named, named[0].upper() + named[1:], _MEANS), mean.raters, mean.system, result, 0, 0, 0)


def _is_mean(row: MetricRow) -> bool:
    return bool(row.part.facts.group == _MEANS)


def _of_change(value: Callable[[Change], Any]) -> Callable[[MetricRow], Any]:
    """A value that means of changes don't have."""
    return lambda row: None if _is_mean(row) else value(row.part)


def _system(row: MetricRow) -> str:
    by = f" ({judge_model(row.part.raters)})" if _is_mean(row) and row.names.has_several(_ABSOLUTE) else ""
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
        recorded(lambda row: {"by": shown.by, "shortest": shown.shortest, "longest": shown.longest, "of": shown.of}),
        Column("System", "left", text=_system, brief=True),
        Column("n", field="n", value="part.change.n", brief=True,
               text=lambda row: counted(row.part.change.n, "metric") if _is_mean(row)
               else n_of(row.part.change.n, row.part.change.n + row.part.without)),
        recorded(cases=_of_change(lambda own: own.cases), without=_of_change(lambda own: own.without),
                 alone_shortest=_of_change(lambda own: own.alone_shortest),
                 alone_longest=_of_change(lambda own: own.alone_longest)),
        _mean_column(shown.shortest, "mean_shortest", "mean before"),
        _mean_column(shown.longest, "mean_longest", "mean after"),
        Column("Change, %", field="change_percent", value="part.change.estimate", brief=True,
               text=lambda row: (number if row.part.metric == _ABSOLUTE else signed)(row.part.change.estimate, 2)),
        Column("95 % CI", text=_interval, brief=True),
        recorded(lambda row: ends(row.part.change)),
        recorded(method=lambda row: (row.part.change.interval or row.part.change).method,
                 remarks=_of_change(lambda own: "; ".join(own.change.remarks)), missing="part.change.missing"),
    )  # fmt: skip


@note("drift.meaning")
def meaning(shown: Drift) -> Iterator[str]:
    """What a change and its interval are."""
    several = any(own.cases < own.change.n for own in shown.changes)
    of, which = ("of the mean", "cases with a value at both")
    if shown.of == "pairs":
        of, which = (
            ("pairs' own, their mean", "pairs with one") if several else ("cases' own, their mean", "cases with one")
        )
    yield (
        f"Change: {of}, from {shown.by} {shown.shortest:g} to {shown.longest:g}, in per cent of the first. n: {which}; "
        "both means are over these."
    )
    if several:
        yield "Pairs: each short transcript of a case with each long one. Intervals and p draw cases whole."
    yield "Mean of changes: negative is worse. The change of a metric of which lower is better counts turned round."
    changes = [own.change for own in shown.changes]
    yield from dict.fromkeys(f"Interval: {change.interval.method}." for change in changes if change.interval)


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
    without = sum(own.without for own in shown.changes)
    if without:
        yield f"{counted(without, 'pair')} not above zero at {shown.shortest:g}: no change in per cent, so left out."
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
    means = [_as_change(mean, _SIGNED) for mean in length_drift.means]
    means += [_as_change(mean, _ABSOLUTE) for mean in length_drift.means if not mean.level]
    rows = MetricRow.rows([*length_drift.changes, *means], order)
    title = f"Change from {length_drift.by} {length_drift.shortest:g} to {length_drift.longest:g}"
    notes = noted((meaning, left_out, missing), length_drift)
    return table_of("drift", title, rows, _columns(length_drift),
                    group=lambda row: row.part.facts.title if _is_mean(row) else row.directed_heading(),
                    brief=lambda row: not _is_mean(row), notes=notes)  # fmt: skip


def _renamed(change: Change, measure: TableMeasure) -> Change:
    """A change under the title, digits and direction that a suite gives the metric."""
    own = measure.model_dump(include={"title", "digits", "direction"}, exclude_none=True)
    own |= {"direction": "none"} if measure.direction == "reference" else {}
    role = change.metric.removeprefix(measure.metric).removeprefix(".")
    if role and "title" in own:
        own["title"] += f", {role}"
    return replace(change, facts=replace(change.facts, **own))


def drift_of(view: RatingsView, options: DriftOptions) -> tuple[Drift, RaterChoice]:
    """The drift that the options name, computed once for a table and a figure, and whose values it is of.

    Raises:
        DataError: as :func:`~bedside.analysis.drift.drift` does.
    """
    measures: dict[str, tuple[str, TableMeasure]] = {}
    for heading, measure in ((heading, each) for heading, own in options.metrics.items() for each in own):
        names = view.metrics_like(measure.metric)
        if measure.mean:
            names = [measure.metric] if set(view.metrics()).issuperset(measure.mean) else []
        measures |= dict.fromkeys(names, (heading, measure))
    together = {name: measure.mean for name, (_, measure) in measures.items() if measure.mean}
    metrics = tuple(name for name in measures if name not in together) if measures else None
    followed: Drift = view.once(
        ("drift", options.by, options.lengths, options.change, metrics, *together.items()),
        lambda: drift(view, options.by, lengths=options.lengths, change=options.change, metrics=metrics,
                      together=together),
    )  # fmt: skip
    choice = rater_choice(view, ((change.metric, change.raters) for change in followed.changes), options.raters)
    changes = [change for change in followed.changes if (change.metric, change.raters) in choice.keys]
    if measures:
        changes = [_renamed(change, measures[change.metric][1]) for change in changes]
        changes.sort(key=lambda change: list(measures).index(change.metric))
    means = mean_changes(changes, by_raters=not options.raters)
    for heading in filter(None, options.metrics):
        own = [change for change in changes if measures[change.metric][0] == heading]
        means += mean_changes(own, heading, by_raters=not options.raters)
    return replace(followed, changes=tuple(changes), means=means), choice


def build(view: RatingsView, seed: int, options: DriftOptions) -> Table | None:
    """The drift of the metrics wanted; None where nobody rated any of them.

    Raises:
        NothingError: the factor, two lengths or cases with both are lacking.
    """
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    length_drift, choice = drift_of(view, options)
    if not any(own.change.n + own.without for own in length_drift.changes):
        raise NothingError(
            f"no case has a value at {options.by} {length_drift.shortest:g} and at {length_drift.longest:g}",
            where=view.name,
        )
    table = drift_table(length_drift, view.order)
    return options.finish(table, (*choice.notes(view), *absent_notes(metrics.absent)))


TABLE = TableKind("drift", "Change from the shortest to the longest condition", 30, build, DriftOptions)
