"""Writing files whole or not at all; reading what is given as a file, whatever it is."""

from __future__ import annotations

import errno
import io
import json
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.errors import BedsideError, RunError

#: How long a pipe may keep silent, in seconds.
PATIENCE = 30.0


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place, synced, when the block ends well.

    Where the block fails, the temporary file is removed and ``target`` stays as it was.

    Raises:
        RunError: the folder can't be written.
    """
    with saying_where(target):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with saying_where(target):
            sync(temporary)
            os.replace(temporary, target)
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def saying_where(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into a message that names ``path``."""
    try:
        yield
    except BedsideError:
        raise
    except OSError as error:
        raise RunError(
            f"can't be written ({error.strerror or error})", where=str(path), todo="choose another place"
        ) from error


def sync(path: Path) -> None:
    """Have a file's or folder's content on disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(target: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    write_bytes(target, text.encode("utf-8"))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def write_json(target: Path, value: Any) -> None:
    """Write indented JSON, whole or not at all."""
    write_text(target, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def contents(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file that is read whole.

    Args:
        path: the file; a pipe or a device will do.
        most: bytes that such a file may have.

    Raises:
        OSError: it can't be read, is a folder, has more than ``most`` bytes, or is a pipe through which nothing came
            for :data:`PATIENCE` seconds; ``strerror`` says so.
    """
    with opened(path) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            data = b"" if status.st_size > most else io.BufferedReader(file).read(most + 1)
            size = max(status.st_size, len(data))
        else:
            data = piped(file, most + 1)
            size = len(data)
    if size > most:
        raise OSError(errno.EFBIG, f"larger than {most / 2**20:.3g} MB", str(path))
    return data


def opened(path: str | os.PathLike[str]) -> io.FileIO:
    """A file open for reading; of a pipe that nobody writes to, this is not waited for.

    Raises:
        OSError: it can't be opened, or is a folder.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        return io.FileIO(handle)
    except OSError:
        os.close(handle)
        raise


def piped(file: io.FileIO, most: int) -> bytes:
    """Up to ``most`` bytes of an open file that is no ordinary one.

    Raises:
        OSError: it can't be read, or keeps silent for :data:`PATIENCE` seconds.
    """
    data = bytearray()
    while len(data) < most:
        if not select.select([file], [], [], PATIENCE)[0]:
            raise OSError(errno.ETIMEDOUT, f"nothing came through it for {PATIENCE:g} seconds")
        more = file.read(min(1 << 20, most - len(data)))
        if more is None:  # somebody else was faster
            time.sleep(0.01)
            continue
        if not more:
            break
        data += more
    return bytes(data)
