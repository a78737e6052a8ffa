"""Comparison: systems pair by pair, with interval, corrected p and effect size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.analysis.comparison import Comparison, Overall, compare
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.absent_metrics import absent_notes
from bedside.reports.cell_names import cell_name, rater_words, several_raters
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, between, decimal, number, p_value
from bedside.reports.system_tests import CORRECTION_WORDS
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.support.plurals import counted


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """The table of comparisons already made."""
    doubled = several_raters({(comparison.metric, comparison.raters) for comparison in comparisons})
    rows = []
    for position, comparison in enumerate(comparisons):
        by = f" ({rater_words(comparison.raters)})" if comparison.metric in doubled else ""
        first, *others = _cells(comparison, comparison.facts.digits)
        cells = (Cell(first), *(Cell(text, record=position) for text in others))
        rows.append(Row(cells, comparison.facts.title + by))
    return Table(
        name="comparison",
        title="Systems compared pair by pair",
        columns=(
            Column("Systems", "left"), Column("n"), Column("Means"), Column("Difference"), Column("95 % CI"),
            Column("p"), Column("p corrected"), Column("Effect [95 % CI]", "left"),
        ),
        rows=tuple(rows),
        notes=_notes(comparisons),
        records=tuple(_record(comparison, doubled) for comparison in comparisons),
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
        notes.append(f"{method}: {counted(len(members), 'comparison')} ({reasons}).{sizes}")
    notes += _corrections(comparisons)
    notes.append(
        "Difference: mean of the first system minus mean of the second, with a t interval "
        "(of paired differences where cases pair, else Welch's)."
    )
    alone = sum(c.alone_a + c.alone_b for c in comparisons)
    if alone:
        notes.append(
            f"{alone} values had no partner on their case and were left out; the CSV has them by comparison."
        )
    for reason in dict.fromkeys(c.test.missing for c in comparisons if c.test.p is None):
        count = sum(c.test.p is None and c.test.missing == reason for c in comparisons)
        notes.append(f"{counted(count, 'comparison')} without p: {reason}.")
    return tuple(notes)


def _record(comparison: Comparison, several: Collection[str]) -> Mapping[str, Any]:
    test, difference, effect = comparison.test, comparison.difference, comparison.test.effect
    return {
        "cell": cell_name(comparison.metric, comparison.raters, several, f"{comparison.a}-{comparison.b}"),
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
        "missing": test.missing or (effect.missing if effect else None),
    }


def overall_table(overall: Sequence[Overall]) -> Table:
    """The table of all systems at once, metric by metric."""
    doubled = several_raters({(overall_test.metric, overall_test.raters) for overall_test in overall})
    rows, records = [], []
    for overall_test in overall:
        test = overall_test.test
        size = f"{test.name} {decimal(test.estimate)}" if test.estimate is not None else DASH
        cells = (overall_test.facts.title, rater_words(overall_test.raters), str(test.n), number(test.statistic),
                 p_value(test.p), p_value(test.p_adjusted), size)  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "cell": cell_name(overall_test.metric, overall_test.raters, doubled),
                "metric": overall_test.metric,
                "raters": overall_test.raters,
                "systems": ", ".join(overall_test.systems),
                "paired": overall_test.paired,
                "why": overall_test.why,
                "n": test.n,
                "dropped": test.dropped,
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
    notes += _corrections(overall)
    notes += [
        f"{DASH}: {reason}." for reason in dict.fromkeys(o.test.missing for o in overall if o.test.missing)
    ]
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


def _corrections(tested: Sequence[Comparison] | Sequence[Overall]) -> list[str]:
    """Which correction was made in which families; only the size of the families where they are many."""
    families = dict.fromkeys(
        (comparison.test.correction, comparison.test.family, comparison.test.family_size)
        for comparison in tested
    )
    if len(families) > 3:
        sizes = sorted({size or 0 for _, _, size in families})
        correction = next(iter(families))[0]
        return [f"p corrected by {CORRECTION_WORDS[correction]} within {len(families)} families of {sizes[0]} to "
                f"{sizes[-1]} tests, one a metric or heading."]  # fmt: skip
    return [f"p corrected by {CORRECTION_WORDS[correction]} within the family “{family}” of "
            f"{counted(size or 0, 'test')}."
            for correction, family, size in families]  # fmt: skip


class ComparisonOptions(Options):
    """Which comparisons a table shows.

    Attributes:
        metrics: the metrics; those that say something of quality unless named.
        test, family, correction, against: as for ``bedside compare``; ``against`` is its reference.
    """

    metrics: Headed = Field(default_factory=dict)
    test: Test = "auto"
    family: CorrectionFamily = "all"
    correction: Correction = "holm"
    against: str | None = None


def build(view: RatingsView, seed: int, options: ComparisonOptions) -> Table | None:
    """All pairs of systems; None where there are fewer than two systems or none of the metrics has a value."""
    if len(view.systems()) < 2:
        return None
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    comparisons = compare(
        view, metrics=metrics.rated or None, test=options.test, family=options.family,
        reference=options.against if options.against in view.systems() else None,
        correction=options.correction, seed=seed,
    ).pairs  # fmt: skip
    if not comparisons:
        return None
    table = comparison_table(comparisons)
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("comparison", "Systems compared pair by pair", 20, build, ComparisonOptions)
