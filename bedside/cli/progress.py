"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bedside.cli.output import note
from bedside.support.plurals import counted


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


@contextmanager
def judging_progress() -> Iterator[Callable[[str, Any], None]]:
    """Progress of judges, told with the judge and its counts; a plain line at every 500th judgement."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Judging", total=None)

            def live(judge: str, state: Any) -> None:
                done = counted(state.done, "judgement")
                text = f"{judge}: {done}, {state.stored:,} kept, {state.missing:,} missing"
                bar.update(task, description=text)

            yield live
        return

    def plain(judge: str, state: Any) -> None:
        if state.done % 500 == 0:
            note(f"{judge}: {counted(state.done, 'judgement')}, {counted(state.calls, 'call')}")

    yield plain


@contextmanager
def simulation_progress(*, bar: bool = True) -> Iterator[Callable[[Any], None] | None]:
    """Progress of a simulation, told with its counts; a plain line at every hundredth conversation.

    Args:
        bar: whether there may be a bar; where a person types, nothing is written between their lines.
    """
    if not bar:
        yield None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("Simulating"), BarColumn(), MofNCompleteColumn(), TextColumn("conversations,"),
                   TextColumn("{task.fields[asked]:,} calls"), TimeElapsedColumn())  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as live:
            task = live.add_task("", total=None, asked=0)
            yield lambda state: live.update(
                task, completed=_ended(state), total=state.planned, asked=state.asked
            )
        return

    def plain(state: Any) -> None:
        if _ended(state) % 100 == 0:
            note(
                f"Simulated {_ended(state):,} of {counted(state.planned, 'conversation')}, {state.asked:,} calls"
            )

    yield plain


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
