"""Feeding a target: what may come of an input, how long it may take and how much memory."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import FrameType

from bedside.core.errors import BedsideError
from tests.fuzz.error_lines import one_line
from tests.fuzz.targets import Target

#: Longest time that a small input may take, in seconds: a hundred times what any takes on a slow machine.
SECONDS = 20
#: How much more memory the process may come to hold by one small input, in KB.
MEMORY = 400 * 1024
#: Where failing inputs are put.
FAILED = Path(os.environ.get("BEDSIDE_FUZZ_FAILED", Path(tempfile.gettempdir()) / "bedside-fuzz-failed"))


class Hang(BaseException):
    """Not an :class:`Exception`, so that nothing takes it for a damaged file."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Hang


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends the block with :class:`Hang` where it takes longer."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def feed(target: Target, folder: Path, data: bytes) -> BedsideError | None:
    """Give an input to a target; its error, where it has one of ours.

    Raises:
        AssertionError: anything else came of it. The input is kept, and the message says where.
    """
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        with limited(SECONDS):
            try:
                target.take(folder, data)
                error = None
            except BedsideError as raised:
                error = raised
        if error is not None:
            one_line(error)
    except Hang:
        raise _failed(target, data, f"takes longer than {SECONDS} s") from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:  # polars' panics are no Exception
        raise _failed(target, data, f"{type(failure).__name__}: {str(failure)[:500]}") from failure
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > MEMORY:
        raise _failed(target, data, f"takes {grown // 1024} MB")
    if time.monotonic() - began > SECONDS:
        raise _failed(target, data, f"takes {time.monotonic() - began:.0f} s")
    return error


def _failed(target: Target, data: bytes, what: str) -> AssertionError:
    path = FAILED / target.name / sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return AssertionError(
        f"{target.name}: {what}\nthe input, of {len(data)} bytes, begins {data[:300]!r}\n"
        f"and is kept in {path}: once mended, it belongs in tests/fuzz/corpus/{target.name}/"
    )
