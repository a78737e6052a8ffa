"""What is said of a batch of a judge's calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.cli.json_output import show_records
from bedside.cli.output import say
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.judges.llm.batch_files import BatchFile
    from bedside.scoring.batches import BatchOutcome
    from bedside.simulation.batch_waves import BatchWave


def say_batched(batched: BatchOutcome, run: Path, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing its calls did, and what comes next."""
    if batched.lines or batched.unreadable:
        _say_answers(batched, say, (batched.judged_before, "judged already"), "run")
    _say_files(batched.files, say)
    if batched.waiting:
        say(
            f"Another round follows: {', '.join(batched.waiting)} can be asked about when these are answered."
        )
    if batched.files:
        say(f"Next: have the service answer, then bedside judgements import {typed(run)} ANSWERS.jsonl")
    elif batched.open:
        remaining = f"{counted(batched.open, 'judgement')} {'is' if batched.open == 1 else 'are'} open"
        say(f"{remaining}: bedside judgements export {typed(run)} FILE.jsonl")
    else:
        commands = "; ".join(f"bedside {command} {typed(run)}" for command in ("agree", "validate", "report"))
        say(f"Nothing is left to ask. Next: {commands}")


def say_wave(wave: BatchWave, unfinished: int, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing a simulation's open calls did, and what comes next."""
    if wave.lines or wave.unreadable:
        _say_answers(wave, say, (wave.answered_before, "answered before"), "simulation")
    _say_files(wave.files, say)
    if wave.files:
        say("Next: have the service answer, then the same command with --batch-in ANSWERS.jsonl")
    elif unfinished:
        say(f"{unfinished:,} have not ended: the same command with --batch-out FILE writes their calls.")
    else:
        say("Nothing is left to ask.")


def show_batch_files(files: Sequence[BatchFile]) -> None:
    """Show the files of a batch's calls, where JSON is asked for."""
    show_records(
        "batch",
        "Files of calls for a service that answers batches",
        [
            {"file": str(file.path), "model": file.model, "calls": file.calls, "tokens": file.tokens}
            for file in files
        ],
    )


def _say_files(files: Sequence[BatchFile], say: Callable[[str], None]) -> None:
    for file in files:
        size = f"{counted(file.calls, 'call')}, about {counted(file.tokens, 'token')} in"
        say(f"Wrote {file.path} for {file.model}: {size}")


def _say_answers(
    batched: BatchOutcome | BatchWave, say: Callable[[str], None], before: tuple[int, str], noun: str
) -> None:
    say(f"Read {counted(batched.lines, 'answer')}: {batched.taken:,} taken.")
    for count, what in (
        (batched.errors, f"{counted(batched.errors, 'error')} in place of an answer; to be asked again"),
        (before[0], f"{before[0]:,} to what was {before[1]}"),
        (batched.unasked, f"{batched.unasked:,} to calls that this {noun} doesn't make"),
        (batched.twice, f"{batched.twice:,} to a call that was answered before; the first answer counts"),
        (
            batched.unreadable,
            f"{counted(batched.unreadable, 'line')} that can't be read, the first at {batched.first_unreadable}",
        ),
    ):
        if count:
            say(f"  {what}")
