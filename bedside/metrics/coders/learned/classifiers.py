"""What a trained coder computes: scores of its classifiers, then calibrated probabilities, then labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.metrics.coders.learned.features import BUCKETS, NUMBERS, TurnFeatures
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role

Numbers = NDArray[np.float64]

#: Factors on the parts of a dense row, so that one penalty suits them all: the turn, the turn before, the last turn of
#: the same role, and the cosine of the first two.
_TURN, _BEFORE, _EARLIER, _COSINE = 16.0, 12.0, 8.0, 5.0


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice between classes: a code as a whole, whether it exists, or its kind where it does.

    Attributes:
        code: the code.
        part: ``label``, ``exists`` or ``kind``.
        classes: what is chosen from, two or more.
    """

    code: str
    part: str
    classes: tuple[str, ...]

    @property
    def name(self) -> str:
        """``code`` or ``code:part``."""
        return self.code if self.part == "label" else f"{self.code}:{self.part}"

    @property
    def heads(self) -> int:
        """Number of two-way classifiers it takes."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def gold(self, label: str) -> str | None:
        """The class of a code's label; None where the choice doesn't arise."""
        if self.part == "exists":
            return "no" if label == "none" else "yes"
        return label if label in self.classes else None


def decisions_for(labels: Mapping[str, Sequence[str]]) -> tuple[Decision, ...]:
    """The choices that give these labels of these codes."""
    decisions = []
    for code, code_labels in labels.items():
        if "none" not in CODES[code]:
            decisions.append(Decision(code, "label", tuple(code_labels)))
            continue
        if "none" in code_labels:
            decisions.append(Decision(code, "exists", ("no", "yes")))
        kinds = tuple(label for label in code_labels if label != "none")
        if len(kinds) > 1:
            decisions.append(Decision(code, "kind", kinds))
    return tuple(decisions)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Multinomial logistic regression of a decision's classes on the scores of all classifiers of the role.

    Attributes:
        weights: shape (scores + 1, classes); the last row is the intercept.
        priors: shape (classes,): the class with the largest probability / prior is chosen.
    """

    weights: Numbers
    priors: Numbers

    def probabilities(self, scores: Numbers) -> Numbers:
        """Shape (turns, classes)."""
        logits = scores @ self.weights[:-1] + self.weights[-1]
        logits = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Numbers = logits / logits.sum(axis=1, keepdims=True)
        return probabilities


@dataclass(frozen=True, slots=True)
class RoleModel:
    """The classifiers of one role's codes.

    Attributes:
        role: whose turns.
        labels: code → the labels it can give.
        decisions: see :func:`decisions_for`.
        columns: hashed columns that have a weight, shape (m,), ascending.
        grams: their weights, float32, shape (m, heads).
        numbers: weights of the numbers, shape (numbers, heads).
        dense: weights of the dense row and its intercept, shape (width + 1, heads); width 0 without embeddings.
        mean, scale: of the numbers in the dense row, shape (numbers - 1,).
        calibrations: one per decision.
    """

    role: Role
    labels: Mapping[str, tuple[str, ...]]
    decisions: tuple[Decision, ...]
    columns: NDArray[np.int64]
    grams: NDArray[np.float32]
    numbers: Numbers
    dense: Numbers
    mean: Numbers
    scale: Numbers
    calibrations: tuple[Calibration, ...]

    def table(self) -> NDArray[np.float32]:
        """The weights of all columns, shape (BUCKETS, heads)."""
        table: NDArray[np.float32] = np.zeros((BUCKETS, self.grams.shape[1]), np.float32)
        table[self.columns] = self.grams
        return table

    def scores(
        self, features: TurnFeatures, vectors: NDArray[np.float32] | None, table: NDArray[np.float32]
    ) -> Numbers:
        """Scores of all classifiers from the vectors of all turns of the transcript, see :meth:`row_scores`."""
        return self.row_scores(features, None if vectors is None else vector_rows(features, vectors), table)

    def row_scores(
        self, features: TurnFeatures, rows: NDArray[np.float32] | None, table: NDArray[np.float32]
    ) -> Numbers:
        """Scores of all classifiers, shape (turns, heads) or, with :func:`vector_rows`, (turns, 2 · heads)."""
        linear = np.asarray(features.grams @ table, np.float64) + features.numbers @ self.numbers
        if rows is None:
            return linear
        dense = np.hstack([(features.numbers[:, 1:] - self.mean) / self.scale, rows])
        return np.hstack([linear, dense @ self.dense[:-1] + self.dense[-1]])

    def probabilities(self, scores: Numbers) -> dict[str, Numbers]:
        """Code → probability of each of its labels, shape (turns, labels), rows of sum 1."""
        return {code: probabilities for code, (probabilities, _) in self._chosen(scores).items()}

    def choices(self, scores: Numbers) -> dict[str, tuple[list[str], Numbers]]:
        """Code → the label of each turn, and its probability."""
        labelled = {}
        for code, (probabilities, chosen) in self._chosen(scores).items():
            labels = [self.labels[code][k] for k in chosen]
            labelled[code] = labels, probabilities[np.arange(len(chosen)), chosen]
        return labelled

    def _chosen(self, scores: Numbers) -> dict[str, tuple[Numbers, NDArray[np.int64]]]:
        decided: dict[tuple[str, str], tuple[Numbers, NDArray[np.int64]]] = {}
        for decision, calibration in zip(self.decisions, self.calibrations, strict=True):
            probabilities = calibration.probabilities(scores)
            decided[decision.code, decision.part] = (
                probabilities,
                (probabilities / calibration.priors).argmax(axis=1).astype(np.int64),
            )
        chosen = {}
        for code, labels in self.labels.items():
            if (code, "label") in decided:
                chosen[code] = decided[code, "label"]
                continue
            size = len(scores)
            kinds = labels[1:] if labels[0] == "none" else labels
            kind, which = decided.get((code, "kind"), (np.ones((size, len(kinds))), np.zeros(size, np.int64)))
            if labels[0] != "none":
                chosen[code] = kind, which
                continue
            exists, is_there = decided[code, "exists"]
            chosen[code] = (np.hstack([exists[:, :1], exists[:, 1:] * kind]), np.where(is_there == 1, which + 1, 0))
        return chosen


def vector_rows(features: TurnFeatures, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """What a dense row holds beside the numbers: the vectors of a turn, of the turn before and of the last turn of the
    same role, and the cosine of the first two. ``vectors`` are those of all turns of the transcript."""
    turns = features.turns
    own = vectors[turns]
    before = np.where(turns[:, None] > 0, vectors[np.maximum(turns - 1, 0)], np.float32(0))
    earlier = np.where(features.earlier[:, None] >= 0, vectors[features.earlier], np.float32(0))
    cosine = (own * before).sum(axis=1, keepdims=True)
    parts = [_TURN * own, _BEFORE * before, _EARLIER * earlier, _COSINE * cosine]
    return np.hstack(parts).astype(np.float32)


def codes_of(role: Role) -> tuple[str, ...]:
    """The codes of a role's turns."""
    return tuple(code for code, whose in CODE_ROLES.items() if whose == role)


def to_arrays(model: RoleModel) -> dict[str, NDArray[Any]]:
    """The arrays of a model by name; :func:`from_arrays` is the way back."""
    arrays: dict[str, NDArray[Any]] = {
        "columns": model.columns,
        "grams": model.grams,
        "numbers": model.numbers,
        "dense": model.dense,
        "mean": model.mean,
        "scale": model.scale,
    }
    for decision, calibration in zip(model.decisions, model.calibrations, strict=True):
        arrays[f"{decision.name}.weights"] = calibration.weights
        arrays[f"{decision.name}.priors"] = calibration.priors
    return {f"{model.role}.{name}": array for name, array in arrays.items()}


def from_arrays(
    role: Role, labels: Mapping[str, tuple[str, ...]], dimensions: int, arrays: Mapping[str, NDArray[Any]]
) -> RoleModel:
    """The model of a role from its arrays.

    Raises:
        ValueError: an array is missing, or has another shape or type than it must; the message names it.
    """
    decisions = decisions_for(labels)
    heads = sum(decision.heads for decision in decisions)
    scores = heads * (2 if dimensions else 1)
    dense_width = len(NUMBERS) - 1 + 3 * dimensions + 1

    def take(name: str, kind: type[Any], *shape: int | None) -> NDArray[Any]:
        array = arrays.get(f"{role}.{name}")
        if array is None:
            raise ValueError(f"array {role}.{name} is missing")
        if (
            array.dtype != np.dtype(kind)
            or len(array.shape) != len(shape)
            or any(want is not None and want != have for want, have in zip(shape, array.shape, strict=True))
        ):
            raise ValueError(f"array {role}.{name} is {array.dtype} of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"array {role}.{name} holds what is no number")
        return array

    columns = take("columns", np.int64, None)
    if len(columns) and (columns[0] < 0 or columns[-1] >= BUCKETS or (np.diff(columns) <= 0).any()):
        raise ValueError(f"array {role}.columns is not ascending from 0 to {BUCKETS - 1}")
    calibrations = []
    for decision in decisions:
        size = len(decision.classes)
        priors = take(f"{decision.name}.priors", np.float64, size)
        if (priors <= 0).any():
            raise ValueError(f"array {role}.{decision.name}.priors is not positive")
        calibrations.append(Calibration(take(f"{decision.name}.weights", np.float64, scores + 1, size), priors))
    return RoleModel(
        role=role,
        labels=labels,
        decisions=decisions,
        columns=columns,
        grams=take("grams", np.float32, len(columns), heads),
        numbers=take("numbers", np.float64, len(NUMBERS), heads),
        dense=take("dense", np.float64, dense_width + 1 if dimensions else 0, heads),
        mean=take("mean", np.float64, len(NUMBERS) - 1),
        scale=take("scale", np.float64, len(NUMBERS) - 1),
        calibrations=tuple(calibrations),
    )
