"""Two systems' values case by case, the test that fits them, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.analysis._label_numbers import LabelNumbers
from bedside.analysis.case_values import CaseValues, most_cases_pair
from bedside.analysis.choices import Alternative, Test
from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.rater_effects import RaterDesign
from bedside.core.errors import DataError
from bedside.core.plurals import counted
from bedside.stats.arrays import differences
from bedside.stats.result import Effect, Interval, Result

Values = npt.NDArray[np.float64]
PAIRED = frozenset(("wilcoxon", "permutation", "t", "mcnemar", "friedman"))
#: The quasi-F of cases × raters, which the design chooses.
CROSSED = "crossed"
#: Tests of several systems at once, and the test of two that follows them.
THEN = {"friedman": "wilcoxon", "kruskal": "mannwhitney"}
_NO_VALUES: Values = np.empty(0)


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Values of two systems ready for a test.

    Attributes:
        facts, raters: what is compared, by whom it was rated.
        arms: the two systems' values by case, only the cases that enter the test.
        x, y: values of the cases that are paired; without pairs, all values.
        only_x, only_y: values of the cases beside the pairs; empty unless cases are partly shared.
        test: the test's name.
        why: why it was taken.
        alone: the cases of each system that are left out.
        unmatched: transcripts' values of each system that the other has no counterpart to at the levels of a factor.
        yes: of labels of two levels, the one whose share is compared.
        ordered: of ordered labels, these in order.
        people: who rated, where people did, and their answer for raters like them; None else.
    """

    facts: MetricFacts
    raters: str
    systems: tuple[str, str]
    arms: tuple[CaseValues, CaseValues]
    x: Values
    y: Values
    only_x: Values
    only_y: Values
    test: str
    why: str
    alone: tuple[int, int]
    unmatched: tuple[int, int]
    yes: str | None
    ordered: tuple[str, ...]
    people: RaterDesign | None = None

    @property
    def paired(self) -> bool:
        """Whether every value is one of a pair."""
        return self.test in PAIRED or (self.test == CROSSED and self.arms[0].cases == self.arms[1].cases)

    @property
    def shared(self) -> int:
        """Cases that both systems have."""
        return len(set(self.arms[0].cases) & set(self.arms[1].cases))

    def zeros(self) -> int | None:
        """Pairs without a difference; None where cases aren't paired."""
        return int(self.x.size - np.count_nonzero(differences(self.x, self.y))) if self.paired else None

    def ties(self) -> int:
        """Differences other than zero whose size is another's too; of unpaired cases, values that are another's too."""
        values = np.concatenate([self.arms[0].values, self.arms[1].values])
        if self.paired:
            values = np.abs(differences(self.x, self.y))
            values = values[values > 0]
        counts = np.unique(values, return_counts=True)[1]
        return int(counts[counts > 1].sum())


def system_pair(
    facts: MetricFacts,
    raters: str,
    values: tuple[CaseValues, CaseValues],
    systems: tuple[str, str],
    *,
    test: Test,
    unmatched: tuple[int, int],
    labels: LabelNumbers,
    people: RaterDesign | None = None,
) -> SystemPair:
    """The values of two systems, paired as far as the test or the cases ask for it.

    Raises:
        DataError: a test of zeros and ones was asked for, and there are other values.
    """
    first, second = values
    shared = tuple(sorted(set(first.cases) & set(second.cases)))
    kind = _kind(test, len(shared), (first.n, second.n))
    arms = (first.of(shared), second.of(shared)) if kind == "paired" else (first, second)
    binary = _is_binary(arms[0].values, arms[1].values)
    name, why = _test_and_reason(test, kind, arms, len(shared), binary)
    if people is not None and people.difference is not None:
        if test == "auto":
            name, why = (
                CROSSED,
                f"{len(people.raters)} people rated the same cases, an answer for raters like them",
            )
        else:
            people = replace(people, difference=None, why="the test that was asked for averages raters first")
    if name in ("mcnemar", "fisher") and not binary and arms[0].n + arms[1].n:
        averaged = "" if all(arm.is_single for arm in arms) else ", its cases' transcripts being averaged"
        raise DataError(
            f"{facts.name} has values other than 0 and 1{averaged}",
            where=f"`test={name}`",
            todo="use another test",
        )
    parts = [(arm.values, _NO_VALUES) for arm in arms]
    if kind == "overlapping":
        parts = [_apart(arm, shared) for arm in arms]
    (x, only_x), (y, only_y) = parts
    return SystemPair(
        facts=facts, raters=raters, systems=systems, arms=arms, x=x, y=y, only_x=only_x, only_y=only_y, test=name,
        why=why, alone=(first.n - arms[0].n, second.n - arms[1].n), unmatched=unmatched,
        yes=labels.yes.get(facts.name), ordered=tuple(labels.ordered.get(facts.name, ())), people=people,
    )  # fmt: skip


def _kind(test: Test, shared: int, cases: tuple[int, int]) -> str:
    """Whether cases are ``paired``, ``unpaired``, or pairs and others taken together (``overlapping``)."""
    if test != "auto":
        return "paired" if test in PAIRED else "overlapping" if test == "overlapping" else "unpaired"
    if not shared:
        return "unpaired"
    return "paired" if most_cases_pair(shared, cases) else "overlapping"


def _apart(arm: CaseValues, shared: tuple[str, ...]) -> tuple[Values, Values]:
    """The values of the shared cases, and those of the others."""
    others = tuple(case for case in arm.cases if case not in set(shared))
    return arm.of(shared).values, arm.of(others).values


def _test_and_reason(
    test: Test, kind: str, arms: tuple[CaseValues, CaseValues], shared: int, binary: bool
) -> tuple[str, str]:
    """The name of the test, and why it is taken."""
    if test != "auto":
        name = THEN.get(test, test)
        if kind == "unpaired" and shared:
            return name, f"as asked, though {shared} cases are shared and would pair"
        return name, "as asked"
    if kind == "overlapping":
        fewest = min(arm.n for arm in arms)
        return "overlapping", f"only {shared} of {fewest} cases pair, which count as pairs beside the others"
    why = (
        f"{counted(shared, 'case')} of both systems pair{'s' if shared == 1 else ''}"
        if kind == "paired"
        else "no cases pair"
    )
    plain, of_binary = ("wilcoxon", "mcnemar") if kind == "paired" else ("mannwhitney", "fisher")
    if not binary:
        return plain, why
    if all(arm.is_single for arm in arms):
        return of_binary, f"{why}, values are 0 or 1"
    return plain, f"{why}, values of 0 or 1 are averaged over the transcripts of a case"


def _is_binary(*values: Values) -> bool:
    together = np.concatenate(values)
    return together.size > 0 and bool(np.isin(together, (0.0, 1.0)).all())


def tested(
    pairs: Sequence[SystemPair],
    levels: Sequence[float],
    *,
    alternative: Alternative,
    seed: int,
    bootstrap: bool,
) -> list[tuple[Result, Result]]:
    """For each pair its test, with the interval of the same method, and the mean difference by a t test.

    Args:
        pairs: the values.
        levels: nominal coverage of each pair's interval; of a one-sided test it has one end, and the other is infinite.
        alternative: of the tests; the mean differences' intervals are two-sided at 95 %.
        seed: of permutations, and of bootstraps.
        bootstrap: whether intervals of permutation tests are those of a bootstrap over cases.
    """
    # A two-sided interval leaves out at each end what a one-sided one leaves out at its only end.
    both = [level if alternative == "two-sided" else 2 * level - 1 for level in levels]
    permuted = _permuted(pairs, both, alternative, seed, bootstrap)
    results = []
    for position, (pair, difference) in enumerate(zip(pairs, _mean_differences(pairs), strict=True)):
        test = permuted.get(position) or _test_of(pair, alternative, both[position])
        if test.interval is not None:
            bounds = _one_sided(test.interval, levels[position], alternative)
            test = replace(test, interval=_open_where_rejected(bounds, test.p))
        results.append((replace(test, effect=_effect_of(pair, test)), difference))
    return results


def _one_sided(interval: Interval, level: float, alternative: Alternative) -> Interval:
    if alternative == "two-sided":
        return interval
    method = f"{interval.method}, one-sided"
    if alternative == "greater":
        return Interval(interval.low, np.inf, level, method, high_open=True)
    return Interval(-np.inf, interval.high, level, method, low_open=True)


def _open_where_rejected(interval: Interval, p: float | None) -> Interval:
    """The same, open at an end of 0 that the test rejects: where values have few levels, 0 itself may be the end."""
    if p is None or p > 1 - interval.level + 1e-12:
        return interval
    return replace(
        interval,
        low_open=interval.low_open or interval.low == 0,
        high_open=interval.high_open or interval.high == 0,
    )


def _effect_of(pair: SystemPair, test: Result) -> Effect | None:
    """The effect with its two-sided 95 % interval, whatever the interval of the test is."""
    from bedside.stats import effects

    if test.options.get("level") == 0.95 or test.effect is None:
        return test.effect
    match pair.test:
        case "wilcoxon":
            return effects.rank_biserial(pair.x, pair.y)
        case "mannwhitney":
            return effects.cliffs_delta(pair.x, pair.y)
        case "permutation" | "t":
            return effects.cohens_dz(pair.x, pair.y)
        case _:
            return _test_of(pair, "two-sided", 0.95).effect


def _permuted(
    pairs: Sequence[SystemPair],
    levels: Sequence[float],
    alternative: Alternative,
    seed: int,
    bootstrap: bool,
) -> dict[int, Result]:
    """Permutation tests by position; those of one pair of systems on the same cases share their sign flips."""
    from bedside.stats import paired

    together: dict[tuple[Any, ...], list[int]] = {}
    for position, pair in enumerate(pairs):
        if pair.test == "permutation":
            together.setdefault((pair.systems, pair.arms[0].cases, levels[position]), []).append(position)
    results: dict[int, Result] = {}
    for (_, _, level), positions in together.items():
        x = np.column_stack([pairs[position].x for position in positions])
        y = np.column_stack([pairs[position].y for position in positions])
        permuted = paired.permutations(
            x, y, interval="bca" if bootstrap else "inverted", alternative=alternative, level=level, seed=seed
        )
        results.update(zip(positions, permuted, strict=True))
    return results


def _mean_differences(pairs: Sequence[SystemPair]) -> list[Result]:
    """The mean difference of each pair, by a t test; those of paired cases are tested at once."""
    from bedside.stats import overlapping, paired, unpaired

    of_cases = iter(
        paired.t_tests([(pair.x, pair.y) for pair in pairs if pair.paired and pair.test != CROSSED])
    )

    def difference(pair: SystemPair) -> Result:
        if pair.test == CROSSED:
            return _crossed(pair)
        if pair.paired:
            return next(of_cases)
        if pair.test == "overlapping":
            return overlapping.t_test(pair.x, pair.y, pair.only_x, pair.only_y)
        return unpaired.t_test(pair.x, pair.y, equal_variances=pair.test == "student")

    return [difference(pair) for pair in pairs]


def _crossed(pair: SystemPair, alternative: Alternative = "two-sided", level: float = 0.95) -> Result:
    """The quasi-F of a pair whose people's design has one."""
    from bedside.stats.crossed_raters import asked_for

    if pair.people is None or pair.people.difference is None:
        raise ValueError("a pair without a design of crossed raters")
    return asked_for(pair.people.difference, alternative=alternative, level=level)


def _test_of(pair: SystemPair, alternative: Alternative, level: float) -> Result:
    """The test of this pair alone, with the interval that inverts it."""
    from bedside.stats import overlapping, paired, unpaired

    x, y = pair.x, pair.y
    match pair.test:
        case "wilcoxon":
            return paired.wilcoxon(x, y, alternative=alternative, level=level)
        case "crossed":
            return _crossed(pair, alternative, level)
        case "mcnemar":
            return paired.mcnemar(x, y, interval="melded", alternative=alternative, level=level)
        case "mannwhitney":
            return unpaired.mann_whitney(x, y, alternative=alternative, level=level)
        case "fisher":
            table = [[int((values == level_of).sum()) for level_of in (1, 0)] for values in (x, y)]
            return unpaired.fisher_exact(table, sides="central", alternative=alternative, level=level)
        case "overlapping":
            return overlapping.t_test(x, y, pair.only_x, pair.only_y, alternative=alternative, level=level)
        case "welch" | "student":
            return unpaired.t_test(
                x, y, equal_variances=pair.test == "student", alternative=alternative, level=level
            )
        case _:
            return paired.t_test(x, y, alternative=alternative, level=level)
