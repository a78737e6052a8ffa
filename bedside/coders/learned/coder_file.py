"""The file of a trained coder: NumPy's .npz with plain arrays of numbers and, as bytes of JSON, the card."""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from bedside.coders.learned import features as _features
from bedside.coders.learned.classifiers import RoleModel, from_arrays, to_arrays
from bedside.coders.learned.embeddings import PACKAGES, Embeddings
from bedside.coders.learned.trained_coder import TrainedCoder
from bedside.support.errors import InputError
from bedside.support.files import replacing, saying_where
from bedside.support.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull, misfit
from bedside.transcripts.transcript import CODE_ROLES, CODES

#: Changes when files written before can't be read any more.
FORMAT = 1


SUFFIX = ".npz"


#: Largest content of a file, unpacked, in bytes, and most arrays in it.
MOST_BYTES = 512 * 2**20


MOST_ARRAYS = 1000


CODER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")


CARD_SHAPE = {
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


_TRAIN_AGAIN = "train it again with bedside coder train"


def save_coder(coder: TrainedCoder, path: str | os.PathLike[str]) -> None:
    """Write a coder to a ``.npz`` file, whole or not at all; the same coder gives the same bytes.

    Raises:
        InputError: the file's name doesn't end in ``.npz``.
        RunError: it can't be written.
    """
    target = _npz(path)
    arrays = arrays_of(coder.models)
    arrays["card"] = np.frombuffer(orjson.dumps(coder.card, option=orjson.OPT_SORT_KEYS), np.uint8)
    arrays["checksum"] = np.frombuffer(_digest(arrays), np.uint8)
    with replacing(target) as temporary, temporary.open("wb") as file:
        packed: dict[str, Any] = {name: arrays[name] for name in sorted(arrays)}
        np.savez_compressed(file, **packed)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise now, before the training, what :func:`save_coder` would raise after it."""
    target = _npz(path)
    with saying_where(target), tempfile.TemporaryFile(dir=target.parent):
        pass


def _npz(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix != SUFFIX:
        raise InputError("the name of a coder's file ends in .npz", where=str(target), todo=f"add {SUFFIX}")
    return target


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
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not an ordinary file", where=str(file), todo="give a file of a coder")
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=str(file), todo="check it") from error
    return _parse_file(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _parse_file(path: Path, *_: int) -> OpenedFile:
    where = str(path)
    arrays = _read_arrays(path)
    stated = arrays.pop("checksum", None)
    if "card" not in arrays or stated is None:
        raise InputError(
            "not a trained coder", where=where, todo="give a file that bedside coder train wrote"
        )
    if arrays["card"].dtype != np.uint8 or stated.tobytes() != _digest(arrays):
        raise InputError(
            "changed or damaged after it was written: its checksum doesn't fit",
            where=where,
            todo=f"get the file again, or {_TRAIN_AGAIN}",
        )
    try:
        card = orjson.loads(arrays.pop("card").tobytes())
        versions = (card["format"], card["features"]["version"])
        if versions != (FORMAT, _features.VERSION):
            file_format = ".".join(map(str, versions))
            raise InputError(
                f"made by another version of bedside ({card['made_with']['bedside']}, format {file_format}; "
                f"this one reads {FORMAT}.{_features.VERSION})",
                where=where,
                todo=_TRAIN_AGAIN,
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
            f"not a coder that this version can read ({error})"[:200], where=where, todo=_TRAIN_AGAIN
        ) from error


@lru_cache(maxsize=8)
def _coder_from(path: Path, content: str, embeddings: str | None) -> TrainedCoder:
    card, models, _ = _open_file(path)
    return TrainedCoder(card, models, _embeddings(path, card["features"]["embeddings"], embeddings), content)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
            if sum(part.file_size for part in parts) > MOST_BYTES or len(parts) > MOST_ARRAYS:
                raise ValueError(f"over {MOST_BYTES // 2**20} MB unpacked")
            return {part.filename.removesuffix(".npy"): _array(packed, part) for part in parts}
    # A damaged archive or header makes the libraries raise whatever its parts happen to raise.
    except Exception as error:
        raise InputError(
            f"not a trained coder ({error})"[:200],
            where=str(path),
            todo="give a file that bedside coder train wrote",
        ) from error


def _array(packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> NDArray[Any]:
    """An array, once its header says that it is as long as its part: memory is not taken on trust."""
    with packed.open(part) as file:
        if np.lib.format.read_magic(file) != (1, 0):  # type: ignore[no-untyped-call]
            raise ValueError(f"{part.filename} is of another version")
        shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)  # type: ignore[no-untyped-call]
        stated = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or stated != part.file_size - file.tell():
            raise ValueError(f"{part.filename} doesn't hold the numbers that it says")
        return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if by_column else "C")


def _embeddings(path: Path, needed: Mapping[str, Any] | None, folder: str | None) -> Embeddings | None:
    if needed is None:
        if folder is not None:
            raise InputError("this coder uses no embeddings", where="`embeddings`", todo="leave it out")
        return None
    name = str(needed["name"])
    if folder is None:
        near = [folder for folder in (path.parent / name, Path(name)) if (folder / "config.json").is_file()]
        if not near and name not in PACKAGES:
            raise InputError(
                f"the coder needs the embedding model {name}",
                where=str(path),
                todo=f"put its folder, called {name}, beside the file",
            )
        folder = str(near[0]) if near else name
    embeddings = Embeddings(folder)
    if embeddings.sha256 != needed["sha256"]:
        raise InputError(
            f"the coder was trained with another embedding model: {name}, SHA-256 {str(needed['sha256'])[:12]}…; "
            f"this one's is {embeddings.sha256[:12]}…",
            where=folder,
            todo="give the one it was trained with",
        )
    return embeddings


def arrays_of(models: Iterable[RoleModel]) -> dict[str, NDArray[Any]]:
    return {name: array for model in models for name, array in to_arrays(model).items()}


def content_hash(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    dateless = {key: value for key, value in card.items() if key != "date"}
    whole = hashlib.sha256(_digest(arrays))
    whole.update(orjson.dumps(dateless, option=orjson.OPT_SORT_KEYS))
    return whole.hexdigest()


def _digest(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of arrays with their names, types and shapes."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.digest()
