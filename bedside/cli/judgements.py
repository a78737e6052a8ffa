"""``bedside judge answers``, and what is said of a batch of a judge's calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api import judging
from bedside.api.run_files import open_run
from bedside.cli.help import App
from bedside.cli.output import note_account, say, say_or_show, show_records, show_tables
from bedside.cli.progress import judging_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.llm.batch_files import BatchFile, BatchRead
    from bedside.reports.table import Tables
    from bedside.scoring.judging_batches import BatchOutcome


# -- What is said of a batch of a judge's calls ---------------------------------------------------------


@contextmanager
def batches_left(run: Path, batch: bool, preview: Callable[[], Tables[tuple[RubricPlan, ...]]]) -> Iterator[None]:
    """Say which calls are asked though they wait for a batch, and, where a command is stopped, which are waited for."""
    if not batch and open_run(run).waiting():
        from bedside.reports.judgements import under_way

        note_account(under_way.texts(preview().results))
    try:
        yield
    except KeyboardInterrupt:
        note_account(open_run(run).waiting())
        raise


def say_batched(batched: BatchOutcome, run: Path, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing its calls did, and what comes next."""
    if batched.lines or batched.unreadable:
        _say_answers(batched, say, "judged already", "run")
    _say_files(batched.files, say)
    if batched.waiting:
        say(f"Another round follows: {', '.join(batched.waiting)} can be asked about when these are answered.")
    if batched.files:
        say(f"Next: have the service answer, then bedside judge answers import {typed(run)} ANSWERS.jsonl")
    elif batched.open:
        remaining = f"{counted(batched.open, 'judgement')} {'is' if batched.open == 1 else 'are'} open"
        say(f"{remaining}: bedside judge answers export {typed(run)} FILE.jsonl")
    else:
        commands = "; ".join(f"bedside {command} {typed(run)}" for command in ("agree", "validate", "report"))
        say(f"Nothing is left to ask. Next: {commands}")


def say_wave(wave: BatchRead, unfinished: int, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing a simulation's open calls did, and what comes next."""
    if wave.lines or wave.unreadable:
        _say_answers(wave, say, "answered before", "simulation")
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
        [{"file": str(file.path), "model": file.model, "calls": file.calls, "tokens": file.tokens} for file in files],
    )


def _say_files(files: Sequence[BatchFile], say: Callable[[str], None]) -> None:
    for file in files:
        size = f"{counted(file.calls, 'call')}, about {counted(file.tokens, 'token')} in"
        say(f"Wrote {file.path} for {file.model}: {size}")


def _say_answers(batched: BatchRead, say: Callable[[str], None], before: str, noun: str) -> None:
    say(f"Read {counted(batched.lines, 'answer')}: {batched.taken:,} taken.")
    for count, what in (
        (batched.errors, f"{counted(batched.errors, 'error')} in place of an answer; to be asked again"),
        (batched.answered_before, f"{batched.answered_before:,} to what was {before}"),
        (batched.unasked, f"{batched.unasked:,} to calls that this {noun} doesn't make"),
        (batched.twice, f"{batched.twice:,} to a call that was answered before; the first answer counts"),
        (
            batched.unreadable,
            f"{counted(batched.unreadable, 'line')} that can't be read, the first at {batched.first_unreadable}",
        ),
    ):
        if count:
            say(f"  {what}")


# -- ``bedside judge answers`` -----------------------------------------------------------------------------

answers_app: App = App(
    """See what judges were asked and replied; read and write batches; take over others' answers.

    Examples:
        $ bedside judge answers list run --state unusable
        $ bedside judge answers show run 3f2a
        $ bedside judge answers passes run
    """
)


RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run that a judge rated.")]


@answers_app.command("list")
@takes_settings
def judgements_list(run: RunArgument, settings: judging.JudgementsSettings) -> None:
    note_account(open_run(run).waiting())
    show_tables(judging.judgements.with_settings(run, settings))


@answers_app.command("show")
def judgements_show(
    run: RunArgument,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="The first digits of its key, as bedside judge answers list prints it.")
    ],
) -> None:
    """Show one judgement: what was asked, what was replied, and the rating that came of it.

    Examples:
        $ bedside judge answers show run 3f2a
    """
    text = judging.judgement(run, key)
    say_or_show(text, "judgement", f"The judgement {key}", [{"key": key, "text": text}])


@answers_app.command("passes")
def judgements_passes(run: RunArgument) -> None:
    """Show how far a judge's passes spread and agree, and what they come to.

    Examples:
        $ bedside judge answers passes run
    """
    show_tables(judging.judge_passes(run))


@answers_app.command("import")
@takes_settings
def judgements_import(run: RunArgument, settings: judging.ImportJudgementsSettings) -> None:
    with judging_progress() as watch:
        _show_batched(run, judging.import_judgements.with_settings(run, replace(settings, progress=watch)))


@answers_app.command("merge")
@takes_settings
def judgements_merge(run: RunArgument, settings: judging.MergeJudgementsSettings) -> None:
    with judging_progress() as watch:
        tables = judging.merge_judgements.with_settings(run, replace(settings, progress=watch))
    merged = tables.results
    for source in merged.sources:
        count = source.merged
        say(f"{source.path}: {count.judgements:,} judgements, {count.new:,} of them new.")
        if count.differing:
            say(f"  {count.differing:,} were there with another answer; the one asked first is kept.")
        if source.of_other_transcripts:
            say(f"  {source.of_other_transcripts:,} are about transcripts that {run} doesn't have.")
    for line in merged.left_out:
        say(f"No ratings were made of {line}.")
    if not merged.judged:
        say("No ratings were made: bedside score FILES --judge MODEL makes them, and asks what is missing.")
        return
    show_tables(tables)
    if not all(one.complete for one in merged.judged):
        say("Not everything is judged: the command that judged asks what is missing.")


@answers_app.command("export")
@takes_settings
def judgements_export(run: RunArgument, settings: judging.ExportJudgementsSettings) -> None:
    with judging_progress() as watch:
        _show_batched(run, judging.export_judgements.with_settings(run, replace(settings, progress=watch)))


def _show_batched(run: Path, tables: Tables[BatchOutcome]) -> None:
    if tables:
        show_tables(tables)
    say_batched(tables.results, run)
    show_batch_files(tables.results.files)
