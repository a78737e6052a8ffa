"""Told to stop where Python bears it badly: one line, whatever it was doing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bedside import EXAMPLES
from bedside.core.stopping import run_coroutine, stoppable
from tests.durability.test_stopped import SIGNALS, STOPPED

#: What happens while a module is loaded. Each leaves Python another way to go wrong.
WHILE_LOADED = {
    # As the import system's own, which forgets a module's lock: what it raises is printed, and forgotten.
    "a callback": "kept = weakref.ref(Something(), lambda _: tell())",
    # As a library whose C code gives up on what it needs.
    "a library": """
try:
    tell()
except BaseException:
    raise ImportError("it needs another library") from None
""",
}
PROGRAM = """
import os, sys, weakref

def tell():
    os.kill(os.getpid(), {number})
    for _ in range(1000):
        pass

class Something:
    pass

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            exec({code!r}, globals())

sys.meta_path.insert(0, Finder())
sys.argv = ["bedside", "score", {talks!r}, "-o", "new"]
from bedside.__main__ import main
main()
"""
TALKS = str(EXAMPLES / "transcripts.jsonl")
#: Of the command line, and of what the command loads when it is called.
MODULES = ["bedside.cli.score", pytest.param("bedside.metrics.families.structure", marks=pytest.mark.slow)]


class Finalised:
    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        busy()


def finalise() -> None:
    Finalised()
    time.sleep(10)


def busy() -> None:
    for _ in range(1000):
        pass


@contextmanager
def python_as_it_begins() -> Iterator[None]:
    """With the handlers that a process begins with, which the tests' own process may have changed."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("what", WHILE_LOADED)
def test_while_a_module_is_loaded(tmp_path: Path, what: str, module: str) -> None:
    number = SIGNALS[len(what + module) % 2]
    program = PROGRAM.format(number=int(number), module=module, code=WHILE_LOADED[what], talks=TALKS)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 2
    assert ended.stderr.strip() in ("bedside: stopped", STOPPED)


def test_in_a_finaliser(capsys: pytest.CaptureFixture[str]) -> None:
    with python_as_it_begins(), stoppable():
        with pytest.raises(KeyboardInterrupt):
            finalise()
        assert capsys.readouterr().err == ""


def test_a_coroutine_is_cancelled_in_order() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with python_as_it_begins(), stoppable(), pytest.raises(KeyboardInterrupt):
        run_coroutine(work())
    assert seen == ["cancelled"]


def test_all_is_as_it_was() -> None:
    def now() -> list[Any]:
        return [*map(signal.getsignal, SIGNALS), sys.unraisablehook]

    with python_as_it_begins():
        before = now()
        with stoppable(), stoppable():
            assert not set(now()) & set(before)
        assert now() == before
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of what a shell runs in the background
        with stoppable():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
