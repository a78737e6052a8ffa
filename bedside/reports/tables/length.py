"""Length: metrics by bins of the number of messages, with a test of the trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.analysis.trend import Bin, Trend, trend
from bedside.core.words import counted
from bedside.reports.columns import (
    SYSTEM_COLUMN,
    Block,
    Part,
    bounded,
    grid_of,
    metric_heading,
    metric_rows,
    recorded,
)
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import note
from bedside.reports.number_text import (
    DASH,
    cell_name,
    number,
    p_value,
    share_words,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes

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


def _key(messages: str) -> Recorded:
    """What the record of a trend or of one of its bins begins with."""
    return recorded(
        cell=lambda row: cell_name(row.part.metric, row.part.raters, row.whole.several, row.part.system, messages),
        metric="part.metric", raters="part.raters", system="part.system", messages=lambda row: messages,
    )  # fmt: skip


def _bin_block(place: int, shown: Bin) -> Block:
    """The column of one bin, with its record."""

    def own(row: Part) -> Bin:
        bins: Sequence[Bin] = row.part.bins
        return bins[place]

    def words(row: Part) -> str:
        mean = own(row).mean
        return DASH if mean.estimate is None else f"{number(mean.estimate, row.part.facts.digits)} (n={mean.n})"

    return Block(
        (
            _key(bin_words(shown)),
            recorded(low=lambda row: own(row).low, below=lambda row: own(row).below, n=lambda row: own(row).mean.n,
                     missing=lambda row: own(row).missing),
            bounded(estimate=lambda row: own(row).mean),
            recorded(method=lambda row: own(row).mean.method, p=lambda row: None, p_corrected=lambda row: None,
                     why=lambda row: own(row).mean.missing),
            Column(bin_words(shown), group="Messages", text=words),
        )
    )  # fmt: skip


_TREND = Block(
    (
        _key("trend"),
        recorded(low=lambda row: None, below=lambda row: None, n="part.correlation.n",
                 missing="part.correlation.dropped"),
        bounded(estimate="part.correlation"),
        recorded(method="part.correlation.method", p="part.correlation.p", p_corrected="part.correlation.p_adjusted",
                 why="part.correlation.missing"),
        Column("ρ [95 % CI]", group="Trend", text=lambda row: share_words(row.part.correlation)),
        Column("p", group="Trend", value="part.correlation.p", form=p_value),
        Column("p corrected", group="Trend", value="part.correlation.p_adjusted", form=p_value),
    )
)  # fmt: skip


@note("length.meaning")
def meaning(rows: Sequence[Part]) -> Iterator[str]:
    """What the numbers are."""
    first = rows[0].part.correlation
    methods = "; ".join(dict.fromkeys(row.part.correlation.method for row in rows))
    yield "Means over transcripts, with their number in brackets."
    yield (
        f"Trend: {methods} of value and number of messages over transcripts; p corrected by Holm within the "
        f"family “{first.family}” of {counted(first.family_size or 0, 'test')}."
    )


@note("length.missing")
def missing(rows: Sequence[Part]) -> Iterator[str]:
    """What is in no mean, and why there is none."""
    bins: list[Bin] = [length_bin for row in rows for length_bin in row.part.bins]
    if any(length_bin.mean.estimate is None for length_bin in bins):
        yield f"{DASH}: no transcript of so many messages has a value."
    left_out = sum(length_bin.missing for length_bin in bins)
    if left_out:
        yield f"Missing values, left out: {left_out}. The CSV counts them by bin."


@note("length.without p", "p", "p corrected")
def without_p(rows: Sequence[Part]) -> Iterator[str]:
    """Why a trend has no test."""
    reasons = [row.part.correlation.missing for row in rows]
    for reason in dict.fromkeys(row.part.correlation.missing for row in rows if row.part.correlation.p is None):
        yield f"{reasons.count(reason)} without p: {reason}."


def length_table(trends: Sequence[Trend], order: StudyOrder = UNLISTED) -> Table:
    """The table of trends already computed, which share their bins; ``order`` has the labels of systems."""
    bins = [_bin_block(place, shown) for place, shown in enumerate(trends[0].bins)]
    return grid_of("length", "Means by number of messages", metric_rows(trends, order),
                   (Block((SYSTEM_COLUMN,)), *bins, _TREND), group=metric_heading,
                   notes=(meaning, missing, without_p))  # fmt: skip


def bin_words(length_bin: Bin) -> str:
    """A bin as it heads a column."""
    if length_bin.low is None:
        return "all" if length_bin.below is None else f"under {length_bin.below}"
    if length_bin.below is None:
        return f"{length_bin.low} and more"
    return f"{length_bin.low}–{length_bin.below - 1}" if length_bin.below - length_bin.low > 1 else str(length_bin.low)


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
