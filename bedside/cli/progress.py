"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bedside.cli.output import note
from bedside.core.words import counted

#: Before so many seconds, nothing is said of the time left.
_FIRST_SECONDS = 2.0
#: Columns that the spinner and the time gone take beside a line, and those of a bar.
_BESIDE, _BAR = 12, 20


@contextmanager
def scoring_progress() -> Iterator[Callable[[int, int], None]]:
    """Progress of scoring, told with the transcripts and files done; a plain line at every thousandth transcript."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(_BAR), MofNCompleteColumn(), TextColumn("files"),
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


def _line(*parts: str) -> list[str]:
    return [part for part in parts if part]


def _fitting(parts: Sequence[str], room: int) -> str:
    """As many parts, from the first on, as fit so many columns of a terminal; the first in any case."""
    from rich.cells import cell_len

    line = parts[0]
    for part in parts[1:]:
        if cell_len(line) + 2 + cell_len(part) > room:
            break
        line = f"{line}, {part}"
    return line


def judging_line(judge: str, state: Any, left: str = "") -> list[str]:
    """How far a judge is, what matters most first: done, total, time left, spent, missing, kept, calls."""
    done = counted(state.done, "judgement")
    if state.total is not None:
        done = f"{state.done:,} of {counted(state.total, 'judgement')}"
    return _line(
        f"{judge}: {done}",
        left,
        "" if state.cost is None else f"{_money(state.cost)} spent",
        f"{state.missing:,} missing" if state.missing else "",
        f"{state.stored:,} kept from before" if state.stored else "",
        f"in {counted(state.batches, 'batch')} at the provider" if state.batches else counted(state.calls, "call"),
    )


def simulation_line(state: Any, left: str = "") -> list[str]:
    """How far a simulation is, what matters most first: done, total, time left, spent, calls."""
    return _line(
        f"{_ended(state):,} of {counted(state.planned, 'conversation')}",
        left,
        f"{_money(state.cost)} spent" if state.cost else "",
        counted(state.asked, "call"),
    )


def _money(cost: float) -> str:
    from bedside.reports.number_text import money

    return money(cost)


@contextmanager
def _live_line(what: str) -> Iterator[Callable[[Sequence[str]], None] | None]:
    """A line of parts that changes, on a terminal, as many as it is wide enough for; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda parts: bar.update(task, description=_fitting(parts, console.width - _BESIDE))


@contextmanager
def judging_progress() -> Iterator[Callable[[str, Any], None]]:
    """Progress of judges, told with the judge and its counts; a plain line at every 500th judgement."""
    pace: dict[str, _Pace] = {}

    def line(judge: str, state: Any, name: str | None = None) -> list[str]:
        left = pace.setdefault(judge, _Pace()).left(state.done, state.total, state.stored)
        return judging_line(name or judge, state, left)

    def plain(judge: str, state: Any) -> None:
        pace.setdefault(judge, _Pace()).left(state.done, state.total, state.stored)
        if state.batches or state.done % 500 == 0:
            note(", ".join(line(judge, state)))

    with _live_line("Judging") as live:
        yield plain if live is None else (lambda judge, state: live(line(judge, state, judge.rpartition("/")[2])))


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

    def line(state: Any) -> list[str]:
        return simulation_line(state, pace.left(_ended(state), state.planned))

    def plain(state: Any) -> None:
        parts = line(state)
        if _ended(state) % 100 == 0:
            note(f"Simulated {', '.join(parts)}")

    with _live_line("Simulating") as live:
        yield plain if live is None else (lambda state: live(line(state)))


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(_BAR), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
