"""Training a coder on transcripts that people coded: the coder, and its card with scores out of fold."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

import orjson

import bedside
from bedside.core.errors import InputError
from bedside.metrics.coders.learned import features as _features
from bedside.metrics.coders.learned.array_file import content_hash
from bedside.metrics.coders.learned.coder_file import CODER_NAME, FORMAT, arrays_of
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.trained_coder import TrainedCoder
from bedside.metrics.coders.learned.training import FOLDS, fit_roles, out_of_fold
from bedside.metrics.coders.learned.training_set import TrainingSet, read_training_set
from bedside.metrics.coders.testing.coder_test import CoderTest, evaluate_coder
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Transcript

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
        raise InputError(
            f"{name!r:.40} can't be a coder's name", where="name", todo="use letters, digits, . _ and -"
        )
    dated = _day(day)
    training = read_training_set(transcripts, codes, embeddings)
    codes_out_of_fold, _ = out_of_fold(training, folds=folds, seed=seed, progress=progress)
    evaluation = evaluate_coder(training.transcripts, codes_out_of_fold)
    models = tuple(fit_roles(training, seed=seed))
    card = orjson.loads(orjson.dumps(_card(training, evaluation, name, dated, folds, seed)))
    return TrainingOutcome(
        TrainedCoder(card, models, embeddings, content_hash(card, arrays_of(models))), evaluation
    )


def _day(day: str | None) -> str:
    if day is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
        return moment.date().isoformat()
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise InputError(f"{day!r} is not a date", where="`day`", todo="write it as 2026-11-30") from error


def _card(
    training: TrainingSet, evaluation: CoderTest, name: str, day: str, folds: int, seed: int
) -> dict[str, Any]:
    whole = hashlib.sha256(
        "\n".join(sorted(transcript.content_hash() for transcript in training.transcripts)).encode()
    )
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
        "format": FORMAT,
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
