"""``bedside sample`` and ``bedside annotate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli.common import (
    OUTPUT,
    JsonOption,
    RubricFolderOption,
    SeedOption,
    note,
    read_names,
    read_pairs,
    say,
    show_tables,
)
from bedside.cli.completion import one_of, one_rater
from bedside.cli.completion import rubrics as complete_rubrics
from bedside.cli.help import App
from bedside.support.errors import BedsideError, InputError

if TYPE_CHECKING:
    from bedside.annotation.answers import Kept, Read
    from bedside.annotation.plan import AnnotationPlan
    from bedside.ratings.run import Run
    from bedside.rubrics.rubric import Rubric

annotate_app = App(
    """Have people rate what `sample` drew: in Label Studio or in spreadsheets.

    Examples:
        $ bedside annotate serve run --raters anna,ben     # a Label Studio on this machine …
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
        $ bedside annotate export plan.json --out to-rate  # … or a spreadsheet for each rater
        $ bedside annotate import plan.json to-rate/*.xlsx
    """
)

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan that bedside sample made.")]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run", metavar="RUN", help="The plan's run; found beside the plan, or as ./run, unless named."
    ),
]


def open_plan(path: Path, run: Path | None) -> tuple[AnnotationPlan, Run]:
    """A plan and its run: the one named, the folder that holds the plan, or ``run`` beside it or here."""
    from bedside.annotation.plan import PlanError, read_plan, run_identity
    from bedside.ratings.run import Run

    if run is not None:
        opened = Run(run)
        return read_plan(path, opened), opened
    plan = read_plan(path)
    for folder in (*path.resolve().parents, path.resolve().parent / "run", Path("run")):
        if (folder / "manifest.json").is_file():
            try:
                found = Run(folder)
                if run_identity(found) == plan.run:
                    return plan, found
            except BedsideError:
                continue  # some other folder with a manifest
    raise PlanError("its run is not beside it", where=str(path), todo="name the run with --run")


def say_kept(run: Run, plan: AnnotationPlan, kept: Kept) -> None:
    """Print what putting answers into a run did."""
    say(
        f"{kept.new:,} new answers, {kept.revised:,} corrections, {kept.unchanged:,} there already; "
        f"{kept.submitted:,} count, {kept.skipped:,} skipped, {kept.drafts:,} not handed in."
    )
    say(f"{kept.ratings:,} ratings in {run.path}, {kept.missing:,} of them missing with the reason.")
    for who, count in kept.changed_by.items():
        say(f"Changed by {who}, who is not the rater: {count:,} answers.")
    names = ",".join(_metrics(plan))
    say(f"Next: bedside agree {run.path} --metrics {names}")


def _metrics(plan: AnnotationPlan) -> list[str]:
    from bedside.annotation.progress import plan_metrics

    return plan_metrics(plan)


_WHO = "Who rates what"
_WHAT = "Which transcripts"


def sample(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run that keeps the text (scored without --no-text).")
    ],
    raters: Annotated[
        str, typer.Option(metavar="A,B", help="Their names: anna,ben; or how many.", rich_help_panel=_WHO)
    ] = "2",
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="rate: by rubrics, blind to system and judge; audit: agree or not with a judge's scores; findings: "
            "list what the patient revealed; codes: code each turn.",
            autocompletion=one_of("rate", "audit", "findings", "codes"),
            rich_help_panel=_WHO,
        ),
    ] = "rate",
    rubrics: Annotated[
        str | None,
        typer.Option(
            "--rubrics",
            "--rubric",
            metavar="A,B",
            help="By which rubrics (in mode codes: which codes); those that judges rated unless named.",
            autocompletion=complete_rubrics,
            rich_help_panel=_WHO,
        ),
    ] = None,
    overlap: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="How many raters rate each transcript.", rich_help_panel=_WHO),
    ] = 2,
    shared: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Transcripts that everyone rates; the others as --overlap says.",
            rich_help_panel=_WHO,
        ),
    ] = 0,
    training: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Transcripts with known answers that raters see first; or how many of the run's that people agree "
            "on.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="RATER",
            help="In mode audit: whose scores are shown.",
            autocompletion=one_rater,
            rich_help_panel=_WHO,
        ),
    ] = None,
    rubric_folder: RubricFolderOption = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Draw from each group alike: system, case_id, language or factors of the transcripts.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    per: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Transcripts, or turns where rubrics are about turns, drawn from each group; all unless given.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    focus: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is drawn first: random; disagreement: where judges or their passes differ; uncertain: where "
            "a judge was.",
            autocompletion=one_of("random", "disagreement", "uncertain"),
            rich_help_panel=_WHAT,
        ),
    ] = "random",
    random_share: Annotated[
        float,
        typer.Option(
            "--random",
            metavar="SHARE",
            help="With another focus: share drawn at random all the same, 0 to 1.",
            rich_help_panel=_WHAT,
        ),
    ] = 0.0,
    seed: SeedOption = 0,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where the plan is written.", rich_help_panel=OUTPUT
        ),
    ] = Path("plan.json"),
    json: JsonOption = False,
) -> None:
    """Draw what people are to rate, and who rates what: a plan.

    The plan holds the map from opaque ids to transcripts: keep it, and don't give it to raters.

    Examples:
        $ bedside sample run --raters anna,ben --rubrics empathy --by system --per 4
        $ bedside sample run --raters 3 --mode codes --rubrics question,reflection
    """
    from bedside.annotation.sampling import make_plan, read_training, slots, training_from_run
    from bedside.ratings.run import read_run
    from bedside.reports.annotation import plan_tables

    opened = read_run(run)
    chosen = _rubrics(opened, mode, rubrics, rubric_folder)
    names = slots(int(raters)) if raters.strip().isdigit() else tuple(read_names(raters) or ())
    if training is None:
        cases: tuple[Any, ...] = ()
    elif training.isdigit():
        cases = training_from_run(opened, mode, chosen, int(training), seed)  # type: ignore[arg-type]
    else:
        cases = read_training(training, mode, chosen)  # type: ignore[arg-type]
    plan = make_plan(
        opened,
        mode=mode,  # type: ignore[arg-type]
        rubrics=chosen,
        raters=names,
        by=read_names(by) or (),
        per=per,
        overlap=overlap,
        shared=shared,
        focus=focus,  # type: ignore[arg-type]
        random_share=random_share,
        judge=judge,
        training=cases,
        seed=seed,
    )
    save_plan(plan, opened, out)
    show_tables(plan_tables(plan), json)
    note(f"Wrote {out}. Next: bedside annotate push {out}, or bedside annotate export {out}")


def save_plan(plan: AnnotationPlan, run: Run, out: Path) -> None:
    """Write a plan where the user said and, so that it can't be lost, into its run."""
    from bedside.annotation.answers import plan_folder
    from bedside.annotation.plan import plan_hash, read_plan, write_plan
    from bedside.support.files import make_folder, saying_where

    if out.exists() and plan_hash(read_plan(out)) != plan_hash(plan):
        raise InputError("holds another plan", where=str(out), todo="choose another file with --out")
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    for path in (folder / "plan.json", out):
        write_plan(plan, path)


def _rubrics(run: Run, mode: str, names: str | None, folder: Path | None) -> list[Rubric]:
    import polars as pl

    from bedside.annotation.plan import KINDS, MODES
    from bedside.judges.turn_codes import CODEBOOK
    from bedside.rubrics.files import rubrics_with

    if mode not in MODES:
        raise InputError(f"{mode!r} is not known", where="--mode", todo=f"one of {', '.join(MODES)}")
    registry = rubrics_with(folder)
    chosen = read_names(names)
    if mode == "codes":
        every = (
            chosen if chosen is not None else [name for name in CODEBOOK.names() if name != "main_behaviour"]
        )
        return [CODEBOOK.load(name) if name in CODEBOOK else registry.find(name) for name in every]
    if chosen is not None:
        return [registry.find(name) for name in chosen]
    if mode == "findings":
        return [registry.find("finding_extraction")]
    rated = run.ratings.filter(pl.col("rater").str.starts_with("judge:"), pl.col("unit") == "transcript")
    found = [registry.find(name) for name in sorted(rated["metric"].unique()) if name in registry]
    fitting = [rubric for rubric in found if rubric.kind in KINDS[mode]]
    if not fitting:
        raise InputError(
            "no judge has rated the run by rubrics", where=str(run.path), todo="name some with --rubrics"
        )
    return fitting


@annotate_app.command("status")
def annotate_status(
    source: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, or a run for all its plans.")],
    run: RunOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show who has done how much, how well in training, and agreement so far.

    Examples:
        $ bedside annotate status plan.json
    """
    from bedside.annotation.answers import FOLDER
    from bedside.annotation.progress import progress
    from bedside.reports.annotation import status_tables

    if source.is_dir():
        plans = sorted((source / FOLDER).glob("*/plan.json"))
        if not plans:
            raise InputError(
                "the run has no annotation plan", where=str(source), todo="make one with bedside sample"
            )
        opened = [open_plan(path, source) for path in plans]
    else:
        opened = [open_plan(source, run)]
    tables = [
        table for plan, its_run in opened for table in status_tables(plan, progress(its_run, plan, seed=seed))
    ]
    show_tables(tables, json)


@annotate_app.command("export")
def annotate_export(
    plan: PlanArgument,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="xlsx, csv, or label-studio (JSON to import there by hand).",
            autocompletion=one_of("xlsx", "csv", "label-studio"),
        ),
    ] = "xlsx",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files.")] = Path(
        "to-rate"
    ),
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Write a file for each rater to fill in, where no server is wanted.

    Examples:
        $ bedside annotate export plan.json --out to-rate
    """
    from bedside.annotation.offline import export_files

    read, opened = open_plan(plan, run)
    see_current(read, rubric_folder, plan)
    paths = export_files(read, opened, form, out)  # type: ignore[arg-type]
    for path in paths:
        say(str(path))
    note(f"Send each rater their file. Next: bedside annotate import {plan} FILES…")


def see_current(plan: AnnotationPlan, folder: Path | None, where: Path) -> None:
    """Refuse a plan whose rubrics are no longer those of their name."""
    from bedside.annotation.plan import check_current
    from bedside.judges.turn_codes import CODEBOOK
    from bedside.rubrics.files import rubrics_with

    names = [each.rubric.name for each in plan.rubrics]
    registry = rubrics_with(folder)
    if plan.mode == "codes":
        known = [CODEBOOK.load(name) for name in names if name in CODEBOOK]
    else:
        known = [registry.load(name) for name in names if name in registry]
    check_current(plan, known, str(where))


@annotate_app.command("import")
def annotate_import(
    plan: PlanArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="Files that raters filled in: XLSX, CSV, or Label Studio's JSON."
        ),
    ],
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who answered, where a Label Studio export is of one person."),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(metavar="ID=NAME,…", help="Who answered, by Label Studio's user id: 3=anna,4=ben."),
    ] = None,
    run: RunOption = None,
) -> None:
    """Read what raters filled in and add their ratings to the run.

    Safe to repeat: nothing is there twice, nothing is lost.

    Examples:
        $ bedside annotate import plan.json to-rate/*.xlsx
    """
    from bedside.annotation.answers import keep_answers
    from bedside.annotation.offline import read_files

    read, opened = open_plan(plan, run)
    pairs = read_pairs(users, "--users")
    for user in pairs:
        if not user.isdigit():
            raise InputError(f"{user!r} is no user id", where="--users", todo="write --users 3=anna,4=ben")
    found = read_files(
        read, opened, files, rater=rater, users={int(user): name for user, name in pairs.items()}
    )
    say_left_out(found)
    say_kept(opened, read, keep_answers(opened, read, found.answers))


def say_left_out(found: Read) -> None:
    """Print which answers belong to nobody, or to no item of the plan."""
    for user, count in found.strangers.items():
        say(f"Left out: {count:,} answers of user {user}, who is no rater of the plan.")
    if found.foreign:
        say(f"Left out: {found.foreign:,} tasks that are of no item of the plan.")


@annotate_app.command("next")
def annotate_next(
    plan: PlanArgument,
    aim: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="To what end: kappa (a narrower interval), estimate (corrected means) or disagreement (settle it).",
            autocompletion=one_of("kappa", "estimate", "disagreement"),
        ),
    ] = "kappa",
    count: Annotated[int, typer.Option(metavar="NUMBER", help="Transcripts or turns to propose.")] = 10,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="RATER", help="Which judge; the only one unless named.", autocompletion=one_rater
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a plan of it, for the same raters."),
    ] = None,
    run: RunOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Propose what to have rated next, and say what it would bring.

    Examples:
        $ bedside annotate next plan.json --aim kappa --count 20 --out more.json
    """
    from bedside.annotation.proposals import follow_up, propose
    from bedside.reports.annotation import plan_tables, proposal_tables

    read, opened = open_plan(plan, run)
    found = propose(opened, read, aim=aim, count=count, judge=judge, seed=seed)  # type: ignore[arg-type]
    tables = proposal_tables(found)
    if out is not None:
        made = follow_up(opened, read, found, seed)
        save_plan(made, opened, out)
        tables += plan_tables(made)
    show_tables(tables, json)
    note(f"Wrote {out}" if out is not None else "Add --out to make a plan of it.")
