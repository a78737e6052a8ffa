"""Writing files whole or not at all; reading what is given as a file, whatever it is."""

from __future__ import annotations

import errno
import fcntl
import glob
import io
import json
import os
import select
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bedside.support.errors import BedsideError, RunError

#: How long a pipe may keep silent, in seconds.
PATIENCE = 30.0
#: What the names of temporary files and folders end in; they begin with a dot and the name that they will have.
_PARTIAL = ".partial"


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place, synced, when the block ends well.

    Where the block fails, the temporary file is removed and ``target`` stays as it was.

    Raises:
        RunError: the file can't be written.
    """
    with saying_where(target):
        handle, temporary = open_beside(target)
        try:
            yield temporary
            sync(temporary)
            os.replace(temporary, target)
            sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(handle)


def open_beside(target: Path) -> tuple[int, Path]:
    """A new private file beside ``target``, open to be written, and its path; it is held as long as it is open.

    What killed processes left there of ``target`` is removed: the system ends their hold, however they ended.
    """
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*{_PARTIAL}"):
        with suppress(OSError):  # it is held, or another's
            handle = os.open(leftover, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(handle)
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PARTIAL, dir=target.parent)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # else another process took it for a leftover
            return handle, Path(name)
        os.close(handle)


@contextmanager
def making(target: Path) -> Iterator[Path]:
    """A private, empty folder beside ``target`` that becomes it when the block ends well; its files are synced already.

    What a killed process left there is removed.

    Raises:
        RunError: another process is making ``target``, or it can't be made.
    """
    temporary = target.with_name(f".{target.name}{_PARTIAL}")
    with saying_where(target):
        make_folder(target.parent)
        temporary.mkdir(0o700, exist_ok=True)
        handle = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with saying_where(target):
            _hold(handle, temporary, target)
            empty(temporary)
        try:
            yield temporary
            with saying_where(target):
                sync_folders(temporary)
                os.replace(temporary, target)
        except BaseException as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if isinstance(error, RunError) and error.where is not None:
                where = error.where.replace(str(temporary), str(target), 1)
                raise RunError(error.what, where=where, todo=error.todo) from error
            raise
        with saying_where(target):
            sync(target.parent)
    finally:
        os.close(handle)


def _hold(handle: int, folder: Path, target: Path) -> None:
    """Hold a folder as long as ``handle`` is open."""
    error = RunError("another bedside process is making it", where=str(target), todo="wait until it ends")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise error from None
    except OSError:  # a file system without locks
        return
    # Whoever held it may have put it in its place meanwhile, or given up.
    if not folder.exists() or not os.path.samestat(folder.stat(), os.fstat(handle)):
        raise error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they aren't there, for their owner alone, and have them on disk."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(new):
        path.mkdir(0o700, exist_ok=True)
        sync(path.parent)
    folder.mkdir(exist_ok=True)  # says so where a file stands there


def remove(folder: Path) -> None:
    """Remove a folder: under its name it is there whole, or not at all."""
    temporary = folder.with_name(f".{folder.name}{_PARTIAL}")
    with saying_where(folder):
        shutil.rmtree(temporary, ignore_errors=True)
        os.replace(folder, temporary)
    shutil.rmtree(temporary, ignore_errors=True)


def empty(folder: Path, pattern: str = "*") -> None:
    """Remove what is in a folder and has a name of ``pattern``."""
    for path in folder.glob(pattern):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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


def sync_folders(folder: Path) -> None:
    """Have the names of all that is in a folder, and in those in it, on disk before going on."""
    for path, _, _ in os.walk(folder):
        sync(Path(path))


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


def cache_folder(what: str) -> Path:
    """Where something that can be made again is kept: in ``bedside`` in ``XDG_CACHE_HOME``, or else in ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bedside" / what
