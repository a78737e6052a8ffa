"""A trained coder: its file, its card, and its use as a coder like any other.

The file is NumPy's ``.npz`` with plain arrays of numbers: hashed weights and, as bytes of JSON, the card. There is
nothing in it that is executed or unpickled, and no text of what it was trained on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from bedside.core.errors import InputError
from bedside.core.files import Format
from bedside.core.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull, misfit
from bedside.metrics.coders.contract import Coder, TurnCodes
from bedside.metrics.coders.learned import array_file, features as _features
from bedside.metrics.coders.learned.array_file import ArrayFileKind, content_hash, file_state, read_arrays, write_arrays
from bedside.metrics.coders.learned.classifiers import RoleModel, from_arrays, to_arrays
from bedside.metrics.coders.learned.embeddings import Embeddings, needed_embeddings
from bedside.metrics.coders.learned.training_set import text_hash
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

# -- A trained coder ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrainedCoder:
    """A coder made by :func:`train`.

    Attributes:
        card: what it was trained on and how good it is, as JSON shows it: see ``docs/coders.md``.
        models: its classifiers, one per role.
        embeddings: the model of sentence embeddings, where it uses one.
        content: hash (hex) of the weights and of the card without its date; it stands in the rater's name.
    """

    card: Mapping[str, Any]
    models: tuple[RoleModel, ...]
    embeddings: Embeddings | None
    content: str
    _tables: dict[Role, NDArray[np.float32]] = field(default_factory=dict, repr=False, compare=False)
    _last: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its own name, whatever the file is called."""
        return str(self.card["name"])

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it gives."""
        return tuple(code for model in self.models for code in model.labels)

    def code(self, transcript: Transcript) -> TurnCodes:
        """The codes of all turns of the roles it knows."""
        return {index: {code: label for code, (label, _) in codes.items()} for index, codes in self._all(transcript)}

    def confidence(self, transcript: Transcript) -> Mapping[int, Mapping[str, float]]:
        """The calibrated probability (0–1) of each label that :meth:`code` gives."""
        return {index: {code: p for code, (_, p) in codes.items()} for index, codes in self._all(transcript)}

    def probabilities(self, transcript: Transcript) -> dict[int, dict[str, dict[str, float]]]:
        """Turn index → code → label → calibrated probability; a code's sum to 1."""
        by_turn: dict[int, dict[str, dict[str, float]]] = {}
        for model, turns, scores in self._scores(transcript):
            for code, rows in model.probabilities(scores).items():
                for index, row in zip(turns.tolist(), rows.tolist(), strict=True):
                    by_turn.setdefault(index, {})[code] = dict(zip(model.labels[code], row, strict=True))
        return by_turn

    def refuses(self, transcript: Transcript) -> str | None:
        """Why it can't code a transcript: it is in another language than those it was trained on."""
        languages = self.card["training"]["languages"]
        if not languages:
            return None
        if transcript.language is not None:
            language = re.split("[-_]", transcript.language.strip().lower())[0]
            return None if language in languages else f"trained on {', '.join(languages)}; the transcript is {language}"
        if languages == ["en"]:
            return not_english(" ".join(turn.text for turn in transcript.of("clinician")), None)
        return None

    def trained_on(self, transcript: Transcript) -> bool:
        """Whether the transcript's text was in its training data, whatever it is called."""
        return text_hash(transcript) in self.card["training"]["text_sha256"]

    def coder(self) -> Coder:
        """It as a coder like those that ship with bedside; its version is the content's hash."""
        return Coder(
            name=self.name,
            title=f"coder trained on {self.card['training']['transcripts']} transcripts",
            description="Trained by bedside; its file holds its card.",
            version=self.content[:12],
            codes=self.codes,
            source="Trained with bedside.",
            code=self.code,
            refuses=self.refuses,
            languages=tuple(self.card["training"]["languages"]),
            confidence=self.confidence,
        )

    def on_new_sessions(self) -> Coder:
        """It as a coder that refuses the transcripts it was trained on: for its evaluation."""

        def refuses(transcript: Transcript) -> str | None:
            return "it is in the coder's training data" if self.trained_on(transcript) else self.refuses(transcript)

        return replace(self.coder(), refuses=refuses)

    def _all(self, transcript: Transcript) -> Iterable[tuple[int, dict[str, tuple[str, float]]]]:
        if not (self._last and self._last[0] is transcript):
            by_turn: dict[int, dict[str, tuple[str, float]]] = {}
            for model, turns, scores in self._scores(transcript):
                for code, (labels, chances) in model.choices(scores).items():
                    for index, label, chance in zip(turns.tolist(), labels, chances.tolist(), strict=True):
                        by_turn.setdefault(index, {})[code] = (label, chance)
            self._last[:] = [transcript, by_turn]
        items: dict[int, dict[str, tuple[str, float]]] = self._last[1]
        return items.items()

    def _scores(self, transcript: Transcript) -> Iterable[tuple[RoleModel, NDArray[np.int64], NDArray[np.float64]]]:
        vectors = None
        if self.embeddings is not None and transcript.turns:
            vectors = self.embeddings.encode([turn.text for turn in transcript.turns])
        models = {model.role: model for model in self.models}
        for role, part in _features.feature_batches(transcript, list(models)):
            if role not in self._tables:
                self._tables[role] = models[role].table()
            yield models[role], part.turns, models[role].scores(part, vectors, self._tables[role])


# -- The file of a trained coder ------------------------------------------------------------------------

CODER_FILE = ArrayFileKind("trained coder", "coder", "bedside train coder")
FORMAT = Format("trained coder", todo=CODER_FILE.cure)


CODER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")


CARD_SHAPE: dict[str, Any] = {
    "name": TEXT,
    "date": TEXT,
    "codes": ObjectOf([TEXT]),
    "training": {
        "sha256": TEXT, "transcripts": INTEGER, "without_codes": INTEGER, "people": INTEGER, "languages": [TEXT],
        "turns": ObjectOf(ObjectOf(INTEGER)), "ties_left_out": ObjectOf(INTEGER), "text_sha256": [TEXT],
    },
    "features": {
        "ngrams": TEXT,
        "embeddings": OrNull({"name": TEXT, "sha256": TEXT, "dimensions": INTEGER}),
    },
    "out_of_fold": {
        "folds": INTEGER,
        "seed": INTEGER,
        "codes": [{
            "code": TEXT, "turns": INTEGER,
            **dict.fromkeys(("macro_f1", "accuracy", "kappa", "people_macro_f1", "share_of_people"), OrNull(NUMBER)),
        }],
        "sessions": [{
            "measure": TEXT, "sessions": INTEGER, "spearman": OrNull(NUMBER), "mean_absolute_error": OrNull(NUMBER),
            "use": TEXT, "why": TEXT,
        }],
    },
    "made_with": ObjectOf(TEXT),
}  # fmt: skip


def save_coder(coder: TrainedCoder, path: str | os.PathLike[str]) -> None:
    """Write a coder to a ``.npz`` file, whole or not at all; the same coder gives the same bytes.

    Raises:
        InputError: the file's name doesn't end in ``.npz``.
        RunError: it can't be written.
    """
    write_arrays(path, arrays_of(coder.models), coder.card, CODER_FILE)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise now, before the training, what :func:`save_coder` would raise after it."""
    array_file.check_target(path, CODER_FILE)


def load_coder(path: str | os.PathLike[str], embeddings: str | os.PathLike[str] | None = None) -> TrainedCoder:
    """A coder from its file.

    Args:
        path: the file.
        embeddings: the folder of the embedding model, for a coder that needs one. Unless given, a package that ships
            it is looked for, or a folder of its name beside the coder's file or in the working directory.

    Raises:
        InputError: the file is none, is damaged or changed, was made by another version, or the embedding model is
            missing or another.
        MissingExtraError: a library or package it needs isn't installed.
    """
    file = Path(path)
    # The same object for the same content: its tables and its embedding model are made once.
    return _coder_from(file, _open_file(file)[2], None if embeddings is None else str(embeddings))


def load_card(path: str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    """A coder's card and its rater's name; its embedding model needn't be there.

    Raises:
        InputError: as :func:`load_coder` does.
    """
    card, models, content = _open_file(Path(path))
    return card, TrainedCoder(card, models, None, content).coder().rater


OpenedFile = tuple[Mapping[str, Any], tuple[RoleModel, ...], str]


def _open_file(file: Path) -> OpenedFile:
    return _parse_file(file, *file_state(file, CODER_FILE))


@lru_cache(maxsize=8)
def _parse_file(path: Path, *_: int) -> OpenedFile:
    where = str(path)
    stated_card, arrays = read_arrays(path, CODER_FILE)
    try:
        card = orjson.loads(stated_card)
        FORMAT.check(card["format"], where, InputError)
        if card["features"]["version"] != _features.VERSION:
            maker = card["made_with"]["bedside"]
            raise InputError(f"made by another version of bedside ({maker})", where=where, todo=CODER_FILE.cure)
        labels = {code: tuple(code_labels) for code, code_labels in card["codes"].items()}
        for code, code_labels in labels.items():
            if (
                code not in CODES
                or len(code_labels) < 2
                or [x for x in CODES[code] if x in code_labels] != list(code_labels)
            ):
                raise ValueError(f"{code} with the labels {', '.join(map(str, code_labels))} is unknown here")
        roles = list(dict.fromkeys(CODE_ROLES[code] for code in labels))
        needed = card["features"]["embeddings"]
        models = tuple(
            from_arrays(
                role,
                {code: code_labels for code, code_labels in labels.items() if CODE_ROLES[code] == role},
                0 if needed is None else int(needed["dimensions"]),
                arrays,
            )
            for role in roles
        )
        misplaced = misfit(card, CARD_SHAPE)
        if misplaced is not None or not CODER_NAME.fullmatch(card["name"]):
            raise ValueError(f"its card lacks a {misplaced or 'name'}")
        return card, models, content_hash(card, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"not a coder that this version can read ({error})"[:200], where=where, todo=CODER_FILE.cure
        ) from error


@lru_cache(maxsize=8)
def _coder_from(path: Path, content: str, embeddings: str | None) -> TrainedCoder:
    card, models, _ = _open_file(path)
    model = needed_embeddings(path, card["features"]["embeddings"], embeddings, "coder")
    return TrainedCoder(card, models, model, content)


def arrays_of(models: Iterable[RoleModel]) -> dict[str, NDArray[Any]]:
    return {name: array for model in models for name, array in to_arrays(model).items()}
