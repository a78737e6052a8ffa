"""A model of levels or labels from features: regularised logistic regression, of cumulative logits where they are in
order.

Levels in order are learnt by the reduction of Li and Lin (2007, Advances in Neural Information Processing Systems 19):
a unit asks, for each level but the last, whether people's is above it; all questions share one direction of the
features and each has a threshold of its own, so that scikit-learn's logistic regression fits a proportional-odds model
with a penalty, by the sum of the questions' likelihoods. Labels without an order are learnt by multinomial logistic
regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bedside.core.errors import DataError, from_extra
from bedside.stats.arrays import Array, Indices
from bedside.tuning.unit_features import UnitFeatures

#: Inverses of the penalty that cross-validation chooses from.
STRENGTHS = (0.003, 0.03, 0.3, 3.0, 30.0)
FOLDS = 5
#: Factor on the columns of thresholds: the penalty hardly touches them.
_FREE = 30.0
#: Directions of the features that are kept: with more units than this, those in which they vary most.
_MOST_DIRECTIONS = 100
#: More units than this would take minutes and gigabytes.
MOST_UNITS = 6000


@dataclass(frozen=True, slots=True, eq=False)
class FeatureScale:
    """What brings the parts of features to one size, so that one penalty suits them all.

    Attributes:
        mean, spread: of the numbers.
        middle: of the vectors; length: their root mean square distance from it.
    """

    mean: Array
    spread: Array
    middle: Array
    length: float

    @staticmethod
    def of(features: UnitFeatures) -> FeatureScale:
        """The scale of these units."""
        spread = features.numbers.std(axis=0)
        # What hardly varies in training says nothing, and would say too much elsewhere.
        spread[spread < 1e-6] = np.inf
        middle = features.vectors.mean(axis=0)
        distance = np.sqrt(((features.vectors - middle) ** 2).sum(axis=1).mean()) if middle.size else 1.0
        return FeatureScale(features.numbers.mean(axis=0), spread, middle, float(distance) or 1.0)

    def dense(self, features: UnitFeatures) -> Array:
        """Numbers and vectors of units, brought to size: about 1 for each part of a row."""
        numbers = np.clip((features.numbers - self.mean) / self.spread, -4, 4)
        vectors = (features.vectors - self.middle) / self.length
        return np.hstack([numbers / np.sqrt(max(1, numbers.shape[1])), vectors])


@dataclass(frozen=True, slots=True, eq=False)
class LevelModel:
    """A fitted model.

    Attributes:
        ordered: whether the levels are in order: then there is one head, else one for each label.
        scale: of the features.
        columns: columns of n-grams that have a weight, shape (m,), ascending; grams: their weights, (m, heads).
        dense: weights of numbers and vectors, (width, heads).
        thresholds: of levels in order, what a score must exceed to be above each level but the last as likely as not,
            ascending, (levels − 1,); of labels their intercepts, (labels,).
        cuts: of levels in order, where the score of one begins, ascending, (levels − 1,), such that levels are given
            as often as people gave them; empty of labels.
    """

    ordered: bool
    scale: FeatureScale
    columns: Indices
    grams: Array
    dense: Array
    thresholds: Array
    cuts: Array

    def scores(self, features: UnitFeatures) -> Array:
        """Units × heads."""
        linear: Array = np.asarray(features.grams[:, self.columns] @ self.grams)
        return linear + self.scale.dense(features) @ self.dense

    def probabilities(self, features: UnitFeatures) -> Array:
        """Units × levels; rows of sum 1."""
        scores = self.scores(features)
        if self.ordered:
            above = 1 / (1 + np.exp(-np.clip(scores - self.thresholds, -500, 500)))
            bounds = np.hstack([np.ones((len(scores), 1)), above, np.zeros((len(scores), 1))])
            return np.asarray(bounds[:, :-1] - bounds[:, 1:])
        logits = scores + self.thresholds
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def choices(self, features: UnitFeatures) -> Indices:
        """The position of each unit's level or label."""
        if self.ordered:
            return np.asarray(np.searchsorted(self.cuts, self.scores(features)[:, 0], side="right"))
        return np.asarray(self.probabilities(features).argmax(axis=1))


def fit_level_model(
    features: UnitFeatures, targets: Array, cases: Sequence[str], *, ordered: bool, seed: int = 0
) -> tuple[LevelModel, float]:
    """A model fitted to units, and the inverse of the penalty that other cases than those fitted to liked best.

    The penalty is the one with the smallest log loss in five parts by case, the stronger of equal ones. Levels in order
    are cut so that, in those parts, they are given as often as people gave them: a model that knows little keeps to the
    middle, and would else never give what is rare.

    Args:
        features: of the units.
        targets: units × levels: the share of each level in what people say, rows of sum 1.
        cases: of each unit.
        ordered: whether the levels are in order.
        seed: of the division into parts.

    Raises:
        DataError: too many units.
    """
    with from_extra("learning", "training a rater needs scikit-learn"):
        from sklearn.model_selection import GroupKFold

    if len(targets) > MOST_UNITS:
        raise DataError(
            f"{len(targets):,} units are more than the {MOST_UNITS:,} that can be learnt from",
            where="`split`",
            todo="learn from a smaller share",
        )
    places = np.unique(np.array(cases), return_inverse=True)[1]
    scale = FeatureScale.of(features)
    space = _Space.of(features, scale)
    splitter = GroupKFold(min(FOLDS, int(places.max()) + 1), shuffle=True, random_state=seed)
    parts = list(splitter.split(targets, groups=places))
    losses = np.zeros(len(STRENGTHS))
    outside = np.zeros((len(STRENGTHS), len(targets), 1 if ordered else targets.shape[1]))
    for train, test in parts:
        for row, strength in enumerate(STRENGTHS):
            directions, thresholds = _fitted(space.rows[train], targets[train], strength, ordered)
            scores = space.rows[test] @ directions
            losses[row] += _log_loss(scores, thresholds, targets[test], ordered)
            outside[row, test] = scores
    best = int(np.argmin(np.round(losses, 6)))
    directions, thresholds = _fitted(space.rows, targets, STRENGTHS[best], ordered)
    grams, dense = space.weights(features, scale, directions)
    columns = np.flatnonzero(np.abs(grams).sum(axis=1))
    model = LevelModel(
        ordered=ordered,
        scale=scale,
        columns=columns,
        grams=grams[columns],
        dense=dense,
        thresholds=thresholds,
        cuts=_cuts(outside[best][:, 0], targets) if ordered else np.zeros(0),
    )
    return model, STRENGTHS[best]


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Units in as many directions as there are units: a penalty on weights there is the same on weights of features.

    Attributes:
        rows: units × directions.
        back: units × directions: what turns weights of directions into weights of units, whose features sum to those
            of features.
    """

    rows: Array
    back: Array

    @staticmethod
    def of(features: UnitFeatures, scale: FeatureScale) -> _Space:
        from scipy.linalg import eigh

        dense = scale.dense(features)
        products = (features.grams @ features.grams.T).toarray() + dense @ dense.T
        size = len(products)
        first = max(0, size - _MOST_DIRECTIONS)
        values, vectors = eigh(products, subset_by_index=(first, size - 1))
        kept = values > 1e-9 * max(float(values[-1]), 1e-12)
        roots = np.sqrt(values[kept])
        return _Space(vectors[:, kept] * roots, vectors[:, kept] / roots)

    def weights(self, features: UnitFeatures, scale: FeatureScale, directions: Array) -> tuple[Array, Array]:
        """The weights of n-grams and of the dense part."""
        of_units = self.back @ directions
        return np.asarray(features.grams.T @ of_units), scale.dense(features).T @ of_units


def _fitted(rows: Array, targets: Array, strength: float, ordered: bool) -> tuple[Array, Array]:
    """Weights of directions, directions × heads, and thresholds or intercepts."""
    from sklearn.linear_model import LogisticRegression

    solver = "newton-cholesky" if ordered else "lbfgs"
    model = LogisticRegression(C=strength, fit_intercept=not ordered, solver=solver, max_iter=1000, tol=1e-5)
    if not ordered:
        units, labels = np.nonzero(targets)
        model.fit(rows[units], labels, sample_weight=targets[units, labels])
        return _all_labels(model, targets.shape[1])
    above = 1 - np.cumsum(targets, axis=1)[:, :-1]
    size, count = above.shape
    # Each unit asks each question twice, as a yes and as a no, with the shares of people who say so.
    asked = np.hstack([np.tile(rows, (count, 1)), _FREE * np.repeat(np.eye(count), size, axis=0)])
    shares = above.T.ravel()
    table = np.vstack([asked, asked])
    answers = np.repeat([1, 0], size * count)
    weights = np.concatenate([shares, 1 - shares])
    used = weights > 1e-12
    if len(set(answers[used])) < 2:
        return np.zeros((rows.shape[1], 1)), np.where(shares[::size] > 0.5, -30.0, 30.0)
    model.fit(table[used], answers[used], sample_weight=weights[used])
    coefficients = model.coef_[0]
    thresholds = -_FREE * coefficients[rows.shape[1] :]
    # They are in order where the fit has come to its end; a hair's breadth may be missing.
    return coefficients[: rows.shape[1], None], np.maximum.accumulate(thresholds)


def _all_labels(model: object, size: int) -> tuple[Array, Array]:
    """Weights and intercepts of all labels, of a model that may have seen some of them only."""
    present = np.asarray(model.classes_)  # type: ignore[attr-defined]
    weights = np.asarray(model.coef_)  # type: ignore[attr-defined]
    start = np.asarray(model.intercept_)  # type: ignore[attr-defined]
    if len(present) == 2:
        weights, start = np.vstack([np.zeros_like(weights), weights]), np.append(0.0, start)
    directions, intercepts = np.zeros((weights.shape[1], size)), np.full(size, -30.0)
    directions[:, present], intercepts[present] = weights.T, start
    return directions, intercepts


def _log_loss(scores: Array, thresholds: Array, targets: Array, ordered: bool) -> float:
    """The sum over units of minus the logarithm of the probability of what people say; in order, of each question."""
    if ordered:
        margins = scores - thresholds
        above = 1 - np.cumsum(targets, axis=1)[:, :-1]
        return float((above * np.logaddexp(0, -margins) + (1 - above) * np.logaddexp(0, margins)).sum())
    from scipy.special import log_softmax

    return float(-(targets * log_softmax(scores + thresholds, axis=1)).sum())


def _cuts(scores: Array, targets: Array) -> Array:
    """Where levels begin, such that of these scores as many are above each as people gave."""
    below = np.cumsum(targets.mean(axis=0))[:-1]
    return np.maximum.accumulate(np.quantile(scores, np.clip(below, 0, 1), method="hazen"))
