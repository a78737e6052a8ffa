"""Do two groups of different cases differ? Unpaired tests; each result carries estimate, interval and effect.

Differences are first group minus second. Missing values are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import block_rows, blocks
from bedside.stats._exact import melded_bounds, rank_sum_distribution, tail
from bedside.stats._resampling import shift_of_groups
from bedside.stats.arrays import (
    Alternative,
    Array,
    Seed,
    average_ranks,
    clean,
    constant,
    counts_of_two,
    generator,
    seed_in_words,
)
from bedside.stats.effects import cliffs_delta, cohens_d, cohens_d_from_summary, odds_ratio
from bedside.stats.intervals import t_interval, welch_error, wilson_bounds
from bedside.stats.result import Effect, Interval, Result

ALTERNATIVES = ("two-sided", "greater", "less")
#: Why a test of two groups has no value.
EMPTY_GROUP = "a group has no values"
#: How both sides of Fisher's test make one p.
Sides = Literal["likelihood", "central", "mid-p"]
#: The exact rank-sum test is offered for up to this many values in both groups together.
MOST_EXACT_VALUES = 200


def mann_whitney(
    x: Any,
    y: Any,
    *,
    method: Literal["asymptotic", "exact", "monte-carlo"] = "asymptotic",
    continuity: bool = True,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    shift: bool = True,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Mann–Whitney U test; statistic U of the first group, estimate the Hodges–Lehmann shift.

    Args:
        method: ``"asymptotic"``: normal approximation with ties corrected; ``"exact"``: permutation
            distribution of the midranks (right with ties, two-sided by distance from the mean), for up to 200
            values; ``"monte-carlo"``: the same from random permutations, p = (as extreme + 1) / (drawn + 1).
        continuity: continuity correction of the normal approximation.
        alternative: ``"greater"``: the first group tends to be higher.
        resamples, seed: of the Monte Carlo method.
        shift: whether to find the shift and its interval, which take most of the time on thousands of values.

    The shift's interval lies between two ordered differences and inverts the test, ties as in the test; where the test
    isn't asymptotic the exact one on up to 50 values, else the normal approximation. It is two-sided whatever the
    alternative. Effect: Cliff's delta, which equals the rank-biserial correlation.
    """
    one_of(method, ("asymptotic", "exact", "monte-carlo"), "method", DataError)
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    n = a.size + b.size
    how, special = _rank_sum_method(method, continuity, resamples, seed)
    blank = Result(
        name="Hodges–Lehmann shift",
        method=f"Mann–Whitney U (of the first group), {alternative}, {how}",
        n=n,
        dropped=lost_a + lost_b,
        options={"method": method, "alternative": alternative, "shift": shift, "level": level, **special},
    )
    if a.size == 0 or b.size == 0:
        return blank.no_value(EMPTY_GROUP)
    if method == "exact" and n > MOST_EXACT_VALUES:
        raise DataError(
            f"the exact rank-sum test is limited to {MOST_EXACT_VALUES} values, not {n}",
            todo="use the monte-carlo or the asymptotic method",
        )
    result = replace(blank, effect=cliffs_delta(a, b, level=level), details=_described_groups(a, b))
    reason = None
    if shift:
        estimate, bounds, reason = shift_of_groups(a, b, level, exact=method != "asymptotic", continuity=continuity)
        result = replace(result, estimate=estimate, interval=bounds)
    u, p = _rank_sum_test(
        a, b, method=method, continuity=continuity, alternative=alternative, resamples=resamples, seed=seed
    )
    result = replace(result, statistic=u, p=p, missing=reason)
    if p is not None:
        return result
    return replace(result, interval=None, missing="no p-value and no interval: all values are equal")


def _rank_sum_method(method: str, continuity: bool, resamples: int, seed: Seed) -> tuple[str, dict[str, Any]]:
    """The method in words, and the options that it alone has."""
    if method == "asymptotic":
        how = f"asymptotic with{'' if continuity else 'out'} continuity correction, ties corrected"
        return how, {"continuity": continuity}
    if method == "exact":
        return "exact with ties", {}
    how = f"{resamples} permutations, {seed_in_words(seed)}"
    return how, {"resamples": resamples, "seed": seed}


def _rank_sum_test(
    a: Array, b: Array, *, method: str, continuity: bool, alternative: str, resamples: int, seed: Seed
) -> tuple[float, float | None]:
    """U of the first group and its p-value; None where all values are equal."""
    together = np.concatenate([a, b])
    ranks = average_ranks(together)
    rank_sum = float(ranks[: a.size].sum())
    u = rank_sum - a.size * (a.size + 1) / 2
    if constant(together):
        return u, None
    if method == "asymptotic":
        return u, _asymptotic_p(a, b, continuity, alternative)
    if method == "exact":
        return u, tail(rank_sum_distribution(ranks, a.size), round(2 * rank_sum), alternative)
    return u, _monte_carlo_p(ranks, a.size, alternative, resamples=resamples, seed=seed)


def _asymptotic_p(a: Array, b: Array, continuity: bool, alternative: str) -> float:
    from scipy.stats import mannwhitneyu

    tested = mannwhitneyu(
        a, b, use_continuity=continuity, alternative=alternative, axis=0, method="asymptotic",
        nan_policy="propagate", keepdims=False,
    )  # fmt: skip
    return float(tested.pvalue)


def _described_groups(a: Array, b: Array) -> dict[str, float | None]:
    return {
        "n of x": float(a.size), "n of y": float(b.size), "mean of x": float(a.mean()), "mean of y": float(b.mean()),
        "median of x": float(np.median(a)), "median of y": float(np.median(b)),
        "standard deviation of x": float(a.std(ddof=1)) if a.size > 1 else None,
        "standard deviation of y": float(b.std(ddof=1)) if b.size > 1 else None,
    }  # fmt: skip


def _monte_carlo_p(ranks: Array, size: int, alternative: str, *, resamples: int, seed: Seed) -> float:
    """p of the sum of the first ``size`` ranks, by random permutations."""
    rng = generator(seed)
    mean = ranks.mean() * size
    observed = ranks[:size].sum() - mean
    ranks = np.sort(ranks)
    extreme = 0
    for rows in blocks(resamples, ranks.size):
        keys = rng.random((rows, ranks.size))
        first = np.argpartition(keys, size - 1, axis=1)[:, :size]
        sums = ranks[first].sum(axis=1) - mean
        if alternative == "two-sided":
            extreme += int((np.abs(sums) >= abs(observed) - 1e-6).sum())
        else:
            side = 1 if alternative == "greater" else -1
            extreme += int((side * sums >= side * observed - 1e-6).sum())
    return (extreme + 1) / (resamples + 1)


def t_test_from_summary(
    mean_x: float,
    sd_x: float,
    n_x: int,
    mean_y: float,
    sd_y: float,
    n_y: int,
    *,
    equal_variances: bool = False,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """Welch's (default) or Student's t test from means, standard deviations (n − 1) and sizes.

    Args:
        equal_variances: Student's test with the pooled variance instead of Welch's.
        alternative: ``"greater"``: the first mean is higher.

    The interval of the difference is two-sided whatever the alternative. Effect: Cohen's d.
    """
    x, y = _Moments(mean_x, sd_x, n_x), _Moments(mean_y, sd_y, n_y)
    effect = cohens_d_from_summary(mean_x, sd_x, n_x, mean_y, sd_y, n_y, level=level)
    return _compared_means(x, y, effect, equal_variances=equal_variances, alternative=alternative, level=level)


@dataclass(frozen=True, slots=True)
class _Moments:
    """A group's mean, standard deviation (n − 1) and number of values; 0 where there are too few for them."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Array) -> _Moments:
        """From the values."""
        return cls(
            float(values.mean()) if values.size else 0.0,
            float(values.std(ddof=1)) if values.size > 1 else 0.0,
            values.size,
        )


def _compared_means(
    x: _Moments, y: _Moments, effect: Effect, *, equal_variances: bool, alternative: Alternative, level: float
) -> Result:
    """The t test of two groups; its effect stands in the result unless a group is empty."""
    from scipy.stats import ttest_ind_from_stats

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    test = "Student's t test (equal variances)" if equal_variances else "Welch's t test"
    blank = Result(
        name="mean difference",
        method=f"{test}, {alternative}",
        n=x.n + y.n,
        options={"equal_variances": equal_variances, "alternative": alternative, "level": level},
    )
    if x.n < 1 or y.n < 1:
        return blank.no_value(EMPTY_GROUP)
    difference = x.mean - y.mean
    details: dict[str, float | None] = {
        "n of x": float(x.n), "n of y": float(y.n), "mean of x": x.mean, "mean of y": y.mean,
        "standard deviation of x": x.sd if x.n > 1 else None,
        "standard deviation of y": y.sd if y.n > 1 else None,
    }  # fmt: skip
    result = replace(blank, estimate=difference, effect=effect, details=details)
    small = x.n < 2 or y.n < 2
    if small or max(x.sd, y.sd) <= 1e-12 * max(abs(x.mean), abs(y.mean)):
        reason = "a group has fewer than two values" if small else "the values within the groups don't vary"
        return replace(result, missing=f"no p-value and no interval: {reason}")
    if equal_variances:
        df = float(x.n + y.n - 2)
        pooled = ((x.n - 1) * x.sd**2 + (y.n - 1) * y.sd**2) / df
        error = float(np.sqrt(pooled * (1 / x.n + 1 / y.n)))
    else:
        error, df = welch_error(x.sd**2 / x.n, x.n, y.sd**2 / y.n, y.n)
    tested = ttest_ind_from_stats(
        x.mean, x.sd, x.n, y.mean, y.sd, y.n, equal_var=equal_variances, alternative=alternative
    )
    return replace(
        result, interval=t_interval(difference, error, df, level, "t"), statistic=float(tested.statistic),
        p=float(tested.pvalue), standard_error=error, details={**details, "degrees of freedom": df},
    )  # fmt: skip


def t_test(
    x: Any,
    y: Any,
    *,
    equal_variances: bool = False,
    hedges: bool = False,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """Welch's (default) or Student's t test of two groups; see :func:`t_test_from_summary`.

    Args:
        hedges: give Hedges' g as the effect instead of Cohen's d.
    """
    (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
    effect = cohens_d(a, b, hedges=hedges, level=level)
    result = _compared_means(
        _Moments.of(a), _Moments.of(b), effect,
        equal_variances=equal_variances, alternative=alternative, level=level,
    )  # fmt: skip
    return replace(result, dropped=lost_a + lost_b, effect=effect, options={**result.options, "hedges": hedges})


# -- Studentised permutations of the mean difference ----------------------------------------------------
# Welch's t of every way to split all values into groups of these sizes, or of random ones (Janssen 1997; Chung and
# Romano 2013). Exact where both groups come from one population, however skewed and unequal in size; in large samples
# right too where only their means are equal, as a permutation of plain means is not.


def permutation(
    x: Any,
    y: Any,
    *,
    resamples: int = 10_000,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Studentised permutation test of the mean difference, mid-p; statistic Welch's t, effect Cohen's d.

    Args:
        resamples: random splits of all values into two groups. p = (further out + half of those as far out + ½) /
            (splits + 1). Where there are no more splits than ``resamples``, all are taken and p is exact.
        alternative: ``"greater"``: x is higher on average. Two-sided, t counts by its size.
        level: nominal coverage.
        seed: seed or generator.

    The interval holds the differences that the same splits don't reject once they are taken off x: it leaves out 0
    where p is no more than 1 − level, but for an end of 0, where it rejects 0 alone, as of few levels. Of a one-sided
    test it is that at half of ``1 − level`` a side.
    """
    return permutations([(x, y)], resamples=resamples, alternative=alternative, level=level, seed=seed)[0]


def permutations(
    samples: Sequence[tuple[Any, Any]],
    *,
    resamples: int = 10_000,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    seed: Seed = 0,
) -> tuple[Result, ...]:
    """:func:`permutation` of many samples at once, such as all metrics of all pairs of systems.

    Samples of the same sizes share their splits, each by the order of its own values: neither the order of cases nor
    other samples change p and interval.

    Args:
        samples: ``x`` and ``y`` of each test; their lengths may differ. Others as for :func:`permutation`.
    """
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    drawn_by = int(generator(seed).integers(0, 2**63 - 1))
    results: list[Result] = []
    by_sizes: dict[tuple[int, int], list[tuple[int, _Groups]]] = {}
    for position, (x, y) in enumerate(samples):
        (a, lost_a), (b, lost_b) = clean(x, "x"), clean(y, "y")
        count = comb(a.size + b.size, a.size)
        how = f"all {count} splits" if count <= resamples else f"{resamples} splits, {seed_in_words(seed)}"
        blank = Result(
            name="mean difference", n=a.size + b.size, dropped=lost_a + lost_b,
            method=f"studentised permutation test of the mean difference, mid-p, {alternative}, {how}",
            options={"resamples": resamples, "alternative": alternative, "level": level, "seed": seed},
        )  # fmt: skip
        results.append(_without_test(blank, a, b))
        if results[-1].missing is None:
            groups = _Groups.of(a, b)
            by_sizes.setdefault((groups.first.size, groups.second.size), []).append((position, groups))
    for (few, many), members in by_sizes.items():
        step = block_rows(3 * min(resamples, comb(few + many, few)))
        for start in range(0, len(members), step):
            part = members[start : start + step]
            of_part = _splits([groups for _, groups in part], resamples, drawn_by)
            for (position, groups), splits in zip(part, of_part, strict=True):
                results[position] = _tested_by(splits, groups, results[position])
    return tuple(results)


def _without_test(blank: Result, a: Array, b: Array) -> Result:
    """A result with the mean difference, Welch's t, its standard error and Cohen's d, or why there is no test."""
    if not a.size or not b.size:
        return blank.no_value(EMPTY_GROUP)
    difference = float(a.mean() - b.mean())
    effect = cohens_d(a, b, level=blank.options["level"])
    result = replace(blank, estimate=difference, effect=effect, details=_described_groups(a, b))
    small = min(a.size, b.size) < 2
    if small or constant(np.concatenate([a, b])):
        reason = "a group has fewer than two values" if small else "all values are equal"
        return replace(result, missing=f"no p-value and no interval: {reason}")
    if constant(a) and constant(b):
        return result
    error = float(np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size))
    return replace(result, standard_error=error, statistic=difference / error)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Two groups in an order that follows from how their values lie around their means: what a seed draws is the same
    whichever of them is x, whatever is taken off x, and where all signs are turned.

    Attributes:
        first, second: the values less their group's mean, by size; the first group is no larger.
        gap: the first mean minus the second.
        turned: whether the gap is y's mean minus x's.
    """

    first: Array
    second: Array
    gap: float
    turned: bool

    @classmethod
    def of(cls, a: Array, b: Array) -> _Groups:
        """Of x and y."""
        gap = float(a.mean() - b.mean())
        groups = [np.zeros(group.size) if constant(group) else group - group.mean() for group in (a, b)]
        of_a, of_b = (float(group @ group) for group in groups)
        together = np.concatenate(groups)
        mirrored = bool((together**3).sum() < -1e-9 * (np.abs(together) ** 3).sum())
        further = a.size - b.size or (of_a - of_b if abs(of_a - of_b) > 1e-9 * (of_a + of_b) else 0)
        swapped = further > 0 if further else (gap < 0) != mirrored
        sign = -1 if mirrored else 1
        first, second = (np.sort(sign * group) for group in (groups[::-1] if swapped else groups))
        return cls(first, second, gap if swapped == mirrored else -gap, swapped != mirrored)


def _first_groups(few: int, size: int, resamples: int, seed: int) -> Iterator[Array]:
    """Blocks of splits of ``size`` values, 1 for the ``few`` of the first group: all there are, or random ones."""
    count = comb(size, few)
    every, rng = combinations(range(size), few), generator(seed)
    for rows in blocks(min(count, resamples), size):
        if count <= resamples:
            block = np.zeros((rows, size))
            np.put_along_axis(block, np.array(list(islice(every, rows))), 1.0, axis=1)
            yield block
        else:
            keys = rng.random((rows, size))
            yield (keys <= np.partition(keys, few - 1, axis=1)[:, few - 1 : few]).astype(np.float64)


def _splits(samples: Sequence[_Groups], resamples: int, seed: int) -> Iterator[_Splits]:
    """The splits of samples that all have groups of the same sizes."""
    m, n = samples[0].first.size, samples[0].second.size
    values = np.stack([np.concatenate([groups.first, groups.second]) for groups in samples], axis=1)
    own = np.arange(m + n)[:, None] < m
    table = np.concatenate([values, values**2, np.where(own, values, 0.0), own], axis=1)
    sums = np.concatenate([block @ table for block in _first_groups(m, m + n, resamples, seed)]).T.copy()
    stay, go = sums[-1], m - sums[-1]
    of_first, of_second = 1 / (m * (m - 1)), 1 / (n * (n - 1))
    slope, curve = stay / m - go / n, of_first * (stay - stay**2 / m) + of_second * (go - go**2 / n)
    for place, groups in enumerate(samples):
        total, squares, cross = sums[place : -1 : len(samples)]
        first, second = float(groups.first @ groups.first), float(groups.second @ groups.second)
        error = of_first * (squares - total**2 / m) + of_second * (first + second - squares - total**2 / n)
        twice = 2 * (of_first * (cross - stay * total / m) + of_second * (go * total / n - cross))
        parts = np.stack([total * (1 / m + 1 / n), slope, error, twice, curve])
        yield _Splits(parts, of_first * first + of_second * second, comb(m + n, m) > resamples)


@dataclass(frozen=True, slots=True)
class _Splits:
    """Every split's difference ``a + b·gap`` and squared error ``c + d·gap + e·gap²``, of groups that lie a gap apart.

    Attributes:
        parts: a, b, c, d and e, 5 × splits.
        error: the squared error of the groups as they are.
        sampled: whether the splits are random.
    """

    parts: Array
    error: float
    sampled: bool

    def mirrored(self) -> _Splits:
        """The same with all signs turned."""
        return replace(self, parts=self.parts * np.array([-1.0, 1.0, 1.0, -1.0, 1.0])[:, None])

    def further(self, gap: float, upwards: bool) -> npt.NDArray[np.int8]:
        """2 for each split whose t is further out than that of the groups at this gap, 1 where it is as far, else 0.

        Args:
            gap: any number.
            upwards: whether t counts with its sign, and not by its size.
        """
        a, b, c, d, e = self.parts
        out, own = a + b * gap, gap
        out, own = (out * np.abs(out), own * abs(own)) if upwards else (out**2, own**2)
        out *= self.error
        bound = own * (c + gap * (d + e * gap))
        # Sums of the same terms in another order differ in the last digits; they count as ties.
        slack = 1e-9 * np.abs(bound)
        counts: npt.NDArray[np.int8] = (out > bound + slack).astype(np.int8) + (out >= bound - slack)
        return counts

    def p(self, halves: int, count: int) -> float:
        """p where so many halves of ``count`` splits are further out."""
        return (halves + 1) / (2 * count + 2) if self.sampled else halves / (2 * count)

    def reach(self, alpha: float, upwards: bool, zero: float) -> float | None:
        """The largest gap that isn't rejected, from 0 up; None where every one is kept.

        Args:
            alpha: the level of the test.
            upwards: as above.
            zero: a gap that is asked first, so that the answer and the test of it agree.
        """
        from scipy.special import ndtri

        a, b, _, _, e = self.parts
        guess = float(np.sqrt(self.error) * -ndtri(alpha if upwards else alpha / 2))
        low, high, count, sure, rest = 0.0, np.inf, a.size, 0, self
        # At no gap all splits are further out, or all on that side; at an endless one, as far are those that are alike.
        inside = 2 * ((a > 0) | (not upwards)).astype(np.int8)
        outside = ((e <= 1e-12) & ((b > 0) | (not upwards))).astype(np.int8)
        if self.p(int(outside.sum()), count) > alpha:
            return None
        probes = [zero, 1.06 * guess, 0.98 * guess, 1.25 * guess]
        while high - low > 1e-9 * (guess + low):
            halfway = 2 * max(low, guess) if np.isinf(high) else (low + high) / 2
            probe = next((probe for probe in probes if low < probe < high), halfway)
            counts = rest.further(probe, upwards)
            if self.p(sure + int(counts.sum()), count) <= alpha:
                high, outside = probe, counts
            else:
                low, inside = probe, counts
            # Splits that count the same at both ends aren't asked again.
            asked = inside != outside
            if 2 * asked.sum() > asked.size:
                continue
            sure += int(inside[~asked].sum())
            rest, inside, outside = replace(rest, parts=rest.parts[:, asked]), inside[asked], outside[asked]
        return zero if abs(zero - low) <= 2e-9 * (guess + low) else low


def _tested_by(splits: _Splits, groups: _Groups, result: Result) -> Result:
    """The result with its p and the interval that goes with it."""
    alternative, level = result.options["alternative"], result.options["level"]
    upwards, gap, sign = alternative != "two-sided", groups.gap, -1 if groups.turned else 1
    if alternative == ("greater" if groups.turned else "less"):
        splits, gap, sign = splits.mirrored(), -gap, -sign
    count = splits.parts.shape[1]
    result = replace(result, p=splits.p(int(splits.further(gap, upwards).sum()), count))
    if splits.sampled and result.p == splits.p(0, count):
        result = replace(result, remarks=(f"p is the smallest that {count} splits can give",))
    if result.standard_error is None:
        return replace(result, missing="no interval: the values within the groups don't vary")
    alpha = (1 - level) * (1 + 1e-12) / (2 if upwards else 1)
    below, above = splits.reach(alpha, upwards, gap), splits.mirrored().reach(alpha, upwards, -gap)
    if below is None or above is None:
        return replace(result, missing=f"no interval: too few values for {level:.0%}")
    low, high = sorted((sign * (gap - below), sign * (gap + above)))
    return replace(result, interval=Interval(low + 0.0, high + 0.0, level, "splits inverted"))


def fisher_exact(
    table: Any, *, sides: Sides = "likelihood", alternative: Alternative = "two-sided", level: float = 0.95
) -> Result:
    """Fisher's exact test of a 2 × 2 table of counts, groups in rows, outcome (yes, no) in columns.

    Args:
        sides: how both sides make one p: ``"likelihood"`` adds all tables that are no likelier, ``"central"`` doubles
            the smaller side, and ``"mid-p"`` doubles it less half the chance of the table seen.
        alternative: ``"greater"``: a larger share of yes in the first group.
        level: nominal coverage of the interval, which is two-sided whatever the alternative.

    Estimate: difference of the two shares with Newcombe's (1998) interval; else with the melded one (Fay, Proschan
    and Brittain 2015), which leaves out 0 exactly where the test rejects. Effect: sample odds ratio.
    """

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    one_of(sides, ("likelihood", "central", "mid-p"), "choice", DataError, where="`sides`")
    counts = counts_of_two(table, "Fisher's test")
    sizes = counts.sum(axis=1)
    n = int(sizes.sum())
    blank = Result(
        name="difference of proportions",
        method=f"Fisher's {'' if sides == 'mid-p' else 'exact '}test, {alternative}"
        + ("" if sides == "likelihood" else f", {sides}"),
        n=n,
        options={"sides": sides, "alternative": alternative, "level": level},
    )
    if not sizes.all():
        return blank.no_value(EMPTY_GROUP)
    first, second = counts[:, 0] / sizes
    result = replace(
        blank,
        estimate=float(first - second),
        interval=_shares_interval(counts, sides, level),
        effect=odds_ratio(counts, level=level),
        details={
            "share in x": float(first), "share in y": float(second),
            "n of x": float(sizes[0]), "n of y": float(sizes[1]),
        },
    )  # fmt: skip
    if not counts.sum(axis=0).all():
        return replace(result, missing="no p-value: the outcome is the same in all cases")
    return replace(result, p=_fisher_p(counts.astype(int), sides, alternative))


def _fisher_p(counts: npt.NDArray[np.int_], sides: str, alternative: str) -> float:
    from scipy import stats

    if sides != "likelihood" and alternative == "two-sided":
        return min(1.0, 2 * min(_fisher_p(counts, sides, side) for side in ("greater", "less")))
    p = float(stats.fisher_exact(counts, alternative=alternative)[1])
    if sides != "mid-p":
        return p
    (a, b), (c, d) = counts.tolist()
    return p - float(stats.hypergeom.pmf(a, a + b + c + d, a + c, a + b)) / 2


def _shares_interval(counts: Array, sides: str, level: float) -> Interval:
    """The interval of the first share minus the second."""
    sizes = counts.sum(axis=1)
    if sides != "likelihood":
        (x, y), (n_x, n_y) = counts[:, 0].astype(int), sizes.astype(int)
        mid = sides == "mid-p"
        bounds = melded_bounds(int(x), int(n_x), int(y), int(n_y), level=level, mid=mid)
        return Interval(*bounds, level, f"melded, {'mid-p' if mid else 'exact'} (Fay, Proschan and Brittain)")
    shares = counts[:, 0] / sizes
    low, high = wilson_bounds(shares, sizes, level)
    below, above, difference = (shares - low) ** 2, (high - shares) ** 2, shares[0] - shares[1]
    bounds = difference - np.sqrt(below[0] + above[1]), difference + np.sqrt(above[0] + below[1])
    return Interval(float(bounds[0]), float(bounds[1]), level, "Newcombe")
