"""Length: metrics by bins of the number of messages, with a test of the trend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.analysis.trend import Bin, Trend, trend
from bedside.core.words import counted
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import (
    DASH,
    between,
    cell_name,
    decimal,
    number,
    p_value,
    rater_words,
    several_raters,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.result import Result

#: Transcripts that some system needs before a report shows trends that nobody asked for.
FEWEST = 20


class LengthOptions(Options):
    """What a table of trends shows.

    Attributes:
        edges: numbers of messages at which bins begin; quartiles unless given.
        metrics: those that say something of quality unless named.
        messages_of: whose messages are counted; both sides' unless given.
    """

    edges: tuple[int, ...] | None = None
    metrics: Headed = Field(default_factory=dict)
    messages_of: Literal["clinician", "patient"] | None = None


def length_table(trends: Sequence[Trend], order: StudyOrder = UNLISTED) -> Table:
    """The table of trends already computed, which share their bins; ``order`` has the labels of systems."""
    doubled = several_raters({(system_trend.metric, system_trend.raters) for system_trend in trends})
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for system_trend in trends:
        by = f" ({rater_words(system_trend.raters)})" if system_trend.metric in doubled else ""
        cells = [Cell(order.system_label(system_trend.system))]
        for length_bin in system_trend.bins:
            cells.append(Cell(_bin_cell(length_bin, system_trend.facts.digits), record=len(records)))
            records.append({**_trend_key(system_trend, doubled, bin_words(length_bin)), **_bin_record(length_bin)})
        test = system_trend.correlation
        rho = decimal(test.estimate)
        if test.interval is not None:
            rho += f" {between(test.interval.low, test.interval.high)}"
        cells += [Cell(text, record=len(records)) for text in (rho, p_value(test.p), p_value(test.p_adjusted))]
        records.append({**_trend_key(system_trend, doubled, "trend"), **_trend_record(system_trend.correlation)})
        rows.append(Row(tuple(cells), system_trend.facts.title + by))
    return Table(
        name="length",
        title="Means by number of messages",
        columns=(
            Column("System", "left"),
            *(Column(bin_words(length_bin), group="Messages") for length_bin in trends[0].bins),
            Column("ρ [95 % CI]", group="Trend"), Column("p", group="Trend"), Column("p corrected", group="Trend"),
        ),
        rows=tuple(rows),
        notes=_notes(trends),
        records=tuple(records),
    )  # fmt: skip


def bin_words(length_bin: Bin) -> str:
    """A bin as it heads a column."""
    if length_bin.low is None:
        return "all" if length_bin.below is None else f"under {length_bin.below}"
    if length_bin.below is None:
        return f"{length_bin.low} and more"
    return f"{length_bin.low}–{length_bin.below - 1}" if length_bin.below - length_bin.low > 1 else str(length_bin.low)


def _bin_cell(length_bin: Bin, digits: int) -> str:
    mean = length_bin.mean.estimate
    return DASH if mean is None else f"{number(mean, digits)} (n={length_bin.mean.n})"


def _notes(trends: Sequence[Trend]) -> tuple[str, ...]:
    first = trends[0].correlation
    methods = "; ".join(dict.fromkeys(system_trend.correlation.method for system_trend in trends))
    notes = [
        "Means over transcripts, with their number in brackets.",
        f"Trend: {methods} of value and number of messages over transcripts; p corrected by Holm within the "
        f"family “{first.family}” of {counted(first.family_size or 0, 'test')}.",
    ]
    if any(length_bin.mean.estimate is None for system_trend in trends for length_bin in system_trend.bins):
        notes.append(f"{DASH}: no transcript of so many messages has a value.")
    missing = sum(length_bin.missing for system_trend in trends for length_bin in system_trend.bins)
    if missing:
        notes.append(f"Missing values, left out: {missing}. The CSV counts them by bin.")
    for reason in dict.fromkeys(
        system_trend.correlation.missing for system_trend in trends if system_trend.correlation.p is None
    ):
        count = sum(system_trend.correlation.missing == reason for system_trend in trends)
        notes.append(f"{count} without p: {reason}.")
    return tuple(notes)


def _trend_key(system_trend: Trend, several: Collection[str], messages: str) -> Mapping[str, Any]:
    return {
        "cell": cell_name(system_trend.metric, system_trend.raters, several, system_trend.system, messages),
        "metric": system_trend.metric,
        "raters": system_trend.raters,
        "system": system_trend.system,
        "messages": messages,
    }


def _bin_record(length_bin: Bin) -> Mapping[str, Any]:
    mean = length_bin.mean
    return {
        "low": length_bin.low,
        "below": length_bin.below,
        "n": mean.n,
        "missing": length_bin.missing,
        "estimate": mean.estimate,
        "estimate_low": mean.interval.low if mean.interval else None,
        "estimate_high": mean.interval.high if mean.interval else None,
        "method": mean.method,
        "p": None,
        "p_corrected": None,
        "why": mean.missing,
    }


def _trend_record(test: Result) -> Mapping[str, Any]:
    return {
        "low": None,
        "below": None,
        "n": test.n,
        "missing": test.dropped,
        "estimate": test.estimate,
        "estimate_low": test.interval.low if test.interval else None,
        "estimate_high": test.interval.high if test.interval else None,
        "method": test.method,
        "p": test.p,
        "p_corrected": test.p_adjusted,
        "why": test.missing,
    }


def build(view: RatingsView, seed: int, options: LengthOptions) -> Table | None:
    """The trends of the metrics wanted; None where nobody rated any of them, or unasked too few transcripts for one.

    Raises:
        NothingError: none of them can be followed.
    """
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    trends = trend(view, edges=options.edges, metrics=metrics.rated or None, role=options.messages_of)
    if (
        not metrics.names
        and options.edges is None
        and max(system_trend.correlation.n for system_trend in trends) < FEWEST
    ):
        return None
    table = length_table(trends, view.order)
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("length", "Means by number of messages", 32, build, LengthOptions)
