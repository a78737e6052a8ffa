"""Counts: how often each label of a nominal code was given, by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from pydantic import Field

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.reports.absent_metrics import absent_notes
from bedside.reports.cell_names import rater_words
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind


class CountsOptions(Options):
    """Which labels a table counts.

    Attributes:
        metrics: nominal codes, such as ``stage``; all that there are unless named.
    """

    metrics: Headed = Field(default_factory=dict)


def build(view: RatingsView, seed: int, options: CountsOptions) -> Table | None:
    """Counts and shares of labels; None where there are none."""
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
        .with_columns((pl.col("n") / pl.col("n").sum().over("metric", "group", "system")).alias("share"))
    )
    if counted.is_empty():
        return None
    systems = sorted(counted["system"].unique())
    counts = {(r["metric"], r["group"], r["label"], r["system"]): r for r in counted.iter_rows(named=True)}
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for metric in names:
        metric_facts = view.facts(metric)
        groups = sorted(
            {key[1] for key in counts if key[0] == metric}, key=lambda name: (name != PEOPLE, name)
        )
        for group in groups:
            by = f" ({rater_words(group)})" if len(groups) > 1 else ""
            for label in _ordered(
                metric_facts.labels, {key[2] for key in counts if key[:2] == (metric, group)}
            ):
                cells = [Cell(label)]
                for system in systems:
                    row = counts.get((metric, group, label, system))
                    has_labels = any(key[:2] == (metric, group) and key[3] == system for key in counts)
                    n, share = (row["n"], row["share"]) if row else (0, 0.0)
                    text = f"{n:,} ({number(100 * share, 1)} %)" if has_labels else DASH
                    cells.append(Cell(text, record=len(records) if has_labels else None))
                    if has_labels:
                        records.append(_record(metric, group, label, system, row, by))
                rows.append(Row(tuple(cells), metric_facts.title + by))
    return Table(
        name=options.id or "counts",
        title=options.title or "Labels given, by system",
        columns=(Column("Label", "left"), *(Column(system) for system in systems)),
        rows=tuple(rows),
        notes=(
            "How often the label was given, and its share of all that the system's transcripts got.",
            *absent_notes(metrics.absent),
        ),
        records=tuple(records),
    )


def _ordered(scale_labels: Sequence[str], labels: set[str]) -> list[str]:
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
        "share": row["share"] if row else 0.0,
        "transcripts": row["transcripts"] if row else 0,
    }


TABLE = TableKind("counts", "Labels given, by system", 40, build, CountsOptions, general=False)
