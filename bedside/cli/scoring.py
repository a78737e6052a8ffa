"""``bedside score``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli._common import (
    JsonOption,
    SeedOption,
    note,
    read_names,
    read_numbers,
    read_pairs,
    read_settings,
    reading_options,
    say,
    show_tables,
)
from bedside.errors import BedsideError, InputError

if TYPE_CHECKING:
    from bedside.engines import Engine
    from bedside.scoring import Summary


@contextmanager
def scoring_progress(what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; elsewhere a plain line every so often."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("files"),
                   TextColumn("{task.fields[transcripts]} transcripts"), TimeElapsedColumn())  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total, transcripts=0)
            yield lambda transcripts, files: bar.update(task, completed=files, transcripts=transcripts)
        return

    told = 0

    def plain(transcripts: int, files: int) -> None:
        nonlocal told
        if transcripts // 1000 > told:
            told = transcripts // 1000
            note(f"{what}: {transcripts} transcripts")

    yield plain


def score(
    files: Annotated[list[str], typer.Argument(help="Transcript files, folders or patterns.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the run, new or to be added to.")
    ] = Path("run"),
    suite: Annotated[str, typer.Option(help="A suite's name, or your own suite file.")] = "default",
    metrics: Annotated[
        str | None, typer.Option(help="Metrics or families in place of the suite's: a,b,c.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter: FAMILY.PARAMETER=VALUE; may be repeated.")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Reader to use, not the one recognised.")
    ] = None,
    roles: Annotated[str | None, typer.Option(help='Who is who: "Dr Smith=clinician,Anna=patient".')] = None,
    columns: Annotated[
        str | None, typer.Option(help="bedside's column names to the file's: text=utterance,speaker=who.")
    ] = None,
    path_fields: Annotated[
        str | None, typer.Option(help="What the path says: '{system}/{case_id}'; other names become factors.")
    ] = None,
    on_error: Annotated[str, typer.Option(help="At a bad transcript: stop, or skip it and go on.")] = "stop",
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Keep ids, factors and hashes, but no text.")
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Labels for medconceal or note2chat in place of a judge's: see their docs for the form."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="A model to rate by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …; repeatable."
        ),
    ] = None,
    rubrics: Annotated[str | None, typer.Option(help="Rubrics in place of the suite's: a,b,c.")] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            help="Behaviour codes that the judge gives to turns, in place of rubrics: question,… or all."
        ),
    ] = None,
    rubric_folder: Annotated[Path | None, typer.Option(help="Folder of rubrics of your own.")] = None,
    passes: Annotated[int, typer.Option(help="How often a judge is asked each thing.")] = 1,
    temperature: Annotated[
        str, typer.Option(help="Of the judge, 0 to 2; none leaves it to the provider.")
    ] = "0",
    max_concurrency: Annotated[int, typer.Option(help="Requests to a judge under way at once.")] = 8,
    max_calls: Annotated[int | None, typer.Option(help="Hard stop: requests to a judge at most.")] = None,
    max_prompt_tokens: Annotated[
        int | None, typer.Option(help="Longer prompts (estimated) are not sent; their ratings say so.")
    ] = None,
    order: Annotated[
        str, typer.Option(help="What a prompt begins with: transcript-first or rubric-first.")
    ] = ("transcript-first"),
    expected: Annotated[
        bool, typer.Option("--expected", help="Also rate the expected level, from token probabilities.")
    ] = False,
    price: Annotated[
        str | None, typer.Option(help="US dollars per million tokens, where unknown: in=0.25,out=2.")
    ] = None,
    batch_out: Annotated[
        Path | None,
        typer.Option(
            "--batch-out",
            help="Ask nothing: write the calls to this JSONL file, for a service that answers batches.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print calls and tokens per rubric and judge; ask and write nothing."),
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(help="Share the work of algorithms: local (processes on this machine), dask or ray."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of a dask or Ray cluster that runs; else one is started here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes to start; one a core unless given.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Score transcripts into a run: algorithms at once, judges where --judge names some.

    What leaves this machine is what a judge is asked, to the judge you name, and nothing else.
    """
    from bedside.scoring import score as run_score
    from bedside.suites import SUITES

    options = reading_options(format_, roles, columns, path_fields, on_error)
    chosen = SUITES.find(suite)
    work: Any = None
    asking: Any = None
    if judge and labels:
        raise InputError("labels take a judge's place", where="--labels", todo="give labels or a judge")
    if judge:
        work = _work(
            judge, codes, read_names(rubrics) or chosen.rubrics, rubric_folder, chosen.name, batch_out
        )
        asking = _asking(
            passes, temperature, max_concurrency, max_calls, max_prompt_tokens, order, expected, price, seed
        )
    elif dry_run or rubrics or rubric_folder or codes or batch_out:
        where = "--dry-run" if dry_run else "--batch-out" if batch_out else "--rubrics"
        raise InputError("no judge is named", where=where, todo="add --judge MODEL")
    if judge and no_text:
        from bedside.judging import check_work_wordless

        check_work_wordless(work)
    if dry_run and judge:
        from bedside.judging import plan_run
        from bedside.reports.judging import plan_table

        plans = plan_run(out, files, judge, work, options=options, asking=asking)
        show_tables([plan_table(plans, work.rubrics)], json)
        return
    with _engine(engine, address, workers, out) as sharing, scoring_progress("Scoring", None) as progress:
        summary = run_score(
            files,
            out,
            suite=chosen,
            metrics=read_names(metrics),
            parameters=read_settings(set_ or ()),
            options=options,
            labels=labels,
            waiting=_waiting(work),
            text=not no_text,
            seed=seed,
            engine=sharing,
            progress=progress,
        )
    _say_scored(summary, judged=bool(judge))
    if judge and batch_out:
        from bedside.judging import batch_out as write_calls

        with judging_progress() as watch:
            batched = write_calls(summary.run, judge, work, batch_out, asking=asking, progress=watch)
        say_batched(batched, out)
    elif judge:
        from bedside.judging import judge_run
        from bedside.reports.judging import judged_table

        with judging_progress() as watch:
            judged = judge_run(
                summary.run, files, judge, work, options=options, asking=asking, progress=watch
            )
        show_tables([judged_table(judged, work.rubrics)], json)
        if not all(one.complete for one in judged):
            say("Not everything was answered: the same command asks what is missing.")
        say(f"Next: bedside agree {out}; bedside validate {out}; bedside report {out}")
    elif chosen.rubrics:
        say(
            f"The suite's {len(chosen.rubrics)} rubrics wait for a judge: --judge MODEL (see docs on judges)."
        )


@contextmanager
def _engine(name: str | None, address: str | None, workers: int | None, out: Path) -> Iterator[Engine | None]:
    """The engine to share the work; where that fails, what is done is said to be kept."""
    if name is None:
        if address is not None or workers is not None:
            where = "--workers" if address is None else "--address"
            raise InputError("no engine is named", where=where, todo="add --engine local, dask or ray")
        yield None
        return
    from bedside.engines import open_engine
    from bedside.spreading import kept_parts

    try:
        with open_engine(name, address, workers) as engine:
            yield engine
    except (BedsideError, KeyboardInterrupt):
        folder, kept = kept_parts(out)
        if kept:
            note(f"{kept} finished parts are kept in {folder}; the same command goes on from there.")
        raise


def _work(
    judges: Iterable[str],
    codes: str | None,
    rubrics: Iterable[str],
    folder: Path | None,
    suite: str,
    batch_out: Path | None,
) -> Any:
    """What the judges are asked. Names that are none stop here, before anything is written."""
    from bedside.judges.client import check_batchable, judge_name
    from bedside.judging import Work, chosen_rubrics

    for name in map(judge_name, judges):
        if batch_out is not None:
            check_batchable(name)
    coded = _codes(codes)
    if coded:
        return Work((), coded)
    return Work(chosen_rubrics(rubrics, folder), (), suite)


def _waiting(work: Any) -> frozenset[str]:
    """The metrics that a judge's answers will give."""
    if work is None:
        return frozenset()
    from bedside.protocols.judged import metrics_from_labels

    return metrics_from_labels({rubric.name for rubric in work.rubrics})


def say_batched(batched: Any, run: Path, say: Callable[[str], None] = say) -> None:
    """Say what reading a batch's answers and writing its calls did, and what comes next."""
    if batched.lines or batched.unreadable:
        say(f"Read {batched.lines:,} answers: {batched.taken:,} taken.")
        for count, words in (
            (batched.errors, "errors in place of an answer; these calls are made again"),
            (batched.there, "to what was judged already"),
            (batched.foreign, "to calls that this run doesn't make"),
            (batched.twice, "a second time to the same call; the first counts"),
            (batched.unreadable, f"lines that are no answers, the first at {batched.first_unreadable}"),
        ):
            if count:
                say(f"  {count:,} {words}")
    for file in batched.files:
        size = f"{file.calls:,} calls, about {file.tokens:,} tokens in"
        say(f"Wrote {file.path} for {file.judge.removeprefix('judge:')}: {size}")
    if batched.waiting:
        named = ", ".join(batched.waiting)
        say(f"Another round follows: {named} can be asked about when these are answered.")
    if batched.files:
        say(f"Next: have the service answer, then bedside judgements import {run} ANSWERS.jsonl")
    elif batched.open:
        say(f"{batched.open:,} judgements are open: bedside judgements export {run} FILE.jsonl")
    else:
        say(
            f"Nothing is left to ask. Next: bedside agree {run}; bedside validate {run}; bedside report {run}"
        )


def _codes(text: str | None) -> tuple[str, ...]:
    """The behaviour codes named, or all."""
    from bedside.registry import nearest
    from bedside.transcripts.model import CODES

    if text == "all":
        return tuple(CODES)
    names = tuple(read_names(text) or ())
    for name in names:
        if name not in CODES:
            raise InputError(f"no code is called {name!r}", where="--codes", todo=nearest(name, CODES))
    return names


def _asking(
    passes: int,
    temperature: str,
    max_concurrency: int,
    max_calls: int | None,
    max_prompt_tokens: int | None,
    order: str,
    expected: bool,
    price: str | None,
    seed: int,
) -> Any:
    from bedside.judges.asking import Asking
    from bedside.judges.client import Price

    if order not in ("transcript-first", "rubric-first"):
        raise InputError(f"{order!r} is no order", where="--order", todo="transcript-first or rubric-first")
    heat: float | None = None
    if temperature != "none":
        heat = read_numbers(temperature, "--temperature")[0]
        if not 0 <= heat <= 2:
            raise InputError(
                f"{temperature} is no temperature", where="--temperature", todo="0 to 2, or none"
            )
    cost = None
    if price is not None:
        parts = read_pairs(price, "--price")
        if parts.keys() != {"in", "out"}:
            raise InputError(f"{price!r} is no price", where="--price", todo="write --price in=0.25,out=2")
        cost = Price(*(read_numbers(parts[key], "--price")[0] for key in ("in", "out")))
    return Asking(
        passes=passes,
        temperature=heat,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_prompt_tokens=max_prompt_tokens,
        order="transcript-first" if order == "transcript-first" else "rubric-first",
        expected=expected,
        price=cost,
        seed=seed,
    )


@contextmanager
def judging_progress() -> Iterator[Callable[[str, Any], None]]:
    """Progress of judges: a line that changes on a terminal, plain lines elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Judging", total=None)

            def live(judge: str, state: Any) -> None:
                text = f"{judge}: {state.done:,} judgements, {state.stored:,} kept, {state.missing:,} missing"
                bar.update(task, description=text)

            yield live
        return

    def plain(judge: str, state: Any) -> None:
        if state.done % 500 == 0:
            note(f"{judge}: {state.done:,} judgements, {state.calls:,} calls")

    yield plain


def _say_scored(summary: Summary, *, judged: bool = False) -> None:
    say(
        f"Scored {summary.transcripts:,} transcripts ({summary.turns:,} turns) into {summary.run.path}: "
        f"{summary.ratings:,} ratings, {summary.missing:,} of them missing."
    )
    if summary.resumed:
        say(f"{summary.resumed:,} parts had been scored before and were taken as they are.")
    if summary.replaced:
        say(f"{summary.replaced:,} ratings that were there before were replaced.")
    if summary.missing:
        for reason, count, metrics in _reasons(summary.run.manifest["scorings"][-1]["missing"])[:5]:
            say(f"  missing {count:,}: {reason} ({metrics})")
    if summary.ignored:
        say(f"{summary.ignored:,} files that are no transcripts by their ending were left alone.")
    if summary.skipped:
        say(f"{len(summary.skipped):,} skipped:")
        for reason in summary.skipped[:20]:
            say(f"  {reason}")
        if len(summary.skipped) > 20:
            say(f"  … and {len(summary.skipped) - 20:,} more; all are in {summary.run.path}/manifest.json")
    if not judged:
        say(f"Next: bedside agree {summary.run.path}; bedside report {summary.run.path}")


def _reasons(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Missing ratings by reason: the reason, how many, and which metrics, most first."""
    counts: dict[str, int] = {}
    metrics: dict[str, list[str]] = {}
    for row in rows:
        counts[row["error"]] = counts.get(row["error"], 0) + row["n"]
        metrics.setdefault(row["error"], []).append(row["metric"])
    found = []
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        names = list(dict.fromkeys(metrics[reason]))
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more metrics" if len(names) > 3 else "")
        found.append((reason, count, listed))
    return found
