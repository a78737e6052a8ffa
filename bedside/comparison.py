"""Is one system better than another? Ratings of two or more systems, compared metric by metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl

from bedside.errors import DataError
from bedside.evaluation import PEOPLE, Evaluation, facts
from bedside.registry import nearest
from bedside.stats.results import Result

Test = Literal["auto", "wilcoxon", "permutation", "t", "mcnemar", "mannwhitney", "welch"]
Families = Literal["all", "metric", "level"]
Correction = Literal["holm", "bonferroni", "bh"]
TESTS: tuple[Test, ...] = get_args(Test)
FAMILIES: tuple[Families, ...] = get_args(Families)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

_PAIRED = frozenset(("wilcoxon", "permutation", "t", "mcnemar"))
_CORRECTION_NAMES = {"holm": "holm", "bonferroni": "bonferroni", "bh": "benjamini-hochberg"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on one metric under one group of raters.

    Attributes:
        metric, raters: what was compared, by whom it was rated.
        a, b: the systems; differences are a − b.
        paired: whether cases were paired.
        why: why this test was taken.
        mean_a, mean_b: means of the values that went into the test; None where there were none.
        test: the test, its p corrected within its family.
        difference: the mean difference with its interval.
        alone_a, alone_b: cases (paired) that only one of the systems has, or whose value is missing in the other.
    """

    metric: str
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


def compare(
    evaluation: Evaluation,
    *,
    systems: Sequence[str] | None = None,
    reference: str | None = None,
    metrics: Sequence[str] | None = None,
    test: Test = "auto",
    family: Families = "all",
    correction: Correction = "holm",
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare systems pair by pair on every metric of whole transcripts.

    Args:
        evaluation: the ratings.
        systems: the systems; all unless named.
        reference: compare each system with this one only, not all pairs.
        metrics: metrics or patterns; unless named, those for which higher or lower is better and those that people
            or judges rated.
        test: ``auto`` takes McNemar's exact test for values that are all 0 or 1 on paired cases, Wilcoxon's
            signed-rank test for other paired cases, and Mann–Whitney's where cases don't pair.
        family: which p-values are corrected together: ``all``, those of one ``metric``, or those of metrics under
            one heading (``level``).
        correction: ``holm``, ``bonferroni`` or ``bh`` (Benjamini–Hochberg).
        seed: of permutations.

    Raises:
        DataError: fewer than two systems, an unknown one, or an option that is none of those named.
    """
    for option, value, known in (
        ("--test", test, TESTS), ("--family", family, FAMILIES), ("--correction", correction, CORRECTIONS)
    ):  # fmt: skip
        if value not in known:
            raise DataError(f"{value!r} is not known", where=option, todo="one of " + ", ".join(known))
    chosen = _systems(evaluation, systems)
    if reference is not None and reference not in chosen:
        raise DataError(f"no system {reference!r}", where=evaluation.name, todo=nearest(reference, chosen))
    pairs = (
        [(system, reference) for system in chosen if system != reference]
        if reference is not None
        else list(combinations(chosen, 2))
    )
    names = evaluation.metrics(metrics) if metrics is not None else judged(evaluation)
    values = evaluation.transcript_values(names).filter(pl.col("system").is_in(chosen))
    found: list[Comparison] = []
    for (metric, raters), table in sorted(
        values.group_by("metric", "group"),
        key=lambda item: (names.index(str(item[0][0])), item[0][1] != PEOPLE, str(item[0][1])),
    ):
        if table["value"].null_count() == table.height:
            continue
        by_system = {system: _by_case(table, system) for system in chosen}
        found += [
            _compare(str(metric), str(raters), a, b, by_system[a], by_system[b], test, seed) for a, b in pairs
        ]
    return _corrected(found, family, correction)


def judged(evaluation: Evaluation) -> list[str]:
    """Metrics that say something of quality: with a better direction, or rated by people or judges."""
    rated = evaluation.ratings.filter(~pl.col("rater").str.starts_with("algorithm:"))["metric"].unique()
    by_hand = {name for name in rated if not facts(name).known}
    return [name for name in evaluation.metrics() if facts(name).direction != "none" or name in by_hand]


def _systems(evaluation: Evaluation, systems: Sequence[str] | None) -> list[str]:
    known = evaluation.systems()
    chosen = list(dict.fromkeys(systems)) if systems is not None else known
    for system in chosen:
        if system not in known:
            raise DataError(f"no system {system!r}", where=evaluation.name, todo=nearest(system, known))
    if len(chosen) < 2:
        raise DataError(
            "a comparison needs two systems" + (f", there is {chosen[0]!r}" if chosen else "; none is named"),
            where=evaluation.name,
            todo="score transcripts of two systems: see the docs on transcripts for how to name them",
        )
    return chosen


@dataclass(frozen=True, slots=True)
class _Values:
    """A system's values of one metric: means by case, single values, and how many are missing."""

    cases: dict[str, float]
    single: np.ndarray
    missing: int


def _by_case(table: pl.DataFrame, system: str) -> _Values:
    rows = table.filter(pl.col("system") == system)
    there = rows.drop_nulls("value")
    cases = there.drop_nulls("case_id").group_by("case_id").agg(pl.col("value").mean()).sort("case_id")
    return _Values(dict(cases.iter_rows()), there["value"].to_numpy(), rows.height - there.height)


def _compare(
    metric: str, raters: str, a: str, b: str, values_a: _Values, values_b: _Values, test: Test, seed: int
) -> Comparison:
    from bedside.stats import paired, unpaired

    shared = sorted(values_a.cases.keys() & values_b.cases.keys())
    smaller = min(len(values_a.cases), len(values_b.cases))
    pair_up = 2 * len(shared) > smaller if test == "auto" else test in _PAIRED
    if pair_up:
        x = np.array([values_a.cases[case] for case in shared])
        y = np.array([values_b.cases[case] for case in shared])
        alone = (len(values_a.cases) - len(shared), len(values_b.cases) - len(shared))
        difference = paired.t_test(x, y)
    else:
        x, y = values_a.single, values_b.single
        alone = (0, 0)
        difference = unpaired.t_test(x, y)
    binary = bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all()) and x.size > 0
    name: str = test
    if test == "auto":
        name = ("mcnemar" if binary else "wilcoxon") if pair_up else "mannwhitney"
        why = f"{len(shared)} cases of both systems pair" if pair_up else f"only {len(shared)} cases pair"
        why += ", values are 0 or 1" if name == "mcnemar" else ""
    else:
        why = "as asked"
    if name == "mcnemar" and not binary:
        raise DataError(
            f"{metric} has values other than 0 and 1", where="--test mcnemar", todo="use another test"
        )
    result = {
        "wilcoxon": lambda: paired.wilcoxon(x, y),
        "permutation": lambda: paired.permutation(x, y, seed=seed),
        "t": lambda: difference,
        "mcnemar": lambda: paired.mcnemar(x, y, method="exact"),
        "mannwhitney": lambda: unpaired.mann_whitney(x, y),
        "welch": lambda: difference,
    }[name]()
    return Comparison(
        metric=metric, raters=raters, a=a, b=b, paired=pair_up, why=why,
        mean_a=float(x.mean()) if x.size else None, mean_b=float(y.mean()) if y.size else None,
        test=result, difference=difference, alone_a=alone[0], alone_b=alone[1],
    )  # fmt: skip


def _corrected(found: list[Comparison], family: Families, correction: Correction) -> tuple[Comparison, ...]:
    from bedside.stats import families

    def name(comparison: Comparison) -> str:
        if family == "all":
            return "all comparisons"
        if family == "metric":
            return f"comparisons on {facts(comparison.metric).title}"
        return f"comparisons on {facts(comparison.metric).group.lower()}"

    results: list[Comparison] = list(found)
    for family_name in dict.fromkeys(map(name, found)):
        members = [position for position, comparison in enumerate(found) if name(comparison) == family_name]
        tests = families.family(
            [found[position].test for position in members], family_name, method=_CORRECTION_NAMES[correction]
        )
        for position, test in zip(members, tests, strict=True):
            results[position] = replace(found[position], test=test)
    return tuple(results)
