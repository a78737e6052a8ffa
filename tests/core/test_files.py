"""Reading what is given as a file: a pipe that nobody writes to, a device without end, a folder."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path, PureWindowsPath

import pytest

from bedside.core import files
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import making


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.3)


def test_an_ordinary_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert files.read_bytes(path, most=100) == b"x" * 100
    with pytest.raises(InputError, match="larger than"):
        files.read_bytes(path, most=99)
    path.write_bytes(b"")
    assert files.read_bytes(path, most=100) == b""


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        files.read_bytes(tmp_path, most=100)
    with pytest.raises(InputError, match="there is no such file"):
        files.read_bytes(tmp_path / "none", most=100)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="symbolic links"):
        files.read_bytes(tmp_path / "loop", most=100)


@pytest.mark.parametrize("target", [".", "..", "/", "folder"])
def test_a_folder_is_never_written_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(RunError) as refused:
        files.write_text(Path(target), "x")
    assert str(refused.value).startswith(f"{target}: ")
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_without_end_is_larger_than_any_limit() -> None:
    with pytest.raises(InputError, match="larger than 1 MB"):
        files.read_bytes("/dev/zero", most=2**20)
    assert files.read_bytes("/dev/null", most=100) == b""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_read_to_its_end_and_not_waited_for_without_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    began = time.monotonic()
    with pytest.raises(InputError, match=r"nothing came through it for 0\.3 seconds"):
        files.read_bytes(pipe, most=100)
    assert time.monotonic() - began < 10

    def write(pieces: list[bytes], pause: float) -> None:
        with pipe.open("wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
                time.sleep(pause)

    for pieces, most in (([b"abc", b"def"], 100), ([b"x" * 200_000], 200_000)):
        writer = threading.Thread(target=write, args=(pieces, 0.05))
        writer.start()
        assert files.read_bytes(pipe, most=most) == b"".join(pieces)
        writer.join()


def test_messages_are_one_line_that_any_terminal_takes() -> None:
    error = BedsideError("a\nb \x1b[31m\x00 \ud800 医生 \u202e" + "x" * 9000, where="f\t1", todo="y" * 9000)
    line = str(error)
    assert line.startswith(r"f\t1: a b \x1b[31m\x00 \ud800 医生 \u202exxx")
    assert line.isprintable()
    assert len(line) < 2100
    assert error.what.startswith("a\n")


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (r"C:\studies\a b.sqlite", "file:///C:/studies/a%20b.sqlite"),
        # SQLite takes what stands after two strokes for another machine, which it refuses.
        (r"\\server\studies\a?.sqlite", "file:////server/studies/a%3F.sqlite"),
    ],
)
def test_databases_have_addresses_on_windows(path: str, address: str) -> None:
    assert files.sqlite_address(PureWindowsPath(path)) == address


def test_a_database_is_found_by_its_address(tmp_path: Path) -> None:
    path = tmp_path / "50% of a?b#c.sqlite"
    with closing(sqlite3.connect(files.sqlite_address(path), uri=True)) as connection:
        connection.execute("CREATE TABLE a (b)")
    assert path.stat().st_size


def test_names_that_some_system_has_no_file_of() -> None:
    assert all(map(files.can_name_a_file, ("anna", "console", "a.con", "com10", "患者 1", ".hidden")))
    refused = ("con", "Aux.json", "COM1.tar.gz", "nul", "a:b", "a\\b", "a/b", "a?", "a.", "a ", "a\n")
    assert not any(map(files.can_name_a_file, refused))


def test_a_folder_that_fails_goes_also_while_a_thread_writes_into_it(tmp_path: Path) -> None:
    for _ in range(12):
        with suppress(KeyboardInterrupt), making(tmp_path / "run") as folder:
            thread = threading.Thread(target=_touch_many, args=(folder,))
            thread.start()
            while not (folder / "50").exists():
                time.sleep(0.001)
            raise KeyboardInterrupt
        thread.join()
        assert list(tmp_path.iterdir()) == []


def _touch_many(folder: Path) -> None:
    for number in range(3_000):
        with suppress(OSError):
            (folder / f"{number}").touch()
