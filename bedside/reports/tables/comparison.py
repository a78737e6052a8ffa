"""Comparison: systems pair by pair, with interval, corrected p and effect size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.comparison import Comparison, compare
from bedside.evaluation import Evaluation, facts
from bedside.reports.table import Cell, Column, Row, Table, between, decimal, number, p_value
from bedside.reports.tables._contract import TableKind
from bedside.reports.tables.results import rater_words


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """The table of comparisons already made."""
    several = {(c.metric, c.raters) for c in comparisons}
    doubled = {metric for metric, _ in several if sum(m == metric for m, _ in several) > 1}
    rows = []
    for comparison in comparisons:
        known = facts(comparison.metric)
        by = f" ({rater_words(comparison.raters)})" if comparison.metric in doubled else ""
        rows.append(Row(tuple(map(Cell, _cells(comparison, known.digits))), known.title + by))
    return Table(
        name="comparison",
        title="Systems compared pair by pair",
        columns=(
            Column("Systems", "left"), Column("n"), Column("Means"), Column("Difference"), Column("95 % CI"),
            Column("p"), Column("p corrected"), Column("Effect [95 % CI]", "left"),
        ),
        rows=tuple(rows),
        notes=_notes(comparisons),
        records=tuple(map(_record, comparisons)),
    )  # fmt: skip


def _cells(comparison: Comparison, digits: int) -> tuple[str, ...]:
    test, difference = comparison.test, comparison.difference
    interval = difference.interval
    effect = test.effect
    size = "–"
    if effect is not None and effect.estimate is not None:
        size = decimal(effect.estimate)
        if effect.interval is not None:
            size += f" {between(effect.interval.low, effect.interval.high)}"
    return (
        f"{comparison.a} − {comparison.b}",
        str(test.n),
        f"{number(comparison.mean_a, digits)}, {number(comparison.mean_b, digits)}",
        number(difference.estimate, digits),
        f"[{number(interval.low, digits)}, {number(interval.high, digits)}]" if interval else "–",
        p_value(test.p),
        p_value(test.p_adjusted),
        size,
    )


def _notes(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    notes = []
    for method in dict.fromkeys(c.test.method for c in comparisons):
        members = [c for c in comparisons if c.test.method == method]
        reasons = "; ".join(dict.fromkeys(c.why for c in members))
        effects = " and ".join(
            dict.fromkeys(c.test.effect.name for c in members if c.test.effect is not None)
        )
        sizes = f" Effect: {effects}." if effects else ""
        notes.append(f"{method}: {len(members)} comparisons ({reasons}).{sizes}")
    corrections = dict.fromkeys((c.test.correction, c.test.family, c.test.family_size) for c in comparisons)
    for correction, family, size in list(corrections)[:6]:
        notes.append(
            f"p corrected by {str(correction).capitalize()} within the family “{family}” of {size} tests."
        )
    notes.append(
        "Difference: mean of the first system minus mean of the second, with a t interval "
        "(of paired differences where cases pair, else Welch's)."
    )
    alone = sum(c.alone_a + c.alone_b for c in comparisons)
    if alone:
        notes.append(
            f"{alone} values had no partner on their case and were left out; the CSV has them by comparison."
        )
    for reason in dict.fromkeys(c.test.missing for c in comparisons if c.test.missing):
        count = sum(c.test.missing == reason for c in comparisons)
        notes.append(f"{count} comparisons: {reason}.")
    return tuple(notes)


def _record(comparison: Comparison) -> Mapping[str, Any]:
    test, difference, effect = comparison.test, comparison.difference, comparison.test.effect
    return {
        "metric": comparison.metric,
        "raters": comparison.raters,
        "a": comparison.a,
        "b": comparison.b,
        "paired": comparison.paired,
        "why": comparison.why,
        "n": test.n,
        "alone_a": comparison.alone_a,
        "alone_b": comparison.alone_b,
        "mean_a": comparison.mean_a,
        "mean_b": comparison.mean_b,
        "difference": difference.estimate,
        "difference_low": difference.interval.low if difference.interval else None,
        "difference_high": difference.interval.high if difference.interval else None,
        "difference_method": difference.interval.method if difference.interval else difference.missing,
        "method": test.method,
        "statistic": test.statistic,
        "p": test.p,
        "p_corrected": test.p_adjusted,
        "correction": test.correction,
        "family": test.family,
        "family_size": test.family_size,
        "effect": effect.name if effect else None,
        "effect_estimate": effect.estimate if effect else None,
        "effect_low": effect.interval.low if effect and effect.interval else None,
        "effect_high": effect.interval.high if effect and effect.interval else None,
        "missing": test.missing,
    }


def build(evaluation: Evaluation, seed: int = 0) -> Table | None:
    """All pairs of systems on all metrics; None where there are fewer than two systems."""
    if len(evaluation.systems()) < 2:
        return None
    comparisons = compare(evaluation, seed=seed)
    return comparison_table(comparisons) if comparisons else None


TABLE = TableKind("comparison", "Systems compared pair by pair", 20, build)
