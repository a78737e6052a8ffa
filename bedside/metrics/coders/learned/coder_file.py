"""The file of a trained coder: NumPy's .npz with plain arrays of numbers and, as bytes of JSON, the card."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from numpy.typing import NDArray

from bedside.core.errors import InputError
from bedside.core.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull, misfit
from bedside.metrics.coders.learned import array_file
from bedside.metrics.coders.learned import features as _features
from bedside.metrics.coders.learned.array_file import (
    ArrayFileKind,
    content_hash,
    file_state,
    read_arrays,
    write_arrays,
)
from bedside.metrics.coders.learned.classifiers import RoleModel, from_arrays, to_arrays
from bedside.metrics.coders.learned.embeddings import needed_embeddings
from bedside.metrics.coders.learned.trained_coder import TrainedCoder
from bedside.transcripts.transcript import CODE_ROLES, CODES

#: Changes when files written before can't be read any more.
FORMAT = 1


CODER_FILE = ArrayFileKind("trained coder", "coder", "bedside coder train")


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


def load_coder(
    path: str | os.PathLike[str], embeddings: str | os.PathLike[str] | None = None
) -> TrainedCoder:
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
        versions = (card["format"], card["features"]["version"])
        if versions != (FORMAT, _features.VERSION):
            file_format = ".".join(map(str, versions))
            raise InputError(
                f"made by another version of bedside ({card['made_with']['bedside']}, format {file_format}; "
                f"this one reads {FORMAT}.{_features.VERSION})",
                where=where,
                todo=CODER_FILE.cure,
            )
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
