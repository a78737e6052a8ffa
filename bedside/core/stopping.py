"""A process that is told to stop, and how long what took it.

Being told to stop (Ctrl-C, or a signal to end) raises KeyboardInterrupt, and only where that ends the program well.

Python raises it wherever the main thread happens to be. Two places don't bear it. Halfway through an import it may be
printed and forgotten (a callback of the import system), or come out as another error (a library whose C code gives up);
so while a module is imported a signal waits. In a finaliser, which the garbage collector runs anywhere, it is always
printed and forgotten; so there it is raised again once the finaliser is done.
"""

from __future__ import annotations

import _thread
import builtins
import contextvars
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: Windows has no SIGHUP.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: What a signal does where nobody has said otherwise.
_AS_PYTHON_BEGINS = (signal.SIG_DFL, signal.default_int_handler)
#: Seconds that an import is waited for, and seconds after which it is looked at again.
_PATIENCE, _AGAIN = 5.0, 0.02
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"


@dataclass(slots=True)
class _Postponed:
    """A signal that is to come again.

    Attributes:
        number: which signal it is, and after it has come, which it was.
        since: when it first came, on the monotonic clock; None where none is postponed.
        sent: whether what comes next is this one, and no other that came meanwhile.
    """

    number: int = signal.SIGINT
    since: float | None = None
    sent: bool = False

    def recent(self) -> bool:
        return self.since is not None and time.monotonic() - self.since < _PATIENCE


_postponed = _Postponed()


@contextmanager
def stoppable(*, process_ends: bool = False) -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C and at signals to end, in the main thread; afterwards all is as it was.

    Signals that are ignored, as Ctrl-C is of what a shell runs in the background, and those that others handle stay so.

    Args:
        process_ends: whether Python ends after this. Then a signal ends it at once, where it would else print what it
            was clearing up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    changed = [number for number, handler in before.items() if handler in _AS_PYTHON_BEGINS]
    hook = sys.unraisablehook

    def unraisable(what: sys.UnraisableHookArgs, /) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _postpone(_postponed.number)
        else:
            hook(what)

    try:
        for number in changed:
            signal.signal(number, _stop)
        sys.unraisablehook = unraisable
        yield
    finally:
        sys.unraisablehook = hook
        for number in changed:
            signal.signal(number, signal.SIG_DFL if process_ends else before[number])


def run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """What ``asyncio.run`` does, which at Ctrl-C cancels the work in order: only where Python's own handler stands."""
    import asyncio

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not _stop:
        return asyncio.run(work)
    early: list[int] = []
    # A loop that is interrupted while it is made complains of its missing parts when it is collected.
    signal.signal(signal.SIGINT, lambda number, _: early.append(number))
    try:
        with asyncio.Runner() as runner:
            runner.get_loop()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if early:
                work.close()
                raise KeyboardInterrupt
            return runner.run(work)
    finally:
        signal.signal(signal.SIGINT, _stop)


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where a loop runs already, as in a notebook."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_coroutine(work())
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(asyncio.run(work()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


async def in_thread(work: Callable[[], T]) -> T:
    """What ``work`` returns in a thread of its own, which ends with the program however long it takes."""
    import asyncio

    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def put(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(cast(T, value))

    def target() -> None:
        value, problem = None, None
        try:
            value = work()
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # where the loop has ended, nobody waits
            loop.call_soon_threadsafe(put, value, problem)

    threading.Thread(target=partial(contextvars.copy_context().run, target), daemon=True).start()
    return await result


def _stop(number: int, frame: FrameType | None) -> None:
    if _postponed.recent() and not _postponed.sent:
        return
    at_interrupt = signal.getsignal(signal.SIGINT)
    if at_interrupt is _stop or not callable(at_interrupt):
        if _importing(frame) and (_postponed.since is None or _postponed.recent()):
            _postpone(number)
            return
        at_interrupt = signal.default_int_handler
    _postponed.number, _postponed.since = number, None
    at_interrupt(signal.SIGINT, frame)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False


def _postpone(number: int) -> None:
    """Send a signal once more, soon, from a bare thread: to start any other takes locks that may be held here."""
    if _postponed.since is None:
        _postponed.since = time.monotonic()
    _postponed.sent = False
    _thread.start_new_thread(_send, (number,))


def _send(number: int) -> None:
    time.sleep(_AGAIN)
    if not callable(signal.getsignal(number)):  # nobody waits for it any more
        return
    _postponed.sent = True
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:  # what the main thread waits for is interrupted, too
        signal.pthread_kill(_main_thread(), number)


def _main_thread() -> int:
    identity = threading.main_thread().ident
    assert identity is not None
    return identity


# -- How long what takes, for ``--timings``: each second counts once, under the innermost phase that runs ---

#: Seconds on the clock and of the processor by phase.
Seconds = dict[str, tuple[float, float]]
#: These, and the phases that run, with when the last of them changed; None where nobody wants to know.
_CLOCK: contextvars.ContextVar[tuple[Seconds, list[str], list[float]] | None] = contextvars.ContextVar(
    "clock", default=None
)


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
