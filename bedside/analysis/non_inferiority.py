"""Is a system no worse than another but for a margin, or alike? Tests on cases, with the verdict in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import polars as pl

from bedside.analysis.averaging import CasesThere, EnteredCases, cases_there, entered_cases, matched_rows, rated_cases
from bedside.analysis.case_values import CaseValues, case_values, most_cases_pair
from bedside.analysis.label_numbers import LabelNumbers, label_numbers
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.rater_effects import RaterDesign, owes_raters, rater_design
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import by_raters, chosen_systems, quality_metrics
from bedside.core.errors import DataError, one_of
from bedside.ratings.scales import Scale
from bedside.ratings.values import Direction
from bedside.stats.equivalence import (
    CASES,
    CASES_ONE_SIDED,
    CHANCE,
    CHANCE_ONE_SIDED,
    LEAST_CHANCE,
    NOT_ABOVE,
    NOT_BELOW,
)
from bedside.stats.result import Result

#: Level of each one-sided test; intervals have the level 1 − 2 · alpha.
ALPHA = 0.05
Verdict = Literal["equivalent", "not inferior", "inferior", "different", "not shown", "too few cases", "other raters"]


@dataclass(frozen=True, slots=True)
class Margin:
    """How much worse a system may be on a metric.

    Attributes:
        width: above 0, in the metric's unit.
        better: which way is better; None takes what is known of the metric.
    """

    width: float
    better: Direction | None = None


#: Margins by metric, or by a pattern such as ``percent_*``; under None the one of all metrics.
Margins = Mapping[str | None, Margin]


@dataclass(frozen=True, slots=True)
class MarginTest(MetricRatings):
    """One system held against another within a margin.

    Attributes:
        facts, raters: the metric, and by whom it was rated.
        a, b: the systems; the difference is a − b, and a is the one that is judged.
        margin: in the metric's unit.
        better: which way is better; ``none`` where neither is, and only equivalence can be asked.
        n_a, n_b, shared: cases of each system that were used, and those that both have.
        left_out: cases of either system that were left out, for they have no partner.
        entered: how many cases are there, and why some of them were not used.
        unmatched: transcripts' values of either system left out because the other has none at the same levels of the
            factors that vary within a case.
        caseless: transcripts used that name no case, each of which counts as a case of its own.
        mean_a, mean_b: means of the cases used; None where there are none.
        test: both one-sided tests, and the interval of the level 1 − 2 · alpha.
        verdict: ``equivalent``: the interval lies within ± margin. ``not inferior``: it lies above the margin on the
            worse side. ``inferior``: it lies beyond it. ``different``: it lies beyond the margin, and neither way is
            better. ``too few cases``: none of these, and were there no difference at all the chance to show it would
            be below a half. ``not shown``: none of these. ``other raters``: one of the first four, were it not that
            what is known of the systems' raters may make it.
        people: who rated, where people did; None else.
        yes: of two labels the one whose share is compared.
        ordered: labels in order, compared by their places from 0.
    """

    raters: str
    a: str
    b: str
    margin: float
    better: Direction
    n_a: int
    n_b: int
    shared: int
    left_out: int
    entered: EnteredCases
    unmatched: int
    caseless: int
    mean_a: float | None
    mean_b: float | None
    test: Result
    verdict: Verdict
    people: RaterDesign | None
    yes: str | None = None
    ordered: tuple[str, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether a is shown to be no worse than b by the margin."""
        return self.verdict in ("equivalent", "not inferior")

    @property
    def chance(self) -> float | None:
        """The chance to show it were there no difference at all; None where it can't be told."""
        return self.test.details.get(CHANCE if self.better == "none" else CHANCE_ONE_SIDED)

    @property
    def cases_needed(self) -> float | None:
        """How many cases would show it of systems that don't differ; None where it can't be told."""
        return self.test.details.get(CASES if self.better == "none" else CASES_ONE_SIDED)

    @property
    def p_of_verdict(self) -> float | None:
        """The p-value of the test that the verdict rests on; None where nothing is shown."""
        below, above = self.test.details.get(NOT_BELOW), self.test.details.get(NOT_ABOVE)
        if below is None or above is None or self.verdict in ("not shown", "too few cases", "other raters"):
            return None
        if self.verdict == "equivalent":
            return max(below, above)
        not_worse = below if self.better == "higher" else above
        if self.verdict == "not inferior":
            return not_worse
        return 1 - (max(below, above) if self.verdict == "different" else not_worse)


def read_margin(text: str) -> Margin:
    """A margin as typed: ``0.3``, or ``0.3:lower`` where lower is better.

    Raises:
        DataError: it is no number above 0, or the direction isn't known.
    """
    width, _, better = text.partition(":")
    try:
        number = float(width)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise DataError(f"{text!r} is no margin", where="`margin`", todo="give a number above 0, such as 0.3")
    if better not in ("", "higher", "lower"):
        raise DataError(f"{better!r} is no direction", where="`margin`", todo=f"write {width}:higher or {width}:lower")
    return Margin(number, {"higher": "higher", "lower": "lower"}.get(better))  # type: ignore[arg-type]


def margins_of(margins: float | str | Mapping[str, float | str]) -> Margins:
    """Margins as the library is given them: one for all metrics, or by metric; each a number or as typed."""
    if isinstance(margins, Mapping):
        return {name: read_margin(str(margin)) for name, margin in margins.items()}
    return {None: read_margin(str(margins))}


def within_margins(
    view: RatingsView,
    margins: Margins,
    *,
    systems: Sequence[str] | None = None,
    reference: str | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
) -> tuple[MarginTest, ...]:
    """Hold systems against each other within margins, on means of cases.

    Cases pair where more than half of the smaller system's cases have a partner; what has none is then left out.
    Values that are all 0 or 1 are compared as proportions. Where three or more people rated the same cases, their
    answer is for raters like them.

    Args:
        view: the ratings.
        margins: by metric or pattern; under None for all that are compared.
        systems: the systems; all unless named.
        reference: hold each system against this one only, not all pairs.
        metrics: metrics or patterns; unless named those of the margins, and with a margin for all those that say
            something of quality.
        raters: raters or patterns; all unless named.

    Raises:
        DataError: an unknown name, fewer than two systems, a margin that contradicts what is known of its metric, or
            no value of a metric that has one.
    """
    transcripts = view.transcripts()
    view = by_raters(view, raters)
    chosen = chosen_systems(view, systems)
    if reference is not None:
        one_of(reference, chosen, view.compared, DataError, where=view.name)
    duos = list(combinations(chosen, 2))
    if reference is not None:
        duos = [(system, reference) for system in chosen if system != reference]
    by_metric = _margins_by_metric(view, margins, metrics)
    names = list(by_metric)
    labels = label_numbers(view, names)
    view = labels.view
    values = view.transcript_values(by_metric)
    tests = []
    for (metric, group), table in sorted(
        values.group_by("metric", "group"),
        key=lambda item: (names.index(str(item[0][0])), item[0][1] != PEOPLE, str(item[0][1])),
    ):
        if table["value"].null_count() == table.height:
            continue
        facts = labels.facts(str(metric))
        better = _better(facts, by_metric[str(metric)])
        cases = cases_there(transcripts, table), rated_cases(table)
        for a, b in duos:
            tests.append(
                _margin_test(
                    view, facts, table, cases, raters=str(group), systems=(a, b),
                    margin=by_metric[str(metric)].width, better=better, labels=labels,
                )
            )  # fmt: skip
    if not tests:
        refused = "; ".join(f"{name}: {reason}" for name, reason in labels.refused.items())
        raise DataError(
            f"no metric with a margin has a value{f' ({refused})' if refused else ''}",
            where=view.name,
            todo="name another in `margin`",
        )
    return tuple(tests)


def _margins_by_metric(view: RatingsView, margins: Margins, metrics: Sequence[str] | None) -> dict[str, Margin]:
    """The margin of each metric that is compared, in the order of tables."""
    by_metric: dict[str, Margin] = {}
    named = [name for name in margins if name is not None]
    if None in margins:
        names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
        by_metric = dict.fromkeys(names, margins[None])
    for name in named:
        for metric in view.metrics([name]):
            by_metric[metric] = margins[name]
    wanted = by_metric.keys() if metrics is None else set(view.metrics(metrics))
    return {name: by_metric[name] for name in view.metrics() if name in by_metric and name in wanted}


def _better(facts: MetricFacts, margin: Margin) -> Direction:
    """Which way is better.

    Raises:
        DataError: the margin says otherwise than the metric.
    """
    if margin.better is None:
        return facts.direction
    if facts.direction not in ("none", margin.better):
        raise DataError(
            f"of {facts.title} {facts.direction} is better, and the margin says {margin.better}",
            where="`margin`", todo=f"leave :{margin.better} out",
        )  # fmt: skip
    return margin.better


def _margin_test(
    view: RatingsView,
    facts: MetricFacts,
    table: pl.DataFrame,
    cases: tuple[CasesThere, CasesThere],
    *,
    raters: str,
    systems: tuple[str, str],
    margin: float,
    better: Direction,
    labels: LabelNumbers,
) -> MarginTest:
    """Two systems on one metric, rated by one group."""
    matched = matched_rows(view, table, *systems)
    values_a, values_b = (case_values(matched.rows, system) for system in systems)
    shared = tuple(sorted(set(values_a.cases) & set(values_b.cases)))
    paired = most_cases_pair(len(shared), (values_a.n, values_b.n))
    left_out, of_both = 0, (values_a, values_b)
    if paired:
        left_out = values_a.n + values_b.n - 2 * len(shared)
        values_a, values_b = values_a.of(shared), values_b.of(shared)
    entered = entered_cases(
        *cases, systems, matched=of_both, entered=(values_a.cases, values_b.cases), paired=paired,
        once=bool(shared),
    )  # fmt: skip
    people = rater_design(view, facts.name, systems, paired=paired) if raters == PEOPLE else None
    if people is not None and people.difference is not None:
        from bedside.stats.equivalence import mean_difference

        test = mean_difference(people.difference, margin=margin, alpha=ALPHA)
    else:
        scale = view.scales.get(facts.name)
        test = _tested(values_a, values_b, shared=shared, paired=paired, margin=margin, scale=scale)
    verdict = _verdict(test, margin, better)
    if verdict not in ("not shown", "too few cases") and owes_raters(people, test, (-margin, margin)):
        verdict = "other raters"
    return MarginTest(
        facts=facts, raters=raters, a=systems[0], b=systems[1], margin=margin, better=better,
        n_a=values_a.n, n_b=values_b.n, shared=len(shared), left_out=left_out, entered=entered,
        unmatched=sum(matched.left_out), caseless=values_a.n_caseless + values_b.n_caseless,
        mean_a=float(values_a.values.mean()) if values_a.n else None,
        mean_b=float(values_b.values.mean()) if values_b.n else None,
        test=test, verdict=verdict, people=people,
        yes=labels.yes.get(facts.name), ordered=tuple(labels.ordered.get(facts.name, ())),
    )  # fmt: skip


def _tested(
    values_a: CaseValues,
    values_b: CaseValues,
    *,
    shared: tuple[str, ...],
    paired: bool,
    margin: float,
    scale: Scale | None,
) -> Result:
    from bedside.stats import equivalence, overlapping

    x, y = values_a.values, values_b.values
    single = values_a.is_single and values_b.is_single
    binary = single and margin < 1 and set(x.tolist()) | set(y.tolist()) <= {0.0, 1.0}
    if paired:
        if binary:
            return equivalence.paired_proportions(x, y, margin=margin, alpha=ALPHA)
        span = None
        if scale is not None and scale.ordered:
            low, high = scale.levels[0], scale.levels[-1]
            # Labels in order are places.
            span = float(len(scale.levels) - 1) if isinstance(low, str) else float(high) - low
        return equivalence.paired_means(x, y, margin=margin, alpha=ALPHA, span=span)
    if not shared:
        test = equivalence.unpaired_proportions if binary else equivalence.unpaired_means
        return test(x, y, margin=margin, alpha=ALPHA)
    own_a, own_b = (
        values.of(tuple(case for case in values.cases if case not in shared)).values for values in (values_a, values_b)
    )
    difference = overlapping.t_test(values_a.of(shared).values, values_b.of(shared).values, own_a, own_b)
    return equivalence.mean_difference(difference, margin=margin, alpha=ALPHA)


def _verdict(test: Result, margin: float, better: Direction) -> Verdict:
    """What the tests show, in a word or two."""
    below, above = test.details.get(NOT_BELOW), test.details.get(NOT_ABOVE)
    if test.interval is None or below is None or above is None:
        return "too few cases" if test.n < 4 else "not shown"
    if max(below, above) < ALPHA:
        return "equivalent"
    is_below, is_above = test.interval.high < -margin, test.interval.low > margin
    if better == "none" and (is_below or is_above):
        return "different"
    if (is_below, is_above)[better == "lower"] and better != "none":
        return "inferior"
    if (better == "higher" and below < ALPHA) or (better == "lower" and above < ALPHA):
        return "not inferior"
    chance = test.details.get(CHANCE if better == "none" else CHANCE_ONE_SIDED)
    return "too few cases" if chance is not None and chance < LEAST_CHANCE else "not shown"
