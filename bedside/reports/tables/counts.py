"""Counts: how often each label of a nominal code was given, by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from pydantic import Field

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import rater_words
from bedside.reports.measures import Headed, matching
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
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    people = pl.col("rater").str.starts_with("human:")
    given = view.ratings.filter(pl.col("label").is_not_null()).with_columns(
        pl.col("system").fill_null(ALL),
        pl.when(people).then(pl.lit(PEOPLE)).otherwise(pl.col("rater")).alias("group"),
    )
    names = [name for metric in wanted for name in matching(view, metric)] or (
        [] if wanted else [name for name in view.metrics() if name in set(given["metric"])]
    )
    counted = (
        given.filter(pl.col("metric").is_in(names))
        .group_by("metric", "group", "system", "label")
        .agg(pl.len().alias("n"), pl.col("transcript_id").n_unique().alias("transcripts"))
        .with_columns((pl.col("n") / pl.col("n").sum().over("metric", "group", "system")).alias("share"))
    )
    if counted.is_empty():
        return None
    systems = sorted(counted["system"].unique())
    found = {(r["metric"], r["group"], r["label"], r["system"]): r for r in counted.iter_rows(named=True)}
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for metric in names:
        known = view.facts(metric)
        groups = sorted(
            {key[1] for key in found if key[0] == metric}, key=lambda name: (name != PEOPLE, name)
        )
        for group in groups:
            by = f" ({rater_words(group)})" if len(groups) > 1 else ""
            for label in _ordered(known.labels, {key[2] for key in found if key[:2] == (metric, group)}):
                cells = [Cell(label)]
                for system in systems:
                    row = found.get((metric, group, label, system))
                    given_any = any(key[:2] == (metric, group) and key[3] == system for key in found)
                    n, share = (row["n"], row["share"]) if row else (0, 0.0)
                    text = f"{n:,} ({number(100 * share, 1)} %)" if given_any else DASH
                    cells.append(Cell(text, record=len(records) if given_any else None))
                    if given_any:
                        records.append(_record(metric, group, label, system, row, by))
                rows.append(Row(tuple(cells), known.title + by))
    return Table(
        name=options.id or "counts",
        title=options.title or "Labels given, by system",
        columns=(Column("Label", "left"), *(Column(system) for system in systems)),
        rows=tuple(rows),
        notes=(
            "How often the label was given, and its share of all that the system's transcripts got.",
            *absent_notes(metric for metric in wanted if not matching(view, metric)),
        ),
        records=tuple(records),
    )


def _ordered(known: Sequence[str], labels: set[str]) -> list[str]:
    return sorted(labels, key=lambda label: (known.index(label) if label in known else len(known), label))


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
