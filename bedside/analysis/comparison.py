"""Is one system better than another? Ratings of two or more systems, compared metric by metric, case by case."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.averaging import (
    EnteredCases,
    cases_there,
    entered_cases,
    matched_rows,
    planned_cases,
    rated_cases,
)
from bedside.analysis.case_values import CaseValues, case_values, most_cases_pair, own_case
from bedside.analysis.choices import (
    ALTERNATIVES,
    CORRECTION_FAMILIES,
    CORRECTIONS,
    TESTS,
    Alternative,
    Correction,
    CorrectionFamily,
    Test,
    check_at_looks,
)
from bedside.analysis.label_numbers import LabelNumbers, label_numbers
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.rater_effects import RaterDesign, rater_design
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import NothingError, by_raters, chosen_systems, quality_metrics
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.ratings.names import TRANSCRIPT
from bedside.stats.arrays import differences
from bedside.stats.result import Effect, Interval, Result

# -- Two systems' values case by case -------------------------------------------------------------------

Values = npt.NDArray[np.float64]
PAIRED = frozenset(("wilcoxon", "permutation", "permutation-mid-p", "t", "mcnemar", "mcnemar-mid-p", "friedman"))
#: The quasi-F of cases × raters, which the design chooses.
CROSSED = "crossed"
#: Tests of several systems at once, and the test of two that follows them.
THEN = {"friedman": "wilcoxon", "kruskal": "mannwhitney"}
#: Sign flips or splits of a permutation test, and for each test where there are many, so that corrected p can be small.
_FLIPS, _FLIPS_A_TEST = 10_000, 50
#: The tests of means, by how cases pair: what intervals that hold at every look stand beside.
_OF_MEANS = {"paired": "t", "unpaired": "welch", "overlapping": "overlapping"}
_NO_VALUES: Values = np.empty(0)


class Look(NamedTuple):
    """What a look at a study that runs needs to know ahead: the cases of each system that people are to rate, 0 where
    no plan says it; and the least and the greatest value of the metric, None where one isn't known."""

    planned: tuple[int, int]
    ends: tuple[float, float] | None


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
        look: where intervals hold at every look, what they need; else None.
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
    look: Look | None = None

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
    look: Look | None = None,
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
    if look is not None:
        name = _OF_MEANS[kind]
    if people is not None and people.difference is not None:
        if look is not None:
            people = replace(people, difference=None, why="at a look, raters are averaged first")
        elif test == "auto":
            what = "some of the cases each" if people.has_gaps else "the same cases"
            name, why = (CROSSED, f"{len(people.raters)} people rated {what}, an answer for raters like them")
        else:
            people = replace(people, difference=None, why="the test that was asked for averages raters first")
    if name.startswith(("mcnemar", "fisher")) and not binary and arms[0].n + arms[1].n:
        averaged = "" if all(arm.is_single for arm in arms) else ", its cases' transcripts being averaged"
        raise DataError(
            f"{facts.name} has values other than 0 and 1{averaged}", where=f"`test={name}`", todo="use another test"
        )
    parts = [(arm.values, _NO_VALUES) for arm in arms]
    if kind == "overlapping":
        parts = [_apart(arm, shared) for arm in arms]
    (x, only_x), (y, only_y) = parts
    return SystemPair(
        facts=facts, raters=raters, systems=systems, arms=arms, x=x, y=y, only_x=only_x, only_y=only_y, test=name,
        why=why, alone=(first.n - arms[0].n, second.n - arms[1].n), unmatched=unmatched,
        yes=labels.yes.get(facts.name), ordered=tuple(labels.ordered.get(facts.name, ())), people=people,
        look=look,
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
    plain, of_binary = "welch-permutation", "fisher-mid-p"
    if kind == "paired":
        plain, of_binary = "permutation-mid-p", "mcnemar-mid-p"
    if not binary:
        return plain, why
    if all(arm.is_single for arm in arms):
        return of_binary, f"{why}, values are 0 or 1"
    return plain, f"{why}, values of 0 or 1 are averaged over the transcripts of a case"


def _is_binary(*values: Values) -> bool:
    together = np.concatenate(values)
    return together.size > 0 and bool(np.isin(together, (0.0, 1.0)).all())


def tested(
    pairs: Sequence[SystemPair], levels: Sequence[float], *, alternative: Alternative, seed: int, bootstrap: bool
) -> list[tuple[Result, Result]]:
    """For each pair its test, with the interval of the same method, and the mean difference.

    Args:
        pairs: the values.
        levels: nominal coverage of each pair's interval; of a one-sided test it has one end, and the other is infinite.
        alternative: of the tests.
        seed: of permutations, and of bootstraps.
        bootstrap: whether intervals of permutation tests are those of a bootstrap over cases.
    """
    # A two-sided interval leaves out at each end what a one-sided one leaves out at its only end.
    both = [level if alternative == "two-sided" else 2 * level - 1 for level in levels]
    permuted = _permuted(pairs, both, alternative, seed, bootstrap)
    results = []
    for position, pair in enumerate(pairs):
        if pair.look is not None:
            test = _at_every_look(pair, pair.look, levels[position])
            test = replace(test, effect=_effect_of(pair, test))
            results.append((test, test))
            continue
        test = permuted.get(position) or _test_of(pair, alternative, both[position])
        if test.interval is not None:
            bounds = _one_sided(test.interval, levels[position], alternative)
            test = replace(test, interval=_open_where_rejected(bounds, test.p))
        test = replace(test, effect=_effect_of(pair, test))
        results.append((test, _mean_difference(pair, test, levels[position], alternative)))
    return results


def _at_every_look(pair: SystemPair, look: Look, level: float) -> Result:
    """The mean difference with an interval and a p-value that hold at every look: by bets where cases pair and the
    scale has ends, else by the standard error, to which the ends of the scale add what a few cases don't show."""
    from bedside.stats import confidence_sequences as sequences

    test = _test_of(pair, "two-sided", level)
    if test.estimate is None:
        return replace(test, interval=None, p=None)
    arms = [arm.values for arm in pair.arms]
    if pair.test == "t" and look.ends is not None:
        span = look.ends[1] - look.ends[0]
        sequence = sequences.bounded_mean(pair.x - pair.y, low=-span, high=span, level=level)
    else:
        means, sizes = [float(arm.mean()) for arm in arms], [arm.size for arm in arms]
        error = sequences.error_with_unseen(test.standard_error, means, sizes, look.ends)
        if not error or min(sizes) < 2:
            return replace(test, interval=None, p=None)
        planned, cases = (sum(look.planned), test.n) if pair.test != "t" else (min(look.planned), sizes[0])
        sequence = sequences.any_estimate(
            test.estimate, error, cases=cases, planned=planned or sequences.USUAL_CASES, level=level,
            df=test.details.get("degrees of freedom") or float(test.n - 2),
        )  # fmt: skip
    return replace(
        test, method=f"Mean difference, {sequence.method}", statistic=None,
        interval=sequence.interval, p=sequence.p, missing=sequence.missing, standard_error=sequence.standard_error,
    )  # fmt: skip


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
        interval, low_open=interval.low_open or interval.low == 0, high_open=interval.high_open or interval.high == 0
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
        case "permutation" | "permutation-mid-p" | "t":
            return effects.cohens_dz(pair.x, pair.y)
        case "welch-permutation":
            return effects.cohens_d(pair.x, pair.y)
        case _:
            return _test_of(pair, "two-sided", 0.95).effect


def _permuted(
    pairs: Sequence[SystemPair], levels: Sequence[float], alternative: Alternative, seed: int, bootstrap: bool
) -> dict[int, Result]:
    """Permutation tests by position; those of one pair of systems on the same cases share their sign flips, and those
    of unpaired cases, as many of each system, their splits."""
    from bedside.stats import paired, unpaired

    draws = max(_FLIPS, _FLIPS_A_TEST * len(pairs))
    together: dict[tuple[Any, ...], list[int]] = {}
    for position, pair in enumerate(pairs):
        if pair.test.startswith("permutation"):
            together.setdefault((pair.systems, pair.arms[0].cases, pair.test, levels[position]), []).append(position)
    results: dict[int, Result] = {}
    for (_, _, test, level), positions in together.items():
        x = np.column_stack([pairs[position].x for position in positions])
        y = np.column_stack([pairs[position].y for position in positions])
        permuted = paired.permutations(
            x, y, resamples=draws, interval="bca" if bootstrap else "inverted", mid=test == "permutation-mid-p",
            alternative=alternative, level=level, seed=seed,
        )  # fmt: skip
        results.update(zip(positions, permuted, strict=True))
    apart = [position for position, pair in enumerate(pairs) if pair.test == "welch-permutation"]
    for level in dict.fromkeys(levels[position] for position in apart):
        positions = [position for position in apart if levels[position] == level]
        samples = [(pairs[position].x, pairs[position].y) for position in positions]
        split = unpaired.permutations(samples, resamples=draws, alternative=alternative, level=level, seed=seed)
        results.update(zip(positions, split, strict=True))
    return results


def _mean_difference(pair: SystemPair, test: Result, level: float, alternative: Alternative) -> Result:
    """The mean difference: of a test of means the same; beside one of ranks by t, whose shift has no sound interval
    where values are tied, and without an interval where so few cases let that test reject nothing."""
    from bedside.stats import paired, unpaired

    by_t = {"wilcoxon": paired.t_test, "mannwhitney": unpaired.t_test}.get(pair.test)
    if by_t is None:
        return test
    difference = by_t(pair.x, pair.y, level=level if alternative == "two-sided" else 2 * level - 1)
    if (test.missing or "").startswith("no interval: too few"):
        return replace(difference, interval=None, missing=test.missing)
    return replace(difference, interval=difference.interval and _one_sided(difference.interval, level, alternative))


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
        case "mcnemar" | "mcnemar-mid-p":
            method: paired.McNemarMethod = "exact" if pair.test == "mcnemar" else "mid-p"
            return paired.mcnemar(x, y, method=method, interval="melded", alternative=alternative, level=level)
        case "mannwhitney":
            return unpaired.mann_whitney(x, y, alternative=alternative, level=level)
        case "fisher" | "fisher-mid-p":
            table = [[int((values == level_of).sum()) for level_of in (1, 0)] for values in (x, y)]
            sides: unpaired.Sides = "central" if pair.test == "fisher" else "mid-p"
            return unpaired.fisher_exact(table, sides=sides, alternative=alternative, level=level)
        case "overlapping":
            return overlapping.t_test(x, y, pair.only_x, pair.only_y, alternative=alternative, level=level)
        case "welch" | "student":
            return unpaired.t_test(x, y, equal_variances=pair.test == "student", alternative=alternative, level=level)
        case _:
            return paired.t_test(x, y, alternative=alternative, level=level)


# -- Is one system better than another? Ratings of two or more systems ----------------------------------

_CORRECTION_NAMES = {"holm": "holm", "bonferroni": "bonferroni", "bh": "benjamini-hochberg"}
_LEVEL = 0.95
#: Metrics without a comparison that an error names one by one.
_MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class Comparison(MetricRatings):
    """Two systems on one metric under one group of raters. A value is a case's: the mean over its transcripts.

    Attributes:
        facts, raters: what was compared, by whom it was rated.
        a, b: the systems; differences are a − b.
        paired: whether cases were paired.
        why: why this test was taken.
        mean_a, mean_b: means of the values that went into the test; None where there were none.
        test: the test, its p corrected within its family, with its own estimate and the interval that goes with its p.
        difference: the mean difference with its interval: the test's own, or by t beside a test of ranks.
        cases_a, cases_b: cases of each system that went into the test.
        transcripts_a, transcripts_b: the transcripts behind these cases.
        shared: of the cases that went into the test, those that both systems have.
        alone_a, alone_b: cases (paired) that only one of the systems has, or whose value is missing in the other.
        unmatched_a, unmatched_b: transcripts' values left out because the other system has none at the same levels of
            the factors that vary within a case.
        entered: how many cases are there, and why some of them didn't go into the test.
        caseless: transcripts that name no case, each of which counts as a case of its own.
        zeros: pairs without a difference; None where cases were not paired.
        ties: differences other than zero whose size occurs more than once; unpaired, values that do.
        yes: of labels of two levels, the one whose share is compared.
        ordered: of ordered labels, these in order; their values are 0, 1, 2 …
        differences: a − b case by case; None where cases were not paired.
        people: who rated, where people did: to whom the answer generalises, and whether other people rated each system.
        at_every_look: whether interval and p hold at every look at a study that runs, and not at one alone.
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
    cases_a: int
    cases_b: int
    transcripts_a: int
    transcripts_b: int
    shared: int
    alone_a: int
    alone_b: int
    unmatched_a: int
    unmatched_b: int
    entered: EnteredCases
    caseless: int
    zeros: int | None
    ties: int
    yes: str | None
    ordered: tuple[str, ...]
    differences: tuple[float, ...] | None
    people: RaterDesign | None
    at_every_look: bool = False

    @property
    def unrated(self) -> tuple[str, ...]:
        """The systems of which these raters gave no value."""
        of_a = self.cases_a + self.alone_a + self.unmatched_a
        of_b = self.cases_b + self.alone_b + self.unmatched_b
        return tuple(system for system, values in ((self.a, of_a), (self.b, of_b)) if not values)

    @property
    def is_one_sided(self) -> bool:
        """Whether these raters gave a value of one of the systems only."""
        return bool(self.unrated)

    @property
    def is_equal(self) -> bool:
        """Whether both systems have the same value everywhere, of two cases or more: there is nothing to test."""
        if min(self.cases_a, self.cases_b) < 2:
            return False
        return self.zeros == self.cases_a if self.paired else self.test.p is None and self.difference.estimate == 0


@dataclass(frozen=True, slots=True)
class Overall(MetricRatings):
    """Three or more systems at once on one metric under one group of raters: is there any difference at all?

    Attributes:
        facts, raters, systems: what was compared.
        paired: whether cases were matched.
        why: why this test was taken.
        test: Friedman's, Cochran's or Kruskal and Wallis' test of case means, or the smallest p of the pairs where all
            of them have a quasi-F of cases × raters; its p corrected within its family.
        raters_like: how many people the answer is about raters like; 0 where it is about the raters themselves.
        left_out: cases left out of matched ones because not all systems have a value of them.
        of: cases that are there, rated or not; matched ones count once.
    """

    raters: str
    systems: tuple[str, ...]
    paired: bool
    why: str
    test: Result
    raters_like: int = 0
    left_out: int = 0
    of: int = 0


_Compared = TypeVar("_Compared", Comparison, Overall)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What :func:`compare` found: pairs of systems, and where there are three or more all of them at once.

    Attributes:
        pairs, overall: the comparisons.
        left_out: by metrics that could not be compared, why; also by raters whose values are others' own.
        copies: the metric and raters of these, and whose values they are.
    """

    pairs: tuple[Comparison, ...]
    overall: tuple[Overall, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[tuple[str, str], str] = field(default_factory=dict)


def compare(
    view: RatingsView,
    *,
    systems: Sequence[str] | None = None,
    reference: str | None = None,
    reference_first: bool = False,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    test: Test = "auto",
    alternative: Alternative = "two-sided",
    family: CorrectionFamily = "all",
    correction: Correction = "holm",
    adjusted_intervals: bool = False,
    bootstrap: bool = False,
    looks: Collection[str] | None = None,
    seed: int = 0,
) -> Comparisons:
    """Compare systems pair by pair on every metric of whole transcripts, case by case.

    Each case counts once: its transcripts, and a transcript's passes and raters, are averaged first.

    Args:
        view: the ratings.
        systems: the systems; all unless named.
        reference: compare each system with this one only, not all pairs.
        reference_first: whether differences are the reference's minus the other's.
        metrics: metrics or patterns; unless named, those for which higher or lower is better and those that people
            or judges rated. Labels of two levels are compared as the share of one, ordered ones by their places.
        raters: raters or patterns such as ``human:*``; all unless named.
        test: ``auto`` takes McNemar's test (mid-p) for values that are all 0 or 1 on paired cases of one transcript
            each, the permutation test of the mean (mid-p) for other paired cases; where no cases are shared Fisher's
            test (mid-p) and the studentised permutation test of the mean (mid-p); where some are, but no more than
            half, the t test of partially overlapping samples. Where three or more people rated the same cases, it
            takes the quasi-F of cases × raters, for raters like them.
            ``friedman`` and ``kruskal`` test all systems at once and then the pairs by Wilcoxon's and
            Mann–Whitney's; of all systems at once ``auto`` takes Friedman's, Cochran's or Kruskal and Wallis' test, or
            where all pairs have a quasi-F the smallest p of these, corrected.
        alternative: ``greater``: the first system of a pair tends to be higher; ``less``: lower. Tests of all systems
            at once have no direction.
        family: which p-values are corrected together: ``all``, those of one ``metric``, or those of metrics under
            one heading (``level``). Tests of all systems at once are families of their own.
        correction: ``holm``, ``bonferroni`` or ``bh`` (Benjamini–Hochberg).
        adjusted_intervals: intervals that hold all at once within a family of m tests: each at the level 1 − .05/m
            (Bonferroni's, which is safe beside Holm's correction too).
        bootstrap: whether the intervals of paired permutation tests are those of a bootstrap over cases (BCa), in place
            of the differences that the test itself doesn't reject.
        looks: for intervals and p-values of mean differences that hold at every look at a study that runs, all at once
            over a family (Bonferroni): the transcripts that people are to rate, none where no plan says it.
        seed: of permutations, and of bootstraps.

    Raises:
        DataError: fewer than two systems, an unknown one, or an option that is none of those named.
    """
    for argument, value, choices in (
        ("test", test, TESTS),
        ("alternative", alternative, ALTERNATIVES),
        ("family", family, CORRECTION_FAMILIES),
        ("correction", correction, CORRECTIONS),
    ):
        one_of(value, choices, argument, DataError, where=f"`{argument}`")
    if looks is not None:
        check_at_looks("test", test, "auto", *_OF_MEANS.values())
        check_at_looks("alternative", alternative, "two-sided")
        check_at_looks("correction", correction, "holm", "bonferroni")
        correction, adjusted_intervals = "bonferroni", True
    if adjusted_intervals and correction == "bh":
        raise DataError(
            "no intervals hold all at once beside Benjamini and Hochberg's correction", where="`adjusted_intervals`",
            todo="use the correction holm or bonferroni",
        )  # fmt: skip
    transcripts = view.transcripts()
    view = by_raters(view, raters)
    chosen = chosen_systems(view, systems)
    if test in THEN and len(chosen) < 3:
        raise DataError(f"{test} needs three {view.compared}s", where="`test`", todo=f"use {THEN[test]} for two")
    duos = _duos(view, chosen, reference)
    if reference_first:
        duos = [(b, a) for a, b in duos]
    names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
    labels = label_numbers(view, names, constants=True)
    values = labels.view.transcript_values(names).filter(pl.col("system").is_in(chosen))
    # With nothing to match, a system's values are the same beside every other.
    varying = any(labels.view.matching(systems).by for systems in (chosen, *duos))
    matched: list[SystemPair] = []
    entered: list[EnteredCases] = []
    overall: list[Overall] = []
    left_out = _left_out(view, values, names, labels)
    planned = {} if looks is None else planned_cases(view, looks)
    seen: dict[object, str] = {}
    copies: dict[tuple[str, str], str] = {}
    for (metric, group), table in sorted(
        values.group_by("metric", "group"),
        key=lambda item: (names.index(str(item[0][0])), item[0][1] != PEOPLE, str(item[0][1])),
    ):
        if table["value"].null_count() == table.height:
            continue
        facts, whole = labels.facts(str(metric)), None
        # Two copies of the same values are one test: a second would only make p too large.
        filled = table.drop_nulls("value").select("transcript_id", "value").sort("transcript_id").rows()
        first = seen.setdefault((metric, *filled), str(group))
        if first != group:
            copies[str(metric), str(group)] = first
            by, copied = (name.partition(":")[2] or name for name in (str(group), first))
            left_out[f"{facts.title} by {by}"] = f"the same values as by {copied}, which count once"
            continue
        every_case, rated = cases_there(transcripts, table), rated_cases(table)
        if not varying:
            whole = _matched_values(labels.view, table, chosen)
        for duo in duos:
            of_pair, unmatched = whole or _matched_values(labels.view, table, duo)
            of_duo = (of_pair[duo[0]], of_pair[duo[1]])
            of_plan = (planned.get(duo[0], 0), planned.get(duo[1], 0))
            pair = system_pair(
                facts, str(group), of_duo, duo, test=test, labels=labels, unmatched=(unmatched[0], unmatched[1]),
                people=rater_design(labels.view, facts.name, duo) if group == PEOPLE else None,
                look=None if looks is None else Look(of_plan, _value_ends(labels, facts.name)),
            )  # fmt: skip
            matched.append(pair)
            arms = (pair.arms[0].cases, pair.arms[1].cases)
            once = pair.paired or pair.test == "overlapping"
            entered.append(
                entered_cases(every_case, rated, duo, matched=of_duo, entered=arms, paired=pair.paired, once=once)
            )
        if len(chosen) > 2 and reference is None and looks is None and (test == "auto" or test in THEN):
            by_system, _ = whole or _matched_values(labels.view, table, chosen)
            people = [pair.people for pair in matched[-len(duos) :]] if test == "auto" else []
            at_once = systems_at_once(facts, str(group), by_system, test, people=people)
            own = [every_case.get(system, frozenset()) for system in chosen]
            of = len(frozenset().union(*own)) if at_once.paired else sum(map(len, own))
            overall.append(replace(at_once, of=of))
    pairs = _compared_pairs(
        matched, entered, family, correction, alternative=alternative, adjusted=adjusted_intervals,
        bootstrap=bootstrap, seed=seed, title=f"comparisons of two {view.compared}s",
    )  # fmt: skip
    return Comparisons(
        tuple(pairs),
        tuple(_corrected(overall, family, correction, f"comparisons of all {view.compared}s")),
        left_out=left_out,
        copies=copies,
    )


def _value_ends(labels: LabelNumbers, metric: str) -> tuple[float, float] | None:
    """The least and the greatest value of a metric, labels being numbers."""
    if metric in labels.yes:
        return 0.0, 1.0
    if metric in labels.ordered:
        return 0.0, float(len(labels.ordered[metric]) - 1)
    return labels.view.value_ends(metric)


def _matched_values(
    view: RatingsView, table: pl.DataFrame, systems: Sequence[str]
) -> tuple[dict[str, CaseValues], tuple[int, ...]]:
    """Each system's values by case, at the levels of factors that all share; and how many of each were left out."""
    rows = matched_rows(view, table, *systems)
    return {system: case_values(rows.rows, system) for system in systems}, rows.left_out


def nothing_compared(comparisons: Comparisons, name: str) -> NothingError:
    """The error of an answer without comparisons: what is wrong with each metric.

    Args:
        comparisons: the answer.
        name: the run or file.
    """
    reasons = [f"{metric}: {why}" for metric, why in comparisons.left_out.items()]
    more = f"; and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    if not reasons:
        return NothingError("no metric to compare is rated", where=name, todo="name some with `metrics`")
    return NothingError(
        f"no metric can be compared ({'; '.join(reasons[:_MOST_REASONS])}{more})", where=name,
        todo="name others with `metrics`, or rate whole transcripts",
    )  # fmt: skip


def _duos(view: RatingsView, chosen: Sequence[str], reference: str | None) -> list[tuple[str, str]]:
    """The pairs of systems: all, or each with the reference.

    Raises:
        DataError: the reference is none of the systems.
    """
    if reference is None:
        return list(combinations(chosen, 2))
    one_of(reference, chosen, view.compared, DataError, where=view.name)
    return [(system, reference) for system in chosen if system != reference]


def _left_out(view: RatingsView, values: pl.DataFrame, names: Sequence[str], labels: LabelNumbers) -> dict[str, str]:
    """Why metrics have no comparison."""
    with_value = set(values.drop_nulls("value")["metric"])
    whole = set(view.ratings.filter(pl.col("unit") == "transcript")["metric"])
    reasons: dict[str, str] = {}
    for name in names:
        if name in with_value:
            continue
        errors = values.filter(pl.col("metric") == name)["error"].drop_nulls()
        if name in labels.refused:
            reasons[name] = labels.refused[name]
        elif name not in whole:
            reasons[name] = "it is rated on parts of transcripts, such as turns, not on whole ones"
        elif errors.len():
            reasons[name] = f"no transcript of these {view.compared}s has a value: {errors.mode().sort()[0]}"
        else:
            reasons[name] = f"no transcript of these {view.compared}s has a value"
    return reasons


def _compared_pairs(
    matched: Sequence[SystemPair],
    entered: Sequence[EnteredCases],
    family: CorrectionFamily,
    correction: Correction,
    *,
    alternative: Alternative,
    adjusted: bool,
    bootstrap: bool,
    seed: int,
    title: str,
) -> list[Comparison]:
    """The comparisons, p corrected within families, and on request the intervals too."""
    results = tested(matched, [_LEVEL] * len(matched), alternative=alternative, seed=seed, bootstrap=bootstrap)
    if alternative != "two-sided":
        title += f", one-sided ({alternative})"
    pairs = _corrected(
        [_comparison(*parts) for parts in zip(matched, entered, results, strict=True)], family, correction, title
    )
    if not adjusted:
        return pairs
    levels = [1 - (1 - _LEVEL) / max(pair.test.family_size or 1, 1) for pair in pairs]
    wider = tested(matched, levels, alternative=alternative, seed=seed, bootstrap=bootstrap)
    return [
        replace(pair, difference=difference,
                test=replace(pair.test, interval=test.interval, missing=test.missing, options=test.options))
        for pair, (test, difference) in zip(pairs, wider, strict=True)
    ]  # fmt: skip


def _comparison(pair: SystemPair, entered: EnteredCases, results: tuple[Result, Result]) -> Comparison:
    (first, second), (test, difference) = pair.arms, results
    return Comparison(
        facts=pair.facts, raters=pair.raters, a=pair.systems[0], b=pair.systems[1], paired=pair.paired, why=pair.why,
        mean_a=float(first.values.mean()) if first.n else None,
        mean_b=float(second.values.mean()) if second.n else None,
        test=test, difference=difference,
        cases_a=first.n, cases_b=second.n,
        transcripts_a=first.n_transcripts, transcripts_b=second.n_transcripts,
        shared=pair.shared, alone_a=pair.alone[0], alone_b=pair.alone[1],
        unmatched_a=pair.unmatched[0], unmatched_b=pair.unmatched[1], entered=entered,
        caseless=first.n_caseless + second.n_caseless,
        zeros=pair.zeros(), ties=pair.ties(), yes=pair.yes, ordered=pair.ordered,
        differences=tuple((pair.x - pair.y).tolist()) if pair.paired else None, people=pair.people,
        at_every_look=pair.look is not None,
    )  # fmt: skip


def systems_at_once(
    facts: MetricFacts,
    raters: str,
    by_system: Mapping[str, CaseValues],
    test: Test,
    *,
    people: Sequence[RaterDesign | None] = (),
) -> Overall:
    """All systems at once on one metric.

    Args:
        facts, raters: what is compared, by whom it was rated.
        by_system: each system's values by case.
        test: ``auto``, ``friedman`` or ``kruskal``.
        people: who rated each pair of the systems, where people did and their answer for raters like them is wanted.
    """
    from bedside.stats import several
    from bedside.stats.crossed_raters import some_difference

    of_systems = list(by_system.values())
    shared = tuple(sorted(set.intersection(*(set(values.cases) for values in of_systems))))
    paired = test == "friedman"
    if test == "auto":
        paired = most_cases_pair(len(shared), (values.n for values in of_systems))
    why = "as asked" if test != "auto" else f"{len(shared)} cases of all systems match"
    designs = [design for design in people if design is not None]
    for_others = [design.difference for design in designs if design.difference is not None]
    if people and len(for_others) == len(people):
        count = min(len(design.raters) for design in designs)
        why = f"{count} people rated the same cases, an answer for raters like them"
        return Overall(facts, raters, tuple(by_system), paired, why, some_difference(for_others), count)
    every = {case for values in of_systems for case in values.cases}
    left_out = len(every) - len(shared) if paired else 0
    if paired:
        matched = [values.of(shared) for values in of_systems]
        table = np.column_stack([values.values for values in matched])
        binary = all(values.is_single for values in matched) and bool(np.isin(table, (0.0, 1.0)).all())
        result = several.cochran_q(table) if test == "auto" and binary else several.friedman(table)
    else:
        result = several.kruskal_wallis([values.values for values in of_systems])
        if test == "auto" and len(every) < result.n:
            reason = "some cases are shared, too few for a test of all systems at once"
            result = replace(result, estimate=None, statistic=None, p=None, details={}, missing=reason)
    return Overall(facts, raters, tuple(by_system), paired, why, result, left_out=left_out)


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


#: Most levels of an ordered scale of which odds ratios are told.
_MOST_LEVELS = 7


@dataclass(frozen=True, slots=True)
class OrderedEffect(MetricRatings):
    """How many times one system's odds of a higher level are another's; ``cases`` and ``people`` are their numbers."""

    raters: str
    a: str
    b: str
    odds_ratio: Result
    cases: int
    people: int

    def spread(self, of: str) -> float | None:
        """What raters or cases of one system vary by: a standard deviation in logits; None where it isn't known."""
        own, by_system = (self.odds_ratio.details.get(name) for name in (of, f"{of} × system"))
        return None if own is None and by_system is None else float(np.hypot(own or 0.0, by_system or 0.0))


def ordered_effects(
    view: RatingsView, pairs: Sequence[Comparison], *, raters: Sequence[str] | None = None
) -> tuple[OrderedEffect, ...]:
    """The odds ratios of these pairs on ordered scales of three to seven levels, rated more than once a case."""
    from bedside.stats.ordinal_mixed import odds_ratio

    scales = {
        name: scale for name, scale in view.scales.items() if scale.ordered and 3 <= len(scale.levels) <= _MOST_LEVELS
    }
    pairs = [pair for pair in pairs if pair.metric in scales and not pair.is_one_sided]
    names = list(dict.fromkeys(pair.metric for pair in pairs))
    view = label_numbers(by_raters(view, raters), names).view
    values = view.transcript_values(names)
    effects = []
    for pair in pairs:
        named = pl.col("metric") == pair.metric, pl.col("system").is_in((pair.a, pair.b))
        matched = matched_rows(view, values.filter(*named, pl.col("group") == pair.raters), pair.a, pair.b).rows
        rows = view.ratings.filter(*named, view.rater_group() == pair.raters, pl.col("unit") == TRANSCRIPT)
        rows = rows.drop_nulls("value").join(matched, on="transcript_id", how="semi").with_columns(own_case())
        if pair.raters == PEOPLE:  # a person's later passes are no further ratings
            rows = rows.unique(("transcript_id", "rater"), keep="first", maintain_order=True)
        if pair.paired:
            rows = rows.filter(pl.col("system").n_unique().over("case") == 2)
        if rows.height == rows.select("case", "system").n_unique():
            continue
        named_by = (rows[name].to_numpy() for name in ("case", "rater", "transcript_id"))
        effect = odds_ratio(rows["value"].to_numpy(), (rows["system"] == pair.a).to_numpy(), *named_by)
        counts = rows["case"].n_unique(), rows["rater"].n_unique()
        effects.append(OrderedEffect(pair.facts, pair.raters, pair.a, pair.b, effect, *counts))
    return tuple(effects)


@dataclass(frozen=True, slots=True, eq=False)
class SystemValues:
    """A system's values of one metric, with the case of each.

    Attributes:
        values: one for each transcript that has one.
        cases: a number for the case of each value, the same for all systems; −1 where it has none.
    """

    values: np.ndarray[Any, Any]
    cases: np.ndarray[Any, Any]

    @property
    def clusters(self) -> np.ndarray[Any, Any]:
        """A number for the case of each value; transcripts without a case have numbers below 0 of their own."""
        own = -1 - np.arange(self.cases.size)
        return np.where(self.cases >= 0, self.cases, own)

    @property
    def is_single(self) -> bool:
        """Whether each case has one value."""
        named = self.cases[self.cases >= 0]
        return bool(np.unique(named).size == named.size)

    def case_means(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The cases in order, −1 for each transcript that has none, and the mean of each one's values."""
        clusters, places, counts = np.unique(self.clusters, return_inverse=True, return_counts=True)
        return np.maximum(clusters, -1), np.bincount(places, self.values, minlength=clusters.size) / counts


def means_differ(a: SystemValues, b: SystemValues) -> bool:
    """Whether the 95 % t interval of the difference of case means leaves out 0.

    Paired where more than half of the cases pair, of partially overlapping samples where fewer do, else Welch's.
    """
    from bedside.stats.intervals import paired_difference_interval, welch_interval
    from bedside.stats.overlapping import t_test

    (cases_a, means_a), (cases_b, means_b) = a.case_means(), b.case_means()
    _, at_a, at_b = np.intersect1d(cases_a[cases_a >= 0], cases_b[cases_b >= 0], return_indices=True)
    # Cases without a name stand before the others.
    at_a, at_b = at_a + (cases_a < 0).sum(), at_b + (cases_b < 0).sum()
    if most_cases_pair(at_a.size, (cases_a.size, cases_b.size)):
        interval = paired_difference_interval(means_a[at_a] - means_b[at_b])
    elif at_a.size:
        alone = np.delete(means_a, at_a), np.delete(means_b, at_b)
        interval = t_test(means_a[at_a], means_b[at_b], *alone).interval
    else:
        interval = welch_interval(means_a, means_b)
    return interval is not None and (interval.low > 0 or interval.high < 0)
