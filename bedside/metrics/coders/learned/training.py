"""Training a coder on turns that people coded, and its codes out of fold.

Each choice (does a question exist, is it open, …) has a logistic regression on hashed n-grams and, with embeddings, one
on these. A second logistic regression takes the scores of all of them and gives calibrated probabilities; it is fitted
on scores that were made out of fold within the training data, and so are the class weights of the final choice. Folds
never part a transcript.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any, cast

import numpy as np
import orjson
from numpy.typing import NDArray

import bedside
from bedside.core.errors import InputError, from_extra
from bedside.metrics.coders.learned import features as _features
from bedside.metrics.coders.learned.array_file import content_hash
from bedside.metrics.coders.learned.classifiers import Calibration, Decision, Numbers, RoleModel, decisions_for
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.features import TurnFeatures
from bedside.metrics.coders.learned.trained_coder import CODER_NAME, FORMAT, TrainedCoder, arrays_of
from bedside.metrics.coders.learned.training_set import RoleData, Rows, TrainingSet, read_training_set
from bedside.metrics.coders.testing.coder_test import CoderTest, ExistingCodes, evaluate_coder
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Role, Transcript

# -- Training a coder on turns that people coded --------------------------------------------------------

FOLDS = 5
#: Folds within the training data.
_INNER = 4
#: An n-gram has a weight where it stands in so many turns, and in so many transcripts.
_TURNS_WITH_GRAM, _TRANSCRIPTS_WITH_GRAM = 3, 2
#: Inverse penalties: of n-grams, of embeddings (chosen within the training data) and, times the number of turns, of the
#: calibration.
_GRAMS_C, _DENSE_C, _CALIBRATION_C = 1.0, (0.0005, 0.002), 100.0
#: Exponents of the class shares that are tried as class weights.
_EXPONENTS = tuple(k / 10 for k in range(11))
OUT_OF_FOLD = "algorithm:trained coder, out of fold"


# -- fitting ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Head:
    """A two-way classifier: rows it learns from, and which of them are of its class."""

    rows: Rows
    positive: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights of all heads from one set of rows; ``dense`` has one array per penalty tried."""

    columns: NDArray[np.int64]
    grams: NDArray[np.float32]
    numbers: Numbers
    dense: tuple[Numbers, ...]
    mean: Numbers
    scale: Numbers

    def scores(self, data: RoleData, rows: Rows) -> list[Numbers]:
        """Scores of rows: from n-grams, then from embeddings for each penalty."""
        linear = np.asarray(data.grams[rows][:, self.columns] @ self.grams, np.float64)
        scores = [linear + data.numbers[rows] @ self.numbers]
        if data.vectors is not None:
            dense = _dense(data, rows, self.mean, self.scale)
            scores += [dense @ weights[:-1] + weights[-1] for weights in self.dense]
        return scores


def fit_roles(training: TrainingSet, rows: Mapping[Role, Rows] | None = None, seed: int = 0) -> list[RoleModel]:
    """Fit the classifiers of every role, from all rows or from those given."""
    return [
        _fit_role(data, np.arange(len(data.turns)) if rows is None else rows[role], training.labels, seed)
        for role, data in training.roles.items()
    ]


def _fit_role(data: RoleData, rows: Rows, labels: Mapping[str, tuple[str, ...]], seed: int) -> RoleModel:
    own = {code: labels[code] for code in data.gold}
    decisions = decisions_for(own)
    gold = {decision: _classes(decision, data.gold[decision.code]) for decision in decisions}
    heads = [head for decision in decisions for head in _heads(decision, gold[decision])]
    inner = [
        (fitted.scores(data, rest), rest)
        for chosen, rest in _folds(data.groups, rows, _INNER, seed)
        for fitted in (_fit_heads(data, chosen, heads, _DENSE_C, seed),)
    ]
    # Which penalty serves each head's embeddings best out of fold.
    penalties = [0] * len(heads)
    if data.vectors is not None:
        penalties = [
            min(range(len(_DENSE_C)), key=lambda k: _loss(heads[h], [(s[1 + k][:, h], r) for s, r in inner]))
            for h in range(len(heads))
        ]
    scores = np.zeros((len(data.turns), len(heads) * (1 if data.vectors is None else 2)))
    for found, rest in inner:
        scores[rest] = _stacked(found, penalties)
    fitted = _fit_heads(data, rows, heads, _DENSE_C, seed)
    dense: Numbers = np.zeros((0, len(heads)))
    if data.vectors is not None:
        dense = np.column_stack([fitted.dense[k][:, h] for h, k in enumerate(penalties)])
    return RoleModel(
        role=data.role,
        labels=own,
        decisions=decisions,
        columns=fitted.columns,
        grams=fitted.grams,
        numbers=fitted.numbers,
        dense=dense,
        mean=fitted.mean,
        scale=fitted.scale,
        calibrations=tuple(
            _calibration(decision, gold[decision], scores, data.groups, rows, seed) for decision in decisions
        ),
    )


def _classes(decision: Decision, labels: NDArray[np.str_]) -> Rows:
    """The class of each row; -1 where the choice doesn't arise or the label isn't learned."""
    places = {name: k for k, name in enumerate(decision.classes)}
    of = {label: places.get(decision.gold(label) or "", -1) for label in ({*labels.tolist()} - {""})}
    return np.array([of.get(label, -1) for label in labels.tolist()], np.int64)


def _heads(decision: Decision, classes: Rows) -> list[_Head]:
    rows = np.flatnonzero(classes >= 0)
    which = (1,) if decision.heads == 1 else range(decision.heads)
    return [_Head(rows, classes[rows] == k) for k in which]


def _folds(groups: Rows, rows: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    with from_extra("learning", "training a coder needs scikit-learn"):
        from sklearn.model_selection import GroupKFold

    splitter = GroupKFold(min(folds, len(np.unique(groups[rows]))), shuffle=True, random_state=seed)
    for chosen, rest in splitter.split(rows, groups=groups[rows]):
        yield rows[chosen], rows[rest]


def _fit_heads(data: RoleData, rows: Rows, heads: Sequence[_Head], penalties: Sequence[float], seed: int) -> _Weights:
    from scipy.sparse import csr_matrix, hstack

    columns = _columns(data, rows)
    numbers = data.numbers[rows]
    linear = hstack([data.grams[rows][:, columns].astype(np.float64), csr_matrix(numbers)], format="csr")
    mean, scale = numbers[:, 1:].mean(axis=0), numbers[:, 1:].std(axis=0)
    scale[scale == 0] = 1
    dense = None if data.vectors is None else _dense(data, rows, mean, scale)
    place = np.full(len(data.turns), -1)
    place[rows] = np.arange(len(rows))
    weights = np.zeros((linear.shape[1], len(heads)))
    others = [np.zeros((0 if dense is None else dense.shape[1] + 1, len(heads))) for _ in penalties]
    for h, head in enumerate(heads):
        here = place[head.rows] >= 0
        at, positive = place[head.rows[here]], head.positive[here]
        if positive.all() or not positive.any():
            continue
        weights[:, h] = _sparse_regression(linear[at], positive, seed)
        if dense is not None:
            for penalty, other in zip(penalties, others, strict=True):
                other[:, h] = _dense_regression(dense[at], positive, penalty)
    width = len(columns)
    return _Weights(columns, weights[:width].astype(np.float32), weights[width:], tuple(others), mean, scale)


def _columns(data: RoleData, rows: Rows) -> NDArray[np.int64]:
    """Columns of n-grams that occur in enough turns and transcripts."""
    part = data.grams[rows].tocoo()
    turns = np.bincount(part.col, minlength=part.shape[1])
    pairs = np.unique(part.col.astype(np.int64) * (int(data.groups.max()) + 1) + data.groups[rows][part.row])
    spread = np.bincount(pairs // (int(data.groups.max()) + 1), minlength=part.shape[1])
    return np.flatnonzero((turns >= _TURNS_WITH_GRAM) & (spread >= _TRANSCRIPTS_WITH_GRAM)).astype(np.int64)


def _dense(data: RoleData, rows: Rows, mean: Numbers, scale: Numbers) -> Numbers:
    vectors = cast("NDArray[np.float32]", data.vectors)
    return np.hstack([(data.numbers[rows, 1:] - mean) / scale, vectors[rows]])


def _sparse_regression(rows: Any, positive: NDArray[np.bool_], seed: int) -> Numbers:
    from sklearn.linear_model import LogisticRegression

    with _unfinished_allowed():
        # One of the numbers is constant, so no intercept is needed.
        model = LogisticRegression(
            C=_GRAMS_C, solver="liblinear", dual=True, fit_intercept=False, max_iter=40, tol=1e-3, random_state=seed
        )
        return cast(Numbers, model.fit(rows, positive).coef_[0])


def _dense_regression(rows: Numbers, positive: NDArray[np.bool_], penalty: float) -> Numbers:
    from sklearn.linear_model import LogisticRegression

    with _unfinished_allowed():
        model = LogisticRegression(C=penalty, max_iter=150, tol=1e-3).fit(rows, positive)
    return np.append(model.coef_[0], model.intercept_[0])


@contextmanager
def _unfinished_allowed() -> Iterator[None]:
    """Without the warning that an optimiser stopped early, for what it reached is scored out of fold all the same; and
    without checks of arrays that were made here."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _loss(head: _Head, scored_rows: Sequence[tuple[Numbers, Rows]]) -> float:
    """Mean log loss of scores out of fold."""
    is_positive = dict(zip(head.rows.tolist(), head.positive.tolist(), strict=True))
    total, count = 0.0, 0
    for scores, rows in scored_rows:
        for score, row in zip(scores.tolist(), rows.tolist(), strict=True):
            if row in is_positive:
                total += float(np.logaddexp(0, -score if is_positive[row] else score))
                count += 1
    return total / max(1, count)


def _stacked(scores: Sequence[Numbers], penalties: Sequence[int]) -> Numbers:
    if len(scores) == 1:
        return scores[0]
    return np.hstack([scores[0], np.column_stack([scores[1 + k][:, h] for h, k in enumerate(penalties)])])


def _calibration(
    decision: Decision, classes: Rows, scores: Numbers, groups: Rows, rows: Rows, seed: int
) -> Calibration:
    known = rows[classes[rows] >= 0]
    size = len(decision.classes)
    outside = np.zeros((len(classes), size))
    for chosen, rest in _folds(groups, known, _INNER, seed + 1):
        outside[rest] = _calibrate(scores[chosen], classes[chosen], size).probabilities(scores[rest])
    shares = np.bincount(classes[known], minlength=size) / len(known)
    shares[shares == 0] = 1
    made = _calibrate(scores[known], classes[known], size)
    return Calibration(made.weights, _class_weights(outside[known], classes[known], shares))


def _calibrate(scores: Numbers, classes: Rows, size: int) -> Calibration:
    from sklearn.linear_model import LogisticRegression

    present = np.unique(classes)
    weights = np.zeros((scores.shape[1] + 1, size))
    absent = np.setdiff1d(np.arange(size), present)
    weights[-1, absent] = -30.0
    if len(present) > 1:
        mean, scale = scores.mean(axis=0), scores.std(axis=0)
        scale[scale == 0] = 1
        with _unfinished_allowed():
            model = LogisticRegression(C=_CALIBRATION_C / len(scores), max_iter=300).fit(
                (scores - mean) / scale, classes
            )
        slopes, start = model.coef_.T / scale[:, None], model.intercept_
        if len(present) == 2:
            slopes, start = np.hstack([np.zeros_like(slopes), slopes]), np.append(0.0, start)
        weights[:-1, present] = slopes
        weights[-1, present] = start - mean @ slopes
    return Calibration(weights, np.ones(size))


def _class_weights(probabilities: Numbers, classes: Rows, shares: Numbers) -> Numbers:
    """Class shares to the power that gives the highest macro-F1 out of fold; the least power among equals."""
    from sklearn.metrics import f1_score

    def reached(power: float) -> float:
        chosen = (probabilities / shares**power).argmax(axis=1)
        return round(float(f1_score(classes, chosen, average="macro", zero_division=0)), 6)

    return shares ** max(_EXPONENTS, key=lambda power: (reached(power), -power))


# -- out of fold --------------------------------------------------------------------------------------


def out_of_fold(
    training: TrainingSet, *, folds: int = FOLDS, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> tuple[ExistingCodes, dict[str, tuple[NDArray[np.str_], Numbers]]]:
    """Codes of every turn from coders that were trained without its transcript.

    Everything that is fitted or chosen (weights, penalties, calibration, class weights) comes from the other folds.

    Args:
        training: the coded transcripts.
        folds: parts the transcripts are divided in; no more than there are transcripts.
        seed: of the division.
        progress: called with the number of folds done and of all.

    Returns:
        The codes, and for each code the gold label of every coded turn with the probability given to each label, in
        the order of ``training.labels``: for looking at the calibration.

    Raises:
        InputError: fewer than two folds.
    """
    with from_extra("learning", "training a coder needs scikit-learn"):
        from sklearn.model_selection import GroupKFold

    if folds < 2:
        raise InputError(f"{folds} folds are too few", where="`folds`", todo="give a number from 2 on")
    folds = min(folds, training.groups)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(training.text_hashes))}
    groups = np.array([numbers[text] for text in training.text_hashes])
    codes: dict[str, dict[int, dict[str, str]]] = {transcript.id: {} for transcript in training.transcripts}
    calibration: dict[str, list[tuple[NDArray[np.str_], Numbers]]] = {code: [] for code in training.labels}
    splits = GroupKFold(folds, shuffle=True, random_state=seed).split(groups, groups=groups)
    for done, (_, rest) in enumerate(splits, 1):
        outside = np.zeros(len(groups), bool)
        outside[rest] = True
        rows = {role: np.flatnonzero(~outside[data.transcripts]) for role, data in training.roles.items()}
        for model in fit_roles(training, rows, seed):
            data = training.roles[model.role]
            here = np.flatnonzero(outside[data.transcripts])
            part = TurnFeatures(data.turns[here], np.full(len(here), -1), data.grams[here], data.numbers[here])
            scores = model.row_scores(part, None if data.vectors is None else data.vectors[here], model.table())
            for code, (labels, _) in model.choices(scores).items():
                for at, label in zip(here, labels, strict=True):
                    transcript = training.transcripts[data.transcripts[at]]
                    codes[transcript.id].setdefault(int(data.turns[at]), {})[code] = label
            for code, probabilities in model.probabilities(scores).items():
                gold = data.gold[code][here]
                calibration[code].append((gold[gold != ""], probabilities[gold != ""]))
        if progress is not None:
            progress(done, folds)
    code_names = tuple(training.labels)
    return ExistingCodes(OUT_OF_FOLD, code_names, codes), {
        code: (np.concatenate([gold for gold, _ in parts]), np.vstack([probabilities for _, probabilities in parts]))
        for code, parts in calibration.items()
    }


# -- Training a coder on transcripts that people coded --------------------------------------------------

_LIBRARIES = ("numpy", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """What :func:`train` made: the coder, and its evaluation out of fold."""

    coder: TrainedCoder
    evaluation: CoderTest


def train(
    transcripts: Iterable[Transcript],
    name: str,
    *,
    codes: Sequence[str] | None = None,
    embeddings: Embeddings | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    day: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TrainingOutcome:
    """Train a coder on transcripts that people coded.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; they are kept in memory.
        name: of the coder, as it will stand in rater's names.
        codes: which codes; all that people gave often enough unless named.
        embeddings: a model of sentence embeddings; the coder then works only with the same one.
        folds: for the scores on the card: each is trained on the others.
        seed: of the folds.
        day: the date on the card, ``YYYY-MM-DD``; today's (UTC), or that of ``SOURCE_DATE_EPOCH``, unless given.
        progress: called with the number of folds done and of all.

    Raises:
        InputError: the name, a code, a label or the date is none.
        DataError: too little is coded.
    """
    if not CODER_NAME.fullmatch(name):
        raise InputError(f"{name!r:.40} can't be a coder's name", where="`name`", todo="use letters, digits, . _ and -")
    dated = _day(day)
    training = read_training_set(transcripts, codes, embeddings)
    codes_out_of_fold, _ = out_of_fold(training, folds=folds, seed=seed, progress=progress)
    evaluation = evaluate_coder(training.transcripts, codes_out_of_fold)
    models = tuple(fit_roles(training, seed=seed))
    card = orjson.loads(orjson.dumps(_card(training, evaluation, name, dated, folds, seed)))
    return TrainingOutcome(TrainedCoder(card, models, embeddings, content_hash(card, arrays_of(models))), evaluation)


def _day(day: str | None) -> str:
    if day is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
        return moment.date().isoformat()
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise InputError(f"{day!r} is not a date", where="`date`", todo="write it as 2026-11-30") from error


def _card(training: TrainingSet, evaluation: CoderTest, name: str, day: str, folds: int, seed: int) -> dict[str, Any]:
    whole = hashlib.sha256("\n".join(sorted(transcript.content_hash() for transcript in training.transcripts)).encode())
    languages = {
        re.split("[-_]", transcript.language.strip().lower())[0]
        for transcript in training.transcripts
        if transcript.language
    }
    unknown = any(transcript.language is None for transcript in training.transcripts)
    if unknown and all(
        not_english(" ".join(turn.text for turn in transcript.turns), transcript.language) is None
        for transcript in training.transcripts
    ):
        languages, unknown = {"en"}, False
    embeddings = training.embeddings
    dimensions = 0
    for data in training.roles.values():
        dimensions = 0 if data.vectors is None else (data.vectors.shape[1] - 1) // 3
    return {
        "format": FORMAT.version,
        "name": name,
        "date": day,
        "codes": {code: list(labels) for code, labels in training.labels.items()},
        "training": {
            "sha256": whole.hexdigest(),
            "transcripts": len(training.transcripts),
            "without_codes": training.without_codes,
            "people": training.coders,
            "languages": [] if unknown else sorted(languages),
            "turns": training.counts,
            "ties_left_out": training.ties,
            "too_rare": training.too_rare,
            "text_sha256": sorted(set(training.text_hashes)),
        },
        "features": {
            "version": _features.VERSION,
            "ngrams": "words and characters of the turn, words of its last question, of the turn before and of the "
            f"role's last turn, hashed to {_features.BUCKETS} columns",
            "numbers": len(_features.NUMBERS),
            "embeddings": None
            if embeddings is None
            else {"name": embeddings.name, "sha256": embeddings.sha256, "dimensions": dimensions},
        },
        "out_of_fold": {
            "folds": min(folds, training.groups),
            "seed": seed,
            "codes": evaluation.rows(),
            "sessions": evaluation.session_rows(),
        },
        "made_with": {
            "bedside": bedside.__version__,
            "python": platform.python_version(),
            **{library: version(library) for library in _LIBRARIES},
        },
    }
