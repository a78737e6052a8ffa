"""Comparison: systems pair by pair, with interval, corrected p and effect size."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import Field

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.analysis.comparison import Comparison, Overall, compare
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.reports.comparison_notes import (
    LEVEL,
    comparison_notes,
    correction_notes,
)
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import (
    DASH,
    between,
    cases_words,
    cell_name,
    decimal,
    n_of,
    number,
    p_value,
    rater_words,
    several_raters,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes, preferences_apart
from bedside.stats.result import Result


def comparison_table(
    comparisons: Sequence[Comparison],
    left_out: Mapping[str, str] = MappingProxyType({}),
    apart: Sequence[str] = (),
    order: StudyOrder = UNLISTED,
) -> Table:
    """The table of comparisons already made.

    Args:
        comparisons: the comparisons.
        left_out: by metrics that could not be compared, why.
        apart: notes on what other tables show.
        order: has the labels of systems.
    """
    doubled = several_raters({(comparison.metric, comparison.raters) for comparison in comparisons})
    rows = []
    for position, comparison in enumerate(comparisons):
        by = f" ({rater_words(comparison.raters)})" if comparison.metric in doubled else ""
        others = _cells(comparison, comparison.facts.digits)
        systems = f"{order.system_label(comparison.a)} − {order.system_label(comparison.b)}"
        cells = (Cell(systems), *(Cell(text, record=position) for text in others))
        rows.append(Row(cells, comparison.facts.title + by))
    return Table(
        name="comparison",
        title="Systems compared pair by pair",
        columns=(
            Column("Systems", "left"), Column("Cases"), Column("Means"), Column("Difference"),
            Column(f"Estimate [{'adjusted' if _are_adjusted(comparisons) else '95 %'} CI]"),
            Column("p"), Column("p corrected"), Column("Effect [95 % CI]", "left"),
        ),
        rows=tuple(rows),
        notes=(*comparison_notes(comparisons, left_out), *apart),
        records=tuple(_record(comparison, doubled) for comparison in comparisons),
    )  # fmt: skip


def _are_adjusted(comparisons: Sequence[Comparison]) -> bool:
    """Whether intervals hold all at once."""
    return any(c.test.interval is not None and c.test.interval.level != LEVEL for c in comparisons)


def _cells(comparison: Comparison, digits: int) -> tuple[str, ...]:
    test, difference = comparison.test, comparison.difference
    effect = test.effect
    size = "–"
    if effect is not None and effect.estimate is not None:
        size = decimal(effect.estimate)
        if effect.interval is not None:
            size += f" {between(effect.interval.low, effect.interval.high)}"
    return (
        cases_words(
            comparison.entered,
            comparison.cases_a,
            comparison.cases_b,
            comparison.shared,
            paired=comparison.paired,
        ),
        f"{number(comparison.mean_a, digits)}, {number(comparison.mean_b, digits)}",
        number(difference.estimate, digits),
        f"{number(test.estimate, digits)} {interval_text(test, digits)}".strip(),
        p_value(test.p),
        p_value(test.p_adjusted),
        size,
    )


def interval_text(test: Result, digits: int) -> str:
    """The interval of a test; a round bracket at an open end."""
    interval = test.interval
    if interval is None:
        return ""
    low = "−∞" if math.isinf(interval.low) else number(interval.low, digits)
    high = "∞" if math.isinf(interval.high) else number(interval.high, digits)
    return f"{'(' if interval.low_open else '['}{low}, {high}{')' if interval.high_open else ']'}"


def _record(comparison: Comparison, several: Collection[str]) -> Mapping[str, Any]:
    test, difference, effect = comparison.test, comparison.difference, comparison.test.effect
    interval = test.interval
    return {
        "cell": cell_name(comparison.metric, comparison.raters, several, f"{comparison.a}-{comparison.b}"),
        "metric": comparison.metric,
        "raters": comparison.raters,
        "yes": comparison.yes,
        "a": comparison.a,
        "b": comparison.b,
        "paired": comparison.paired,
        "why": comparison.why,
        "n": test.n,
        "of": comparison.entered.of,
        "cases_a": comparison.cases_a,
        "cases_b": comparison.cases_b,
        "of_a": comparison.entered.of_a,
        "of_b": comparison.entered.of_b,
        "no_value": comparison.entered.no_value,
        "other_settings": comparison.entered.other_settings,
        "no_partner": comparison.entered.no_partner,
        "shared": comparison.shared,
        "transcripts_a": comparison.transcripts_a,
        "transcripts_b": comparison.transcripts_b,
        "alone_a": comparison.alone_a,
        "alone_b": comparison.alone_b,
        "unmatched_a": comparison.unmatched_a,
        "unmatched_b": comparison.unmatched_b,
        "zeros": comparison.zeros,
        "ties": comparison.ties,
        "mean_a": comparison.mean_a,
        "mean_b": comparison.mean_b,
        "difference": difference.estimate,
        "difference_low": difference.interval.low if difference.interval else None,
        "difference_high": difference.interval.high if difference.interval else None,
        "difference_method": difference.interval.method if difference.interval else difference.missing,
        "method": test.method,
        "statistic": test.statistic,
        "estimated": test.name,
        "estimate": test.estimate,
        "low": _end(interval.low) if interval else None,
        "high": _end(interval.high) if interval else None,
        "low_open": interval.low_open if interval else None,
        "high_open": interval.high_open if interval else None,
        "level": interval.level if interval else None,
        "interval": interval.method if interval else None,
        "p": test.p,
        "p_corrected": test.p_adjusted,
        "correction": test.correction,
        "family": test.family,
        "family_size": test.family_size,
        "effect": effect.name if effect else None,
        "effect_estimate": effect.estimate if effect else None,
        "effect_low": effect.interval.low if effect and effect.interval else None,
        "effect_high": effect.interval.high if effect and effect.interval else None,
        "missing": test.missing or (effect.missing if effect else None),
    }


def _end(bound: float) -> float | None:
    """An end of an interval; None where it is infinite."""
    return None if math.isinf(bound) else bound


def overall_table(overall: Sequence[Overall]) -> Table:
    """The table of all systems at once, metric by metric."""
    doubled = several_raters({(overall_test.metric, overall_test.raters) for overall_test in overall})
    rows, records = [], []
    for overall_test in overall:
        test = overall_test.test
        size = f"{test.name} {decimal(test.estimate)}" if test.estimate is not None else DASH
        cells = (overall_test.facts.title, rater_words(overall_test.raters), n_of(test.n, overall_test.of),
                 number(test.statistic), p_value(test.p), p_value(test.p_adjusted), size)  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "cell": cell_name(overall_test.metric, overall_test.raters, doubled),
                "metric": overall_test.metric,
                "raters": overall_test.raters,
                "systems": ", ".join(overall_test.systems),
                "paired": overall_test.paired,
                "why": overall_test.why,
                "raters_like": overall_test.raters_like or None,
                "n": test.n,
                "of": overall_test.of,
                "dropped": test.dropped,
                "left_out": overall_test.left_out,
                "method": test.method,
                "statistic": test.statistic,
                "p": test.p,
                "p_corrected": test.p_adjusted,
                "correction": test.correction,
                "family": test.family,
                "family_size": test.family_size,
                "effect": test.name,
                "effect_estimate": test.estimate,
                "missing": test.missing,
            }
        )
    notes = [f"{method}." for method in dict.fromkeys(overall_test.test.method for overall_test in overall)]
    notes += correction_notes(overall)
    for count in dict.fromkeys(o.raters_like for o in overall if o.raters_like):
        titles = ", ".join(o.facts.title for o in overall if o.raters_like == count)
        notes.append(
            f"People ({titles}): the answer is about raters like these {count}. Cases and raters are both drawn."
        )
    most = max(overall_test.left_out for overall_test in overall)
    if most:
        notes.append(f"Cases that not all systems have a value of are left out (at most {counted(most, 'case')}).")
    notes += [f"{DASH}: {reason}." for reason in dict.fromkeys(o.test.missing for o in overall if o.test.missing)]
    return Table(
        name="overall",
        title=f"All systems at once: {', '.join(overall[0].systems)}",
        columns=(
            Column("Metric", "left"), Column("Rated by", "left"), Column("n"), Column("Statistic"), Column("p"),
            Column("p corrected"), Column("Effect", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(records),
    )  # fmt: skip


class ComparisonOptions(Options):
    """Which comparisons a table shows.

    Attributes:
        metrics: the metrics; those that say something of quality unless named.
        test, family, correction, against: as for ``bedside compare``; ``against`` is its reference.
        bootstrap: whether intervals of permutation tests are those of a bootstrap over cases.
    """

    metrics: Headed = Field(default_factory=dict)
    test: Test = "auto"
    family: CorrectionFamily = "all"
    correction: Correction = "holm"
    against: str | None = None
    bootstrap: bool = False


def build(view: RatingsView, seed: int, options: ComparisonOptions) -> Table | None:
    """All pairs of systems; None where there are fewer than two systems or none of the metrics has a value."""
    if len(view.systems()) < 2:
        return None
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    against = options.against
    if against is not None:
        one_of(against, view.systems(), "system", DataError, where=view.name)
    comparisons = compare(
        view, metrics=metrics.rated or None, test=options.test, family=options.family, reference=against,
        correction=options.correction, bootstrap=options.bootstrap, seed=seed,
    )  # fmt: skip
    if not comparisons.pairs:
        return None
    pairs = [pair for pair in comparisons.pairs if against is None or not pair.is_one_sided]
    if not pairs:
        return None
    table = comparison_table(pairs, comparisons.left_out, preferences_apart(view), view.order)
    return options.finish(table, (*_one_sided_notes(comparisons.pairs, pairs), *absent_notes(metrics.absent)))


def _one_sided_notes(pairs: Sequence[Comparison], shown: Sequence[Comparison]) -> list[str]:
    """How many comparisons are left out since their raters rated one of the systems only."""
    count = len(pairs) - len(shown)
    if not count:
        return []
    raters = dict.fromkeys(rater_words(pair.raters) for pair in pairs if pair.is_one_sided)
    return [f"Left out: {counted(count, 'comparison')} by raters who rated one side only ({', '.join(raters)})."]


TABLE = TableKind("comparison", "Systems compared pair by pair", 20, build, ComparisonOptions)
