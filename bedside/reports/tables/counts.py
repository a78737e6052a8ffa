"""Counts: how often each label of a nominal code was given, by system, in all or per transcript."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import polars as pl
from pydantic import Field

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes


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


def build(view: RatingsView, seed: int, options: CountsOptions) -> Table | None:
    """Counts and shares of labels, or means per transcript; None where there are none."""
    metrics = named_metrics(view, options.metrics)
    labelled = view.ratings.filter(pl.col("label").is_not_null()).with_columns(
        pl.col("system").fill_null(ALL), view.rater_group().alias("group")
    )
    labelled_metrics = set(labelled["metric"])
    names = metrics.rated
    if not metrics.names:
        names = tuple(name for name in view.metrics() if name in labelled_metrics)
    counted = (
        labelled.filter(pl.col("metric").is_in(names))
        .group_by("metric", "group", "system", "label")
        .agg(pl.len().alias("n"), pl.col("transcript_id").n_unique().alias("transcripts"))
    )
    if counted.is_empty():
        return None
    coded = (
        labelled.filter(pl.col("metric").is_in(names))
        .group_by("metric", "group", "system")
        .agg(pl.len().alias("n"), pl.col("transcript_id").n_unique().alias("transcripts"))
    )
    totals = {(r["metric"], r["group"], r["system"]): r for r in coded.iter_rows(named=True)}
    printed = {(_key(number.measure), _key(number.system)): number.printed for number in options.published}
    systems = view.order.ordered_systems(counted["system"].unique())
    counts = {(r["metric"], r["group"], r["label"], r["system"]): r for r in counted.iter_rows(named=True)}
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for metric in names:
        metric_facts = view.facts(metric)
        groups = sorted({key[1] for key in counts if key[0] == metric}, key=lambda name: (name != PEOPLE, name))
        for group in groups:
            by = f" ({rater_words(group)})" if len(groups) > 1 else ""
            given = {key[2] for key in counts if key[:2] == (metric, group)}
            labels: list[str | None] = [*_ordered(view.order.levels.get(metric) or metric_facts.labels, given)]
            for label in [*labels, None] if options.total else labels:
                title = str(options.total) if label is None else view.order.level_label(metric, label)
                cells = [Cell(title)]
                for system in systems:
                    coded_there = totals.get((metric, group, system))
                    if coded_there is None:
                        cells.append(Cell(DASH))
                        continue
                    row = coded_there if label is None else counts.get((metric, group, label, system))
                    mean = (row["n"] if row else 0) / coded_there["transcripts"]
                    share = (row["n"] if row else 0) / coded_there["n"]
                    text = f"{row['n'] if row else 0:,} ({number(100 * share, 1)} %)"
                    if options.per == "transcript":
                        text = number(mean, 2)
                    beside = printed.get((_key(title), _key(view.order.system_label(system))))
                    text += f" {{{beside}}}" if beside is not None else ""
                    cells.append(Cell(text, record=len(records)))
                    records.append(
                        _record(metric, group, label or title, system, row, by)
                        | {
                            "share": share,
                            "per_transcript": mean,
                            "coded_transcripts": coded_there["transcripts"],
                        }
                    )
                rows.append(
                    Row(
                        tuple(cells),
                        metric_facts.title + by if _needs_heading(options, names, groups) else None,
                    )
                )
    return Table(
        name=options.id or "counts",
        title=options.title or "Labels given, by system",
        columns=(
            Column(options.label, "left"),
            *(Column(view.order.system_label(system), group=options.heading) for system in systems),
        ),
        rows=tuple(rows),
        notes=(
            _what(options, coded),
            *absent_notes(metrics.absent),
        ),
        records=tuple(records),
    )


def _needs_heading(options: CountsOptions, names: Collection[str], groups: Collection[str]) -> bool:
    """Whether rows stand under what they count; not where the table has a heading of its own and counts one thing."""
    return options.heading is None or len(names) > 1 or len(groups) > 1


def _what(options: CountsOptions, coded: pl.DataFrame) -> str:
    """What the numbers are."""
    if options.per == "system":
        return "How often the label was given, and its share of all that the system's transcripts got."
    counts = sorted(set(coded["transcripts"]))
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return (
        "How often the label was given in a transcript, mean over those that have any label "
        f"(n = {n} a system); a transcript without a label counts 0 for it."
    )


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


def _ordered(listed: Iterable[str], labels: set[str]) -> list[str]:
    """Labels as they are listed, then the others by letters."""
    scale_labels = list(listed)
    return sorted(
        labels,
        key=lambda label: (scale_labels.index(label) if label in scale_labels else len(scale_labels), label),
    )


def _record(metric: str, group: str, label: str, system: str, row: Any, by: str) -> dict[str, Any]:
    return {
        "cell": f"{metric}{'@' + group if by else ''}/{label}/{system}",
        "metric": metric,
        "raters": group,
        "label": label,
        "system": system,
        "n": row["n"] if row else 0,
        "transcripts": row["transcripts"] if row else 0,
    }


TABLE = TableKind("counts", "Labels given, by system", 40, build, CountsOptions, shown="named", averages=False)
