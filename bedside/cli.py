"""The command line: parses, calls the library, prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from bedside.errors import BedsideError, DataError, InputError

if TYPE_CHECKING:
    from bedside.evaluation import Evaluation
    from bedside.reports.table import Table
    from bedside.scoring import Summary

_STOPPED = "stopped; nothing half-written is left. Run the same command again to go on"
#: What typer returns after Ctrl-C.
_INTERRUPTED = 130
_EPILOG = "Every command that prints a table takes --json. Errors are one line; the exit code is then 2."
app = typer.Typer(
    name="bedside",
    help="Score clinical and counselling conversations, and show how far the scores can be believed.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _listing(name: str, about: str) -> typer.Typer:
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group


readers_app = _listing("readers", "The file formats bedside reads; `show NAME` prints a minimal example.")
metrics_app = _listing("metrics", "The metrics; `show NAME` prints one's definition, source and examples.")
suites_app = _listing("suites", "The suites; `show NAME` prints one, `check FILE` checks your own.")
rubrics_app = _listing("rubrics", "The rubrics; `show NAME` prints one, `check FILE` checks your own.")
coders_app = _listing("coder", "Coders of behaviour; `evaluate FILE` compares one with people's codes.")
judgements_app = typer.Typer(
    help="What judges were asked and replied.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(judgements_app, name="judgements")
ratings_app = typer.Typer(
    help="Ratings that people already have.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(ratings_app, name="ratings")

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON at full precision.")]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(help="Scale of the ratings: 1-5, 0,1,2 or none/open/closed; METRIC=SCALE for one metric."),
]
ColumnsOption = Annotated[
    str | None, typer.Option(help="bedside's column names to the file's: item=Session,rater=Coder.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Folder for the tables as Markdown, LaTeX and CSV; of a run, RUN/tables."
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of everything drawn at random.")]


# -- printing ---------------------------------------------------------------------------------------


def say(text: str = "") -> None:
    """Print a line of plain text."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line about the work, not its result."""
    typer.echo(text, err=True)


def _show(tables: Iterable[Table], as_json: bool = False) -> None:
    """Print tables; as JSON they are an array, one object a table."""
    from bedside.reports.render import json_text, rich_table

    if as_json:
        typer.echo("[" + ",\n".join(json_text(table).rstrip() for table in tables) + "]")
        return
    from rich.console import Console

    # Outside a terminal a table needn't fit a screen.
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160)
    for table in tables:
        console.print(rich_table(table))


def _show_and_write(tables: Iterable[Table], as_json: bool, source: Path, out: Path | None) -> None:
    """Print tables, and write them where ``source`` is a run or a folder is named."""
    made = tuple(tables)
    _show(made, as_json)
    folder = out or (source / "tables" if source.is_dir() else None)
    if folder is not None:
        from bedside.reports.build import write_tables

        note(f"Wrote {len(write_tables(made, folder))} files to {folder}")


def _pairs(text: str | None, option: str) -> dict[str, str]:
    """``a=b,c=d`` as a dict; a name with a comma or equals sign can be quoted."""
    import csv

    found: dict[str, str] = {}
    if text:
        for part in next(csv.reader([text], skipinitialspace=True)):
            name, equals, value = part.rpartition("=")
            if not equals or not name.strip() or not value.strip():
                raise InputError(f"{part!r} is not NAME=VALUE", where=option, todo=f"write {option} a=b,c=d")
            found[name.strip().strip('"')] = value.strip()
    return found


def _names(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _settings(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``family.parameter=value`` as nested dict; the value is read as YAML, so true and 5 are what they look like."""
    import yaml

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        family, dot, parameter = name.partition(".")
        if not (equals and dot and family and parameter):
            raise InputError(
                f"{text!r} is not FAMILY.PARAMETER=VALUE", where="--set", todo="see bedside metrics"
            )
        try:
            found.setdefault(family, {})[parameter] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(
                f"{value!r} is no value", where=f"--set {name}", todo="quote it as YAML"
            ) from error
    return found


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
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

    def plain(transcripts: int, files: int) -> None:
        if transcripts % 1000 == 0:
            note(f"{what}: {transcripts} transcripts")

    yield plain


# -- scoring ----------------------------------------------------------------------------------------


@app.command()
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
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print calls and tokens per rubric and judge; ask and write nothing."),
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Score transcripts into a run: algorithms at once, judges where --judge names some.

    What leaves this machine is what a judge is asked, to the judge you name, and nothing else.
    """
    from bedside.scoring import score as run_score
    from bedside.suites import SUITES

    options = _reading(format_, roles, columns, path_fields, on_error)
    chosen = SUITES.find(suite)
    asked = None
    if judge and labels:
        raise InputError("labels take a judge's place", where="--labels", todo="give labels or a judge")
    if judge:
        from bedside.judges.client import judge_name
        from bedside.judging import chosen_rubrics

        for name in judge:
            judge_name(name)  # a name that is none stops here, before anything is written
        coded = _codes(codes)
        if not coded:
            asked = chosen_rubrics(_names(rubrics) or chosen.rubrics, rubric_folder)
        asking = _asking(
            passes, temperature, max_concurrency, max_calls, max_prompt_tokens, order, expected, price, seed
        )
    elif dry_run or rubrics or rubric_folder or codes:
        raise InputError(
            "no judge is named", where="--dry-run" if dry_run else "--rubrics", todo="add --judge MODEL"
        )
    if dry_run and judge:
        from bedside.judging import plan_codes, plan_run
        from bedside.reports.judging import plan_table

        if asked:
            plans = plan_run(out, files, judge, asked, options=options, asking=asking)
        else:
            plans = plan_codes(out, files, judge, coded, options=options, asking=asking)
        _show([plan_table(plans)], json)
        return
    with _progress("Scoring", None) as progress:
        summary = run_score(
            files,
            out,
            suite=chosen,
            metrics=_names(metrics),
            parameters=_settings(set_ or ()),
            options=options,
            labels=labels,
            text=not no_text,
            seed=seed,
            progress=progress,
        )
    _say_scored(summary, judged=bool(judge))
    if judge:
        from bedside.judging import code_run, judge_run
        from bedside.reports.judging import judged_table

        with _judging() as watch:
            if asked:
                judged = judge_run(
                    summary.run,
                    files,
                    judge,
                    asked,
                    suite=chosen.name,
                    options=options,
                    asking=asking,
                    progress=watch,
                )
            else:
                judged = code_run(
                    summary.run, files, judge, coded, options=options, asking=asking, progress=watch
                )
        _show([judged_table(judged)], json)
        if not all(one.complete for one in judged):
            say("Not everything was answered: the same command asks what is missing.")
        say(f"Next: bedside agree {out}; bedside validate {out}; bedside report {out}")
    elif chosen.rubrics:
        say(
            f"The suite's {len(chosen.rubrics)} rubrics wait for a judge: --judge MODEL (see docs on judges)."
        )


def _codes(text: str | None) -> tuple[str, ...]:
    """The behaviour codes named, or all."""
    from bedside.registry import nearest
    from bedside.transcripts.model import CODES

    if text == "all":
        return tuple(CODES)
    names = tuple(_names(text) or ())
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
    from bedside.judges.client import Price
    from bedside.judging import Asking

    if order not in ("transcript-first", "rubric-first"):
        raise InputError(f"{order!r} is no order", where="--order", todo="transcript-first or rubric-first")
    heat: float | None = None
    if temperature != "none":
        heat = _numbers(temperature, "--temperature")[0]
        if not 0 <= heat <= 2:
            raise InputError(
                f"{temperature} is no temperature", where="--temperature", todo="0 to 2, or none"
            )
    cost = None
    if price is not None:
        parts = _pairs(price, "--price")
        if parts.keys() != {"in", "out"}:
            raise InputError(f"{price!r} is no price", where="--price", todo="write --price in=0.25,out=2")
        cost = Price(*(_numbers(parts[key], "--price")[0] for key in ("in", "out")))
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
def _judging() -> Iterator[Callable[[str, Any], None]]:
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


def _reading(
    format_: str | None, roles: str | None, columns: str | None, path_fields: str | None, on_error: str
) -> Any:
    from bedside.transcripts import ROLES, ReadOptions

    if on_error not in ("stop", "skip"):
        raise InputError(f"{on_error!r} is neither stop nor skip", where="--on-error")
    mapping: dict[str, Any] = _pairs(roles, "--roles")
    for speaker, role in mapping.items():
        if role not in ROLES:
            raise InputError(
                f"{speaker!r} can't be {role!r}", where="--roles", todo=f"a role is {', '.join(ROLES)}"
            )
    return ReadOptions(
        format=format_,
        roles=mapping,
        columns=_pairs(columns, "--columns"),
        path_fields=path_fields,
        on_error="skip" if on_error == "skip" else "stop",
    )


def _say_scored(summary: Summary, *, judged: bool = False) -> None:
    say(
        f"Scored {summary.transcripts:,} transcripts ({summary.turns:,} turns) into {summary.run.path}: "
        f"{summary.ratings:,} ratings, {summary.missing:,} of them missing."
    )
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


# -- what there is ----------------------------------------------------------------------------------


def _list_or_show(context: typer.Context, rows: Callable[[], list[tuple[str, str]]]) -> None:
    if context.invoked_subcommand is not None:
        return
    entries = rows()
    width = max(len(name) for name, _ in entries)
    for name, text in entries:
        say(f"{name:<{width}}  {text}")


@readers_app.callback()
def readers(context: typer.Context) -> None:
    """List the file formats."""
    from bedside.transcripts import READERS

    _list_or_show(context, lambda: [(name, reader.title) for name, reader in READERS.all().items()])


@readers_app.command("show")
def readers_show(name: str) -> None:
    """Print what a format is and a minimal example."""
    from bedside.transcripts import READERS

    reader = READERS.load(name)
    say(f"{reader.name}: {reader.title}\n\n{reader.description}\n\n{reader.example_name}:")
    typer.echo(reader.example, nl=not reader.example.endswith("\n"))


@metrics_app.callback()
def metrics(context: typer.Context) -> None:
    """List the metrics, by family."""
    from bedside.metrics import FAMILIES

    def rows() -> list[tuple[str, str]]:
        found = []
        for family in FAMILIES.all().values():
            found.append((family.name, f"family: {family.title.lower()} ({family.rater()})"))
            found += [(f"  {metric.name}", metric.title) for metric in family.metrics]
        return found

    _list_or_show(context, rows)


@metrics_app.command("show")
def metrics_show(name: str) -> None:
    """Print a metric's or family's definition, source and examples."""
    from bedside.metrics import FAMILIES
    from bedside.metrics._describe import describe_family, describe_metric
    from bedside.scoring import metric_names

    if name in FAMILIES:
        say(describe_family(FAMILIES.load(name)))
        return
    owners = metric_names()
    if name not in owners:
        from bedside.registry import nearest

        raise DataError(f"no metric is called {name!r}", todo=nearest(name, [*owners, *FAMILIES.names()]))
    say(describe_metric(FAMILIES.load(owners[name]), name))


@suites_app.callback()
def suites(context: typer.Context) -> None:
    """List the suites."""
    from bedside.suites import SUITES

    _list_or_show(context, lambda: [(name, suite.title) for name, suite in SUITES.all().items()])


@suites_app.command("show")
def suites_show(name: str) -> None:
    """Print a suite's metrics and source."""
    from bedside.suites import SUITES

    suite = SUITES.find(name)
    say(f"{suite.name}: {suite.title}\n\n{suite.description}\nSource: {suite.source}\n\nMetrics:")
    for metric in suite.metrics:
        say(f"  {metric}")
    if suite.rubrics:
        say("\nRubrics, for a judge:")
    for rubric in suite.rubrics:
        say(f"  {rubric}")


@suites_app.command("check")
def suites_check(file: str) -> None:
    """Check a suite file of your own: its form, and that its metrics and parameters exist."""
    from bedside.scoring import make_plan
    from bedside.suites import SUITES

    if not file.endswith(".yaml"):
        raise InputError("a suite file's name ends in .yaml", where=file, todo="rename it")
    suite = SUITES.find(file)
    plan = make_plan(suite.metrics, suite.parameters)
    say(f"{file}: good; {len(plan.metrics)} metrics")


FolderOption = Annotated[Path | None, typer.Option("--folder", help="Folder of rubrics of your own.")]


@rubrics_app.callback()
def rubrics(context: typer.Context, folder: FolderOption = None) -> None:
    """List the rubrics."""
    from bedside.judges import rubrics_with

    known = rubrics_with(folder).all()
    _list_or_show(context, lambda: [(name, rubric.title) for name, rubric in known.items()])


@rubrics_app.command("show")
def rubrics_show(name: str, folder: FolderOption = None) -> None:
    """Print a rubric: what it rates, its levels, what it needs, its source."""
    from bedside.judges import describe, find_rubric

    say(describe(find_rubric(name, folder)))


@rubrics_app.command("check")
def rubrics_check(file: Path) -> None:
    """Check a rubric file of your own: its form, its levels, its words."""
    from bedside.judges import check_file

    rubric, remarks = check_file(file)
    for remark in remarks:
        note(f"{file}: {remark}")
    if rubric is None:
        raise InputError("not a rubric yet", where=str(file), todo="mend the errors above")
    say(f"{file}: good; version {rubric.version}" + (f", {len(remarks)} warnings" if remarks else ""))


@judgements_app.command("list")
def judgements_list(
    run: Path,
    rubric: Annotated[str | None, typer.Option(help="Of this rubric only.")] = None,
    transcript: Annotated[str | None, typer.Option(help="Of this transcript only.")] = None,
    state: Annotated[str | None, typer.Option(help="answered, unusable or failed.")] = None,
    json: JsonOption = False,
) -> None:
    """List the judgements kept in a run."""
    from bedside.reports.judging import judgements_table

    _show([judgements_table(run, rubric=rubric, transcript=transcript, state=state)], json)


@judgements_app.command("show")
def judgements_show(run: Path, key: Annotated[str, typer.Argument(help="The key's first digits.")]) -> None:
    """Show one judgement: what was asked, what was replied, what was made of it."""
    from bedside.reports.judging import judgement_text

    say(judgement_text(run, key))


# -- ratings ----------------------------------------------------------------------------------------


@ratings_app.command("import")
def ratings_import(
    run: Path,
    file: Path,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    metric: Annotated[str, typer.Option(help="The metric, where the file has no column for it.")] = "rating",
) -> None:
    """Add ratings from a spreadsheet (CSV, TSV, XLSX, Parquet; long or wide) to a run.

    A rating of the same transcript, unit, metric, rater and pass replaces the one in the run.
    """
    from bedside.evaluation import known_scale
    from bedside.rating_files import import_ratings, parse_scales, read_rating_file
    from bedside.ratings import read_run

    opened = read_run(run)
    found = read_rating_file(
        file,
        scales=parse_scales(scale or []),
        columns=_pairs(columns, "--columns"),
        metric=metric,
        known_scale=known_scale,
    )
    added, replaced = import_ratings(opened, file, found)
    new = added - replaced
    say(
        f"Read {added:,} ratings into {run}: {new:,} new, {replaced:,} replaced; {found.empty:,} empty cells."
    )
    say(f"Next: bedside agree {run}")


def _evaluation(source: Path, scale: list[str] | None, columns: str | None) -> Evaluation:
    from bedside.evaluation import open_evaluation
    from bedside.rating_files import parse_scales

    return open_evaluation(source, scales=parse_scales(scale or []), columns=_pairs(columns, "--columns"))


@app.command()
def agree(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings (CSV, TSV, XLSX, Parquet).")],
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    raters: Annotated[str | None, typer.Option(help="Raters or patterns: human:*,judge:*.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Of kappa on ordered scales: quadratic, linear or none.")
    ] = None,
    confusion: Annotated[bool, typer.Option("--confusion", help="Show confusion matrices too.")] = False,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how well raters agree: people among themselves, and algorithms and judges beside them."""
    from bedside.agreement import agree as run_agree
    from bedside.reports.tables.agreement import agreement_table, confusion_tables

    agreements = run_agree(
        _evaluation(source, scale, columns),
        metrics=_names(metrics),
        raters=_names(raters),
        weights=weights,  # type: ignore[arg-type]
        seed=seed,
    )
    _show_and_write(
        (agreement_table(agreements), *(confusion_tables(agreements) if confusion else ())), json, source, out
    )


@app.command()
def compare(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings with a system column.")],
    systems: Annotated[str | None, typer.Option(help="The systems: A,B,C; all unless named.")] = None,
    reference: Annotated[str | None, typer.Option(help="Compare each system with this one only.")] = None,
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics or patterns; those that say something of quality unless named."),
    ] = None,
    raters: Annotated[str | None, typer.Option(help="Raters or patterns: human:*,judge:*.")] = None,
    test: Annotated[
        str,
        typer.Option(help="auto, wilcoxon, permutation, t, mcnemar, friedman; mannwhitney, welch, kruskal."),
    ] = "auto",
    family: Annotated[str, typer.Option(help="p-values corrected together: all, metric or level.")] = "all",
    correction: Annotated[str, typer.Option(help="holm, bonferroni or bh.")] = "holm",
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems pair by pair, paired by case where cases pair."""
    from bedside.comparison import compare as run_compare
    from bedside.reports.tables.comparison import comparison_table, overall_table

    comparisons = run_compare(
        _evaluation(source, scale, columns),
        systems=_names(systems),
        reference=reference,
        metrics=_names(metrics),
        raters=_names(raters),
        test=test,  # type: ignore[arg-type]
        family=family,  # type: ignore[arg-type]
        correction=correction,  # type: ignore[arg-type]
        seed=seed,
    )
    if not comparisons.pairs:
        raise DataError(
            "no metric to compare has a value", where=str(source), todo="name some with --metrics"
        )
    overall = (overall_table(comparisons.overall),) if comparisons.overall else ()
    _show_and_write((*overall, comparison_table(comparisons.pairs)), json, source, out)


@app.command()
def validate(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings by people and judges.")],
    judges: Annotated[
        str | None, typer.Option(help="Judges or patterns: judge:*; all but people unless named.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            help="How much worse than a person the judge may be: .2 experts, .15 skilled, .1 crowd."
        ),
    ] = 0.2,
    weights: Annotated[
        str | None, typer.Option(help="Of kappa on ordered scales: quadratic, linear or none.")
    ] = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Answer "may I use this judge?": agreement beside people's own, bias, and the alternative annotator test."""
    from bedside.reports.validation import validation_tables
    from bedside.validation import validate as run_validate

    cards = run_validate(
        _evaluation(source, scale, columns),
        judges=_names(judges),
        metrics=_names(metrics),
        epsilon=epsilon,
        weights=weights,  # type: ignore[arg-type]
        seed=seed,
    )
    _show_and_write(validation_tables(cards), json, source, out)


@app.command()
def estimate(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings by people and a judge.")],
    judge: Annotated[
        str, typer.Option(help="The rater that rated everything; a pattern that matches one.")
    ] = "judge:*",
    systems: Annotated[str | None, typer.Option(help="The systems: A,B,C; all unless named.")] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Give each system's mean from the judge, from people, and corrected: the judge on all, people on a sample."""
    from bedside.estimation import estimate as run_estimate
    from bedside.reports.validation import estimate_table

    estimates = run_estimate(
        _evaluation(source, scale, columns),
        judge=judge,
        systems=_names(systems),
        metrics=_names(metrics),
        seed=seed,
    )
    _show_and_write([estimate_table(estimates)], json, source, out)


@app.command()
def report(
    run: Path,
    table: Annotated[str | None, typer.Option(help="Tables to write; all unless named.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Of md,latex,html,csv; all unless named.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; RUN/report unless named.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Write a run's report: tables as Markdown, LaTeX and CSV, and one HTML page with tables and figures."""
    from bedside.ratings import read_run
    from bedside.reports.build import write_report

    tables, files = write_report(
        read_run(run), tables=_names(table), formats=_names(format_), out=out, seed=seed
    )
    if json:
        _show(tables, True)
        return
    say(f"Wrote {len(files)} files to {files[0].parent}:")
    for file in files:
        say(f"  {file}")


medconceal_app = typer.Typer(help="MedConceal's latent policy.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(medconceal_app, name="medconceal")
note2chat_app = typer.Typer(help="Note2Chat's training data.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(note2chat_app, name="note2chat")


# The group would be its one command without a callback.
@medconceal_app.callback()
def _medconceal() -> None:
    pass


@medconceal_app.command("fit")
def medconceal_fit(
    turns: Annotated[Path, typer.Argument(help="Labelled turns (JSON lines), see the docs on medconceal.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The parameter file to write.")],
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Fit the weights of the trace by logistic regression, and its thresholds by replay on held-out cases."""
    from bedside.protocols.medconceal import fit, read_turns, write_parameters
    from bedside.reports.protocols import fit_tables

    if out.suffix != ".yaml":
        raise InputError("a parameter file's name ends in .yaml", where=str(out), todo="rename it")
    found = fit(read_turns(turns), seed=seed, name=out.stem, origin=f"fitted to {turns.name}, seed {seed}.")
    write_parameters(found.parameters, out)
    _show(fit_tables(found), json)
    note(f"Wrote {out}; use it with --set hidden_concerns.parameters={out}")


@note2chat_app.callback()
def _note2chat() -> None:
    pass


@note2chat_app.command("preferences")
def note2chat_preferences(
    files: Annotated[list[str], typer.Argument(help="Transcripts: several dialogues of each case.")],
    labels: Annotated[Path, typer.Option(help="Their labels, see the docs on note2chat.")],
    alpha: Annotated[float, typer.Option(help="Price of an exchange in the reward.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON lines to write.")] = Path(
        "preferences.jsonl"
    ),
    rater: Annotated[str | None, typer.Option(help="Whose labels count, where several labelled.")] = None,
    outside: Annotated[
        str, typer.Option(help="Where the diagnosis is not ranked: the whole reward is 0, or its term only.")
    ] = "reward",
    seed: SeedOption = 0,
) -> None:
    """Write preference pairs of dialogues by their reward, in TRL's conversational form."""
    from bedside.protocols.note2chat import preference_pairs, rewarded, with_labels, write_preferences
    from bedside.transcripts import read_transcripts

    if outside not in ("reward", "term"):
        raise InputError(f"{outside!r} is neither reward nor term", where="--outside")
    candidates, unrewarded = rewarded(
        with_labels(read_transcripts(files), labels),
        alpha=alpha,
        rater=rater,
        outside="term" if outside == "term" else "reward",
    )
    found = preference_pairs(candidates, seed=seed)
    for name, reason in (*unrewarded, *found.left_out):
        note(f"{name}: {reason}")
    count = write_preferences(found.pairs, out)
    say(f"Wrote {count:,} pairs from {len(candidates):,} cases to {out}")


plan_app = typer.Typer(
    help="How many transcripts and raters a study needs.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(plan_app, name="plan")


@plan_app.command("kappa")
def plan_kappa(
    half_width: Annotated[
        float, typer.Option(help="Half the width of kappa's 95 % interval that you want.")
    ] = 0.1,
    kappa: Annotated[float, typer.Option(help="The kappa you expect.")] = 0.6,
    shares: Annotated[
        str | None, typer.Option(help="Expected share of each level, lowest first: .1,.2,.4,.2,.1.")
    ] = None,
    levels: Annotated[
        int, typer.Option(help="Number of levels, where their shares aren't given: equal shares.")
    ] = 5,
    raters: Annotated[str, typer.Option(help="Numbers of raters to plan for.")] = "2,3,5",
    weights: Annotated[str, typer.Option(help="quadratic, linear or none.")] = "quadratic",
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """How many transcripts, rated by how many raters, for a kappa interval of a given width."""
    from bedside.reports.planning import kappa_table

    expected = _numbers(shares, "--shares") if shares else [1 / levels] * levels
    counts = [int(count) for count in _numbers(raters, "--raters")]
    table = kappa_table(kappa, half_width, shares=expected, raters=counts, weights=weights, seed=seed)
    _show([table], json)


@plan_app.command("difference")
def plan_difference(
    difference: Annotated[float, typer.Option(help="The smallest mean difference worth finding.")],
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation of the differences between systems on one case.")
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(help="A run or file to take the standard deviation from.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="With --pilot: the metric.")] = None,
    systems: Annotated[str | None, typer.Option(help="With --pilot: the two systems.")] = None,
    power: Annotated[float, typer.Option(help="Chance to find it if it is there.")] = 0.8,
    tests: Annotated[int, typer.Option(help="Number of tests in the family; alpha is divided by it.")] = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """How many cases, scored with both systems, to find a difference between them."""
    from bedside.reports.planning import difference_table, pilot_differences

    differences = None
    if pilot is not None:
        differences = pilot_differences(_evaluation(pilot, None, None), metric, _names(systems))
    elif sd is None:
        raise DataError("give --sd, or --pilot with --metric and --systems", where="plan difference")
    table = difference_table(difference, sd=sd, pilot=differences, power=power, tests=tests, seed=seed)
    _show([table], json)


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"{text!r} is no list of numbers", where=option, todo=f"write {option} 1,2,3"
        ) from error


@coders_app.callback()
def coders(context: typer.Context) -> None:
    """List the coders."""
    from bedside.coders import CODERS

    _list_or_show(context, lambda: [(name, coder.title) for name, coder in CODERS.all().items()])


@coders_app.command("evaluate")
def coders_evaluate(
    files: Annotated[list[str], typer.Argument(help="Transcripts that people coded.")],
    coder: Annotated[str, typer.Option(help="The coder to compare with people.")] = "rules",
    judge: Annotated[str | None, typer.Option(help="A model to code in place of a coder.")] = None,
    codes: Annotated[
        str | None, typer.Option(help="With --judge: the codes it gives; all unless named.")
    ] = None,
    store: Annotated[Path, typer.Option(help="With --judge: the file that keeps what it replied.")] = Path(
        "coding.sqlite"
    ),
    turns_per_call: Annotated[int, typer.Option(help="With --judge: turns that one call asks about.")] = 12,
    max_concurrency: Annotated[int, typer.Option(help="With --judge: requests under way at once.")] = 8,
    max_calls: Annotated[int | None, typer.Option(help="With --judge: hard stop, requests at most.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --judge: print calls and tokens; ask nothing.")
    ] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="Reader to use, not the one recognised.")
    ] = None,
    roles: Annotated[str | None, typer.Option(help='Who is who: "Dr Smith=clinician,Anna=patient".')] = None,
    columns: Annotated[str | None, typer.Option(help="bedside's column names to the file's.")] = None,
    json: JsonOption = False,
) -> None:
    """Compare a coder with people's codes, beside how well people agree with one another."""
    from bedside.coders import CODERS
    from bedside.coders.evaluation import evaluate
    from bedside.reports.coder import coder_tables
    from bedside.transcripts import Reading

    reading = Reading(files, _reading(format_, roles, columns, None, "stop"))
    if judge is None:
        if dry_run:
            raise InputError("no judge is named", where="--dry-run", todo="add --judge MODEL")
        _show(coder_tables(evaluate(reading, CODERS.load(coder))), json)
        return
    from bedside.judges.coding import coded_by_people, evaluate_judge, plan_coding
    from bedside.reports.judging import judged_table, plan_table
    from bedside.transcripts.model import CODES

    wanted = tuple(_names(codes) or CODES)
    how: dict[str, Any] = {"store_path": store, "codes": wanted, "turns_per_call": turns_per_call}
    if dry_run:
        _show([plan_table(plan_coding(coded_by_people(reading, wanted), judge, **how))], json)
        return
    evaluation, judged = evaluate_judge(
        reading, judge, max_concurrency=max_concurrency, max_calls=max_calls, **how
    )
    _show((judged_table([judged]), *coder_tables(evaluation)), json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run; it is made anew.")] = Path(
        "demo-run"
    ),
    judge: Annotated[str | None, typer.Option(help="A model to rate the example too.")] = None,
) -> None:
    """Run the whole loop on the bundled example: score, ratings, agreement, comparison, report."""
    from bedside.demo import run_demo

    run_demo(out, say, lambda table: _show([table]), judge)


# -- running ----------------------------------------------------------------------------------------


def _version(value: bool) -> None:
    if value:
        from bedside import __version__

        say(f"bedside {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _fail(message: str) -> NoReturn:
    typer.echo(f"bedside: {message}", err=True)
    sys.exit(2)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a bad call or input ends in one line on standard error and exit code 2."""
    try:
        code = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        message = " ".join(error.format_message().split()) if hasattr(error, "format_message") else str(error)
        _fail(f"{message} See bedside --help.")
    except BedsideError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail(_STOPPED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    if code == _INTERRUPTED:
        _fail(_STOPPED)
    sys.exit(code if isinstance(code, int) else 0)
