"""A trained coder: its file, its card, and its use as a coder like any other.

The file is NumPy's ``.npz`` with plain arrays of numbers: hashed weights and, as bytes of JSON, the card. There is
nothing in it that is executed or unpickled, and no text of what it was trained on.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

import bedside
from bedside.coders.contract import Coder, TurnCodes
from bedside.coders.learned import features as _features
from bedside.coders.learned.classifiers import RoleModel, from_arrays, to_arrays
from bedside.coders.learned.embeddings import PACKAGES, Embeddings
from bedside.coders.learned.training import (
    FOLDS,
    TrainingSet,
    fit_roles,
    out_of_fold,
    read_training_set,
    text_hash,
)
from bedside.coders.testing import CoderEvaluation, evaluate
from bedside.support.errors import InputError
from bedside.support.files import replacing, saying_where
from bedside.support.json_shape import NUMBER, TEXT, WHOLE, Each, Maybe, misfit
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

#: Changes when files written before can't be read any more.
FORMAT = 1
SUFFIX = ".npz"
#: Largest content of a file, unpacked, in bytes, and most arrays in it.
MOST_BYTES = 512 * 2**20
MOST_ARRAYS = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
_CARD = {
    "name": TEXT,
    "date": TEXT,
    "codes": Each([TEXT]),
    "training": {
        "sha256": TEXT, "transcripts": WHOLE, "without_codes": WHOLE, "people": WHOLE, "languages": [TEXT],
        "turns": Each(Each(WHOLE)), "ties_left_out": Each(WHOLE), "text_sha256": [TEXT],
    },
    "features": {
        "ngrams": TEXT,
        "embeddings": Maybe({"name": TEXT, "sha256": TEXT, "dimensions": WHOLE}),
    },
    "out_of_fold": {
        "folds": WHOLE,
        "seed": WHOLE,
        "codes": [{
            "code": TEXT, "turns": WHOLE,
            **dict.fromkeys(("macro_f1", "accuracy", "kappa", "people_macro_f1", "share_of_people"), Maybe(NUMBER)),
        }],
        "sessions": [{
            "measure": TEXT, "sessions": WHOLE, "spearman": Maybe(NUMBER), "mean_absolute_error": Maybe(NUMBER),
            "use": TEXT, "why": TEXT,
        }],
    },
    "made_with": Each(TEXT),
}  # fmt: skip
_TRAIN_AGAIN = "train it again with bedside coder train"
_LIBRARIES = ("numpy", "scikit-learn", "scipy")


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
        return {
            index: {code: label for code, (label, _) in each.items()} for index, each in self._all(transcript)
        }

    def confidence(self, transcript: Transcript) -> Mapping[int, Mapping[str, float]]:
        """The calibrated probability (0–1) of each label that :meth:`code` gives."""
        return {index: {code: p for code, (_, p) in each.items()} for index, each in self._all(transcript)}

    def probabilities(self, transcript: Transcript) -> dict[int, dict[str, dict[str, float]]]:
        """Turn index → code → label → calibrated probability; a code's sum to 1."""
        found: dict[int, dict[str, dict[str, float]]] = {}
        for model, turns, scores in self._scores(transcript):
            for code, rows in model.probabilities(scores).items():
                for index, row in zip(turns.tolist(), rows.tolist(), strict=True):
                    found.setdefault(index, {})[code] = dict(zip(model.labels[code], row, strict=True))
        return found

    def refuses(self, transcript: Transcript) -> str | None:
        """Why it can't code a transcript: it is in another language than those it was trained on."""
        known = self.card["training"]["languages"]
        if not known:
            return None
        if transcript.language is not None:
            own = re.split("[-_]", transcript.language.strip().lower())[0]
            return None if own in known else f"trained on {', '.join(known)}; the transcript is {own}"
        if known == ["en"]:
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
            confidence=self.confidence,
        )

    def on_new_sessions(self) -> Coder:
        """It as a coder that refuses the transcripts it was trained on: for its evaluation."""

        def refuses(transcript: Transcript) -> str | None:
            return (
                "it is in the coder's training data"
                if self.trained_on(transcript)
                else self.refuses(transcript)
            )

        return replace(self.coder(), refuses=refuses)

    def _all(self, transcript: Transcript) -> Iterable[tuple[int, dict[str, tuple[str, float]]]]:
        if not (self._last and self._last[0] is transcript):
            found: dict[int, dict[str, tuple[str, float]]] = {}
            for model, turns, scores in self._scores(transcript):
                for code, (labels, chances) in model.choices(scores).items():
                    for index, label, chance in zip(turns.tolist(), labels, chances.tolist(), strict=True):
                        found.setdefault(index, {})[code] = (label, chance)
            self._last[:] = [transcript, found]
        items: dict[int, dict[str, tuple[str, float]]] = self._last[1]
        return items.items()

    def _scores(
        self, transcript: Transcript
    ) -> Iterable[tuple[RoleModel, NDArray[np.int64], NDArray[np.float64]]]:
        vectors = None
        if self.embeddings is not None and transcript.turns:
            vectors = self.embeddings.encode([turn.text for turn in transcript.turns])
        models = {model.role: model for model in self.models}
        for role, part in _features.feature_batches(transcript, list(models)):
            if role not in self._tables:
                self._tables[role] = models[role].table()
            yield models[role], part.turns, models[role].scores(part, vectors, self._tables[role])


# -- training -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """What :func:`train` made: the coder, and its evaluation out of fold."""

    coder: TrainedCoder
    evaluation: CoderEvaluation


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
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r:.40} can't be a coder's name", where="name", todo="use letters, digits, . _ and -"
        )
    dated = _day(day)
    training = read_training_set(transcripts, codes, embeddings)
    given, _ = out_of_fold(training, folds=folds, seed=seed, progress=progress)
    evaluation = evaluate(training.transcripts, given)
    models = tuple(fit_roles(training, seed=seed))
    card = orjson.loads(orjson.dumps(_card(training, evaluation, name, dated, folds, seed)))
    return TrainingOutcome(
        TrainedCoder(card, models, embeddings, _content(card, _arrays(models))), evaluation
    )


def _day(day: str | None) -> str:
    if day is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
        return moment.date().isoformat()
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise InputError(f"{day!r} is no date", where="--date", todo="write it as 2026-11-30") from error


def _card(
    training: TrainingSet, evaluation: CoderEvaluation, name: str, day: str, folds: int, seed: int
) -> dict[str, Any]:
    whole = hashlib.sha256("\n".join(sorted(each.content_hash() for each in training.transcripts)).encode())
    languages = {
        re.split("[-_]", each.language.strip().lower())[0] for each in training.transcripts if each.language
    }
    unknown = any(each.language is None for each in training.transcripts)
    if unknown and all(
        not_english(" ".join(turn.text for turn in each.turns), each.language) is None
        for each in training.transcripts
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


# -- files --------------------------------------------------------------------------------------------


def save_coder(coder: TrainedCoder, path: str | os.PathLike[str]) -> None:
    """Write a coder to a ``.npz`` file, whole or not at all; the same coder gives the same bytes.

    Raises:
        InputError: the file's name doesn't end in ``.npz``.
        RunError: it can't be written.
    """
    target = _npz(path)
    arrays = _arrays(coder.models)
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
    return _coder_of(file, _opened(file)[2], None if embeddings is None else str(embeddings))


def load_card(path: str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    """A coder's card and its rater's name; its embedding model needn't be there.

    Raises:
        InputError: as :func:`load_coder` does.
    """
    card, models, content = _opened(Path(path))
    return card, TrainedCoder(card, models, None, content).coder().rater


Opened = tuple[Mapping[str, Any], tuple[RoleModel, ...], str]


def _opened(file: Path) -> Opened:
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not an ordinary file", where=str(file), todo="give a file of a coder")
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=str(file), todo="check it") from error
    return _parsed(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _parsed(path: Path, *_: int) -> Opened:
    where = str(path)
    arrays = _read(path)
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
        made = (card["format"], card["features"]["version"])
        if made != (FORMAT, _features.VERSION):
            raise InputError(
                f"made by another version of bedside ({card['made_with']['bedside']}, format {made[0]}.{made[1]}; "
                f"this one reads {FORMAT}.{_features.VERSION})",
                where=where,
                todo=_TRAIN_AGAIN,
            )
        labels = {code: tuple(known) for code, known in card["codes"].items()}
        for code, known in labels.items():
            if code not in CODES or len(known) < 2 or [x for x in CODES[code] if x in known] != list(known):
                raise ValueError(f"{code} with the labels {', '.join(map(str, known))} is unknown here")
        roles = list(dict.fromkeys(CODE_ROLES[code] for code in labels))
        needed = card["features"]["embeddings"]
        models = tuple(
            from_arrays(
                role,
                {code: known for code, known in labels.items() if CODE_ROLES[code] == role},
                0 if needed is None else int(needed["dimensions"]),
                arrays,
            )
            for role in roles
        )
        wrong = misfit(card, _CARD)
        if wrong is not None or not _NAME.fullmatch(card["name"]):
            raise ValueError(f"its card lacks a {wrong or 'name'}")
        return card, models, _content(card, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"not a coder that this version can read ({error})"[:200], where=where, todo=_TRAIN_AGAIN
        ) from error


@lru_cache(maxsize=8)
def _coder_of(path: Path, content: str, embeddings: str | None) -> TrainedCoder:
    card, models, _ = _opened(path)
    return TrainedCoder(card, models, _embeddings(path, card["features"]["embeddings"], embeddings), content)


def _read(path: Path) -> dict[str, NDArray[Any]]:
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


def _embeddings(path: Path, needed: Mapping[str, Any] | None, given: str | None) -> Embeddings | None:
    if needed is None:
        if given is not None:
            raise InputError("this coder uses no embeddings", where="--embeddings", todo="leave it out")
        return None
    name = str(needed["name"])
    if given is None:
        near = [folder for folder in (path.parent / name, Path(name)) if (folder / "config.json").is_file()]
        if not near and name not in PACKAGES:
            raise InputError(
                f"the coder needs the embedding model {name}",
                where=str(path),
                todo=f"put its folder, called {name}, beside the file",
            )
        given = str(near[0]) if near else name
    found = Embeddings(given)
    if found.sha256 != needed["sha256"]:
        raise InputError(
            f"the coder was trained with another embedding model: {name}, SHA-256 {str(needed['sha256'])[:12]}…; "
            f"this one's is {found.sha256[:12]}…",
            where=given,
            todo="give the one it was trained with",
        )
    return found


def _arrays(models: Iterable[RoleModel]) -> dict[str, NDArray[Any]]:
    return {name: array for model in models for name, array in to_arrays(model).items()}


def _content(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
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
