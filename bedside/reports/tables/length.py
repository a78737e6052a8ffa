"""Length: metrics by bins of the number of messages, with a test of the trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.analysis.trend import Bin, Trend, trend
from bedside.core.words import counted
from bedside.reports.columns import Block, Column, MetricRow, Table, bounded, grid_of, recorded
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import note
from bedside.reports.number_text import DASH, number, p_value, share_words
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


class TrendCell(NamedTuple):
    """A bin of a trend, or the trend itself, which is told as a bin of all messages.

    Attributes:
        row: of the trend.
        messages: the bin in words.
        own: its mean; of the trend its correlation.
    """

    row: MetricRow
    messages: str
    own: Bin


def _mean(cell: TrendCell) -> str:
    mean = cell.own.mean
    return DASH if mean.estimate is None else f"{number(mean.estimate, cell.row.part.facts.digits)} (n={mean.n})"


RECORD = (
    recorded(
        cell=lambda cell: cell.row.cell(cell.row.part.system, cell.messages),
        **{name: f"row.part.{name}" for name in ("metric", "raters", "system")}, messages="messages",
        low="own.low", below="own.below", n="own.mean.n", missing="own.missing",
    ),
    bounded(estimate="own.mean"),
    recorded(method="own.mean.method", p="own.mean.p", p_corrected="own.mean.p_adjusted", why="own.mean.missing"),
)  # fmt: skip
TREND_COLUMNS = (
    Column("ρ [95 % CI]", group="Trend", text=lambda cell: share_words(cell.own.mean), brief=True),
    Column("p", group="Trend", value="own.mean.p", form=p_value),
    Column("p corrected", group="Trend", value="own.mean.p_adjusted", form=p_value, brief=True),
)


def _trend_cell(row: MetricRow) -> TrendCell:
    correlation = row.part.correlation
    return TrendCell(row, "trend", Bin(None, None, correlation, correlation.dropped))


@note("length.meaning")
def meaning(rows: Sequence[MetricRow]) -> Iterator[str]:
    """What the numbers are."""
    first = rows[0].part.correlation
    methods = "; ".join(dict.fromkeys(row.part.correlation.method for row in rows))
    yield "Means over transcripts, with their number in brackets."
    yield (
        f"Trend: {methods} of value and number of messages over transcripts. p is corrected by Holm within the "
        f"family “{first.family}” of {counted(first.family_size or 0, 'test')}."
    )


@note("length.missing")
def missing(rows: Sequence[MetricRow]) -> Iterator[str]:
    """What is in no mean, and why there is none."""
    bins: list[Bin] = [length_bin for row in rows for length_bin in row.part.bins]
    if any(length_bin.mean.estimate is None for length_bin in bins):
        yield f"{DASH}: no transcript of so many messages has a value."
    left_out = sum(length_bin.missing for length_bin in bins)
    if left_out:
        yield f"Missing values, left out: {left_out}. The CSV counts them by bin."


@note("length.without p", "p", "p corrected")
def without_p(rows: Sequence[MetricRow]) -> Iterator[str]:
    """Why a trend has no test."""
    reasons = [row.part.correlation.missing for row in rows]
    for reason in dict.fromkeys(row.part.correlation.missing for row in rows if row.part.correlation.p is None):
        yield f"{reasons.count(reason)} without p: {reason}."


def length_table(trends: Sequence[Trend], order: StudyOrder = UNLISTED) -> Table:
    """The table of trends already computed, which share their bins; ``order`` has the labels of systems."""

    def block(place: int, words: str) -> Block:
        ends = (0, len(trends[0].bins) - 1)
        column = Column(words, group="Messages", text=_mean, brief=place in ends)
        return Block((*RECORD, column), lambda row: TrendCell(row, words, row.part.bins[place]))

    bins = [block(place, bin_words(length_bin)) for place, length_bin in enumerate(trends[0].bins)]
    system = Block((Column("System", "left", text=MetricRow.system_label, brief=True),))
    return grid_of("length", "Means by number of messages", MetricRow.rows(trends, order),
                   (system, *bins, Block((*RECORD, *TREND_COLUMNS), _trend_cell)), group=MetricRow.heading,
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
