"""A human reference against the best AI of each metric, case by case: the metrics in which the reference is ahead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.groups import line_view
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.reports.columns import Column, Recorded, Table, record_of, recorded, table_of
from bedside.reports.measures import Headed, TableMeasure, named_metrics
from bedside.reports.number_text import DASH, CellNames, n_of, number, signed
from bedside.reports.results_notes import asterisks
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes, said_once
from bedside.reports.tables.comparison import ENDS, RECORD
from bedside.stats.families import family

_TITLE = "A human reference against the best AI"


class BestAIOptions(Options):
    """What is held against what.

    Attributes:
        metrics: the metrics; those that say something of quality unless named. Their values are compared case by case.
        reference: name or label of the system that others are held against, all its transcripts here together.
        by: the factor of settings: an AI in each of them is one to choose the best from.
        exact: metrics of zeros and ones that McNemar's exact test takes; of the others means are permuted.
    """

    metrics: Headed = Field(default_factory=dict)
    reference: str = "Human clinicians"
    by: str = "setting"
    exact: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _BestAI:
    """A metric of the reference (a) and of the best AI (b).

    Attributes:
        pair: the comparison, p corrected over all of the table.
        title, digits: of the metric, as the suite says.
        sign: 1 where higher is better, −1 where lower is.
        as_good: further AIs with the same mean.
    """

    pair: Comparison
    title: str
    digits: int
    sign: int
    as_good: tuple[str, ...]

    @property
    def is_ahead(self) -> bool:
        """Whether the reference is the better one."""
        return self.sign * (self.pair.difference.estimate or 0.0) > 0


def _interval(row: _BestAI) -> str:
    ends = row.pair.difference.interval
    return DASH if ends is None else f"[{signed(ends.low, row.digits)}, {signed(ends.high, row.digits)}]"


def _p(row: _BestAI) -> str:
    p = row.pair.test.p_adjusted
    return "< 0.0001" if p is not None and p < 0.00005 else number(p, 4)


COLUMNS = (
    Column("Metric", "left", text=lambda row: row.title),
    Column("Best AI", "left", text=lambda row: row.pair.b),
    Column("Ref", text=lambda row: number(row.pair.mean_a, row.digits)),
    Column("AI", text=lambda row: number(row.pair.mean_b, row.digits)),
    Column("Δ", text=lambda row: signed(row.pair.difference.estimate, row.digits)),
    Column("95% CI", text=_interval),
    Column("Holm p", text=_p, marks=lambda row: asterisks(row.pair.test.p_adjusted)),
    recorded(cell=lambda row: f"{row.pair.metric}@{row.pair.raters}", ahead="is_ahead"),
    Recorded(lambda row: {**RECORD.of(row.pair), **ENDS.of(row.pair)}),
)  # fmt: skip


def _best(
    lines: RatingsView, options: BestAIOptions, reference: str, names: Sequence[str]
) -> tuple[list[_BestAI], list[str]]:
    """The best AI of each metric and group of raters, by the cases that the reference has too; nothing tested yet.

    An AI with values on half of the reference's cases or fewer is none to choose from: its mean is one of other cases.

    Returns:
        The rows, and which AIs have too few cases, with their numbers and the metrics.
    """
    named = [measure for measures in options.metrics.values() for measure in measures]
    measures = {name: measure for measure in named for name in lines.metrics_like(measure.metric)}
    rivals: dict[tuple[str, str], list[Comparison]] = {}
    for pair in compare(lines, metrics=names, reference=reference, test="t").pairs:
        if pair.cases_a:
            rivals.setdefault((pair.metric, pair.raters), []).append(pair)
    titles = CellNames([pairs[0] for pairs in rivals.values()])
    rows, few = [], defaultdict[str, list[str]](list)
    for (metric, _), every in rivals.items():
        facts, measure = every[0].facts, measures.get(metric, TableMeasure(metric=metric))
        title = f"{measure.title or facts.title}{titles.raters(every[0])}"
        pairs = [pair for pair in every if 2 * pair.cases_a > pair.cases_b + pair.alone_b]
        for pair in every:
            if pair not in pairs:
                few[f"{pair.a} {counted(pair.cases_a, 'case')} of {pair.cases_b + pair.alone_b}"].append(title)
        if not pairs:
            continue
        sign = -1 if (measure.direction or facts.direction) == "lower" else 1
        means = [sign * (pair.mean_a or 0.0) for pair in pairs]
        best, *as_good = (pair for pair, mean in zip(pairs, means, strict=True) if np.isclose(mean, max(means)))
        digits = facts.digits if measure.digits is None else measure.digits
        rows.append(_BestAI(best, title, digits, sign, tuple(pair.a for pair in as_good)))
    return rows, [f"{ai} ({', '.join(of)})" if len(of) < len(rivals) else ai for ai, of in few.items()]


def _tested(lines: RatingsView, row: _BestAI, reference: str, options: BestAIOptions, seed: int) -> Comparison:
    """The reference minus the best AI, its interval from a bootstrap; by McNemar's test where that is asked for."""

    metric, systems = row.pair.metric, (reference, row.pair.a)
    tests: list[Comparison] = []
    with suppress(DataError):  # McNemar's, where transcripts or passes of a case were averaged
        for test in ("permutation", "mcnemar") if metric in options.exact else ("permutation",):
            pairs = compare(lines, systems=systems, metrics=[metric], test=test, bootstrap=True, seed=seed).pairs
            tests += [pair for pair in pairs if pair.raters == row.pair.raters]
    return replace(tests[-1], difference=tests[0].difference)


def _notes(
    rows: Sequence[_BestAI], ahead: Sequence[_BestAI], few: Sequence[str], exact: Collection[str]
) -> Iterator[str]:
    """What is compared, on which cases, how it is tested, and which metrics have no row."""
    yield f"Ref: {rows[0].pair.a}. Best AI: the best mean of that metric. Δ: Ref − AI."
    ways = dict.fromkeys(row.pair.difference.interval.method for row in rows if row.pair.difference.interval)
    yield f"Interval: {'; '.join(ways)}."
    counts = [n_of(row.pair.cases_a, row.pair.entered.of) for row in rows]
    by_title = ", ".join(f"{row.title} {count}" for row, count in zip(rows, counts, strict=True))
    yield f"Cases that both have: {by_title if len(set(counts)) > 1 else counts[0]}."
    if few:
        yield f"Not chosen from, with a value on half of the reference's cases or fewer: {'; '.join(few)}."
    tests = (f"{row.pair.test.method}{f' ({row.title})' * (row.pair.metric in exact)}" for row in rows)
    yield f"Tests: {'; '.join(said_once(tests))}."
    yield (
        f"p is corrected by Holm over the table's {counted(rows[0].pair.test.family_size or 0, 'test')}, with a row or "
        "without. * p < .05, ** p < .01, *** p < .001."
    )
    behind = ", ".join(row.title for row in rows if not row.is_ahead)
    yield f"Ref is ahead in {len(ahead)} of {counted(len(rows), 'metric')}.{f' Not in: {behind}.' if behind else ''}"
    yield "The best AI is chosen on the same cases, which flatters it a little."
    yield from (f"{row.title}: as good as the best AI is {', '.join(row.as_good)}." for row in ahead if row.as_good)


def build(view: RatingsView, seed: int, options: BestAIOptions) -> Table | None:
    """The metrics in which the reference is ahead; None where none of the metrics is rated.

    Raises:
        DataError: the reference has no transcript here, or is ahead in nothing.
    """
    named = named_metrics(view, options.metrics)
    if named.none_rated:
        return None
    lines = line_view(view, options.by, options.reference)
    reference = view.order.system_label(options.reference)
    rows, few = _best(lines, options, reference, named.rated or quality_metrics(view))
    if few and not rows:
        raise DataError(f"no AI has values on most cases of {reference}: {'; '.join(few)}", where=view.name)
    if not rows:
        raise DataError(f"no AI was rated on a case of {reference} by the same raters", where=view.name)
    pairs = [_tested(lines, row, reference, options, seed) for row in rows]
    tests = family([pair.test for pair in pairs], "a reference against the best AI, metrics tested")
    rows = [replace(row, pair=replace(pair, test=test)) for row, pair, test in zip(rows, pairs, tests, strict=True)]
    ahead = [row for row in rows if row.is_ahead]
    if not ahead:
        best = ", ".join(f"{row.title} {row.pair.b} on {counted(row.pair.cases_b, 'case')}" for row in rows)
        raise DataError(
            f"{reference} is ahead of the best AI in none of {counted(len(rows), 'metric')}: {best}", where=view.name
        )
    table = table_of(
        "best_ai", _TITLE, ahead, COLUMNS, notes=(*_notes(rows, ahead, few, options.exact), *absent_notes(named.absent))
    )
    others = [record_of(COLUMNS, row) for row in rows if not row.is_ahead]
    return options.finish(replace(table, records=(*table.records, *others)))


TABLE = TableKind("best_ai", _TITLE, 21, build, BestAIOptions, shown="named")
