"""Files and folders that one process at a time holds; the system ends a hold with its process, however that ends.

Where the system locks what may be written and renamed meanwhile, the file or folder itself is locked. Elsewhere a file
beside it is: on Windows, and, as a marker that names the process and its machine, on file systems without locks. The
marker of a process that is no more is removed by whoever wants it next.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import filelock

#: What a system says whose file system has no locks.
_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
#: What the name of a file begins with that is locked in the place of the one beside it.
BESIDE = ".held"


class Hold:
    """What this process holds until it releases it, as at the end of a ``with`` block; see :func:`hold`."""

    def __init__(self, release: Callable[[], None]) -> None:
        self.release = release

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.release()


def hold(path: Path, patience: float = 0.0) -> Hold | None:
    """Hold a file, which is made if it isn't there, its owner's alone; None where another process holds it.

    It may be written and renamed meanwhile. What is there under its name when it is released is removed.

    Args:
        path: the file.
        patience: how long to wait for another process, in seconds; below 0, without end.

    Raises:
        OSError: it can't be made.
    """
    try:
        return _hold(path, patience)
    except Exception:
        raise
    except BaseException:  # told to stop in the middle of it: the file may be there, and nobody's
        leftover = _hold(path, 0.0)
        if leftover is not None:
            leftover.release()
        raise


def _hold(path: Path, patience: float) -> Hold | None:
    import filelock

    lock: filelock.BaseFileLock | None = None
    if filelock.has_fcntl:
        lock = filelock.UnixFileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=patience)
        except filelock.Timeout:
            return None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            lock = None
    if lock is None:
        path.touch(0o600)  # first, so that what a killed process leaves is seen by its name
        lock = _lock_beside(path, patience)
        if lock is None:
            return None
        path.touch(0o600)  # who took it for a leftover removed it
    held = lock

    def release() -> None:
        with suppress(OSError):  # before others may hold it: afterwards it may be another's
            path.unlink()
        held.release()

    return Hold(release)


def is_held(path: Path) -> bool:
    """Whether another process holds a file; what one that is no more left of it is removed."""
    with suppress(OSError):  # nobody can hold it here
        if path.exists():
            with hold(path) or nullcontext(True) as held:
                return bool(held)
    return False


def hold_folder(path: Path) -> Hold | None:
    """Hold a folder, which may be renamed meanwhile; None where another process holds it, or put it elsewhere.

    Raises:
        OSError: it is no folder, or can't be opened.
    """
    import filelock

    if path.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if filelock.has_fcntl:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            held = filelock.lock_descriptor(handle, blocking=False)
            # Whoever held it may have put it in its place meanwhile, or given up.
            if held and path.exists() and os.path.samestat(path.stat(), os.fstat(handle)):
                return Hold(lambda: os.close(handle))
        except OSError as error:
            os.close(handle)
            if error.errno not in _NO_LOCKS:
                raise
        else:
            os.close(handle)
            return None
    lock = _lock_beside(path, 0.0)
    if lock is None:
        return None
    if not path.is_dir():
        lock.release()
        return None
    return Hold(lock.release)


def _lock_beside(path: Path, patience: float) -> filelock.BaseFileLock | None:
    """Lock a file beside this one, which goes with the lock; None where another process has it."""
    import filelock

    beside = path.with_name(f"{BESIDE}{path.name}")
    kind = filelock.SoftFileLock if filelock.has_fcntl else filelock.FileLock
    lock = kind(beside, thread_local=False)
    try:
        lock.acquire(timeout=patience)
    except filelock.Timeout:
        return None
    return lock
