"""``bedside score``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.common import (
    JUDGES,
    READING,
    FormatOption,
    JsonOption,
    RolesOption,
    SeedOption,
    TextColumnsOption,
    note,
    read_names,
    read_numbers,
    read_pairs,
    read_settings,
    reading_options,
    say,
    show_tables,
)
from bedside.support.errors import BedsideError, InputError

if TYPE_CHECKING:
    from bedside.engines.contract import Engine
    from bedside.scoring.score import ScoringSummary

COST = "Judges: cost and speed"
MANY = "Many transcripts"


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
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Transcripts: files, folders or patterns, of any form of bedside readers."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; one that is there is added to."),
    ] = Path("run"),
    suite: Annotated[
        str,
        typer.Option(
            metavar="SUITE",
            help="What is scored: a suite's name (bedside suites), or your own suite file.",
            autocompletion=complete.suites,
        ),
    ] = "default",
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Metrics or families (bedside metrics) in place of the suite's.",
            autocompletion=complete.metrics,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FAMILY.NAME=VALUE",
            help="A parameter of a family (bedside metrics show FAMILY). May be repeated.",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete.judges,
            rich_help_panel=JUDGES,
            help="A model to rate by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …, or a YAML file "
            "of addresses; repeatable: addresses of one model share its calls.",
        ),
    ] = None,
    rubrics: Annotated[
        str | None,
        typer.Option(
            "--rubrics",
            "--rubric",
            metavar="A,B",
            help="Rubrics (bedside rubrics) in place of the suite's.",
            autocompletion=complete.rubrics,
            rich_help_panel=JUDGES,
        ),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="In place of rubrics: behaviour codes that the judge gives to turns, question,… or all.",
            autocompletion=complete.codes,
            rich_help_panel=JUDGES,
        ),
    ] = None,
    rubric_folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of rubrics of your own.", rich_help_panel=JUDGES),
    ] = None,
    passes: Annotated[
        int, typer.Option(metavar="NUMBER", help="How often each thing is asked.", rich_help_panel=JUDGES)
    ] = 1,
    temperature: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="0 to 2; none leaves it to the provider.", rich_help_panel=JUDGES
        ),
    ] = "0",
    max_concurrency: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Requests under way at once to a judge, or to each address that serves it.",
            rich_help_panel=COST,
        ),
    ] = 8,
    max_calls: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Hard stop: requests at most.", rich_help_panel=COST),
    ] = None,
    max_prompt_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Longer prompts (estimated) are not sent; their ratings say so.",
            rich_help_panel=COST,
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What a prompt begins with, and a provider may cache: transcript-first or rubric-first.",
            autocompletion=complete.one_of("transcript-first", "rubric-first"),
            rich_help_panel=COST,
        ),
    ] = "transcript-first",
    expected: Annotated[
        bool,
        typer.Option(
            "--expected",
            help="Also rate the expected level, from token probabilities.",
            rich_help_panel=JUDGES,
        ),
    ] = False,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="in=N,out=N",
            help="US dollars per million tokens, where unknown: in=0.25,out=2.",
            rich_help_panel=COST,
        ),
    ] = None,
    batch_out: Annotated[
        Path | None,
        typer.Option(
            "--batch-out",
            metavar="FILE",
            help="Ask nothing: write the calls to this JSONL file, for a service that answers batches.",
            rich_help_panel=COST,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print calls and tokens per rubric and judge; ask and write nothing.",
            rich_help_panel=COST,
        ),
    ] = False,
    format_: FormatOption = None,
    roles: RolesOption = None,
    columns: TextColumnsOption = None,
    path_fields: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="What the path says: '{system}/{case_id}'; other names become factors.",
            rich_help_panel=READING,
        ),
    ] = None,
    on_error: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="At a transcript that can't be read: stop, or skip it and go on.",
            autocompletion=complete.one_of("stop", "skip"),
            rich_help_panel=READING,
        ),
    ] = "stop",
    no_text: Annotated[
        bool,
        typer.Option("--no-text", help="Keep ids, factors and hashes, but no text.", rich_help_panel=READING),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels for suite medconceal or note2chat in place of a judge's; docs/medconceal.md and "
            "docs/note2chat.md have the form.",
            rich_help_panel=READING,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete.one_of("local", "dask", "ray"),
            rich_help_panel=MANY,
            help="Share the work, the judges' too: local (processes on this machine), dask or ray.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=MANY,
            help="Of a dask or Ray cluster that runs; else one is started here.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", rich_help_panel=MANY, help="Processes to start; one a core unless given."
        ),
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Score transcripts: algorithms rate them, and judges that you name.

    What leaves this machine is what a judge is asked, to the judge you name, and nothing else.

    Examples:
        $ bedside score talks/ --out run
        $ bedside score talks/ --path-fields '{system}/{case_id}' --out run
        $ bedside score talks/ --suite calm-it --judge openai/gpt-5-mini --dry-run
        $ bedside score talks/ --metrics structure,smog --set readability.min_words=10
    """
    from bedside.scoring.score import score as run_score
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
        from bedside.scoring.judged import check_work_wordless

        check_work_wordless(work)
    if judge and engine and not batch_out:
        from bedside.scoring.judged_apart import check_apart

        check_apart(asking, text=not no_text)
    if dry_run and judge:
        from bedside.llm.endpoints import listing
        from bedside.reports.judgements import plan_table
        from bedside.scoring.judged import plan_run

        plans = plan_run(out, files, judge, work, options=options, asking=asking)
        show_tables([plan_table(plans, work.rubrics, listing(judge, max_concurrency))], json)
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
        from bedside.scoring.judged import batch_out as write_calls

        with judging_progress() as watch:
            batched = write_calls(summary.run, judge, work, batch_out, asking=asking, progress=watch)
        say_batched(batched, out)
    elif judge:
        from bedside.reports.judgements import judged_table
        from bedside.scoring.judged import judge_run

        with _engine(engine, address, workers, out) as sharing, judging_progress() as watch:
            if sharing is None:
                judged = judge_run(
                    summary.run, files, judge, work, options=options, asking=asking, progress=watch
                )
            else:
                from bedside.scoring.judged_apart import judge_apart

                judged = judge_apart(summary.run, judge, work, sharing, asking=asking, progress=watch)
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
    from bedside.engines.contract import open_engine
    from bedside.scoring.spread import kept_parts

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
    from bedside.llm.client import check_batchable
    from bedside.llm.endpoints import judge_names
    from bedside.scoring.judged import Work, chosen_rubrics

    for name in judge_names(judges):
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
    from bedside.scoring.pipelines import metrics_from_labels

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
    from bedside.support.registry import nearest
    from bedside.transcripts.transcript import CODES

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
    from bedside.judges.questioning import Asking
    from bedside.llm.client import Price

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


def _say_scored(summary: ScoringSummary, *, judged: bool = False) -> None:
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
