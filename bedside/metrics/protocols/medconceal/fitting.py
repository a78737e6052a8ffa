"""Fitting the latent policy to labelled turns: weights by logistic regression, thresholds by replaying a grid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import DataError, from_extra
from bedside.metrics.protocols.label_files import Measured
from bedside.metrics.protocols.medconceal.labels import CATEGORIES, FEATURES, CategoryName
from bedside.metrics.protocols.medconceal.policy import PARAMETERS, REVEAL_FEATURES, Parameters
from bedside.metrics.protocols.medconceal.trace import LabelledCourse, LabelledTurn, feature_values, labelled_courses

# -- The regressions behind a fitted policy -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegressionData:
    """What a regression uses.

    Attributes:
        x: design matrix, a row for each turn and concern.
        y: their labels, 0 or 1.
        case: the number of their cases.
    """

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    case: NDArray[np.int64]

    def of(self, cases: Iterable[int]) -> RegressionData:
        """The rows of some cases."""
        chosen = np.isin(self.case, list(cases))
        return RegressionData(self.x[chosen], self.y[chosen], self.case[chosen])


def reveal_data(courses: Sequence[LabelledCourse], parameters: Parameters) -> RegressionData:
    """Unblocked turns that count, up to the one that discloses the concern; δ_category as features times category."""
    x, y, case = [], [], []
    for number, course in enumerate(courses):
        for place, concern in enumerate(course.concerns):
            until = course.revealed_at(concern)
            for turn, row in enumerate(course.rows[:until]):
                if course.blocked(turn, parameters):
                    continue
                label = row[place]
                if not label.counts and parameters.reveal.credit is not None:
                    continue
                features = (*feature_values(label), label.o)
                by_category = (value * (label.category == name) for name in CATEGORIES for value in features)
                x.append([*features, *by_category])
                y.append(label.revealed)
                case.append(number)
    return _data(x, y, case, (1 + len(CATEGORIES)) * len(REVEAL_FEATURES))


def address_data(courses: Sequence[LabelledCourse], parameters: Parameters) -> RegressionData:
    """Unblocked turns from the primary concern's disclosure on, up to the one that addresses it; δ_category as for the
    reveal, where the parameters have one."""
    x, y, case = [], [], []
    by_category = CATEGORIES if parameters.address.by_category else ()
    for number, course in enumerate(courses):
        if course.primary is None:
            continue
        place = course.concerns.index(course.primary)
        for turn in range(course.revealed_at(course.primary), min(course.addressed_at(), len(course.rows))):
            row = course.rows[turn]
            label = row[place].addressed
            if label is None or course.blocked(turn, parameters):
                continue
            features = feature_values(row[place])
            deltas = (value * (row[place].category == name) for name in by_category for value in features)
            x.append([*features, *deltas])
            y.append(label)
            case.append(number)
    return _data(x, y, case, (1 + len(by_category)) * len(FEATURES))


def _data(x: list[list[float]], y: list[int], case: list[int], width: int) -> RegressionData:
    return RegressionData(
        np.array(x, dtype=np.float64).reshape(-1, width), np.array(y, dtype=np.int64), np.array(case, dtype=np.int64)
    )


def regressed(data: RegressionData, penalty: float, what: str) -> NDArray[np.float64]:
    """Weights without intercept, as the policy has none.

    Args:
        data: the rows.
        penalty: λ of the squared penalty λ/2 · ‖w‖².
        what: what the weights are of, for messages.

    Raises:
        DataError: the rows have only one outcome.
    """
    with from_extra("learning", "fitting a policy needs scikit-learn"):
        from sklearn.linear_model import LogisticRegression

    if np.unique(data.y).size < 2:
        raise DataError(
            f"the turns for fitting {what} have only one outcome",
            todo="label turns that do and turns that don't, in several cases",
        )
    model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=10_000, tol=1e-8)
    weights: NDArray[np.float64] = model.fit(data.x, data.y).coef_[0]
    return weights


# -- Fitting the latent policy to labelled turns --------------------------------------------------------

_TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Values of the thresholds that are replayed: parameter → values. They reach low, because a concern is disclosed in
#: one turn only: fitted to that, p is on average one over the number of turns it takes.
REVEAL_GRID: Mapping[str, tuple[float, ...]] = {
    "decay": (0.3, 0.5, 0.7),
    "high": _TENTHS,
    "low": _TENTHS,
    "consecutive": (2, 3),
}
ADDRESS_GRID: Mapping[str, tuple[float, ...]] = {
    "decay": (0.3, 0.6),
    "probability": (0.1, 0.3, 0.5, 0.7),
    "evidence": _TENTHS,
    "lag": (1, 2, 3),
    "consecutive": (1, 2),
}


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One setting of the thresholds, replayed.

    Attributes:
        values: the parameters.
        error: mean absolute difference in turns between replayed and labelled turn; a concern that stays as it was
            counts as one turn after the last.
        exact: share of the concerns where both are the same turn.
    """

    values: Mapping[str, float]
    error: float
    exact: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How well the weights predict turns of cases they were not fitted on.

    Attributes:
        turns: turns predicted.
        positive: those labelled 1.
        log_loss: mean of −log p(label).
        base_log_loss: the same for the share of positives as everybody's p.
        auc: area under the ROC curve.
    """

    turns: int
    positive: int
    log_loss: Measured
    base_log_loss: Measured
    auc: Measured


@dataclass(frozen=True, slots=True)
class Fit:
    """What a fit found.

    Attributes:
        parameters: the parameter file's content.
        cases, rows: what it was fitted on.
        folds: folds of the cross-validation, over cases.
        reveal, address: held-out predictions; ``address`` is None where no turn has an ``addressed`` label.
        reveal_grid, address_grid: every setting replayed on held-out cases, best first.
        remarks: what a reader should know.
    """

    parameters: Parameters
    cases: int
    rows: int
    folds: int
    reveal: HeldOut
    address: HeldOut | None
    reveal_grid: tuple[GridPoint, ...]
    address_grid: tuple[GridPoint, ...]
    remarks: tuple[str, ...]


def _divided(
    features: Sequence[str], weights: NDArray[np.float64], categories: Collection[CategoryName]
) -> dict[str, Any]:
    """A regression's weights as a file's ``weights`` and, for some categories, ``by_category``."""
    width = len(features)
    parts = [weights[start : start + width].tolist() for start in range(0, len(weights), width)]
    return {
        "weights": dict(zip(features, parts[0], strict=True)),
        "by_category": {
            name: dict(zip(features, part, strict=True))
            for name, part in zip(CATEGORIES, parts[1:], strict=False)
            if name in categories
        },
    }


def _replaced(parameters: Parameters, part: str, **values: Any) -> Parameters:
    old = getattr(parameters, part)
    return parameters.model_copy(update={part: old.model_copy(update=values)})


class _Predictions:
    """Predictions of turns of cases that the weights were not fitted on."""

    def __init__(self) -> None:
        self._labels: list[int] = []
        self._predicted: list[float] = []

    def add(self, data: RegressionData, weights: NDArray[np.float64]) -> None:
        """Predict some rows."""
        from scipy.special import expit

        self._labels.extend(data.y.tolist())
        self._predicted.extend(expit(data.x @ weights).tolist())

    def quality(self) -> HeldOut:
        """How good the predictions are."""
        from sklearn.metrics import log_loss, roc_auc_score

        labels, predicted = self._labels, self._predicted
        positive, turns = sum(labels), len(labels)
        if 0 < positive < turns:
            share = positive / turns
            auc = Measured(float(roc_auc_score(labels, predicted)), n=turns)
            base = Measured(float(log_loss(labels, [share] * turns)), n=turns)
        else:
            auc = base = Measured(missing="only one outcome", n=turns)
        loss = (
            Measured(float(log_loss(labels, predicted, labels=[0, 1])), n=turns)
            if turns
            else Measured(missing="no turn", n=0)
        )
        return HeldOut(turns, positive, loss, base, auc)


@dataclass(frozen=True, slots=True)
class _Regressions:
    """What the weights are fitted to, and how.

    Attributes:
        start: parameters for what isn't fitted.
        reveal, address: the rows of each regression.
        categories: categories that have rows, which δ is fitted of.
        penalty: of the squared weights.
    """

    start: Parameters
    reveal: RegressionData
    address: RegressionData
    categories: frozenset[CategoryName]
    penalty: float

    @classmethod
    def of(cls, courses: Sequence[LabelledCourse], start: Parameters, penalty: float) -> _Regressions:
        """The regressions on some cases."""
        return cls(
            start=start,
            reveal=reveal_data(courses, start),
            address=address_data(courses, start),
            categories=frozenset(label.category for course in courses for row in course.rows for label in row),
            penalty=penalty,
        )

    @property
    def addressing(self) -> bool:
        """Whether any turn has an ``addressed`` label that can be used."""
        return self.address.y.size > 0

    def with_reveal(self, parameters: Parameters, weights: NDArray[np.float64]) -> Parameters:
        """Parameters with the weights of the reveal."""
        return _replaced(parameters, "reveal", **_divided(REVEAL_FEATURES, weights, self.categories))

    def with_address(self, parameters: Parameters, weights: NDArray[np.float64]) -> Parameters:
        """Parameters with the weights of the address."""
        return _replaced(parameters, "address", **_divided(FEATURES, weights, self.categories))


@dataclass(frozen=True, slots=True)
class _CrossFit:
    """What cross-validation over cases gives.

    Attributes:
        cases: each case with weights fitted on the other folds.
        reveal, address: predictions by these weights.
    """

    cases: list[tuple[LabelledCourse, Parameters]] = field(default_factory=list)
    reveal: _Predictions = field(default_factory=_Predictions)
    address: _Predictions = field(default_factory=_Predictions)


def _cross_fit(courses: Sequence[LabelledCourse], regressions: _Regressions, folds: int, seed: int) -> _CrossFit:
    """Fit the weights on all folds but one, for each fold."""
    order = np.random.default_rng(seed).permutation(len(courses))
    cross = _CrossFit()
    for fold in range(folds):
        out = sorted(order[fold::folds].tolist())
        kept = [number for number in range(len(courses)) if number not in out]
        weights = regressed(regressions.reveal.of(kept), regressions.penalty, "the reveal (in a fold)")
        fitted = regressions.with_reveal(regressions.start, weights)
        cross.reveal.add(regressions.reveal.of(out), weights)
        if regressions.addressing:
            weights = regressed(regressions.address.of(kept), regressions.penalty, "the address (in a fold)")
            fitted = regressions.with_address(fitted, weights)
            cross.address.add(regressions.address.of(out), weights)
        cross.cases.extend((courses[number], fitted) for number in out)
    return cross


def _grid(grid: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [point for point in points if point.get("low", 0.0) <= point.get("high", 1.0)]


def _searched(
    courses: Sequence[tuple[LabelledCourse, Parameters]],
    part: Literal["reveal", "address"],
    grid: list[dict[str, float]],
) -> tuple[GridPoint, ...]:
    """The grid replayed, lowest error first; of equal ones the earlier in the grid."""
    steps = [course.steps(parameters) for course, parameters in courses]
    points = []
    for thresholds in grid:
        differences: list[int] = []
        for (course, parameters), course_steps in zip(courses, steps, strict=True):
            trace = course.replayed(course_steps, _replaced(parameters, part, **thresholds))
            differences += course.reveal_errors(trace) if part == "reveal" else course.address_errors(trace)
        points.append(
            GridPoint(
                thresholds, float(np.mean(differences)), float(np.mean([difference == 0 for difference in differences]))
            )
        )
    return tuple(sorted(points, key=lambda point: point.error))


def _chosen(
    cross: _CrossFit,
    regressions: _Regressions,
    reveal_points: list[dict[str, float]],
    address_points: list[dict[str, float]],
) -> tuple[Parameters, tuple[GridPoint, ...], tuple[GridPoint, ...]]:
    """The parameters with weights from all cases and the best thresholds, and all settings that were replayed."""
    reveal_results = _searched(cross.cases, "reveal", reveal_points)
    best = reveal_results[0].values
    weights = regressed(regressions.reveal, regressions.penalty, "the reveal")
    final = _replaced(regressions.with_reveal(regressions.start, weights), "reveal", **best)
    if not regressions.addressing:
        return final, reveal_results, ()
    with_primary = [
        (course, _replaced(fitted, "reveal", **best)) for course, fitted in cross.cases if course.primary is not None
    ]
    address_results = _searched(with_primary, "address", address_points)
    weights = regressed(regressions.address, regressions.penalty, "the address")
    final = regressions.with_address(final, weights)
    return _replaced(final, "address", **address_results[0].values), reveal_results, address_results


def _method(result: Fit, seed: int, penalty: float, start: Parameters) -> str:
    """How a fit was made, for the file's origin."""
    reveal, address = result.reveal_grid, result.address_grid
    return (
        f"Weights by logistic regression without intercept (penalty {penalty:g}) on {result.rows} rows of "
        f"{result.cases} cases, thresholds by replay of {len(reveal)} and {len(address)} settings on held-out cases "
        f"({result.folds} folds, seed {seed}; mean absolute difference of turns {reveal[0].error:.3g}"
        + (f" and {address[0].error:.3g}" if address else "")
        + f"). What isn't fitted is that of {start.name}."
    )


def fit(
    rows: Iterable[LabelledTurn],
    *,
    seed: int,
    name: str = "fitted",
    origin: str = "",
    base: Parameters | None = None,
    folds: int = 5,
    penalty: float = 1.0,
    reveal_grid: Mapping[str, Sequence[float]] = REVEAL_GRID,
    address_grid: Mapping[str, Sequence[float]] = ADDRESS_GRID,
) -> Fit:
    """Fit w, δ and v by logistic regression and choose the thresholds by replay.

    The regressions have no intercept (the policy has none) and a squared penalty, which keeps δ small where a
    category has few turns. w and δ are fitted on the unblocked turns up to a concern's disclosure, v on those from the
    primary one's disclosure to its address; with a δ of each category, as w has, where the base has
    ``address.by_category``. For the thresholds cases are divided into folds at random; each case is
    replayed with weights fitted on the other folds, at every point of the grid. The point with the lowest mean
    absolute difference between replayed and labelled turn is taken; a concern that isn't revealed (addressed) counts
    as one turn after the last. Final weights come from all cases.

    Args:
        rows: labelled turns; every concern of a case needs a row for every turn.
        seed: of the division into folds.
        name: name of the parameters.
        origin: where the rows come from; what was done is added.
        base: parameters for what isn't fitted (blocking, progressive mode, measures), and for the address part where
            no turn has such labels; the default ones if not given.
        folds: number of folds; no more than cases are used.
        penalty: λ of the squared penalty λ/2 · ‖w‖².
        reveal_grid, address_grid: values of each threshold.

    Raises:
        DataError: too few cases, rows that don't fit together, or turns with only one outcome.
    """
    labelled = list(rows)
    courses = labelled_courses(labelled)
    if len(courses) < 2:
        raise DataError(f"a fit needs 2 cases or more, and has {len(courses)}", todo="label more")
    start = base if base is not None else PARAMETERS.load("default")
    regressions = _Regressions.of(courses, start, penalty)
    cross = _cross_fit(courses, regressions, min(folds, len(courses)), seed)
    final, reveals, addresses = _chosen(cross, regressions, _grid(reveal_grid), _grid(address_grid))
    result = Fit(
        parameters=final,
        cases=len(courses),
        rows=len(labelled),
        folds=min(folds, len(courses)),
        reveal=cross.reveal.quality(),
        address=cross.address.quality() if regressions.addressing else None,
        reveal_grid=reveals,
        address_grid=addresses,
        remarks=()
        if regressions.addressing
        else (f"no turn has an 'addressed' label: the address part is that of {start.name}",),
    )
    origin = f"{origin} {_method(result, seed, penalty, start)}".strip()
    described = {"name": name, "title": "Fitted to labelled turns", "origin": origin}
    return replace(result, parameters=Parameters.model_validate({**final.model_dump(), **described}))
