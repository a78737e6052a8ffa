"""How much each judge of a jury counts, learnt from people's ratings, and shrunk toward equal where these are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.stats.arrays import Array, Indices

#: How hard weights are drawn toward equal ones, from not at all to wholly.
_STRENGTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, np.inf)
_FOLDS = 5
#: Of votes: every judge's share of right answers is that of so many answers more, at the mean share of all judges.
_PRIOR_ANSWERS = 20.0
#: What makes the weights sum to 1, beside the errors themselves.
_SUM = 1e4


@dataclass(frozen=True, slots=True)
class LearntWeights:
    """Weights of judges on one metric.

    Attributes:
        weights: of each judge, 0 … 1, with sum 1.
        strength: how hard they were drawn toward equal ones: of levels the penalty that cross-validation chose, inf
            for equal weights; of labels how many answers each judge was given at the mean of all.
        accuracies: of labels, each judge's share of right answers; empty of levels.
    """

    weights: tuple[float, ...]
    strength: float
    accuracies: tuple[float, ...] = ()


def level_weights(
    levels: Array, people: Array, cases: Sequence[str], unit_weights: Array, seed: int = 0
) -> LearntWeights:
    """Weights of the mean of judges that is nearest to what people say, by least squares.

    ``min Σ u (y − Xw)² + λ s² k Σ (w − 1/k)²`` with w ≥ 0 and Σ w = 1 (Lawson and Hanson's non-negative least squares),
    where k is the number of judges and s² the error of their plain mean. λ is the largest whose error on other cases
    is within a standard error of the smallest (five parts by case; Breiman and others' rule): few labels, equal
    weights.

    Args:
        levels: units × judges.
        people: people's consensus of each unit.
        cases: of each unit.
        unit_weights: of each unit, with mean about 1.
        seed: of the division into parts.
    """
    from sklearn.model_selection import GroupKFold

    places: Indices = np.unique(np.array(cases), return_inverse=True)[1]
    folds = min(_FOLDS, int(places.max()) + 1)
    errors = np.zeros((len(_STRENGTHS), len(people)))
    splitter = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(levels, groups=places):
        for row, strength in enumerate(_STRENGTHS):
            weights = _fitted(levels[train], people[train], unit_weights[train], strength)
            errors[row, test] = (people[test] - levels[test] @ weights) ** 2
    by_case = np.stack([np.bincount(places, weights=row * unit_weights) for row in errors]) / max(
        np.bincount(places, weights=unit_weights).mean(), 1e-12
    )
    means = by_case.mean(axis=1)
    best = int(np.argmin(means))
    # The error of the difference, case by case: what makes a case hard for all weights is no doubt about which is best.
    spread = (by_case - by_case[best]).std(axis=1, ddof=1) / np.sqrt(by_case.shape[1])
    chosen = max(row for row in range(len(_STRENGTHS)) if means[row] - means[best] <= spread[row] + 1e-12)
    strength = _STRENGTHS[chosen]
    fitted = _fitted(levels, people, unit_weights, strength)
    return LearntWeights(tuple(map(float, fitted)), float(strength))


def _fitted(levels: Array, people: Array, unit_weights: Array, strength: float) -> Array:
    """The weights of :func:`level_weights` for one strength."""
    from scipy.optimize import nnls

    k = levels.shape[1]
    equal: Array = np.full(k, 1 / k)
    if np.isinf(strength):
        return equal
    error = float(np.average((people - levels @ equal) ** 2, weights=unit_weights))
    root = np.sqrt(unit_weights)
    ridge = np.sqrt(strength * max(error, 1e-9) * k)
    # Rows are scaled so that the one for the sum outweighs all units together.
    table = np.vstack([levels * root[:, None], ridge * np.eye(k), np.full((1, k), _SUM)])
    weights, _ = nnls(table, np.concatenate([people * root, ridge * equal, [_SUM]]))
    total = weights.sum()
    return np.asarray(weights / total) if total > 0 else equal


def vote_weights(answers: Sequence[Sequence[Any]], people: Sequence[Any], labels: int) -> LearntWeights:
    """Weights of votes: the log odds that a judge is right, over those of a guess (Nitzan and Paroush 1982).

    ``w = max(0, log(p (L − 1) / (1 − p)))``, scaled to sum 1: the best weights where judges err independently of one
    another and alike on all labels, as in Dawid and Skene's model with one accuracy a judge. p is the share of right
    answers after twenty more at the mean share of all judges, so that few answers give nearly equal weights. Where no
    judge is better than a guess, weights are equal.

    Args:
        answers: units × judges; None where a judge gave none.
        people: the label that people gave by majority.
        labels: how many labels there are.
    """
    right = np.array(
        [[answer == truth for answer in row] for row, truth in zip(answers, people, strict=True)]
    )
    given = np.array([[answer is not None for answer in row] for row in answers])
    hits, counts = (right & given).sum(axis=0).astype(float), given.sum(axis=0).astype(float)
    mean = hits.sum() / max(counts.sum(), 1.0)
    shares = (hits + _PRIOR_ANSWERS * mean) / (counts + _PRIOR_ANSWERS)
    shares = np.clip(shares, 1e-6, 1 - 1e-6)
    weights = np.maximum(np.log(shares * (labels - 1) / (1 - shares)), 0.0)
    if not weights.sum():
        weights = np.ones(len(shares))
    raw = np.divide(hits, counts, out=np.full(len(hits), np.nan), where=counts > 0)
    return LearntWeights(tuple(map(float, weights / weights.sum())), _PRIOR_ANSWERS, tuple(map(float, raw)))
