"""The terminal that a person reads and types in."""

from __future__ import annotations

import contextlib
import io
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator

#: The widest that a line of text is shown.
_WIDEST = 100


class TerminalScreen:
    """Standard input and output; lines can be edited where Python has readline."""

    def show(self, text: str) -> None:
        """Show a text, no line wider than the terminal."""
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        for line in text.splitlines():
            indent = " " * (len(line) - len(line.lstrip()))
            sys.stdout.write(textwrap.fill(line, width, subsequent_indent=indent) + "\n")
        sys.stdout.flush()

    def line(self, prompt: str) -> str:
        """Wait for a line; what isn't of the terminal's encoding stands there as question marks.

        Raises:
            EOFError: there is no more to come.
            KeyboardInterrupt: at Ctrl-C, also where an event loop would wait with that.
        """
        with contextlib.suppress(ImportError):  # a Python without it
            import readline  # noqa: F401
        if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors == "strict":
            sys.stdin.reconfigure(errors="surrogateescape")
        try:
            with _interruptible():
                return input(prompt).encode("utf-8", "replace").decode()
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            raise

    @contextlib.contextmanager
    def reminding(self, reminders: Iterable[tuple[float, str]]) -> Iterator[None]:
        """Show lines, each after as many seconds, unless what is under way ends before."""
        timers = [threading.Timer(seconds, self._remind, (text,)) for seconds, text in reminders]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()

    def _remind(self, text: str) -> None:
        sys.stdout.write(f"\n{text}\n")
        sys.stdout.flush()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
