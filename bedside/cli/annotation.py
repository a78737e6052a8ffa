"""``bedside annotate``: progress, files, and what to rate next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.completion import one_of, one_rater
from bedside.cli.help import App
from bedside.cli.options import JsonOption, RubricFolderOption, SeedOption
from bedside.cli.output import note, say, show_tables
from bedside.cli.parsing import read_pairs
from bedside.cli.plans import PlanArgument, RunOption, check_plan_current, open_plan, save_plan
from bedside.support.errors import InputError
from bedside.support.plurals import counted

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_store import StoreSummary
    from bedside.annotation.answers import CollectedAnswers
    from bedside.ratings.run import Run

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


def say_kept(run: Run, plan: AnnotationPlan, kept: StoreSummary) -> None:
    """Print what putting answers into a run did."""
    from bedside.annotation.plan_progress import plan_metrics

    say(
        f"{counted(kept.new, 'new answer')}, {counted(kept.revised, 'correction')}, {kept.unchanged:,} there already; "
        f"{kept.submitted:,} count, {kept.skipped:,} skipped, {kept.drafts:,} not handed in."
    )
    say(
        f"{run.path} has {counted(kept.ratings, 'rating')}, {kept.missing:,} of them missing with the reason."
    )
    for rater, count in kept.changed_by.items():
        say(f"{rater} changed {counted(count, 'answer')} of another rater.")
    say(f"Next: bedside agree {run.path} --metrics {','.join(plan_metrics(plan))}")


@annotate_app.command("status")
def annotate_status(
    source: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan, or a run to show all of its plans.")
    ],
    run: RunOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show how much each rater has done, how well in training, and how well they agree so far.

    Examples:
        $ bedside annotate status plan.json
    """
    from bedside.annotation.answer_store import FOLDER
    from bedside.annotation.plan_progress import plan_progress
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
        table
        for plan, its_run in opened
        for table in status_tables(plan, plan_progress(its_run, plan, seed=seed))
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
            help="Form of the files: xlsx, csv, or label-studio (JSON to import there by hand).",
            autocompletion=one_of("xlsx", "csv", "label-studio"),
        ),
    ] = "xlsx",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write the files to.")
    ] = Path("to-rate"),
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Write a file for each rater to fill in, where no server is wanted.

    Examples:
        $ bedside annotate export plan.json --out to-rate
    """
    from bedside.annotation.offline_files import export_files

    read, opened = open_plan(plan, run)
    check_plan_current(read, rubric_folder, plan)
    paths = export_files(read, opened, form, out)  # type: ignore[arg-type]
    for path in paths:
        say(str(path))
    note(f"Send each rater their file. Next: bedside annotate import {plan} FILES…")


@annotate_app.command("import")
def annotate_import(
    plan: PlanArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="Files that raters filled in, as XLSX, CSV or Label Studio's JSON."
        ),
    ],
    rater: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The rater who answered, where a Label Studio export is of one person."
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="ID=NAME,…",
            help="The raters who answered, by their user ids in Label Studio, such as 3=anna,4=ben.",
        ),
    ] = None,
    run: RunOption = None,
) -> None:
    """Read what raters filled in and add their ratings to the run.

    It is safe to repeat: no answer is added twice, and none is lost.

    Examples:
        $ bedside annotate import plan.json to-rate/*.xlsx
    """
    from bedside.annotation.answer_store import keep_answers
    from bedside.annotation.offline_files import read_files

    read, opened = open_plan(plan, run)
    pairs = read_pairs(users, "--users")
    for user in pairs:
        if not user.isdigit():
            raise InputError(f"{user!r} is not a user id", where="--users", todo="write --users 3=anna,4=ben")
    collected = read_files(
        read, opened, files, rater=rater, users={int(user): name for user, name in pairs.items()}
    )
    say_left_out(collected)
    say_kept(opened, read, keep_answers(opened, read, collected.answers))


def say_left_out(collected: CollectedAnswers) -> None:
    """Print which answers belong to nobody, or to no item of the plan."""
    for user, count in collected.strangers.items():
        say(f"Left out: {counted(count, 'answer')} of user {user}, who is not a rater of the plan.")
    if collected.unplanned_tasks:
        say(f"Left out: {counted(collected.unplanned_tasks, 'task')} about no item of the plan.")


@annotate_app.command("next")
def annotate_next(
    plan: PlanArgument,
    aim: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What the ratings are to bring: kappa (a narrower interval), estimate (better corrected means) or "
            "disagreement (cases to settle).",
            autocompletion=one_of("kappa", "estimate", "disagreement"),
        ),
    ] = "kappa",
    count: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many transcripts or turns to propose.")
    ] = 10,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="RATER",
            help="The judge whose ratings are looked at, where the run has several.",
            autocompletion=one_rater,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write a plan of the proposal to, for the same raters.",
        ),
    ] = None,
    run: RunOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Propose what people should rate next, and say what it would bring.

    Examples:
        $ bedside annotate next plan.json --aim kappa --count 20 --out more.json
    """
    from bedside.annotation.follow_up import follow_up_plan
    from bedside.annotation.proposals import propose
    from bedside.reports.annotation import plan_tables, proposal_tables

    read, opened = open_plan(plan, run)
    proposal = propose(opened, read, aim=aim, count=count, judge=judge, seed=seed)  # type: ignore[arg-type]
    tables = proposal_tables(proposal)
    if out is not None:
        next_plan = follow_up_plan(opened, read, proposal, seed)
        save_plan(next_plan, opened, out)
        tables += plan_tables(next_plan)
    show_tables(tables, json)
    note(f"Wrote {out}" if out is not None else "To make a plan of it, add --out FILE.")
