"""Counts: how often each label of a nominal code was given, by system, in all or per transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import polars as pl
from pydantic import Field

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.columns import Block, Column, Part, Table, grid_of, recorded
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import number, rater_words
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes

_TITLE = "Labels given, by system"


class CountsOptions(Options):
    """Which labels a table counts.

    Attributes:
        metrics: nominal codes, such as ``stage``; all that there are unless named.
        per: count what a ``system`` has, with shares, or the mean number per ``transcript`` that has the code at all.
        heading: what stands over the systems.
        label: what the labels are called.
        total: what the last row is called, which has the sum of all labels; none unless named.
        published: the numbers that the suite's source printed in this table, to stand beside; a report sets them.
    """

    metrics: Headed = Field(default_factory=dict)
    per: Literal["system", "transcript"] = "system"
    heading: str | None = None
    label: str = "Label"
    total: str | None = None
    published: tuple[PublishedNumber, ...] = ()


class LabelCount(NamedTuple):
    """How often a system's transcripts got a label.

    Attributes:
        n: how often.
        transcripts: those that have it.
        of: how many labels of the code they got.
        coded: those that have any.
    """

    n: int
    transcripts: int
    of: int
    coded: int

    @property
    def share(self) -> float:
        """Of all labels of the code."""
        return self.n / self.of

    @property
    def per_transcript(self) -> float:
        """How often a transcript that has any label has this one."""
        return self.n / self.coded


class LabelRow(NamedTuple):
    """A label of a code as raters gave it, or all its labels together.

    Attributes:
        metric, group: the code, and who gave it.
        several: whether others gave it, too.
        title: the label's.
        label: its name; the title of all together.
        counts: by system, where it has any label.
    """

    metric: str
    group: str
    several: bool
    title: str
    label: str
    counts: Mapping[str, LabelCount]


def _label_rows(
    view: RatingsView, names: Iterable[str], labelled: pl.DataFrame, total: str | None
) -> Iterator[LabelRow]:
    """A row for each label of each code under each group of raters, and one for all where ``total`` names it."""
    counts = (pl.len().alias("n"), pl.col("transcript_id").n_unique().alias("transcripts"))
    for metric in names:
        of_metric = labelled.filter(metric=metric)
        groups = sorted(of_metric["group"].unique(), key=lambda name: (name != PEOPLE, name))
        for group in groups:
            of_group = of_metric.filter(group=group)
            coded = {system: numbers for system, *numbers in of_group.group_by("system").agg(*counts).iter_rows()}
            own = {
                (label, system): numbers
                for label, system, *numbers in of_group.group_by("label", "system").agg(*counts).iter_rows()
            }
            listed = [*(view.order.levels.get(metric) or view.facts(metric).labels)]
            labels = sorted(
                {label for label, _ in own},
                key=lambda label: (listed.index(label) if label in listed else len(listed), label),
            )
            for label in labels:
                by_system = {
                    system: LabelCount(*own.get((label, system), (0, 0)), *numbers) for system, numbers in coded.items()
                }
                yield LabelRow(metric, group, len(groups) > 1, view.order.level_label(metric, label), label, by_system)
            if total:
                every = {system: LabelCount(*numbers, *numbers) for system, numbers in coded.items()}
                yield LabelRow(metric, group, len(groups) > 1, total, total, every)


def build(view: RatingsView, seed: int, options: CountsOptions) -> Table | None:
    """Counts and shares of labels, or means per transcript; None where there are none."""
    metrics = named_metrics(view, options.metrics)
    labelled = view.ratings.filter(pl.col("label").is_not_null()).with_columns(
        pl.col("system").fill_null(ALL), view.rater_group().alias("group")
    )
    there = set(labelled["metric"])
    names = metrics.rated if metrics.names else tuple(name for name in view.metrics() if name in there)
    labelled = labelled.filter(pl.col("metric").is_in(names))
    if labelled.is_empty():
        return None
    rows = list(_label_rows(view, names, labelled, options.total))
    printed = {(_key(number.measure), _key(number.system)): number.printed for number in options.published}

    def block(system: str) -> Block:
        name = view.order.system_label(system)

        def words(cell: Part) -> str:
            text = f"{cell.part.n:,} ({number(100 * cell.part.share, 1)} %)"
            if options.per == "transcript":
                text = number(cell.part.per_transcript, 2)
            beside = printed.get((_key(cell.whole.title), _key(name)))
            return text if beside is None else f"{text} {{{beside}}}"

        def cell_name(cell: Part) -> str:
            by = f"@{cell.whole.group}" if cell.whole.several else ""
            return f"{cell.whole.metric}{by}/{cell.whole.label}/{system}"

        record = recorded(
            cell=cell_name, metric="whole.metric", raters="whole.group", label="whole.label",
            system=lambda cell: system, n="part.n", transcripts="part.transcripts", share="part.share",
            per_transcript="part.per_transcript", coded_transcripts="part.coded",
        )  # fmt: skip
        column = Column(name, group=options.heading, text=words)
        return Block((record, column), lambda row: Part(row, row.counts[system]) if system in row.counts else None)

    def heading(row: LabelRow) -> str | None:
        if not headed and not row.several:
            return None
        return view.facts(row.metric).title + (f" ({rater_words(row.group)})" if row.several else "")

    # A table with a heading of its own that counts one thing doesn't say again what that is.
    headed = options.heading is None or len(names) > 1
    systems = view.order.ordered_systems(labelled["system"].unique())
    heads = Block((Column(options.label, "left", value="title"),))
    table = grid_of("counts", _TITLE, rows, (heads, *map(block, systems)), group=heading,
                    notes=(_what(options, rows),))  # fmt: skip
    return options.finish(table, absent_notes(metrics.absent))


def _what(options: CountsOptions, rows: Iterable[LabelRow]) -> str:
    """What the numbers are."""
    if options.per == "system":
        return "How often the label was given, and its share of all that the system's transcripts got."
    counts = sorted({count.coded for row in rows for count in row.counts.values()})
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return (
        "How often the label was given in a transcript: the mean over those that have any label "
        f"(n = {n} a system). A transcript without a label counts 0 for it."
    )


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


TABLE = TableKind("counts", _TITLE, 40, build, CountsOptions, shown="named", averages=False)
