"""What is on disk at every moment of a command: as a killed process leaves it, and as a power loss might.

A process that is killed leaves what the system has been told. So before every event of the file system (a file opened
to be written, renamed, removed, a folder made or removed, a sync) the whole folder is read: the same as killing the
process there, without doing all its work again for each event. That it is the same is tested with real kills.

After a power loss less may be there. Two extremes are kept of each moment:

- ``unsynced``: folders are as they were, but of files only what was synced (an empty file where nothing was);
- ``durable``: also of folders only what was synced when they were, which is the least that POSIX promises.

SQLite syncs its files itself, out of sight of Python; they are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from tests.durability.states import LOCK
from tests.forked import CONTEXT

KINDS = ("killed", "unsynced", "durable")
_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

#: A folder's content: None for a folder, else the digest of the file's bytes.
Tree = dict[str, str | None]


@dataclass(slots=True)
class Record:
    """Record a command's states in ``into``, or with ``at`` send it a signal at that event, or let it fail as the disk
    does: with ``fault``, an error's number, once or from then ``on``."""

    into: Path
    at: int | None = None
    number: int = signal.SIGKILL
    fault: int | None = None
    on: bool = False

    def __call__(self) -> Callable[[], None]:
        recorder = _Recorder(Path.cwd(), self)
        fsync = os.fsync

        def synced(handle: Any) -> None:
            recorder.event()
            fsync(handle)
            recorder.synced(handle if isinstance(handle, int) else handle.fileno())

        os.fsync = cast(Any, synced)
        sys.addaudithook(recorder.hook)
        return recorder.end


@dataclass(slots=True)
class _Recorder:
    root: Path
    asked: Record
    states: list[list[Any]] = field(default_factory=list)
    events: int = 0
    #: By inode, which a handle kept open keeps from being used again: what of it was synced; and all that was listed.
    content: dict[int, str] = field(default_factory=dict)
    listings: dict[int, dict[str, int]] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    read: dict[tuple[int, int, int], str] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)
    busy: bool = False

    def __post_init__(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        if self.asked.at is not None:
            return
        (self.asked.into / "content").mkdir(parents=True, exist_ok=True)
        for folder, _, files in os.walk(self.root):
            self._sync(os.open(folder, os.O_RDONLY))
            for name in files:
                self._sync(os.open(os.path.join(folder, name), os.O_RDONLY))

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if (writes or event in _CHANGES) and not self._elsewhere(arguments[0]):
            self.event()

    def _elsewhere(self, path: Any) -> bool:
        if isinstance(path, int):  # a file that is open already, as a compiled module's is when it is first imported
            path = os.readlink(f"/proc/self/fd/{path}")
        return os.path.isabs(path) and not os.fsdecode(path).startswith(f"{self.root}/")

    def event(self) -> None:
        """Something is about to change."""
        with self.lock:
            if self.busy:
                return
            self.busy = True
            fails = False
            if self.asked.at is None:
                self.take()
            elif self.asked.fault is not None:
                fails = self.events == self.asked.at or (self.asked.on and self.events > self.asked.at)
            elif self.events == self.asked.at:
                os.kill(os.getpid(), self.asked.number)
            self.events += 1
            self.busy = False
        if fails and self.asked.fault is not None:
            raise OSError(self.asked.fault, os.strerror(self.asked.fault))

    def take(self) -> None:
        """Keep how everything is."""
        now = self._tree()
        empty = self._keep(b"")
        unsynced = {
            path: None if kept is None else kept if "sqlite" in path else self.content.get(inode, empty)
            for path, (inode, kept) in now.items()
        }
        durable: Tree = {}
        self._durable(os.stat(self.root).st_ino, "", durable, now)
        killed = {path: kept for path, (_, kept) in now.items()}
        self.states.append([self.events, killed, unsynced, durable])

    def end(self) -> None:
        """Keep how it all came out."""
        with self.lock:
            self.busy = True
            if self.asked.at is None:
                self.take()
                (self.asked.into / "states.json").write_text(json.dumps(self.states))

    def synced(self, handle: int) -> None:
        if self.asked.at is not None:
            return
        with self.lock:
            self.busy = True
            self._sync(os.dup(handle))
            self.busy = False

    def _sync(self, handle: int) -> None:
        found = os.fstat(handle)
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            inodes = {name: self._held(name, handle) for name in os.listdir(handle)}
            self.listings[found.st_ino] = {name: inode for name, inode in inodes.items() if inode is not None}
        else:
            self.content[found.st_ino] = self._content(Path(f"/proc/self/fd/{handle}"), found)

    def _held(self, name: str, folder: int) -> int | None:
        """The inode of what a folder lists, which isn't used again from now on; None where it has just been removed."""
        try:
            handle = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
        except FileNotFoundError:
            return None
        inode = os.fstat(handle).st_ino
        if inode in self.held:
            os.close(handle)
        self.held.add(inode)
        return inode

    def _tree(self) -> dict[str, tuple[int, str | None]]:
        found: dict[str, tuple[int, str | None]] = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders:
                path = Path(folder, name)
                found[str(path.relative_to(self.root))] = (path.stat().st_ino, None)
            for name in files:
                path = Path(folder, name)
                try:
                    status = path.stat()
                    found[str(path.relative_to(self.root))] = (status.st_ino, self._content(path, status))
                except FileNotFoundError:  # a thread has just removed it
                    continue
        return found

    def _durable(self, inode: int, at: str, into: Tree, now: dict[str, tuple[int, str | None]]) -> None:
        for name, child in self.listings.get(inode, {}).items():
            path = f"{at}{name}"
            if child in self.content:
                into[path] = self.content[child]
            elif child in self.listings:
                into[path] = None
                self._durable(child, f"{path}/", into, now)
            elif path in now:  # its name is on disk, its content isn't
                into[path] = now[path][1] if "sqlite" in path or now[path][1] is None else self._keep(b"")
        if not at:
            # SQLite syncs what it writes; a folder that was renamed and not synced since takes its files along.
            into.update(
                {
                    path: kept
                    for path, (_, kept) in now.items()
                    if "sqlite" in path and path.rpartition("/")[0] in {"", *into}
                }
            )

    def _content(self, path: Path, status: os.stat_result) -> str:
        # What may be changed again within the same tick of the clock, or in memory, is read again.
        settled = time.time_ns() - status.st_ctime_ns > 100_000_000 and not path.name.endswith("-shm")
        key = (status.st_ino, status.st_ctime_ns, status.st_size)
        if key in self.read:
            return self.read[key]
        kept = self._keep(path.read_bytes())
        return self.read.setdefault(key, kept) if settled else kept

    def _keep(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        kept = self.asked.into / "content" / digest
        if not kept.exists():
            kept.write_bytes(content)
        return digest


# -- in the test's process ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording:
    """The states of a command."""

    path: Path

    @cached_property
    def _every(self) -> Any:
        return json.loads((self.path / "states.json").read_text())

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.path / "content").iterdir()}

    @cached_property
    def states(self) -> list[tuple[int, str, Tree]]:
        """Event, kind and folder, each folder once."""
        found: dict[frozenset[Any], tuple[int, str, Tree]] = {}
        for event, *trees in self._every:
            for kind, tree in zip(KINDS, trees, strict=True):
                found.setdefault(frozenset(tree.items()), (event, kind, tree))
        return list(found.values())

    @property
    def last_event(self) -> int:
        return max(event for event, _, _ in self.states)

    def last(self, kind: str) -> Tree:
        """How it is when all was done."""
        tree: Tree = self._every[-1][1 + KINDS.index(kind)]
        return tree

    def at(self, event: int) -> Tree:
        """What a process that is killed at this event leaves."""
        return next(trees[0] for at, *trees in self._every if at == event)

    def files(self, tree: Tree) -> dict[str, bytes]:
        """What :func:`~.states.files_of` finds in the folder as it was."""
        kept = {path: digest for path, digest in sorted(tree.items()) if digest is not None}
        return {path: self._contents[digest] for path, digest in kept.items() if not LOCK.search(path)}

    def put(self, tree: Tree, folder: Path) -> Path:
        """Make the folder as it was."""
        folder.mkdir(0o700, parents=True)
        for path, digest in sorted(tree.items()):
            target = folder / path
            if digest is None:
                target.mkdir(0o700, parents=True, exist_ok=True)
            else:
                target.parent.mkdir(0o700, parents=True, exist_ok=True)
                target.write_bytes(self._contents[digest])
                target.chmod(0o600)
        return folder


def recorded(work: Callable[[], object], folder: Path, into: Path) -> Recording:
    """The states of something that is done in a folder, in a process of its own."""
    child = CONTEXT.Process(target=_record, args=(work, folder, into))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    return Recording(into)


def _record(work: Callable[[], object], folder: Path, into: Path) -> None:
    os.chdir(folder)
    end = Record(into)()
    work()
    end()
