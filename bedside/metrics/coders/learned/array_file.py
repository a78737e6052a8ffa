"""Files of what was learnt: NumPy's .npz with plain arrays of numbers and, as bytes of JSON, a card. No pickle."""

from __future__ import annotations

import hashlib
import math
import os
import stat
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from bedside.core.errors import InputError
from bedside.core.files import replacing, saying_where, unreadable

SUFFIX = ".npz"
#: Largest content of a file, unpacked, in bytes, and most arrays in it.
MOST_BYTES = 512 * 2**20
MOST_ARRAYS = 1000

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ArrayFileKind:
    """What files of a kind hold, and what writes them, for messages.

    Attributes:
        what: such as ``trained coder``.
        whose: the same as an owner, such as ``coder``.
        command: what writes it.
    """

    what: str
    whose: str
    command: str

    @property
    def cure(self) -> str:
        """What to do with a file that can't be used."""
        return f"train it again with {self.command}"


def check_target(path: str | os.PathLike[str], kind: ArrayFileKind) -> None:
    """Raise now, before the training, what :func:`write_arrays` would raise after it."""
    target = _npz(path, kind)
    with saying_where(target), tempfile.TemporaryFile(dir=target.parent):
        pass


def write_arrays(path: str | os.PathLike[str], arrays: Arrays, card: Mapping[str, Any], kind: ArrayFileKind) -> None:
    """Write arrays and a card, whole or not at all; the same ones give the same bytes.

    Raises:
        InputError: the file's name doesn't end in ``.npz``.
        RunError: it can't be written.
    """
    target = _npz(path, kind)
    packed: dict[str, Any] = dict(arrays)
    packed["card"] = np.frombuffer(orjson.dumps(card, option=orjson.OPT_SORT_KEYS), np.uint8)
    packed["checksum"] = np.frombuffer(digest(packed), np.uint8)
    with replacing(target) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **{name: packed[name] for name in sorted(packed)})


def file_state(file: Path, kind: ArrayFileKind) -> tuple[int, int]:
    """When an ordinary file was changed, and how long it is: what tells whether it must be read again.

    Raises:
        InputError: it is no ordinary file, or can't be read.
    """
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not an ordinary file", where=str(file), todo=f"give a file of a {kind.whose}")
    except OSError as error:
        raise unreadable(error, file, kind=InputError) from error
    return status.st_mtime_ns, status.st_size


def read_arrays(path: Path, kind: ArrayFileKind) -> tuple[bytes, Arrays]:
    """The card's bytes and the arrays of a file, whose checksum fits.

    Raises:
        InputError: the file is none of the kind, or was changed or damaged.
    """
    where = str(path)
    arrays = _unpacked(path, kind)
    stated = arrays.pop("checksum", None)
    if "card" not in arrays or stated is None:
        raise InputError(f"not a {kind.what}", where=where, todo=f"give a file that {kind.command} wrote")
    if arrays["card"].dtype != np.uint8 or stated.tobytes() != digest(arrays):
        raise InputError(
            "changed or damaged after it was written: its checksum doesn't fit",
            where=where,
            todo=f"get the file again, or {kind.cure}",
        )
    return arrays.pop("card").tobytes(), arrays


def content_hash(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 (hex) of a card, but its date, and arrays."""
    dateless = {key: value for key, value in card.items() if key != "date"}
    whole = hashlib.sha256(digest(arrays))
    whole.update(orjson.dumps(dateless, option=orjson.OPT_SORT_KEYS))
    return whole.hexdigest()


def digest(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of arrays with their names, types and shapes."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.digest()


def _npz(path: str | os.PathLike[str], kind: ArrayFileKind) -> Path:
    target = Path(path)
    if target.suffix != SUFFIX:
        raise InputError(f"the name of a {kind.whose}'s file ends in .npz", where=str(target), todo=f"add {SUFFIX}")
    return target


def _unpacked(path: Path, kind: ArrayFileKind) -> Arrays:
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
            if sum(part.file_size for part in parts) > MOST_BYTES or len(parts) > MOST_ARRAYS:
                raise ValueError(f"over {MOST_BYTES // 2**20} MB unpacked")
            return {part.filename.removesuffix(".npy"): _array(packed, part) for part in parts}
    # A damaged archive or header makes the libraries raise whatever its parts happen to raise.
    except Exception as error:
        raise InputError(
            f"not a {kind.what} ({error})"[:200], where=str(path), todo=f"give a file that {kind.command} wrote"
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
