"""The regressions behind a fitted policy: which turns they use, and the weights they give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labelled_courses import LabelledCourse, feature_values
from bedside.metrics.protocols.medconceal.labels import CATEGORIES, FEATURES
from bedside.metrics.protocols.medconceal.policy_parameters import REVEAL_FEATURES, Parameters


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
    """Unblocked turns up to the one that discloses the concern; δ_category as the features times the category."""
    x, y, case = [], [], []
    for number, course in enumerate(courses):
        for place, concern in enumerate(course.concerns):
            until = course.revealed_at(concern)
            for turn, row in enumerate(course.rows[:until]):
                if course.blocked(turn, parameters):
                    continue
                label = row[place]
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
        np.array(x, dtype=np.float64).reshape(-1, width),
        np.array(y, dtype=np.int64),
        np.array(case, dtype=np.int64),
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
    from sklearn.linear_model import LogisticRegression

    if np.unique(data.y).size < 2:
        raise DataError(
            f"the turns for fitting {what} have only one outcome",
            todo="label turns that do and turns that don't, in several cases",
        )
    model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=10_000, tol=1e-8)
    weights: NDArray[np.float64] = model.fit(data.x, data.y).coef_[0]
    return weights
