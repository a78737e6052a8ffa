"""Tables of measures over cases: counts summed over the cases before dividing, and means of the cases' own values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bedside.evaluation import PEOPLE, Evaluation, facts
from bedside.metrics import Direction
from bedside.reports.table import DASH, Cell, Column, Row, Table, number
from bedside.reports.tables._measures import ALL, rater_words

ARROWS: Mapping[Direction, str] = {"higher": " ↑", "lower": " ↓", "none": ""}
MICRO, CASE_LEVEL = "micro", "case-level"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a table.

    Attributes:
        title: as in its row.
        metric: the metric of cases whose mean is taken; also what the direction is taken from.
        over: metrics whose sums over cases are the numerator and, after it, the denominator; None where there is no
            such measure.
        times: factor on the numerator.
        digits: decimals to print.
    """

    title: str
    metric: str
    over: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    times: float = 1.0
    digits: int = 3

    @property
    def needs(self) -> tuple[str, ...]:
        """All metrics it is made of."""
        return (self.metric, *(name for part in self.over or () for name in part))


@dataclass(frozen=True, slots=True)
class Block:
    """Measures under one heading."""

    heading: str
    measures: tuple[Measure, ...]


def cases_table(
    evaluation: Evaluation,
    name: str,
    title: str,
    blocks: Sequence[Block],
    decisive: Iterable[str],
    notes: Sequence[str],
) -> Table | None:
    """The measures of each system; None where none of the ``decisive`` metrics has a value.

    Passes, and among people raters, are averaged for each case before anything is taken over cases.
    """
    wide = _wide(evaluation, {need for block in blocks for each in block.measures for need in each.needs})
    if wide is None or not any(metric in wide.columns and wide[metric].count() for metric in decisive):
        return None
    systems = sorted(wide["system"].unique())
    shown: list[tuple[str, Measure, str, dict[str, dict[str, Mapping[str, Any]]]]] = []
    for block in blocks:
        for measure in block.measures:
            if measure.over is not None:
                shown.append((block.heading, measure, MICRO, _micro(wide, measure, *measure.over)))
            shown.append((block.heading, measure, CASE_LEVEL, _means(wide, measure)))
    usual = max((row["n"] for *_, found in shown for by in found.values() for row in by.values()), default=0)
    rows, records = [], []
    for heading, measure, level, found in shown:
        several = sum(any(row["n"] for row in by.values()) for by in found.values()) > 1
        for group in sorted(found, key=lambda each: (each != PEOPLE, each)):
            by = found[group]
            if not any(row["n"] for row in by.values()):
                continue
            named = f" ({rater_words(group)})" if several else ""
            words = f"{measure.title}, {level}" if measure.over is not None else measure.title
            text = words + named + ARROWS[facts(measure.metric).direction]
            cells = _cells([by.get(system) for system in systems], measure, usual)
            rows.append(Row((Cell(text), *cells), heading))
            records += [
                {"measure": measure.title, "metric": measure.metric, "level": level, "raters": group,
                 "system": system, **by[system]}
                for system in systems
                if system in by
            ]  # fmt: skip
    plural = " a system" if len(systems) > 1 else ""
    return Table(
        name=name,
        title=title,
        columns=(Column("Measure", "left"), *(Column(system) for system in systems)),
        rows=tuple(rows),
        notes=(f"n = {usual} cases{plural} unless a cell says otherwise.", *notes),
        records=tuple(records),
    )


def _wide(evaluation: Evaluation, metrics: set[str]) -> pl.DataFrame | None:
    """One row for each case, rater and pass, with a column for each of the metrics that are rated."""
    found = evaluation.ratings.filter(pl.col("unit") == "transcript", pl.col("metric").is_in(sorted(metrics)))
    if found.is_empty():
        return None
    people = pl.col("rater").str.starts_with("human:")
    return found.with_columns(
        pl.col("system").fill_null(ALL),
        pl.when(people).then(pl.lit(PEOPLE)).otherwise(pl.col("rater")).alias("group"),
    ).pivot(
        on="metric",
        index=["transcript_id", "system", "group", "rater", "replicate"],
        values="value",
        aggregate_function="first",
    )


def _by_case(wide: pl.DataFrame, needed: Sequence[str]) -> pl.DataFrame:
    """The means of the metrics over a case's passes, of those passes that have all of them; null where none has."""
    whole = pl.all_horizontal(pl.col(name).is_not_null() for name in needed)
    return wide.group_by("transcript_id", "system", "group", maintain_order=True).agg(
        pl.col(name).filter(whole).mean() for name in dict.fromkeys(needed)
    )


def _micro(
    wide: pl.DataFrame, measure: Measure, above: tuple[str, ...], below: tuple[str, ...]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    needed = (*above, *below)
    if any(name not in wide.columns for name in needed):
        return {}
    table = (
        _by_case(wide, needed)
        .group_by("group", "system")
        .agg(
            (measure.times * pl.sum_horizontal(pl.col(name).sum() for name in above)).alias("numerator"),
            pl.sum_horizontal(pl.col(name).sum() for name in below).alias("denominator"),
            pl.col(needed[0]).count().alias("n"),
            pl.col(needed[0]).null_count().alias("missing"),
        )
    )
    result: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        value = row["numerator"] / row["denominator"] if row["denominator"] else None
        result.setdefault(row["group"], {})[row["system"]] = {
            "value": value,
            "sd": None,
            "n": row["n"],
            "missing": row["missing"],
            "numerator": row["numerator"],
            "denominator": row["denominator"],
        }
    return result


def _means(wide: pl.DataFrame, measure: Measure) -> dict[str, dict[str, Mapping[str, Any]]]:
    if measure.metric not in wide.columns:
        return {}
    table = (
        _by_case(wide, (measure.metric,))
        .group_by("group", "system")
        .agg(
            pl.col(measure.metric).mean().alias("value"),
            pl.col(measure.metric).std(ddof=1).alias("sd"),
            pl.col(measure.metric).count().alias("n"),
            pl.col(measure.metric).null_count().alias("missing"),
        )
    )
    result: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        result.setdefault(row["group"], {})[row["system"]] = {
            **{key: row[key] for key in ("value", "sd", "n", "missing")},
            "numerator": None,
            "denominator": None,
        }
    return result


def _cells(found: Sequence[Mapping[str, Any] | None], measure: Measure, usual: int) -> list[Cell]:
    values = [
        round(row["value"], measure.digits) for row in found if row is not None and row["value"] is not None
    ]
    direction = facts(measure.metric).direction
    best = None
    if direction != "none" and len(set(values)) > 1:
        best = max(values) if direction == "higher" else min(values)
    cells = []
    for row in found:
        if row is None or row["value"] is None:
            cells.append(Cell(DASH))
            continue
        spread = (
            "" if row["sd"] is None or math.isnan(row["sd"]) else f" ({number(row['sd'], measure.digits)})"
        )
        count = f" n={row['n']}" if row["n"] != usual else ""
        text = number(row["value"], measure.digits) + spread + count
        cells.append(Cell(text, bold=best is not None and round(row["value"], measure.digits) == best))
    return cells
