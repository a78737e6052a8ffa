"""How long what takes, for ``--timings``: seconds by phase, each counted once, under the innermost that runs."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Seconds on the clock and of the processor by phase.
Seconds = dict[str, tuple[float, float]]
#: These, and the phases that run, with when the last of them changed; None where nobody wants to know.
_CLOCK: ContextVar[tuple[Seconds, list[str], list[float]] | None] = ContextVar("clock", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """While a part of the work runs, or a function that this decorates: its seconds count under the name."""
    clock = _CLOCK.get() or ({}, [name], [0.0, 0.0])
    _turn(*clock)
    clock[1].append(name)
    try:
        yield
    finally:
        _turn(*clock)
        clock[1].pop()


def _turn(seconds: Seconds, running: list[str], last: list[float]) -> None:
    """Count what passed since the last change under the phase that ran."""
    now = [time.perf_counter(), time.process_time()]
    wall, cpu = seconds.get(running[-1], (0.0, 0.0))
    seconds[running[-1]] = wall + now[0] - last[0], cpu + now[1] - last[1]
    last[:] = now


@contextmanager
def timed() -> Iterator[Seconds]:
    """The seconds by phase, complete when the block ends; modules that are loaded meanwhile are a phase, too."""
    clock: tuple[Seconds, list[str], list[float]] = ({}, ["computing"], [time.perf_counter(), time.process_time()])
    load, token = builtins.__import__, _CLOCK.set(clock)

    def loading(*named: Any, **rest: Any) -> Any:
        with phase("loading modules"):
            return load(*named, **rest)

    builtins.__import__ = loading
    try:
        yield clock[0]
    finally:
        builtins.__import__ = load
        _turn(*clock)
        _CLOCK.reset(token)
