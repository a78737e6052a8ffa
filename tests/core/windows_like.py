"""A process in which bedside has only what Windows has, as far as another system can show that.

    python -m tests.core.windows_like score talks.jsonl --out run

runs a command so. What it shows:

- the modules, constants and functions that only POSIX has are not there for bedside, nor is ``fcntl`` for filelock,
  which then holds files by markers (on Windows it would have Windows' own locks);
- names match a pattern of ``fnmatch`` whatever their case, where the case isn't asked for;
- folders can't be opened, files are synced only where they are open to be written, no folder takes the place of
  another, and nothing that this process has open, or mapped to memory, is renamed, replaced or removed.

What it can't show: what Windows itself and the libraries' Windows builds do. Paths, drives, the names it forbids, its
locks and its console are not here, and the standard library and other libraries see the system as it is.
"""

from __future__ import annotations

import builtins
import errno
import fnmatch
import ntpath
import os
import select
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

MODULES = frozenset(("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"))
#: In ``os``, what its documentation gives as available on Unix, of what this Python has.
OS_NAMES = frozenset(
    "O_ASYNC O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH "
    "O_RSYNC O_SYNC O_TMPFILE WNOHANG chown chroot confstr ctermid eventfd fchdir fchmod fchown fdatasync fork "
    "forkpty fpathconf fstatvfs get_blocking getegid geteuid getgid getgroups getloadavg getpgid getpgrp "
    "getpriority getresuid getsid getuid initgroups killpg lchown lockf mkfifo mknod nice openpty pathconf pipe2 "
    "posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev readv sched_getaffinity "
    "sched_setaffinity sched_yield sendfile set_blocking setegid seteuid setgid setpgid setpriority setregid "
    "setreuid setsid setuid statvfs sync sysconf tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 "
    "waitid writev".split()
)
SIGNAL_NAMES = frozenset(
    "SIGALRM SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG "
    "SIGUSR1 SIGUSR2 SIGWINCH alarm pause pthread_kill pthread_sigmask setitimer sigpending sigwait".split()
)


def begin() -> None:
    """From here on this process is such a one."""
    _hide_modules()
    _hide_names(os, OS_NAMES)
    _hide_names(signal, SIGNAL_NAMES)
    _refuse_files()
    _refuse_folders()
    _match_as_windows()
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # a tree is removed by paths


def _caller(depth: int) -> str:
    """The module of the function that called the one that asks, or of one further up."""
    frame = sys._getframe(1)
    for _ in range(depth):
        if frame.f_back is not None:
            frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def _is_bedside(name: str) -> bool:
    return name.partition(".")[0] == "bedside"


def _hide_modules() -> None:
    load = builtins.__import__

    def load_or_refuse(name: str, *arguments: Any, **named: Any) -> Any:
        asking = _caller(1)
        locks = asking.startswith("filelock") and name == "fcntl"
        if locks or (_is_bedside(asking) and name.partition(".")[0] in MODULES):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return load(name, *arguments, **named)

    builtins.__import__ = load_or_refuse


def _hide_names(module: Any, names: frozenset[str]) -> None:
    hidden = {name: module.__dict__.pop(name) for name in names if name in module.__dict__}

    def lookup(name: str) -> Any:
        if name in hidden and not _is_bedside(_caller(1)):
            return hidden[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = lookup


def _in_use(path: Any) -> bool:
    """Whether this process has a file open, or mapped, that is this one or in this folder."""
    wanted = os.path.realpath(os.fsdecode(path))
    held = {line.split(maxsplit=5)[-1].rstrip("\n") for line in open("/proc/self/maps", encoding="utf-8")}  # noqa: SIM115
    for handle in os.listdir("/proc/self/fd"):
        try:
            held.add(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            continue
    return any(name == wanted or name.startswith(f"{wanted}/") for name in held)


def _refuse_files() -> None:
    """Windows refuses what moves or removes a file that is open."""

    def refusing(work: Callable[..., Any], paths: int) -> Callable[..., Any]:
        def refuse(*arguments: Any, **named: Any) -> Any:
            # Relative to an open folder, as shutil removes a tree, nothing can be told of a path; and of the locks that
            # are left to it here, filelock knows that no Windows has them.
            asking = f"{_caller(1)} {_caller(2)}"
            if named.get("dir_fd") is None and "filelock" not in asking:
                for path in arguments[:paths]:
                    if _in_use(path):
                        raise PermissionError(errno.EACCES, "it is in use (as Windows says)", os.fspath(path))
                if paths == 2 and os.path.isdir(arguments[1]):
                    raise PermissionError(errno.EACCES, "a folder is there (as Windows says)", os.fspath(arguments[1]))
            return work(*arguments, **named)

        return refuse

    for name, paths in (("replace", 2), ("rename", 2), ("unlink", 1), ("remove", 1), ("rmdir", 1)):
        setattr(os, name, refusing(getattr(os, name), paths))


def _refuse_folders() -> None:
    """Windows opens no folder as a file, syncs what is open to be written, and selects among sockets."""
    open_file, sync_file, select_ready = os.open, os.fsync, select.select
    writing: set[int] = set()

    def open_or_refuse(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if _is_bedside(_caller(1)) and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "it is a folder (as Windows says)", os.fspath(path))
        handle = open_file(path, flags, *arguments, **named)
        writing.discard(handle)
        if flags & (os.O_WRONLY | os.O_RDWR):
            writing.add(handle)
        return handle

    def sync_or_refuse(handle: Any) -> None:
        if _is_bedside(_caller(1)) and isinstance(handle, int) and handle not in writing:
            raise OSError(errno.EBADF, "it is open to be read (as Windows says)")
        sync_file(handle)

    def select_or_refuse(*lists: Any) -> Any:
        for item in (item for listed in lists[:3] for item in listed):
            handle = item if isinstance(item, int) else item.fileno()
            if _is_bedside(_caller(1)) and not stat.S_ISSOCK(os.fstat(handle).st_mode):
                raise OSError(errno.ENOTSOCK, "it is no socket (as Windows says)")
        return select_ready(*lists)

    os.open, os.fsync, select.select = open_or_refuse, sync_or_refuse, select_or_refuse  # type: ignore[assignment]


def _match_as_windows() -> None:
    def match(name: str, pattern: str) -> bool:
        return fnmatch.fnmatchcase(ntpath.normcase(name), ntpath.normcase(pattern))

    def matching(names: Iterable[str], pattern: str) -> list[str]:
        return [name for name in names if match(name, pattern)]

    fnmatch.fnmatch, fnmatch.filter = cast(Any, match), cast(Any, matching)


def run(program: str, folder: Path, *arguments: str) -> Any:
    """A Python program in such a process of its own, in a folder; what it printed and its exit code."""
    import subprocess

    code = f"import sys\nfrom tests.core import windows_like\nwindows_like.begin()\n{program}"
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONIOENCODING": "cp1252:strict"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, env=environment, capture_output=True, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    begin()
    from bedside.__main__ import main

    main()
