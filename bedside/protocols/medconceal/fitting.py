"""Fitting the latent policy to labelled turns: weights by logistic regression, thresholds by replaying a grid."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bedside.protocols.label_files import Bit, Index, Share, Strict, Text, read_models
from bedside.protocols.measured import Measured
from bedside.protocols.medconceal.labels import (
    CATEGORIES,
    FEATURES,
    Category,
    CategoryName,
    Features,
    Intent,
)
from bedside.protocols.medconceal.policy_parameters import PARAMETERS, REVEAL_FEATURES, Parameters
from bedside.protocols.medconceal.trace import (
    Step,
    Trace,
    address_probability,
    is_blocked,
    replay,
    reveal_probability,
)
from bedside.support.errors import DataError

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


class LabelledTurn(Strict):
    """What a clinician turn did for one hidden concern."""

    case: Text = Field(description="The conversation; its rows are kept together in cross-validation.")
    turn: Index = Field(description="Position of the clinician turn; rows of a case are put in this order.")
    concern: Text = Field(description="Id of the concern.")
    category: Category = Field(description="The concern's category.")
    z: Features = Field(description="The turn's ten features.")
    o: Share = Field(description="The turn's overlap with the concern.")
    intent: Intent | None = Field(None, description="The turn's intent; meta_probe blocks the turn.")
    revealed: Bit = Field(
        description="1 where the patient discloses the concern in reply to this turn, else 0."
    )
    addressed: Bit | None = Field(
        None,
        description="Of the primary concern: 1 where it is addressed with this turn, else 0. Left out for other "
        "concerns.",
    )


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


def read_turns(path: str | os.PathLike[str]) -> tuple[LabelledTurn, ...]:
    """Read labelled turns from JSON lines or a JSON array.

    Raises:
        InputError: a row is not of the form of :class:`LabelledTurn`; file, line and key are named.
    """
    return tuple(row for _, row in read_models(path, LabelledTurn, "docs/medconceal.md"))


class _Course:
    """One case: its rows as a table of turns by concerns."""

    def __init__(self, case: str, rows: Sequence[LabelledTurn]) -> None:
        self.case = case
        self.concerns = list(dict.fromkeys(row.concern for row in rows))
        self.turns = sorted({row.turn for row in rows})
        table = {(row.turn, row.concern): row for row in rows}
        if len(table) < len(rows):
            raise DataError(
                "two rows of one turn and concern", where=f"case {case!r}", todo="keep one of them"
            )
        if len(table) < len(self.turns) * len(self.concerns):
            raise DataError(
                "not every concern has a row for every turn",
                where=f"case {case!r}",
                todo="give all turns of a case",
            )
        self.rows = [[table[turn, concern] for concern in self.concerns] for turn in self.turns]
        for turn, row in zip(self.turns, self.rows, strict=True):
            if any((each.z, each.intent) != (row[0].z, row[0].intent) for each in row):
                raise DataError(
                    f"turn {turn} has different features or intents for different concerns",
                    where=f"case {case!r}",
                    todo="a turn has one z",
                )
        marked = {row.concern for row in rows if row.addressed is not None}
        if len(marked) > 1:
            raise DataError(
                "two concerns have 'addressed' labels",
                where=f"case {case!r}",
                todo="label the primary concern only",
            )
        self.primary = marked.pop() if marked else None

    def blocked(self, place: int, parameters: Parameters) -> bool:
        row = self.rows[place][0]
        return is_blocked(row.z, row.intent, parameters)

    def revealed_at(self, concern: str) -> int:
        """Number of the turn (from 1) labelled as disclosing the concern; one after the last where none is."""
        place = self.concerns.index(concern)
        return next(
            (number for number, row in enumerate(self.rows, start=1) if row[place].revealed),
            len(self.turns) + 1,
        )

    def addressed_at(self) -> int:
        """The same of the turn labelled as addressing the primary concern."""
        assert self.primary is not None
        place = self.concerns.index(self.primary)
        return next(
            (number for number, row in enumerate(self.rows, start=1) if row[place].addressed),
            len(self.turns) + 1,
        )

    def reveal_errors(self, trace: Trace) -> list[int]:
        """For each concern the difference in turns between trace and labels."""
        late = len(self.turns) + 1
        return [
            abs(trace.revealed_at.get(concern, late) - self.revealed_at(concern)) for concern in self.concerns
        ]

    def address_errors(self, trace: Trace) -> list[int]:
        """The same for the address of the primary concern."""
        late = len(self.turns) + 1
        return [abs((late if trace.addressed_at is None else trace.addressed_at) - self.addressed_at())]

    def steps(self, parameters: Parameters) -> list[Step]:
        return [
            Step(
                turn,
                self.blocked(place, parameters),
                tuple(reveal_probability(_z(each), each.o, each.category, parameters) for each in row),
                address_probability(_z(row[0]), parameters),
            )
            for place, (turn, row) in enumerate(zip(self.turns, self.rows, strict=True))
        ]

    def replayed(self, steps: Sequence[Step], parameters: Parameters) -> Trace:
        return replay(steps, self.concerns, self.primary, parameters)


def _z(row: LabelledTurn) -> tuple[float, ...]:
    return tuple(row.z.model_dump().values())


@dataclass(frozen=True, slots=True)
class _Data:
    """Design matrix, labels and case of each row that a regression uses."""

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    case: NDArray[np.int64]

    def of(self, cases: Iterable[int]) -> _Data:
        chosen = np.isin(self.case, list(cases))
        return _Data(self.x[chosen], self.y[chosen], self.case[chosen])


def _reveal_data(courses: Sequence[_Course], parameters: Parameters) -> _Data:
    """Unblocked turns up to the one that discloses the concern; δ_category as the features times the category."""
    x, y, case = [], [], []
    for number, course in enumerate(courses):
        for place, concern in enumerate(course.concerns):
            until = course.revealed_at(concern)
            for turn, row in enumerate(course.rows[:until]):
                if course.blocked(turn, parameters):
                    continue
                each = row[place]
                features = (*_z(each), each.o)
                x.append(
                    [
                        *features,
                        *(value * (each.category == name) for name in CATEGORIES for value in features),
                    ]
                )
                y.append(each.revealed)
                case.append(number)
    return _data(x, y, case, (1 + len(CATEGORIES)) * len(REVEAL_FEATURES))


def _address_data(courses: Sequence[_Course], parameters: Parameters) -> _Data:
    """Unblocked turns from the primary concern's disclosure on, up to the one that addresses it."""
    x, y, case = [], [], []
    for number, course in enumerate(courses):
        if course.primary is None:
            continue
        place = course.concerns.index(course.primary)
        for turn in range(course.revealed_at(course.primary), min(course.addressed_at(), len(course.rows))):
            row = course.rows[turn]
            label = row[place].addressed
            if label is None or course.blocked(turn, parameters):
                continue
            x.append(list(_z(row[place])))
            y.append(label)
            case.append(number)
    return _data(x, y, case, len(FEATURES))


def _data(x: list[list[float]], y: list[int], case: list[int], width: int) -> _Data:
    return _Data(
        np.array(x, dtype=np.float64).reshape(-1, width),
        np.array(y, dtype=np.int64),
        np.array(case, dtype=np.int64),
    )


def _regressed(data: _Data, penalty: float, what: str) -> NDArray[np.float64]:
    """Weights without intercept, as the policy has none."""
    from sklearn.linear_model import LogisticRegression

    if np.unique(data.y).size < 2:
        raise DataError(
            f"the turns for fitting {what} have only one outcome",
            todo="label turns that do and turns that don't, in several cases",
        )
    model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=10_000, tol=1e-8)
    weights: NDArray[np.float64] = model.fit(data.x, data.y).coef_[0]
    return weights


def _with_reveal(
    parameters: Parameters, weights: NDArray[np.float64], present: set[CategoryName]
) -> Parameters:
    width = len(REVEAL_FEATURES)
    parts = [weights[start : start + width].tolist() for start in range(0, len(weights), width)]
    return _replaced(
        parameters,
        "reveal",
        weights=dict(zip(REVEAL_FEATURES, parts[0], strict=True)),
        by_category={
            name: dict(zip(REVEAL_FEATURES, part, strict=True))
            for name, part in zip(CATEGORIES, parts[1:], strict=True)
            if name in present
        },
    )


def _with_address(parameters: Parameters, weights: NDArray[np.float64]) -> Parameters:
    return _replaced(parameters, "address", weights=dict(zip(FEATURES, weights.tolist(), strict=True)))


def _replaced(parameters: Parameters, part: str, **values: Any) -> Parameters:
    old = getattr(parameters, part)
    return parameters.model_copy(update={part: old.model_copy(update=values)})


def _held_out(labels: list[int], predicted: list[float]) -> HeldOut:
    from sklearn.metrics import log_loss, roc_auc_score

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


def _grid(grid: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [point for point in points if point.get("low", 0.0) <= point.get("high", 1.0)]


def _searched(
    courses: Sequence[tuple[_Course, Parameters]],
    part: Literal["reveal", "address"],
    grid: list[dict[str, float]],
) -> tuple[GridPoint, ...]:
    """The grid replayed, lowest error first; of equal ones the earlier in the grid."""
    steps = [course.steps(parameters) for course, parameters in courses]
    found = []
    for point in grid:
        differences: list[int] = []
        for (course, parameters), taken in zip(courses, steps, strict=True):
            trace = course.replayed(taken, _replaced(parameters, part, **point))
            differences += course.reveal_errors(trace) if part == "reveal" else course.address_errors(trace)
        found.append(
            GridPoint(point, float(np.mean(differences)), float(np.mean([each == 0 for each in differences])))
        )
    return tuple(sorted(found, key=lambda point: point.error))


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
    primary one's disclosure to its address. For the thresholds cases are divided into folds at random; each case is
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
    by_case: dict[str, list[LabelledTurn]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    courses = [_Course(case, given) for case, given in by_case.items()]
    if len(courses) < 2:
        raise DataError(
            f"{len(courses)} cases are too few to fit", todo="label turns of two or more conversations"
        )
    start = base if base is not None else PARAMETERS.load("default")
    remarks = []
    present = {row.category for given in by_case.values() for row in given}
    reveal_data, address_data = _reveal_data(courses, start), _address_data(courses, start)
    addressing = address_data.y.size > 0
    used = min(folds, len(courses))
    order = np.random.default_rng(seed).permutation(len(courses))
    held_out: list[tuple[_Course, Parameters]] = []  # each case with weights fitted on the other folds
    reveal_seen: tuple[list[int], list[float]] = ([], [])
    address_seen: tuple[list[int], list[float]] = ([], [])
    for fold in range(used):
        out = sorted(order[fold::used].tolist())
        kept = [number for number in range(len(courses)) if number not in out]
        weights = _regressed(reveal_data.of(kept), penalty, "the reveal (in a fold)")
        fitted = _with_reveal(start, weights, present)
        _predict(reveal_data.of(out), weights, reveal_seen)
        if addressing:
            weights = _regressed(address_data.of(kept), penalty, "the address (in a fold)")
            fitted = _with_address(fitted, weights)
            _predict(address_data.of(out), weights, address_seen)
        held_out += [(courses[number], fitted) for number in out]
    reveal_results = _searched(held_out, "reveal", _grid(reveal_grid))
    best = reveal_results[0].values
    final = _with_reveal(start, _regressed(reveal_data, penalty, "the reveal"), present)
    final = _replaced(final, "reveal", **best)
    address_results: tuple[GridPoint, ...] = ()
    if addressing:
        with_primary = [
            (course, _replaced(fitted, "reveal", **best))
            for course, fitted in held_out
            if course.primary is not None
        ]
        address_results = _searched(with_primary, "address", _grid(address_grid))
        final = _with_address(final, _regressed(address_data, penalty, "the address"))
        final = _replaced(final, "address", **address_results[0].values)
    else:
        remarks.append(f"no turn has an 'addressed' label: the address part is that of {start.name}")
    count = sum(map(len, by_case.values()))
    said = (
        f"Weights by logistic regression without intercept (penalty {penalty:g}) on {count} rows of {len(courses)} "
        f"cases, thresholds by replay of {len(reveal_results)} and {len(address_results)} settings on held-out cases "
        f"({used} folds, seed {seed}; mean absolute difference of turns {reveal_results[0].error:.3g}"
        + (f" and {address_results[0].error:.3g}" if address_results else "")
        + f"). What isn't fitted is that of {start.name}."
    )
    return Fit(
        parameters=Parameters.model_validate(
            {
                **final.model_dump(),
                "name": name,
                "title": "Fitted to labelled turns",
                "origin": f"{origin} {said}".strip(),
            }
        ),
        cases=len(courses),
        rows=count,
        folds=used,
        reveal=_held_out(*reveal_seen),
        address=_held_out(*address_seen) if addressing else None,
        reveal_grid=reveal_results,
        address_grid=address_results,
        remarks=tuple(remarks),
    )


def _predict(data: _Data, weights: NDArray[np.float64], into: tuple[list[int], list[float]]) -> None:
    from scipy.special import expit

    into[0].extend(data.y.tolist())
    into[1].extend(expit(data.x @ weights).tolist())
