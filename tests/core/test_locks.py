"""What one process holds, no other does, until it ends; with the locks of a file system and where it has none."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bedside.core.files import making, replacing, write_text
from bedside.core.locks import hold, hold_folder

fcntl = pytest.importorskip("fcntl")
#: A process that holds a file or folder and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
if sys.argv[2] != "0":
    import fcntl
    def refuse(*_): raise OSError(int(sys.argv[2]), "no locks here")
    fcntl.flock = refuse
from bedside.core.locks import hold, hold_folder
path = Path(sys.argv[1])
held = (hold_folder if path.is_dir() else hold)(path)
print(held is not None, flush=True)
time.sleep(600)
"""


@pytest.fixture(
    params=[0, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP], ids=["locks", "ENOLCK", "ENOSYS", "EOPNOTSUPP"]
)
def refusal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """What the file system says to whoever wants a lock; 0 where it gives one."""
    if request.param:

        def refuse(*_: Any) -> None:
            raise OSError(request.param, "no locks here")

        monkeypatch.setattr(fcntl, "flock", refuse)
    return int(request.param)


def holder(path: Path, refusal: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, path, str(refusal)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_one_holds_at_a_time(tmp_path: Path, refusal: int) -> None:
    path = tmp_path / ".lock"
    held = hold(path)
    assert held is not None
    assert hold(path) is None
    began = time.monotonic()
    assert hold(path, 0.2) is None
    assert 0.2 <= time.monotonic() - began < 5
    threading.Timer(0.2, held.release).start()
    waited = hold(path, 30)
    assert waited is not None
    with waited:
        assert hold(path) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_killed_process_holds_nothing(tmp_path: Path, refusal: int) -> None:
    file, folder = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    for path, take in ((file, hold), (folder, hold_folder)):
        process = holder(path, refusal)
        assert take(path) is None
        end(process)
        held = take(path)
        assert held is not None
        held.release()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_leftovers_of_the_dead_are_removed_and_not_those_of_the_living(tmp_path: Path, refusal: int) -> None:
    dead, living = tmp_path / ".a.00000000.partial", tmp_path / ".a.11111111.partial"
    end(holder(dead, refusal))
    process = holder(living, refusal)
    others = [tmp_path / name for name in (".a.txt", ".a.b.00000000.partial", ".a.0.partial", ".a.partial")]
    for other in others:
        other.write_text("another's")
    assert dead.exists()
    write_text(tmp_path / "a", "new")
    assert not dead.exists()
    assert living.exists()
    assert all(other.read_text() == "another's" for other in others)
    end(process)
    write_text(tmp_path / "a", "newer")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a", *others])


def test_writing_and_making_without_locks(tmp_path: Path, refusal: int) -> None:
    with replacing(tmp_path / "a") as first, replacing(tmp_path / "a") as second:
        assert first != second
        assert stat.S_IMODE(first.stat().st_mode) == 0o600
        first.write_text("1")
        second.write_text("2")
    assert (tmp_path / "a").read_text() == "1"
    with making(tmp_path / "b") as folder:
        (folder / "c").touch()
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a"):
        raise ZeroDivisionError
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c"]


def test_what_is_held_is_its_owners_alone_and_no_link(tmp_path: Path) -> None:
    held = hold(tmp_path / "a")
    assert held is not None
    with held:
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".b.partial").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotADirectoryError):
        hold_folder(tmp_path / ".b.partial")
    os.mkfifo(tmp_path / ".c.00000000.partial")
    (tmp_path / ".c.11111111.partial").symlink_to(tmp_path / "d")
    (tmp_path / "d").write_text("d")
    write_text(tmp_path / "c", "whole")
    assert (tmp_path / "d").read_text() == "d"


def test_told_to_stop_while_it_takes_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind, and what another holds stays."""
    lock, told = fcntl.flock, list[bool]()

    def stop(*arguments: Any) -> None:
        if not told:
            told.append(True)
            raise KeyboardInterrupt
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", stop)
    with pytest.raises(KeyboardInterrupt):
        hold(tmp_path / "a")
    assert told
    assert not list(tmp_path.iterdir())
    held = hold(tmp_path / "a")
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        hold(tmp_path / "a")
    assert held is not None
    assert hold(tmp_path / "a") is None
