"""What the workers of the tests are asked to do."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def square(number: int) -> int:
    """Raises for 0."""
    if number == 0:
        raise ValueError("no square of nothing")
    return number * number


def square_or_die(task: tuple[int, str]) -> int:
    """Whoever first takes a task that names a file dies of it."""
    number, mark = task
    if mark and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die(task: int) -> int:
    """A task that nobody survives."""
    if task == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return task
