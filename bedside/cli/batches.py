"""What is said of a batch of a judge's calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.cli.output import say
from bedside.support.plurals import counted

if TYPE_CHECKING:
    from bedside.scoring.batches import BatchOutcome


def say_batched(batched: BatchOutcome, run: Path, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing its calls did, and what comes next."""
    if batched.lines or batched.unreadable:
        _say_answers(batched, say)
    for file in batched.files:
        size = f"{counted(file.calls, 'call')}, about {counted(file.tokens, 'token')} in"
        say(f"Wrote {file.path} for {file.model}: {size}")
    if batched.waiting:
        say(
            f"Another round follows: {', '.join(batched.waiting)} can be asked about when these are answered."
        )
    if batched.files:
        say(f"Next: have the service answer, then bedside judgements import {run} ANSWERS.jsonl")
    elif batched.open:
        remaining = f"{counted(batched.open, 'judgement')} {'is' if batched.open == 1 else 'are'} open"
        say(f"{remaining}: bedside judgements export {run} FILE.jsonl")
    else:
        say(
            f"Nothing is left to ask. Next: bedside agree {run}; bedside validate {run}; bedside report {run}"
        )


def _say_answers(batched: BatchOutcome, say: Callable[[str], None]) -> None:
    say(f"Read {counted(batched.lines, 'answer')}: {batched.taken:,} taken.")
    for count, what in (
        (batched.errors, f"{counted(batched.errors, 'error')} in place of an answer; to be asked again"),
        (batched.judged_before, f"{batched.judged_before:,} to what was judged already"),
        (batched.unasked, f"{batched.unasked:,} to calls that this run doesn't make"),
        (batched.twice, f"{batched.twice:,} to a call that was answered before; the first answer counts"),
        (
            batched.unreadable,
            f"{counted(batched.unreadable, 'line')} that can't be read, the first at {batched.first_unreadable}",
        ),
    ):
        if count:
            say(f"  {what}")
