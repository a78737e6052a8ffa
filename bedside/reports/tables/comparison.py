"""Comparison: systems pair by pair, with interval, corrected p and effect size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from pydantic import Field

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.analysis.comparison import Comparison, Comparisons, OrderedEffect, Overall, compare
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.reports.columns import recorded, table_of
from bedside.reports.comparison_notes import COMPARISON_NOTES, LEVEL, correction_notes, is_of_ranks, left_out_notes
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import Note, note
from bedside.reports.number_text import (
    DASH,
    CellNames,
    between,
    bounded_record,
    cases_words,
    corrected_record,
    decimal,
    finite,
    n_of,
    number,
    p_value,
    percent_over,
    plain_words,
    rater_words,
    signed,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes, preferences_apart
from bedside.stats.ordinal_mixed import BY_CASE, BY_RATER, CASES, RATERS
from bedside.stats.result import Result


def _compared(comparison: Comparison, *, order: StudyOrder) -> str:
    return f"{order.system_label(comparison.a)} − {order.system_label(comparison.b)}"


def _cases(comparison: Comparison) -> str:
    return cases_words(comparison.entered, comparison.cases_a, comparison.cases_b, comparison.shared,
                       paired=comparison.paired)  # fmt: skip


def _effect(comparison: Comparison) -> str:
    effect = comparison.test.effect
    if effect is None or effect.estimate is None:
        return DASH
    interval = effect.interval
    return decimal(effect.estimate) + (f" {between(interval.low, interval.high)}" if interval is not None else "")


def _relative(comparison: Comparison) -> float | None:
    return percent_over(comparison.mean_a, comparison.mean_b)


def _estimate(result: Result, comparison: Comparison) -> str:
    """An estimate with its interval; a round bracket at an open end."""
    digits, interval = comparison.facts.digits, result.interval
    estimate = number(result.estimate, digits)
    if interval is None:
        few = min(comparison.cases_a, comparison.cases_b) < 2 or "too few" in (result.missing or "")
        lacking = few and comparison.at_every_look and result.estimate is not None
        return f"{estimate} (too few cases)" if lacking else estimate
    low = "−∞" if math.isinf(interval.low) else number(interval.low, digits)
    high = "∞" if math.isinf(interval.high) else number(interval.high, digits)
    return f"{estimate} {'(' if interval.low_open else '['}{low}, {high}{')' if interval.high_open else ']'}"


def _ends(comparison: Comparison) -> dict[str, Any]:
    """The interval and the effect, as records have them."""
    test, difference = comparison.test, comparison.difference
    interval, effect = test.interval, test.effect
    return {
        **bounded_record("difference", difference),
        "difference_method": difference.interval.method if difference.interval else difference.missing,
        "method": test.method, "statistic": test.statistic, "estimated": test.name, "estimate": test.estimate,
        "low": finite(interval.low) if interval else None, "high": finite(interval.high) if interval else None,
        "low_open": interval.low_open if interval else None, "high_open": interval.high_open if interval else None,
        "level": interval.level if interval else None, "interval": interval.method if interval else None, "p": test.p,
        **corrected_record(test), "effect": effect.name if effect else None,
        "effect_estimate": effect.estimate if effect else None,
        "effect_low": effect.interval.low if effect and effect.interval else None,
        "effect_high": effect.interval.high if effect and effect.interval else None,
        "missing": test.missing or (effect.missing if effect else None),
    }  # fmt: skip


RECORD = recorded(
    "metric", "raters", "yes", "a", "b", "paired", "why", n="test.n", of="entered.of", cases_a="cases_a",
    cases_b="cases_b", of_a="entered.of_a", of_b="entered.of_b", no_value="entered.no_value",
    other_settings="entered.other_settings", no_partner="entered.no_partner",
    **{name: name for name in (
        "shared", "transcripts_a", "transcripts_b", "alone_a", "alone_b", "unmatched_a", "unmatched_b", "zeros",
        "ties", "mean_a", "mean_b",
    )},
)  # fmt: skip


ENDS = Recorded(_ends)


def comparison_table(
    comparisons: Sequence[Comparison],
    left_out: Mapping[str, str] = MappingProxyType({}),
    apart: Sequence[str] = (),
    order: StudyOrder = UNLISTED,
    relative: str | None = None,
) -> Table:
    """The table of comparisons already made.

    Args:
        comparisons: the comparisons.
        left_out: by metrics that could not be compared, why.
        apart: notes on what other tables show.
        order: has the labels of systems.
        relative: the first system of all pairs, whose mean over the other's a column shows, in per cent.
    """
    named = CellNames(comparisons)
    intervals = (pair.difference.interval for pair in comparisons)
    level = "95 %" if all(interval is None or interval.level == LEVEL for interval in intervals) else "adjusted"
    shift = Column(f"Shift [{level} CI]", text=lambda pair: _estimate(pair.test, pair) if is_of_ranks(pair) else DASH)
    over = Column(
        f"{order.system_label(relative or '')} over it, %",
        field="relative_change",
        value=_relative,
        text=lambda pair: signed(_relative(pair), 2),
        note="Over it: of means, in per cent of the other's.",
    )
    columns: tuple[Column | Recorded, ...] = (
        recorded(cell=lambda pair: named(pair, f"{pair.a}-{pair.b}")),
        RECORD,
        ENDS,
        Column("Systems", "left", text=partial(_compared, order=order), brief=True),
        Column("Cases", text=_cases, brief=True),
        Column("Means", text=lambda pair: ", ".join(number(m, pair.facts.digits) for m in (pair.mean_a, pair.mean_b))),
        Column(f"Difference [{level} CI]", text=lambda pair: _estimate(pair.difference, pair), brief=True),
        *([over] if relative is not None else []),
        *([shift] if any(map(is_of_ranks, comparisons)) else []),
        Column("p", text=lambda pair: p_value(pair.test.p)),
        Column("p corrected", text=lambda pair: p_value(pair.test.p_adjusted), brief=True),
        Column("Effect [95 % CI]", "left", text=_effect),
    )
    notes: tuple[Note | str, ...] = (*COMPARISON_NOTES, *left_out_notes(left_out), *apart)
    return table_of("comparison", "Systems compared pair by pair", comparisons, columns, group=named.title, notes=notes)


OVERALL_COLUMNS = (
    Column("Metric", "left", text=lambda each: each.facts.title),
    Column("Rated by", "left", text=lambda each: rater_words(each.raters)),
    Column("n", text=lambda each: n_of(each.test.n, each.of)),
    Column("Statistic", text=lambda each: number(each.test.statistic)),
    Column("p", value="test", text=lambda each: p_value(each.test.p)),
    Column("p corrected", text=lambda each: p_value(each.test.p_adjusted)),
    Column("Effect", "left",
           text=lambda each: DASH if each.test.estimate is None else f"{each.test.name} {decimal(each.test.estimate)}"),
    recorded(
        "metric", "raters", systems=lambda each: ", ".join(each.systems), paired="paired", why="why",
        raters_like=lambda each: each.raters_like or None, n="test.n", of="of", dropped="test.dropped",
        left_out="left_out", method="test.method", statistic="test.statistic", p="test.p",
    ),
    Recorded(lambda each: corrected_record(each.test)),
    recorded(effect="test.name", effect_estimate="test.estimate", missing="test.missing"),
)  # fmt: skip


@note("overall.method", "Statistic", "p")
def _methods(overall: Sequence[Overall]) -> Iterator[str]:
    yield from (f"{method}." for method in dict.fromkeys(each.test.method for each in overall))


@note("overall.raters")
def _raters_like(overall: Sequence[Overall]) -> Iterator[str]:
    for count in dict.fromkeys(each.raters_like for each in overall if each.raters_like):
        titles = ", ".join(each.facts.title for each in overall if each.raters_like == count)
        yield f"People ({titles}): the answer is about raters like these {count}. Cases and raters are both drawn."


@note("overall.left out", "n")
def _left_out(overall: Sequence[Overall]) -> Iterator[str]:
    most = max(each.left_out for each in overall)
    if most:
        yield f"Cases that not all systems have a value of are left out (at most {counted(most, 'case')})."


def overall_table(overall: Sequence[Overall]) -> Table:
    """The table of all systems at once, metric by metric."""
    named = CellNames(overall)
    return table_of(
        "overall", f"All systems at once: {', '.join(overall[0].systems)}", overall,
        (recorded(cell=named), *OVERALL_COLUMNS),
        notes=(_methods, Note("overall.correction", correction_notes, ("p corrected",)), _raters_like, _left_out),
    )  # fmt: skip


_ODDS = "Odds ratio [95 % CI]"
ORDERED_NOTES = (
    Note("ordered.odds", "Odds ratio: how many times the first system's odds of a higher level are the second's, the "
         "same at each level (cumulative link mixed model).", (_ODDS,)),
    Note("ordered.raters", "With three raters or more it is about cases and raters like these; with fewer, about these "
         "raters.", (_ODDS,)),
    Note("ordered.p", "p is by the quasi-F of cases × raters in logits, and not corrected.", ("p",)),
    Note("ordered.spread", "SD: of raters and of cases within a system, in logits.", ("SD of raters", "SD of cases")),
)  # fmt: skip


def ordered_table(effects: Sequence[OrderedEffect], order: StudyOrder) -> Table:
    """The table of odds ratios on ordered scales; ``order`` has the labels of systems."""
    named = CellNames(effects)
    return table_of(
        "ordered", "Ordered scales: odds ratio of a higher level", effects,
        (
            recorded("metric", "raters", "a", "b", cell=lambda effect: named(effect, f"{effect.a}-{effect.b}")),
            Column("Systems", "left", text=partial(_compared, order=order), brief=True),
            Column("Cases", field="cases", brief=True),
            Column("Raters", field="people", brief=True),
            Column("Ratings", field="ratings", value="odds_ratio.n"),
            Column(_ODDS, field="odds_ratio", form=plain_words, brief=True),
            Column("p", value="odds_ratio", text=lambda effect: p_value(effect.odds_ratio.p), brief=True),
            Column("SD of raters", field="sd_raters", value=lambda effect: effect.spread(RATERS), form=number,
                   dash="needs three raters or more, and an odds ratio"),
            Column("SD of cases", field="sd_cases", value=lambda effect: effect.spread(CASES), form=number,
                   dash="needs an odds ratio"),
            recorded(p="odds_ratio.p", statistic="odds_ratio.statistic", method="odds_ratio.method",
                     missing="odds_ratio.missing",
                     sd_raters_by_system=lambda effect: effect.odds_ratio.details.get(BY_RATER),
                     sd_cases_by_system=lambda effect: effect.odds_ratio.details.get(BY_CASE)),
        ),
        group=named.title, notes=ORDERED_NOTES,
    )  # fmt: skip


class ComparisonOptions(Options):
    """Which comparisons a table shows.

    Attributes:
        metrics: the metrics; those that say something of quality unless named.
        test, family, correction, against: as for ``bedside compare``; ``against`` is its reference.
        bootstrap: whether intervals of permutation tests are those of a bootstrap over cases.
        relative: put ``against`` first, and say by how many per cent its mean lies over the other system's.
    """

    metrics: Headed = Field(default_factory=dict)
    test: Test = "auto"
    family: CorrectionFamily = "all"
    correction: Correction = "holm"
    against: str | None = None
    bootstrap: bool = False
    relative: bool = False


def comparisons_of(
    view: RatingsView, options: ComparisonOptions, seed: int, metrics: tuple[str, ...] = ()
) -> Comparisons:
    """The comparisons that a table shows and a page tells of, computed once for both; on all metrics unless named."""
    asked = options.model_dump(include={"test", "family", "correction", "bootstrap"})
    asked |= {"reference": options.against, "reference_first": options.relative}
    return view.once(
        ("comparisons", metrics, seed, *asked.values()),
        lambda: compare(view, metrics=metrics or None, seed=seed, **asked),
    )


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
    comparisons = comparisons_of(view, options, seed, metrics.rated)
    pairs = [pair for pair in comparisons.pairs if against is None or not pair.is_one_sided]
    if not pairs:
        return None
    table = comparison_table(pairs, comparisons.left_out, preferences_apart(view), view.order,
                             against if options.relative else None)  # fmt: skip
    return options.finish(table, (*_one_sided_notes(comparisons.pairs, pairs), *absent_notes(metrics.absent)))


def _one_sided_notes(pairs: Sequence[Comparison], shown: Sequence[Comparison]) -> list[str]:
    """How many comparisons are left out since their raters rated one of the systems only."""
    count = len(pairs) - len(shown)
    if not count:
        return []
    raters = dict.fromkeys(rater_words(pair.raters) for pair in pairs if pair.is_one_sided)
    return [f"Left out: {counted(count, 'comparison')} by raters who rated one side only ({', '.join(raters)})."]


TABLE = TableKind("comparison", "Systems compared pair by pair", 20, build, ComparisonOptions, heading="Comparison")
