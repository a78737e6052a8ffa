"""Is one system better than another? Ratings of two or more systems, compared metric by metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import polars as pl

from bedside.analysis.choices import (
    CORRECTION_FAMILIES,
    CORRECTIONS,
    TESTS,
    Correction,
    CorrectionFamily,
    Test,
)
from bedside.analysis.ratings_view import PEOPLE, MetricFacts, MetricRatings, RatingsView
from bedside.analysis.selection import by_raters, chosen_systems, quality_metrics
from bedside.stats.result import Result
from bedside.support.errors import DataError
from bedside.support.registry import nearest

_PAIRED = frozenset(("wilcoxon", "permutation", "t", "mcnemar", "friedman"))
#: Tests of several systems at once, and the test of two that follows them.
_THEN = {"friedman": "wilcoxon", "kruskal": "mannwhitney"}
_CORRECTION_NAMES = {"holm": "holm", "bonferroni": "bonferroni", "bh": "benjamini-hochberg"}


@dataclass(frozen=True, slots=True)
class Comparison(MetricRatings):
    """Two systems on one metric under one group of raters.

    Attributes:
        facts, raters: what was compared, by whom it was rated.
        a, b: the systems; differences are a − b.
        paired: whether cases were paired.
        why: why this test was taken.
        mean_a, mean_b: means of the values that went into the test; None where there were none.
        test: the test, its p corrected within its family; rank tests are without their shift.
        difference: the mean difference with its interval.
        alone_a, alone_b: cases (paired) that only one of the systems has, or whose value is missing in the other.
        differences: a − b case by case; None where cases were not paired.
    """

    raters: str
    a: str
    b: str
    paired: bool
    why: str
    mean_a: float | None
    mean_b: float | None
    test: Result
    difference: Result
    alone_a: int
    alone_b: int
    differences: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Overall(MetricRatings):
    """Three or more systems at once on one metric under one group of raters: is there any difference at all?

    Attributes:
        facts, raters, systems: what was compared.
        paired: whether cases were matched.
        why: why this test was taken.
        test: Friedman's, Cochran's or Kruskal and Wallis' test, its p corrected within its family.
    """

    raters: str
    systems: tuple[str, ...]
    paired: bool
    why: str
    test: Result


_Compared = TypeVar("_Compared", Comparison, Overall)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What :func:`compare` found: pairs of systems, and where there are three or more all of them at once."""

    pairs: tuple[Comparison, ...]
    overall: tuple[Overall, ...]


def compare(
    view: RatingsView,
    *,
    systems: Sequence[str] | None = None,
    reference: str | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    test: Test = "auto",
    family: CorrectionFamily = "all",
    correction: Correction = "holm",
    seed: int = 0,
) -> Comparisons:
    """Compare systems pair by pair on every metric of whole transcripts.

    Args:
        view: the ratings.
        systems: the systems; all unless named.
        reference: compare each system with this one only, not all pairs.
        metrics: metrics or patterns; unless named, those for which higher or lower is better and those that people
            or judges rated.
        raters: raters or patterns such as ``human:*``; all unless named.
        test: ``auto`` takes McNemar's exact test for values that are all 0 or 1 on paired cases, Wilcoxon's
            signed-rank test for other paired cases, and Mann–Whitney's where cases don't pair. ``friedman`` and
            ``kruskal`` test all systems at once and then the pairs by Wilcoxon's and Mann–Whitney's.
        family: which p-values are corrected together: ``all``, those of one ``metric``, or those of metrics under
            one heading (``level``). Tests of all systems at once are families of their own.
        correction: ``holm``, ``bonferroni`` or ``bh`` (Benjamini–Hochberg).
        seed: of permutations.

    Raises:
        DataError: fewer than two systems, an unknown one, or an option that is none of those named.
    """
    _check_choices(test, family, correction)
    view = by_raters(view, raters)
    chosen = chosen_systems(view, systems)
    if reference is not None and reference not in chosen:
        raise DataError(f"no system {reference!r}", where=view.name, todo=nearest(reference, chosen))
    if test in _THEN and len(chosen) < 3:
        raise DataError(f"{test} needs three systems", where="`test`", todo=f"use {_THEN[test]} for two")
    duos = list(combinations(chosen, 2))
    if reference is not None:
        duos = [(system, reference) for system in chosen if system != reference]
    names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
    values = view.transcript_values(names).filter(pl.col("system").is_in(chosen))
    matched: list[_Matched] = []
    overall: list[Overall] = []
    for (metric, raters), table in sorted(
        values.group_by("metric", "group"),
        key=lambda item: (names.index(str(item[0][0])), item[0][1] != PEOPLE, str(item[0][1])),
    ):
        if table["value"].null_count() == table.height:
            continue
        facts = view.facts(str(metric))
        by_system = {system: _by_case(table, system) for system in chosen}
        matched += [_match(facts, str(raters), (a, b), by_system, test) for a, b in duos]
        if len(chosen) > 2 and reference is None and (test == "auto" or test in _THEN):
            overall.append(_all_at_once(facts, str(raters), by_system, test))
    return Comparisons(
        tuple(_corrected(_tested(matched, seed), family, correction, "comparisons of two systems")),
        tuple(_corrected(overall, family, correction, "comparisons of all systems")),
    )


def _check_choices(test: str, family: str, correction: str) -> None:
    for argument, value, choices in (
        ("test", test, TESTS),
        ("family", family, CORRECTION_FAMILIES),
        ("correction", correction, CORRECTIONS),
    ):
        if value not in choices:
            raise DataError(
                f"{value!r} is not known", where=f"`{argument}`", todo="one of " + ", ".join(choices)
            )


@dataclass(frozen=True, slots=True)
class _Values:
    """A system's values of one metric: means by case, single values, and how many are missing."""

    cases: dict[str, float]
    single: np.ndarray[Any, Any]
    missing: int


def _by_case(table: pl.DataFrame, system: str) -> _Values:
    rows = table.filter(pl.col("system") == system)
    present = rows.drop_nulls("value")
    cases = present.drop_nulls("case_id").group_by("case_id").agg(pl.col("value").mean()).sort("case_id")
    return _Values(dict(cases.iter_rows()), present["value"].to_numpy(), rows.height - present.height)


@dataclass(frozen=True, slots=True)
class _Matched:
    """Values of two systems ready for a test."""

    facts: MetricFacts
    raters: str
    a: str
    b: str
    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    cases: tuple[str, ...]
    paired: bool
    test: str
    why: str
    alone: tuple[int, int]


def _match(
    facts: MetricFacts, raters: str, systems: tuple[str, str], by_system: dict[str, _Values], test: Test
) -> _Matched:
    """The values of two systems, paired by case where the test or most of the cases ask for it."""
    values_a, values_b = (by_system[system] for system in systems)
    shared = sorted(values_a.cases.keys() & values_b.cases.keys())
    smaller = min(len(values_a.cases), len(values_b.cases))
    paired = 2 * len(shared) > smaller if test == "auto" else test in _PAIRED
    if paired:
        x = np.array([values_a.cases[case] for case in shared])
        y = np.array([values_b.cases[case] for case in shared])
        alone = (len(values_a.cases) - len(shared), len(values_b.cases) - len(shared))
    else:
        x, y, alone = values_a.single, values_b.single, (0, 0)
    binary = _binary(x, y)
    if test == "auto":
        name = ("mcnemar" if binary else "wilcoxon") if paired else "mannwhitney"
        why = f"{len(shared)} cases of both systems pair" if paired else f"only {len(shared)} cases pair"
        why += ", values are 0 or 1" if name == "mcnemar" else ""
    else:
        name, why = _THEN.get(test, test), "as asked"
    if name == "mcnemar" and not binary and x.size:
        raise DataError(
            f"{facts.name} has values other than 0 and 1", where="`test=mcnemar`", todo="use another test"
        )
    return _Matched(
        facts=facts, raters=raters, a=systems[0], b=systems[1], x=x, y=y, cases=tuple(shared) if paired else (),
        paired=paired, test=name, why=why, alone=alone,
    )  # fmt: skip


def _binary(*values: np.ndarray[Any, Any]) -> bool:
    together = np.concatenate(values)
    return together.size > 0 and bool(np.isin(together, (0.0, 1.0)).all())


def _tested(matched: Sequence[_Matched], seed: int) -> list[Comparison]:
    """Each pair with its test."""
    permuted = _permuted(matched, seed)
    comparisons = []
    for position, (pair, difference) in enumerate(zip(matched, _differences(matched), strict=True)):
        x, y = pair.x, pair.y
        comparisons.append(
            Comparison(
                facts=pair.facts, raters=pair.raters, a=pair.a, b=pair.b, paired=pair.paired, why=pair.why,
                mean_a=float(x.mean()) if x.size else None,
                mean_b=float(y.mean()) if y.size else None,
                test=permuted.get(position) or _test_of(pair) or difference, difference=difference,
                alone_a=pair.alone[0], alone_b=pair.alone[1],
                differences=tuple((x - y).tolist()) if pair.paired else None,
            )
        )  # fmt: skip
    return comparisons


def _permuted(matched: Sequence[_Matched], seed: int) -> dict[int, Result]:
    """Permutation tests by position; those of one pair of systems on the same cases share their sign flips."""
    from bedside.stats import paired

    together: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    for position, pair in enumerate(matched):
        if pair.test == "permutation":
            together.setdefault((pair.a, pair.b, pair.cases), []).append(position)
    results: dict[int, Result] = {}
    for positions in together.values():
        x = np.column_stack([matched[position].x for position in positions])
        y = np.column_stack([matched[position].y for position in positions])
        results.update(zip(positions, paired.permutations(x, y, seed=seed), strict=True))
    return results


def _differences(matched: Sequence[_Matched]) -> list[Result]:
    """The mean difference of each pair, by a t test; those of paired cases are tested at once."""
    from bedside.stats import paired, unpaired

    of_cases = iter(paired.t_tests([(pair.x, pair.y) for pair in matched if pair.paired]))
    return [
        next(of_cases)
        if pair.paired
        else unpaired.t_test(pair.x, pair.y, equal_variances=pair.test == "student")
        for pair in matched
    ]


def _test_of(pair: _Matched) -> Result | None:
    """The test of this pair alone; None where it is that of the mean difference."""
    from bedside.stats import paired, unpaired

    if pair.test == "wilcoxon":
        return paired.wilcoxon(pair.x, pair.y, shift=False)
    if pair.test == "mcnemar":
        return paired.mcnemar(pair.x, pair.y, method="exact")
    if pair.test == "mannwhitney":
        return unpaired.mann_whitney(pair.x, pair.y, shift=False)
    return None


def _all_at_once(facts: MetricFacts, raters: str, by_system: dict[str, _Values], test: Test) -> Overall:
    from bedside.stats import several

    shared = sorted(set.intersection(*(set(values.cases) for values in by_system.values())))
    smaller = min(len(values.cases) for values in by_system.values())
    paired = 2 * len(shared) > smaller if test == "auto" else test == "friedman"
    why = "as asked" if test != "auto" else f"{len(shared)} cases of all systems match"
    if paired:
        table = np.array([[values.cases[case] for values in by_system.values()] for case in shared])
        table = table.reshape(len(shared), len(by_system))
        result = (
            several.cochran_q(table) if test == "auto" and _binary(table.ravel()) else several.friedman(table)
        )
    else:
        result = several.kruskal_wallis([values.single for values in by_system.values()])
    return Overall(facts, raters, tuple(by_system), paired, why, result)


def _corrected(
    compared: Sequence[_Compared], family: CorrectionFamily, correction: Correction, title: str
) -> list[_Compared]:
    """The same with p corrected within the families, each named by the title and of what metrics."""
    from bedside.stats import families

    def family_of(comparison: _Compared) -> str:
        if family == "all":
            return title
        facts = comparison.facts
        return f"{title} on {facts.title if family == 'metric' else facts.group.lower()}"

    names = [family_of(comparison) for comparison in compared]
    results = list(compared)
    for name in dict.fromkeys(names):
        members = [position for position, family_name in enumerate(names) if family_name == name]
        tests = families.family(
            [compared[position].test for position in members], name, method=_CORRECTION_NAMES[correction]
        )
        for position, test in zip(members, tests, strict=True):
            results[position] = replace(compared[position], test=test)
    return results


@dataclass(frozen=True, slots=True)
class SystemValues:
    """A system's values of one metric, with the case of each.

    Attributes:
        values: one for each transcript that has one.
        cases: a number for the case of each value, the same for all systems; −1 where it has none.
    """

    values: np.ndarray[Any, Any]
    cases: np.ndarray[Any, Any]

    def case_means(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The cases in order, and the mean of each one's values."""
        having = self.cases >= 0
        cases, places = np.unique(self.cases[having], return_inverse=True)
        counts = np.bincount(places, minlength=cases.size)
        return cases, np.bincount(places, self.values[having], minlength=cases.size) / np.maximum(counts, 1)


def means_differ(a: SystemValues, b: SystemValues) -> bool:
    """Whether the 95 % t interval of the difference leaves out 0: paired where cases pair, else Welch's."""
    from bedside.stats.intervals import paired_difference_interval, welch_interval

    (cases_a, means_a), (cases_b, means_b) = a.case_means(), b.case_means()
    _, at_a, at_b = np.intersect1d(cases_a, cases_b, assume_unique=True, return_indices=True)
    if 2 * at_a.size > min(cases_a.size, cases_b.size):
        interval = paired_difference_interval(means_a[at_a] - means_b[at_b])
    else:
        interval = welch_interval(a.values, b.values)
    return interval is not None and (interval.low > 0 or interval.high < 0)
