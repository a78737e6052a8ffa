"""How far do values vary between repeats beside between cases, and how many repeats does a difference need?

Each case is had under one or several conditions (such as personas), each repeated. A system's value of a case is the
mean over conditions of the mean over repeats. Components are those of the analysis of variance (Searle, Casella and
McCulloch 1992, Variance Components, chapter 3); sizes follow from the variance of a paired difference of means over
cases with repeats, (ω² + σ²_A / K + σ²_B / K) / n (Miller 2024, Adding error bars to evals, arXiv:2411.00640, 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array

#: Repeats and cases above which a number is not worth printing.
MOST = 10_000
#: Values of one system: those of each repeat, by case and condition.
Cells = Mapping[tuple[str, str], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSpread:
    """The spread of one system's values.

    Attributes:
        mean: over cases.
        cases: their number.
        values: all values.
        within: variance between repeats of the same case and condition; None where nothing was repeated.
        between: variance between cases without what repeats add to it, 0 at least; None of fewer than two cases, and
            where nothing was repeated.
    """

    mean: float
    cases: int
    values: int
    within: float | None
    between: float | None

    @property
    def share(self) -> float | None:
        """Share of the variance of single values that repeats make: 0 where a repeat gives the same again."""
        if self.within is None or self.between is None or not self.within + self.between > 0:
            return None
        return self.within / (self.within + self.between)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsNeeded:
    """How many repeats a difference of the size that was seen needs.

    Attributes:
        difference: of the means over cases that both systems have, first minus second.
        cases: those cases.
        repeats: mean number of repeats of a case under a condition.
        between: variance between cases of the true difference, 0 at least; None where it can't be told.
        within: sum of both systems' variance between repeats; None where one of them repeated nothing.
        needed: repeats of each case that a test needs for the power, with these cases; None where none would do.
        needed_cases: cases that it needs with these repeats; None where none would do.
        missing: why there is no number of repeats.
    """

    difference: float
    cases: int
    repeats: float
    between: float | None = None
    within: float | None = None
    needed: int | None = None
    needed_cases: int | None = None
    missing: str | None = None


def repeat_spread(cells: Cells) -> RepeatSpread:
    """The spread of a system's values.

    Args:
        cells: by case and condition, the values of its repeats; none of them is missing.

    Raises:
        DataError: there are no values.
    """
    if not any(cells.values()):
        raise DataError("there are no values")
    within, case_means, noise = _parts(cells)
    between = None
    if within is not None and case_means.size > 1:
        between = max(0.0, float(case_means.var(ddof=1)) - within * float(noise.mean()))
    return RepeatSpread(
        mean=float(case_means.mean()),
        cases=case_means.size,
        values=sum(map(len, cells.values())),
        within=within,
        between=between,
    )


def repeats_needed(a: Cells, b: Cells, *, level: float = 0.95, power: float = 0.8) -> RepeatsNeeded:
    """Repeats of each case that a paired t test over cases needs to find the difference that was seen.

    ``K = σ²·p / (n·d² / t² − ω²)``: ``n`` cases, ``d`` the difference, ``t`` the sum of t's quantiles of level and
    power with n − 1 degrees of freedom, ``ω²`` the variance between cases of the true difference, ``σ²`` the sum of
    both systems' variance between repeats and ``p`` one over the number of conditions. No number will do where cases
    alone make the difference too uncertain.

    Args:
        a, b: values of the two systems, as for :func:`repeat_spread`; only cases and conditions of both count.
        level: of the two-sided test, as coverage.
        power: wanted.

    Raises:
        DataError: the two have no case and condition in common.
    """
    shared = sorted(key for key in a.keys() & b.keys() if a[key] and b[key])
    if not shared:
        raise DataError("the two systems have no case in common")
    (within_a, means_a, noise_a), (within_b, means_b, noise_b) = (
        _parts({key: cells[key] for key in shared}) for cells in (a, b)
    )
    differences = means_a - means_b
    n = differences.size
    seen = RepeatsNeeded(
        difference=float(differences.mean()),
        cases=n,
        repeats=float(np.mean([len(cells[key]) for cells in (a, b) for key in shared])),
    )
    if n < 2:
        return _without(seen, "one case only")
    if within_a is None or within_b is None:
        return _without(seen, "no repeats")
    spread = float(differences.var(ddof=1))
    between = max(0.0, spread - float((within_a * noise_a + within_b * noise_b).mean()))
    conditions = np.array([sum(case == other for other, _ in shared) for case in _cases(shared)])
    within = within_a + within_b
    d, t = abs(seen.difference), _quantiles(level, power, n)
    sized = RepeatsNeeded(
        difference=seen.difference, cases=n, repeats=seen.repeats, between=between, within=within,
        needed_cases=_needed_cases(d, spread, level, power),
    )  # fmt: skip
    if d == 0:
        return _without(sized, "no difference was seen")
    room = n * (d / t) ** 2 - between
    per_repeat = within * float((1 / conditions).mean())
    if room <= 0 or per_repeat > MOST * room:
        return _without(sized, "more cases are needed, and not repeats")
    return RepeatsNeeded(
        difference=sized.difference, cases=n, repeats=sized.repeats, between=between, within=within,
        needed=max(1, int(np.ceil(per_repeat / room - 1e-9))), needed_cases=sized.needed_cases,
    )  # fmt: skip


def worst_of_repeats(cells: Cells, k: int) -> Array:
    """The worst of k repeats, for each case: without bias, from n ≥ k repeats.

    It is the mean over all sets of k repeats of their least value, ``Σ C(n − i, k − 1) · x₍ᵢ₎ / C(n, k)``. Of successes
    and failures, 1 and 0, it is ``C(c, k) / C(n, k)`` where c of n succeed: pass^k (Yao et al. 2024, τ-bench,
    arXiv:2406.12045).

    Args:
        cells: as for :func:`repeat_spread`; higher is better.
        k: repeats, 1 or more.

    Returns:
        The mean over the conditions of each case that have k repeats or more, in order of the cases' names; shape
        (cases,). A case without any is left out.

    Raises:
        DataError: k is below 1.
    """
    if k < 1:
        raise DataError("the worst is of one repeat at least", where="`k`")
    by_case: dict[str, list[float]] = {}
    for (case, _), values in sorted(cells.items()):
        n = len(values)
        if n >= k:
            weights = [comb(n - 1 - place, k - 1) for place in range(n)]
            by_case.setdefault(case, []).append(float(np.dot(weights, np.sort(values))) / comb(n, k))
    return np.array([np.mean(worst) for worst in by_case.values()], dtype=np.float64)


def _parts(cells: Cells) -> tuple[float | None, Array, Array]:
    """The variance between repeats, and of each case, in order of its name, the mean and how much of that variance
    its mean has."""
    squares = freedom = 0.0
    by_case: dict[str, list[tuple[float, int]]] = {case: [] for case in _cases(sorted(cells))}
    for (case, _), values in cells.items():
        if not values:
            continue
        array = np.asarray(values, dtype=np.float64)
        squares += float(((array - array.mean()) ** 2).sum())
        freedom += array.size - 1
        by_case[case].append((float(array.mean()), array.size))
    kept = [parts for parts in by_case.values() if parts]
    means = np.array([np.mean([mean for mean, _ in parts]) for parts in kept])
    noise = np.array([sum(1 / size for _, size in parts) / len(parts) ** 2 for parts in kept])
    return (squares / freedom if freedom else None), means, noise


def _cases(keys: Sequence[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(case for case, _ in keys))


def _quantiles(level: float, power: float, n: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2) + stdtrit(n - 1, power))


def _needed_cases(difference: float, variance: float, level: float, power: float) -> int | None:
    """The fewest cases at which the quantiles of their own degrees of freedom are reached."""
    if difference == 0:
        return None
    low, high = 1, MOST
    if _quantiles(level, power, high) ** 2 * variance > high * difference**2:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = _quantiles(level, power, middle) ** 2 * variance <= middle * difference**2
        low, high = (low, middle) if enough else (middle, high)
    return high


def _without(seen: RepeatsNeeded, reason: str) -> RepeatsNeeded:
    return RepeatsNeeded(
        difference=seen.difference, cases=seen.cases, repeats=seen.repeats, between=seen.between,
        within=seen.within, needed_cases=seen.needed_cases, missing=reason,
    )  # fmt: skip
