"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bedside.cli.output import note
from bedside.core.words import counted

#: Before so many seconds, nothing is said of the time left.
_FIRST_SECONDS = 2.0


@contextmanager
def scoring_progress() -> Iterator[Callable[[int, int], None]]:
    """Progress of scoring, told with the transcripts and files done; a plain line at every thousandth transcript."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("files"),
                   TextColumn("{task.fields[transcripts]} transcripts"), TimeElapsedColumn())  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Scoring", total=None, transcripts=0)
            yield lambda transcripts, files: bar.update(task, completed=files, transcripts=transcripts)
        return

    thousands = 0

    def plain(transcripts: int, files: int) -> None:
        nonlocal thousands
        if transcripts // 1000 > thousands:
            thousands = transcripts // 1000
            note(f"Scoring: {transcripts:,} transcripts")

    yield plain


class _Pace:
    """How long what is left will take, at the pace of what was asked so far."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._before = 0

    def left(self, done: int, total: int | None, spared: int = 0) -> str:
        """The time left, in words; empty while it isn't known.

        Args:
            done: of how much is done.
            total: how much there is.
            spared: of what is done, what took no time, as it was there already.
        """
        if self._began is None:
            self._began, self._before = time.monotonic(), done - spared
        asked, seconds = done - spared - self._before, time.monotonic() - self._began
        if total is None or asked <= 0 or seconds < _FIRST_SECONDS or done >= total:
            return ""
        return f"about {_duration(seconds * (total - done) / asked)} left"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return counted(max(1, round(seconds)), "second")
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _line(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def judging_line(judge: str, state: Any, left: str = "") -> str:
    """How far a judge is: done, total, kept, missing, spent and time left, as far as they are known."""
    done = counted(state.done, "judgement")
    if state.total is not None:
        done = f"{state.done:,} of {counted(state.total, 'judgement')}"
    return _line(
        f"{judge}: {done}",
        f"{state.stored:,} kept from before" if state.stored else "",
        f"{state.missing:,} missing" if state.missing else "",
        counted(state.calls, "call"),
        "" if state.cost is None else f"{_money(state.cost)} spent",
        left,
    )


def simulation_line(state: Any, left: str = "") -> str:
    """How far a simulation is: done, total, spent and time left, as far as they are known."""
    return _line(
        f"{_ended(state):,} of {counted(state.planned, 'conversation')}",
        counted(state.asked, "call"),
        f"{_money(state.cost)} spent" if state.cost else "",
        left,
    )


def _money(cost: float) -> str:
    from bedside.reports.number_text import money

    return money(cost)


@contextmanager
def _live_line(what: str) -> Iterator[Callable[[str], None] | None]:
    """A line that changes, on a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda text: bar.update(task, description=text)


@contextmanager
def judging_progress() -> Iterator[Callable[[str, Any], None]]:
    """Progress of judges, told with the judge and its counts; a plain line at every 500th judgement."""
    pace: dict[str, _Pace] = {}

    def line(judge: str, state: Any) -> str:
        left = pace.setdefault(judge, _Pace()).left(state.done, state.total, state.stored)
        return judging_line(judge, state, left)

    def plain(judge: str, state: Any) -> None:
        pace.setdefault(judge, _Pace()).left(state.done, state.total, state.stored)
        if state.done % 500 == 0:
            note(line(judge, state))

    with _live_line("Judging") as live:
        yield plain if live is None else (lambda judge, state: live(line(judge, state)))


@contextmanager
def simulation_progress(*, bar: bool = True) -> Iterator[Callable[[Any], None] | None]:
    """Progress of a simulation, told with its counts; a plain line at every hundredth conversation.

    Args:
        bar: whether there may be a bar; where a person types, nothing is written between their lines.
    """
    if not bar:
        yield None
        return
    pace = _Pace()

    def line(state: Any) -> str:
        return simulation_line(state, pace.left(_ended(state), state.planned))

    def plain(state: Any) -> None:
        text = line(state)
        if _ended(state) % 100 == 0:
            note(f"Simulated {text}")

    with _live_line("Simulating") as live:
        yield plain if live is None else (lambda state: live(f"Simulating: {line(state)}"))


def _ended(state: Any) -> int:
    return int(state.finished + state.failed + state.unfinished)


@contextmanager
def task_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress of tasks, told with how many are done of how many."""
    with _bar(what) as bar:
        yield bar or (lambda done, total: note(f"{what}: {done:,} of {total:,}"))


@contextmanager
def fold_progress() -> Iterator[Callable[[int, int], None]]:
    """Progress of folds, told with how many are done of how many."""
    with _bar("Folds") as bar:
        yield bar or (lambda done, total: note(f"Fold {done} of {total}"))


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar of what is done of how many; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
