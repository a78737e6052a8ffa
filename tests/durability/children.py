"""Commands in processes of their own, that can be killed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock

from tests.forked import CONTEXT, preload

preload(
    "pytest", "tests.durability.children", "tests.durability.recorder", "tests.durability.loaded_commands",
    "matplotlib.backends.backend_svg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg", "joblib",
    "rich.table", "rich._emoji_codes", "sklearn.linear_model", "statsmodels.api", "openpyxl", "docx", "aiohttp",
    "label_studio_sdk.client",
)  # fmt: skip
Before = Callable[[], Callable[[], None] | None]
# An exit code can be read once, and to start a process reads those of all others: of two threads that read
# at once, one finds nothing, which multiprocessing calls 255.
_reading = Lock()


@dataclass(slots=True)
class Child:
    """A command that runs, or has ended."""

    process: multiprocessing.process.BaseProcess
    log: Path

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal, and wait for the end."""
        assert self.process.pid is not None
        # Its end is known a moment after it: by then there may be nothing left to kill.
        with _reading, suppress(ProcessLookupError):
            if self.process.is_alive():
                os.kill(self.process.pid, number)
        self.end()

    def end(self, timeout: float = 120) -> int:
        """Wait for the end; the exit code, or minus the signal's number."""
        wait([self.process.sentinel], timeout)
        with _reading:
            code = self.process.exitcode
        assert code is not None, f"it does not end: {self.said}"
        return code

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text("utf-8", "replace")


def start(arguments: Sequence[str], folder: Path, before: Sequence[Before] = (), log: Path | None = None) -> Child:
    """Begin a command in a folder; ``before`` it, call these in its process (they are pickled)."""
    log = log or folder.with_name(f"{folder.name}.log")
    environment = {name: os.environ[name] for name in os.environ}
    process = CONTEXT.Process(target=_run, args=(list(arguments), folder, log, tuple(before), environment))
    with _reading:
        process.start()
    return Child(process, log)


def run(
    arguments: Sequence[str], folder: Path, before: Sequence[Before] = (), log: Path | None = None
) -> tuple[int, str, float]:
    """A command from beginning to end: exit code, what it printed, seconds."""
    began = time.perf_counter()
    child = start(arguments, folder, before, log)
    return child.end(), child.said, time.perf_counter() - began


def _run(
    arguments: list[str], folder: Path, log: Path, before: tuple[Before, ...], environment: dict[str, str]
) -> None:
    # Whoever started the tests may have had some of them ignored, as nohup does.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.environ.update(environment)
    os.chdir(folder)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    from bedside.cli import main

    # What was loaded before is looked through by no collection of garbage.
    gc.freeze()
    ends = [end for each in before if (end := each()) is not None]
    try:
        main(arguments)
    finally:
        for end in ends:
            end()
