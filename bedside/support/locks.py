"""Files that one process at a time holds; the system ends a hold with its process, however that ends.

On file systems without locks, a marker beside the file holds it, which names the process and its machine: whoever wants
the file next removes the marker of a process that is no more.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import filelock

#: What a system says whose file system has no locks.
_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


class FileHold:
    """A file that this process holds until it releases it, as at the end of a ``with`` block; see :func:`hold`."""

    def __init__(self, path: Path, lock: filelock.BaseFileLock) -> None:
        self._path = path
        self._lock = lock

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others hold the file, and remove it."""
        import filelock

        if isinstance(self._lock, filelock.UnixFileLock):
            # Before it is released: afterwards it may be another's. Locks of other kinds remove their files themselves.
            with suppress(OSError):
                self._path.unlink()
        self._lock.release()
        if self._lock.lock_file != str(self._path):
            self._path.unlink(missing_ok=True)


def hold(path: Path, patience: float = 0.0) -> FileHold | None:
    """Hold a file, which is made if it isn't there and removed when it is released; None where another holds it.

    Args:
        path: the file; nothing is to be in it.
        patience: how long to wait for another, in seconds; below 0, without end.

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


def _hold(path: Path, patience: float) -> FileHold | None:
    import filelock

    lock: filelock.BaseFileLock = filelock.FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        try:
            lock.acquire(timeout=patience)
        except OSError as error:
            if isinstance(error, filelock.Timeout) or error.errno not in _NO_LOCKS:
                raise
            # The file itself stays, so that what a killed process leaves is seen by its name.
            lock = filelock.SoftFileLock(path.with_name(f".soft{path.name}"), thread_local=False)
            lock.acquire(timeout=patience)
    except filelock.Timeout:
        return None
    return FileHold(path, lock)
