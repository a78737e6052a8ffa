"""A dask cluster of real processes on loopback that are ended in any case."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]


def _with_parent() -> None:
    """Die with whoever started it, however that ends."""
    ctypes.CDLL("libc.so.6").prctl(1, signal.SIGKILL)


def wait_until(true: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it doesn't happen"
        time.sleep(0.05)


def started(*arguments: str) -> subprocess.Popen[bytes]:
    """A Python process that finds the tests; call it from the main thread, with whose end it ends."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_with_parent,
    )


class DaskCluster:
    """A scheduler and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._scheduler()

    def _scheduler(self) -> subprocess.Popen[bytes]:
        process = started(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port),
            "--no-dashboard",
        )  # fmt: skip
        wait_until(self._answers)
        return process

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def add(self, count: int) -> None:
        arguments = (
            "-m", "distributed.cli.dask_worker", self.address, "--host", "127.0.0.1", "--nthreads", "1",
            "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder), "--death-timeout", "30",
        )  # fmt: skip
        self.workers += [started(*arguments) for _ in range(count)]

    def kill_worker(self) -> None:
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()

    def restart_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = self._scheduler()

    def mend(self, count: int) -> None:
        """Have so many workers again."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        self.add(count - len(self.workers))

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
