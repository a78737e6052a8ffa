"""Training a coder on turns that people coded, and its codes out of fold.

Each choice (does a question exist, is it open, …) has a logistic regression on hashed n-grams and, with embeddings, one
on these. A second logistic regression takes the scores of all of them and gives calibrated probabilities; it is fitted
on scores that were made out of fold within the training data, and so are the class weights of the final choice. Folds
never part a transcript.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bedside.coders.learned.classifiers import (
    Calibration,
    Decision,
    Numbers,
    RoleModel,
    decisions_for,
    vector_rows,
)
from bedside.coders.learned.embeddings import Embeddings
from bedside.coders.learned.features import TurnFeatures, turn_features
from bedside.coders.people import majority, people_codes
from bedside.coders.testing import GivenCodes
from bedside.support.errors import DataError, InputError
from bedside.support.registry import nearest
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

#: Transcripts needed to train or to score out of fold.
FEWEST_TRANSCRIPTS = 8
#: Turns, and transcripts, in which a label must occur for a coder to give it.
FEWEST_TURNS, FEWEST_WITH_LABEL = 10, 3
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

Rows = NDArray[np.int64]


def text_hash(transcript: Transcript) -> str:
    """SHA-256 (hex) of what is said by whom, without names, ids and codes."""
    whole = sha256()
    for turn in transcript.turns:
        whole.update(f"{turn.role}\n{len(turn.text)}\n{turn.text}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


@dataclass(slots=True)
class _RoleData:
    """The coded turns of one role in all transcripts.

    Attributes:
        transcripts, turns, groups: of each row: position of its transcript, index of the turn, and a number that
            transcripts of one text share.
        gold: code → label of each row, ``""`` where there is none.
    """

    role: Role
    transcripts: Rows
    turns: Rows
    groups: Rows
    grams: Any
    numbers: Numbers
    vectors: NDArray[np.float32] | None
    gold: dict[str, NDArray[np.str_]]


@dataclass(slots=True)
class TrainingSet:
    """Transcripts that people coded, made ready for training.

    Attributes:
        transcripts: those with codes.
        labels: code → the labels that occur often enough to be learned.
        counts: code → label → turns.
        ties: code → turns left out because people have no most frequent label.
        too_rare: code → labels left out because they are too rare, with the number of their turns.
        without_codes: transcripts left out because nobody coded them.
        coders: number of people who coded.
        text_hashes: of the transcripts, in order.
    """

    transcripts: list[Transcript]
    labels: dict[str, tuple[str, ...]]
    counts: dict[str, dict[str, int]]
    ties: dict[str, int]
    too_rare: dict[str, dict[str, int]]
    without_codes: int
    coders: int
    text_hashes: list[str]
    embeddings: Embeddings | None
    roles: dict[Role, _RoleData] = field(repr=False)

    @property
    def groups(self) -> int:
        """Number of transcripts of different text."""
        return len(set(self.text_hashes))


def read_training_set(
    transcripts: Iterable[Transcript],
    codes: Sequence[str] | None = None,
    embeddings: Embeddings | None = None,
) -> TrainingSet:
    """Features and gold codes of transcripts that people coded.

    Gold is the label that most people gave; a turn without a most frequent label is left out of that code.

    Args:
        transcripts: with people's codes in ``meta["codes"]``.
        codes: which codes; all that people gave unless named.
        embeddings: the model of sentence embeddings, if any.

    Raises:
        InputError: an unknown code or label.
        DataError: too few transcripts are coded, or no code has two labels that occur often enough.
    """
    wanted = tuple(CODES) if codes is None else tuple(dict.fromkeys(codes))
    for code in wanted:
        if code not in CODES:
            raise InputError(f"there is no code {code!r}", where="codes", todo=nearest(code, CODES))
    kept: list[Transcript] = []
    gold: list[dict[str, dict[int, str]]] = []
    ties: Counter[str] = Counter()
    people: set[str] = set()
    without = 0
    for transcript in transcripts:
        found = _gold(transcript, wanted, ties, people)
        if found:
            kept.append(transcript)
            gold.append(found)
        else:
            without += 1
    hashes = [text_hash(transcript) for transcript in kept]
    if len(set(hashes)) < FEWEST_TRANSCRIPTS:
        raise DataError(
            f"people coded {len(set(hashes))} transcripts of different text; {FEWEST_TRANSCRIPTS} are needed to learn "
            "from some and be tried on others",
            todo="give more coded transcripts; bedside coder evaluate FILE --coder rules needs one",
        )
    counts: dict[str, dict[str, int]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    rare: dict[str, dict[str, int]] = {}
    for code in wanted:
        each = Counter(label for found in gold for label in found.get(code, {}).values())
        where = Counter(label for found in gold for label in set(found.get(code, {}).values()))
        if not each:
            continue
        counts[code] = {label: each[label] for label in CODES[code] if each[label]}
        enough = tuple(
            label
            for label in CODES[code]
            if each[label] >= FEWEST_TURNS and where[label] >= FEWEST_WITH_LABEL
        )
        rare[code] = {label: count for label, count in counts[code].items() if label not in enough}
        if len(enough) > 1:
            labels[code] = enough
    if not labels:
        raise DataError(
            f"no code has two labels with {FEWEST_TURNS} turns in {FEWEST_WITH_LABEL} transcripts",
            todo="give more coded transcripts",
        )
    numbered = {text: number for number, text in enumerate(dict.fromkeys(hashes))}
    return TrainingSet(
        transcripts=kept,
        labels=labels,
        counts=counts,
        ties={code: ties[code] for code in counts},
        too_rare={code: few for code, few in rare.items() if few},
        without_codes=without,
        coders=len(people),
        text_hashes=hashes,
        embeddings=embeddings,
        roles=_role_data(kept, gold, [numbered[text] for text in hashes], labels, embeddings),
    )


def _gold(
    transcript: Transcript, wanted: Sequence[str], ties: Counter[str], people: set[str]
) -> dict[str, dict[int, str]]:
    given: dict[str, dict[int, list[str]]] = {}
    for person, turns in people_codes(transcript).items():
        for index, labels in turns.items():
            for code in wanted:
                label = labels.get(code)
                if label is None:
                    continue
                if label not in CODES[code]:
                    raise InputError(
                        f"{code} has no label {label!r:.40}",
                        where=f"{transcript.source or transcript.id}, turn {index}, coder {person}",
                        todo=f"labels: {', '.join(CODES[code])}",
                    )
                people.add(person)
                given.setdefault(code, {}).setdefault(index, []).append(label)
    found: dict[str, dict[int, str]] = {}
    for code, by_turn in given.items():
        for index, labels_given in by_turn.items():
            most = majority(labels_given)
            if most is None:
                ties[code] += 1
            else:
                found.setdefault(code, {})[index] = most
    return found


def _role_data(
    transcripts: Sequence[Transcript],
    gold: Sequence[Mapping[str, Mapping[int, str]]],
    groups: Sequence[int],
    labels: Mapping[str, Sequence[str]],
    embeddings: Embeddings | None,
) -> dict[Role, _RoleData]:
    from scipy.sparse import vstack

    roles = list(dict.fromkeys(CODE_ROLES[code] for code in labels))
    features: list[dict[Role, TurnFeatures]] = [turn_features(each, roles) for each in transcripts]
    vectors = None if embeddings is None else list(_vectors(transcripts, embeddings))
    made: dict[Role, _RoleData] = {}
    for role in roles:
        parts = [each[role] for each in features]
        sizes = [len(part.turns) for part in parts]
        made[role] = _RoleData(
            role=role,
            transcripts=np.repeat(np.arange(len(parts)), sizes),
            turns=np.concatenate([part.turns for part in parts]),
            groups=np.repeat(np.array(groups), sizes),
            grams=vstack([part.grams for part in parts], format="csr"),
            numbers=np.vstack([part.numbers for part in parts]),
            vectors=None
            if vectors is None
            else np.vstack([vector_rows(part, each) for part, each in zip(parts, vectors, strict=True)]),
            gold={
                code: np.array(
                    [
                        found.get(code, {}).get(int(index), "")
                        for part, found in zip(parts, gold, strict=True)
                        for index in part.turns
                    ]
                )
                for code in labels
                if CODE_ROLES[code] == role
            },
        )
    return made


def _vectors(transcripts: Sequence[Transcript], embeddings: Embeddings) -> Iterator[NDArray[np.float32]]:
    """Vectors of each transcript's turns; texts of several transcripts are encoded together, which is faster."""
    texts = [turn.text for transcript in transcripts for turn in transcript.turns]
    found = embeddings.encode(texts)
    at = 0
    for transcript in transcripts:
        yield found[at : at + len(transcript.turns)]
        at += len(transcript.turns)


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

    def scores(self, data: _RoleData, rows: Rows) -> list[Numbers]:
        """Scores of rows: from n-grams, then from embeddings for each penalty."""
        linear = np.asarray(data.grams[rows][:, self.columns] @ self.grams, np.float64)
        found = [linear + data.numbers[rows] @ self.numbers]
        if data.vectors is not None:
            dense = _dense(data, rows, self.mean, self.scale)
            found += [dense @ weights[:-1] + weights[-1] for weights in self.dense]
        return found


def fit_roles(
    training: TrainingSet, rows: Mapping[Role, Rows] | None = None, seed: int = 0
) -> list[RoleModel]:
    """Fit the classifiers of every role, from all rows or from those given."""
    return [
        _fit_role(data, np.arange(len(data.turns)) if rows is None else rows[role], training.labels, seed)
        for role, data in training.roles.items()
    ]


def _fit_role(data: _RoleData, rows: Rows, labels: Mapping[str, tuple[str, ...]], seed: int) -> RoleModel:
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
    from sklearn.model_selection import GroupKFold

    splitter = GroupKFold(min(folds, len(np.unique(groups[rows]))), shuffle=True, random_state=seed)
    for chosen, rest in splitter.split(rows, groups=groups[rows]):
        yield rows[chosen], rows[rest]


def _fit_heads(
    data: _RoleData, rows: Rows, heads: Sequence[_Head], penalties: Sequence[float], seed: int
) -> _Weights:
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


def _columns(data: _RoleData, rows: Rows) -> NDArray[np.int64]:
    """Columns of n-grams that occur in enough turns and transcripts."""
    part = data.grams[rows].tocoo()
    turns = np.bincount(part.col, minlength=part.shape[1])
    pairs = np.unique(part.col.astype(np.int64) * (int(data.groups.max()) + 1) + data.groups[rows][part.row])
    spread = np.bincount(pairs // (int(data.groups.max()) + 1), minlength=part.shape[1])
    return np.flatnonzero((turns >= _TURNS_WITH_GRAM) & (spread >= _TRANSCRIPTS_WITH_GRAM)).astype(np.int64)


def _dense(data: _RoleData, rows: Rows, mean: Numbers, scale: Numbers) -> Numbers:
    vectors = cast("NDArray[np.float32]", data.vectors)
    return np.hstack([(data.numbers[rows, 1:] - mean) / scale, vectors[rows]])


def _sparse_regression(rows: Any, positive: NDArray[np.bool_], seed: int) -> Numbers:
    from sklearn.linear_model import LogisticRegression

    with _unfinished_allowed():
        # One of the numbers is constant, so no intercept is needed.
        model = LogisticRegression(
            C=_GRAMS_C,
            solver="liblinear",
            dual=True,
            fit_intercept=False,
            max_iter=40,
            tol=1e-3,
            random_state=seed,
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


def _loss(head: _Head, found: Sequence[tuple[Numbers, Rows]]) -> float:
    """Mean log loss of scores out of fold."""
    known = dict(zip(head.rows.tolist(), head.positive.tolist(), strict=True))
    total, count = 0.0, 0
    for scores, rows in found:
        for score, row in zip(scores.tolist(), rows.tolist(), strict=True):
            if row in known:
                total += float(np.logaddexp(0, -score if known[row] else score))
                count += 1
    return total / max(1, count)


def _stacked(found: Sequence[Numbers], penalties: Sequence[int]) -> Numbers:
    if len(found) == 1:
        return found[0]
    return np.hstack([found[0], np.column_stack([found[1 + k][:, h] for h, k in enumerate(penalties)])])


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
    training: TrainingSet,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[GivenCodes, dict[str, tuple[NDArray[np.str_], Numbers]]]:
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
    from sklearn.model_selection import GroupKFold

    if folds < 2:
        raise InputError(f"folds is {folds}", where="--folds", todo="give a number from 2")
    folds = min(folds, training.groups)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(training.text_hashes))}
    groups = np.array([numbers[text] for text in training.text_hashes])
    given: dict[str, dict[int, dict[str, str]]] = {each.id: {} for each in training.transcripts}
    seen: dict[str, list[tuple[NDArray[np.str_], Numbers]]] = {code: [] for code in training.labels}
    splits = GroupKFold(folds, shuffle=True, random_state=seed).split(groups, groups=groups)
    for done, (_, rest) in enumerate(splits, 1):
        outside = np.zeros(len(groups), bool)
        outside[rest] = True
        rows = {role: np.flatnonzero(~outside[data.transcripts]) for role, data in training.roles.items()}
        for model in fit_roles(training, rows, seed):
            data = training.roles[model.role]
            here = np.flatnonzero(outside[data.transcripts])
            part = TurnFeatures(
                data.turns[here], np.full(len(here), -1), data.grams[here], data.numbers[here]
            )
            scores = model.row_scores(
                part, None if data.vectors is None else data.vectors[here], model.table()
            )
            for code, (labels, _) in model.choices(scores).items():
                for at, label in zip(here, labels, strict=True):
                    transcript = training.transcripts[data.transcripts[at]]
                    given[transcript.id].setdefault(int(data.turns[at]), {})[code] = label
            for code, probabilities in model.probabilities(scores).items():
                gold = data.gold[code][here]
                seen[code].append((gold[gold != ""], probabilities[gold != ""]))
        if progress is not None:
            progress(done, folds)
    codes = tuple(training.labels)
    return GivenCodes(OUT_OF_FOLD, codes, given), {
        code: (np.concatenate([gold for gold, _ in parts]), np.vstack([found for _, found in parts]))
        for code, parts in seen.items()
    }
