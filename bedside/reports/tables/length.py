"""Length: metrics by bins of the number of messages, with a test of the trend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.trend import Bin, Trend, trend
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import cell_name, rater_words, several_raters
from bedside.reports.measures import Headed, matching
from bedside.reports.number_text import DASH, between, counted, decimal, number, p_value
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.stats.result import Result

#: Transcripts that some system needs before a report shows trends that nobody asked for.
FEWEST = 20


class LengthOptions(Options):
    """What a table of trends shows.

    Attributes:
        edges: numbers of messages at which bins begin; quartiles unless given.
        metrics: those that say something of quality unless named.
    """

    edges: tuple[int, ...] | None = None
    metrics: Headed = Field(default_factory=dict)


def length_table(trends: Sequence[Trend]) -> Table:
    """The table of trends already computed, which share their bins."""
    doubled = several_raters({(one.metric, one.raters) for one in trends})
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for one in trends:
        by = f" ({rater_words(one.raters)})" if one.metric in doubled else ""
        cells = [Cell(one.system)]
        for each in one.bins:
            cells.append(Cell(_bin_cell(each, one.facts.digits), record=len(records)))
            records.append({**_named(one, doubled, bin_words(each)), **_bin_record(each)})
        test = one.correlation
        rho = decimal(test.estimate)
        if test.interval is not None:
            rho += f" {between(test.interval.low, test.interval.high)}"
        cells += [
            Cell(text, record=len(records)) for text in (rho, p_value(test.p), p_value(test.p_adjusted))
        ]
        records.append({**_named(one, doubled, "trend"), **_trend_record(one.correlation)})
        rows.append(Row(tuple(cells), one.facts.title + by))
    return Table(
        name="length",
        title="Means by number of messages",
        columns=(
            Column("System", "left"),
            *(Column(bin_words(each), group="Messages") for each in trends[0].bins),
            Column("ρ [95 % CI]", group="Trend"), Column("p", group="Trend"), Column("p corrected", group="Trend"),
        ),
        rows=tuple(rows),
        notes=_notes(trends),
        records=tuple(records),
    )  # fmt: skip


def bin_words(each: Bin) -> str:
    """A bin as it heads a column."""
    if each.low is None:
        return "all" if each.below is None else f"under {each.below}"
    if each.below is None:
        return f"{each.low} and more"
    return f"{each.low}–{each.below - 1}" if each.below - each.low > 1 else str(each.low)


def _bin_cell(each: Bin, digits: int) -> str:
    mean = each.mean.estimate
    return DASH if mean is None else f"{number(mean, digits)} (n={each.mean.n})"


def _notes(trends: Sequence[Trend]) -> tuple[str, ...]:
    first = trends[0].correlation
    notes = [
        "Means over transcripts, with their number in brackets.",
        f"Trend: {first.method} of value and number of messages over transcripts; p corrected by Holm within the "
        f"family “{first.family}” of {counted(first.family_size or 0, 'test')}.",
    ]
    missing = sum(each.missing for one in trends for each in one.bins)
    if missing:
        notes.append(f"Missing values, left out: {missing}. The CSV counts them by bin.")
    for reason in dict.fromkeys(one.correlation.missing for one in trends if one.correlation.p is None):
        count = sum(one.correlation.missing == reason for one in trends)
        notes.append(f"{count} without p: {reason}.")
    return tuple(notes)


def _named(one: Trend, several: Collection[str], messages: str) -> Mapping[str, Any]:
    return {
        "cell": cell_name(one.metric, one.raters, several, one.system, messages),
        "metric": one.metric,
        "raters": one.raters,
        "system": one.system,
        "messages": messages,
    }


def _bin_record(each: Bin) -> Mapping[str, Any]:
    mean = each.mean
    return {
        "low": each.low,
        "below": each.below,
        "n": mean.n,
        "missing": each.missing,
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
    """The trends of the metrics wanted; None where there are none, or unasked too few transcripts for one."""
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    names = [name for metric in wanted for name in matching(view, metric)]
    if wanted and not names:
        return None
    try:
        trends = trend(view, edges=options.edges, metrics=names or None)
    except NothingError:
        return None
    if not wanted and options.edges is None and max(one.correlation.n for one in trends) < FEWEST:
        return None
    table = length_table(trends)
    absent = absent_notes(metric for metric in wanted if not matching(view, metric))
    return replace(
        table,
        name=options.id or table.name,
        title=options.title or table.title,
        notes=(*table.notes, *absent),
    )


TABLE = TableKind("length", "Means by number of messages", 32, build, LengthOptions)
