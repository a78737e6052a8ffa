"""Results: metrics in rows, systems in columns, mean (standard deviation)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from bedside.evaluation import PEOPLE, Evaluation, Facts, facts
from bedside.reports.table import DASH, Cell, Column, Row, Table, number
from bedside.reports.tables._contract import TableKind

_ARROWS = {"higher": " ↑", "lower": " ↓", "none": ""}
#: Stands for the system of transcripts that have none.
ALL = "all"


def summarise(evaluation: Evaluation, metrics: Sequence[str]) -> pl.DataFrame:
    """Mean, standard deviation (n − 1), n and number missing of each metric, group of raters and system."""
    return (
        evaluation.transcript_values(metrics)
        .with_columns(pl.col("system").fill_null(ALL))
        .group_by("metric", "group", "system")
        .agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").std(ddof=1).alias("sd"),
            pl.col("value").count().alias("n"),
            pl.col("value").null_count().alias("missing"),
            pl.col("error").drop_nulls().mode().sort().first().alias("why"),
        )
    )


def rater_words(group: str) -> str:
    """How a group of raters is named in a row: people, or an algorithm or judge without its kind."""
    return group if group == PEOPLE else group.partition(":")[2]


def results_table(evaluation: Evaluation, metrics: Sequence[str]) -> Table | None:
    """The results of these metrics; None where none of them rates whole transcripts."""
    summary = {
        (row["metric"], row["group"], row["system"]): row
        for row in summarise(evaluation, metrics).iter_rows(named=True)
    }
    if not summary:
        return None
    systems = sorted({system for _, _, system in summary})
    groups: dict[str, list[str]] = {}
    for metric, group, _ in summary:
        if group not in groups.setdefault(metric, []):
            groups[metric].append(group)
    usual = max((row["n"] for row in summary.values()), default=0)
    rows = []
    records: list[Mapping[str, Any]] = []
    absent: dict[str, dict[str, None]] = {}
    for metric in sorted(groups, key=lambda name: (facts(name).order, name)):
        known = facts(metric)
        among = sorted(groups[metric], key=lambda name: (name != PEOPLE, name))
        of = {group: [summary.get((metric, group, system)) for system in systems] for group in among}
        records += [_record(known, group, row) for group in among for row in of[group] if row is not None]
        giving = [group for group in among if any(row is not None and row["n"] for row in of[group])]
        if not giving:
            why = next(row["why"] for row in of[among[0]] if row is not None)
            absent.setdefault(why, {})[known.title.partition(",")[0]] = None
        for group in giving:
            # A rater is named where another gave values too.
            by = f" ({rater_words(group)})" if len(giving) > 1 else ""
            cells = _cells(of[group], known, usual)
            rows.append(Row((Cell(known.title + by + _ARROWS[known.direction]), *cells), known.group))
    return Table(
        name="results",
        title="Results by system: mean (standard deviation) over transcripts",
        columns=(Column("Metric", "left"), *(Column(system) for system in systems)),
        rows=tuple(rows),
        notes=_notes(systems, usual, absent, rows),
        records=tuple(records),
    )


def _cells(found: Sequence[Mapping[str, Any] | None], known: Facts, usual: int) -> list[Cell]:
    means = [round(row["mean"], known.digits) for row in found if row is not None and row["n"]]
    best = None
    if known.direction != "none" and len(means) > 1 and len(set(means)) > 1:
        best = max(means) if known.direction == "higher" else min(means)
    cells = []
    for row in found:
        if row is None or not row["n"]:
            cells.append(Cell(DASH))
            continue
        spread = "" if row["sd"] is None or math.isnan(row["sd"]) else f" ({number(row['sd'], known.digits)})"
        count = f" n={row['n']}" if row["n"] != usual else ""
        bold = best is not None and round(row["mean"], known.digits) == best
        cells.append(Cell(number(row["mean"], known.digits) + spread + count, bold=bold))
    return cells


def _record(known: Facts, group: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "metric": known.name,
        "raters": group,
        "system": row["system"],
        "mean": row["mean"],
        "sd": row["sd"],
        "n": row["n"],
        "missing": row["missing"],
        "why_missing": row["why"],
        "direction": known.direction,
    }


def _notes(
    systems: Sequence[str], usual: int, absent: Mapping[str, Iterable[str]], rows: Sequence[Row]
) -> tuple[str, ...]:
    notes = [
        f"n = {usual} transcripts{' a system' if len(systems) > 1 else ''} unless a cell says otherwise."
    ]
    if any(cell.bold for row in rows for cell in row.cells):
        notes.append(
            "Best mean in bold, with no regard to chance: see the comparison table. ↑ higher is better, ↓ lower is."
        )
    if any("(people)" in row.cells[0].text for row in rows):
        notes.append("People: ratings are averaged over the people who rated a transcript.")
    if absent:
        listed = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in absent.items())
        notes.append(f"Missing for every transcript: {listed}.")
    return tuple(notes)


def build(evaluation: Evaluation, seed: int = 0) -> Table | None:
    """The results of all metrics."""
    return results_table(evaluation, evaluation.metrics())


TABLE = TableKind("results", "Results by system", 10, build)
