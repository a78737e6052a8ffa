"""Which units may a judge settle, and which go on to the next? A bound on how often those settled are wrong.

Each judge says how sure it is of each unit. Those of which it is sure enough are settled; the rest goes to the next
judge, and last to people. The thresholds are the lowest at which an upper bound on the share that people disagree with
stays under what is tolerated, tested from the highest on until one fails (fixed-sequence testing, as in Jung and
others' Trust or Escalate, 2024): stopping at the first failure keeps the level without a correction for many tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Mask, vector

#: Each threshold tried settles so many units more, at least, as a share of those that come to the judge.
_STEP = 0.05
#: How alike units of a case are taken to be where a sequence begins; the bounds themselves see how alike they are.
_ALIKE = 0.2
#: A sequence begins with the smallest set that passes with this part of what is tolerated; fewer units, a smaller one.
_PARTS = (0.5, 0.25)


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """What settling from one threshold on comes to, on the labelled units.

    Attributes:
        threshold: the least that a judge must be sure.
        settled: units from it on; share: of those that come to the judge, weighted.
        wrong: the weighted share of them that people disagree with; bound: its upper bound.
        passed: whether the bound is at most what is tolerated, as are those of all thresholds before.
    """

    threshold: float
    settled: int
    share: float
    wrong: float
    bound: float
    passed: bool


@dataclass(frozen=True, slots=True, eq=False)
class JudgeStage:
    """What one judge of a sequence settles.

    Attributes:
        threshold: the least that it must be sure; None where nothing can be left to it.
        tests: the thresholds tried, from the highest on.
        came: units that came to it; asked: the same as a share of all units, weighted.
        share: of all units, weighted, what it settles.
        wrong, bound: of what it settles, the share that people disagree with, and its upper bound; None without a
            threshold.
        settles: which of all units.
    """

    threshold: float | None
    tests: tuple[ThresholdTest, ...]
    came: int
    asked: float
    share: float
    wrong: float | None
    bound: float | None
    settles: Mask


def risk_bound(
    wrong: Any, *, clusters: Any = None, weights: Any = None, confidence: float = 0.9
) -> tuple[float, float]:
    """The share of ones, and its one-sided upper bound.

    Clopper and Pearson's, exact; with clusters or weights, Korn and Graubard's (1998): for as many units as would give
    the same error if each were drawn by itself.

    Args:
        wrong: zeros and ones, none missing.
        clusters: for each unit the cluster it belongs to, such as its case.
        weights: of each unit, such as one over the chance with which it was drawn.
        confidence: with which the bound holds.

    Raises:
        DataError: no values.
    """
    from scipy.stats import beta, t

    ones = vector(wrong, "wrong")
    if not ones.size:
        raise DataError("no units, so there is no share")
    load = np.ones(ones.size) if weights is None else vector(weights, "weights")
    share, count = float(np.average(ones, weights=load)), float(ones.size)
    if clusters is not None or weights is not None:
        names = np.arange(ones.size) if clusters is None else np.asarray(clusters).astype(str)
        member = np.unique(names, return_inverse=True)[1]
        loads = np.bincount(member, load)
        groups = len(loads)
        if groups < 2:
            return share, 1.0
        if 0 < share < 1:
            sums = np.bincount(member, load * (ones - share))
            error = float(sums @ sums) / float(load.sum()) ** 2 * groups / (groups - 1)
            count = share * (1 - share) / error if error > 0 else count
        else:
            count = float(loads.sum()) ** 2 / float(loads @ loads)
        count = min(count, ones.size) * float(t.ppf(confidence, ones.size - 1) / t.ppf(confidence, groups - 1)) ** 2
    if share * count >= count:
        return share, 1.0
    return share, float(beta.ppf(confidence, share * count + 1, count - share * count))


def escalation(
    sureness: Sequence[Any],
    wrong: Sequence[Any],
    *,
    tolerated: float = 0.1,
    confidence: float = 0.9,
    clusters: Any = None,
    weights: Any = None,
) -> tuple[JudgeStage, ...]:
    """The threshold of each judge in turn, the cheapest first, and what each settles.

    With the confidence stated, of what each judge settles people disagree with no more than the share tolerated, all
    judges together: each is tested at its part of the doubt. A sequence begins with the smallest set that would pass
    with half of the disagreement tolerated (a quarter, or none, where units are few): that hangs on no label.

    Args:
        sureness: for each judge, how sure it is of each unit; NaN where it isn't known, which it never settles.
        wrong: for each judge, 1 where people disagree with it and 0 where not; NaN where it gave nothing.
        tolerated: the share of disagreement tolerated, above 0 and below 1.
        confidence: with which it holds.
        clusters, weights: as for :func:`risk_bound`.

    Raises:
        DataError: lists of unequal length, or a share or confidence that is none.
    """
    if not 0 < tolerated < 1 or not 0 < confidence < 1:
        raise DataError(
            "disagreement and confidence lie above 0 and below 1", todo="give `disagreement=.1` and `confidence=.9`"
        )
    sure, errors = [vector(one) for one in sureness], [vector(one) for one in wrong]
    size = sure[0].size if sure else 0
    if not sure or len(errors) != len(sure) or {one.size for one in (*sure, *errors)} != {size}:
        raise DataError("each judge needs how sure it is and whether it is wrong, of the same units")
    load = np.ones(size) if weights is None else vector(weights, "weights")
    names = None if clusters is None else np.asarray(clusters).astype(str)
    left: Mask = np.ones(size, dtype=np.bool_)
    level = 1 - (1 - confidence) / len(sure)
    stages = []
    for own, off in zip(sure, errors, strict=True):
        came = left & ~np.isnan(own) & ~np.isnan(off)
        tests = tuple(
            _tests(own, off, came, tolerated=tolerated, level=level, names=names, load=load,
                   weighted=weights is not None)
        )  # fmt: skip
        last = next((test for test in reversed(tests) if test.passed), None)
        settles: Mask = came & (own >= last.threshold) if last else np.zeros(size, dtype=np.bool_)
        asked, share = (float(load[chosen].sum() / load.sum()) for chosen in (left, settles))
        threshold, off_share, bound = (last.threshold, last.wrong, last.bound) if last else (None, None, None)
        stages.append(JudgeStage(threshold, tests, int(left.sum()), asked, share, off_share, bound, settles))
        left = left & ~settles
    return tuple(stages)


def _tests(
    sure: Array, wrong: Array, came: Mask, *, tolerated: float, level: float, names: Any, load: Array, weighted: bool
) -> list[ThresholdTest]:
    """The thresholds tried in turn, up to the first that fails."""
    tests: list[ThresholdTest] = []
    before = 0
    # A sequence begins with the most that so many units could pass with.
    most = _independent(came, names)
    first = next((part for part in _PARTS if _could_pass(most, part * tolerated, tolerated, level)), 0.0)
    for threshold in np.unique(sure[came])[::-1]:
        chosen = came & (sure >= threshold)
        count = int(chosen.sum())
        last = count == int(came.sum())
        if not _could_pass(_independent(chosen, names), first * tolerated, tolerated, level) or (
            count - before < _STEP * came.sum() and not last
        ):
            continue
        share, bound = risk_bound(
            wrong[chosen],
            clusters=None if names is None else names[chosen],
            weights=load[chosen] if weighted else None,
            confidence=level,
        )
        passed = bound <= tolerated
        part = float(load[chosen].sum() / load[came].sum())
        tests.append(ThresholdTest(float(threshold), count, part, share, bound, passed))
        before = count
        if not passed:
            break
    return tests


def _independent(chosen: Mask, names: Any) -> float:
    """As how many independent units so many count before anything is known of how alike those of a case are."""
    count = int(chosen.sum())
    groups = count if names is None else len(np.unique(names[chosen]))
    return count / (1 + _ALIKE * (count / groups - 1)) if count else 0.0


def _could_pass(count: float, share: float, tolerated: float, level: float) -> bool:
    """Whether so many units of which this share is wrong would pass."""
    from scipy.stats import beta

    wrong = share * count
    return count > wrong and float(beta.ppf(level, wrong + 1, count - wrong)) <= tolerated
