"""``bedside annotate``: files, and what to rate next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api.annotating import keep_plan
from bedside.cli.completion import choices, one_rater
from bedside.cli.help import App
from bedside.cli.options import RubricFolderOption, SeedOption
from bedside.cli.output import note, say, show_records, show_tables
from bedside.cli.parsing import read_names, read_pairs
from bedside.cli.plans import PlanArgument, RunOption, check_plan_current, open_plan, run_option
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_store import StoreSummary
    from bedside.annotation.answers import CollectedAnswers
    from bedside.ratings.run import Run

annotate_app: App = App(
    """Have people rate what `sample` drew: on bedside's page, in Label Studio or spreadsheets.

    Examples:
        $ bedside annotate page plan.json                  # bedside's own rating page …
        $ bedside annotate serve run --raters anna,ben     # … a Label Studio on this machine …
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
        $ bedside annotate export plan.json --out to-rate  # … or a spreadsheet for each rater
        $ bedside annotate import plan.json to-rate/*.xlsx
    """
)


def say_kept(run: Run, plan: AnnotationPlan, plan_file: Path, kept: StoreSummary) -> None:
    """Print what putting answers into a run did."""
    from bedside.annotation.answer_store import FOLDER
    from bedside.annotation.plan_progress import plan_metrics

    say(
        f"{counted(kept.new, 'new answer')}, {counted(kept.revised, 'correction')}, {kept.unchanged:,} there already; "
        f"{kept.submitted:,} count, {kept.skipped:,} skipped, {kept.drafts:,} not handed in."
    )
    say(f"{run.path} has {counted(kept.ratings, 'rating')}, {kept.missing:,} of them missing with the reason.")
    for rater, person in kept.spelt.items():
        say(f"The rater {rater!r} is {person!r}, who rated in the run before: both are one person.")
    for name, count in kept.standing.items():
        by = f"by plan {name}" if (run.path / FOLDER / name).is_dir() else f"from {name}"
        say(
            f"{counted(count, 'rating')} of the same people and units came {by} of the same round before: "
            "those stand; these answers are only kept. Draw plans with rounds of their own (bedside sample --round)."
        )
    if kept.filled:
        say(
            f"{counted(kept.filled, 'rating')} of what was skipped here came by another plan or file of the same "
            "round: a rating stands in place of a skip."
        )
    for rater, count in kept.changed_by.items():
        say(f"{rater} changed {counted(count, 'answer')} of another rater: such a change is kept and doesn't count.")
    if kept.changed_by:
        say(f"To look at them: bedside annotate revisions {typed(plan_file)}{run_option(plan_file, run)}")
    of_round = f" --round {typed(plan.round)}" if plan.round else ""
    if plan.mode == "adjudicate":
        say(f"They are final labels of what raters differed on. Next: bedside validate {typed(run.path)}")
    elif plan.mode == "pairs":
        say(f"Next: bedside preferences {typed(run.path)}{of_round}")
    else:
        say(f"Next: bedside agree {typed(run.path)} --metrics {','.join(plan_metrics(plan))}{of_round}")
    show_records("answers", f"What was put into {run.path}", [asdict(kept)])


@annotate_app.command("export")
def annotate_export(
    plan: PlanArgument,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Form of the files: xlsx, csv, label-studio (JSON to import there by hand), or a folder for each "
            "rater in the form of another tool: argilla, doccano, potato or prodigy.",
            autocompletion=choices("xlsx", "csv", "label-studio", "argilla", "doccano", "potato", "prodigy"),
        ),
    ] = "xlsx",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write the files to.")] = Path(
        "to-rate"
    ),
    run: RunOption = None,
    rubric_folder: RubricFolderOption = None,
) -> None:
    """Write a file for each rater to fill in, where no server is wanted.

    Examples:
        $ bedside annotate export plan.json --out to-rate
        $ bedside annotate export plan.json --format argilla --out to-rate
    """
    from bedside.annotation.offline_files import FORMS, export_files
    from bedside.annotation.tool_form import TOOL_FORMS

    read, opened = open_plan(plan, run)
    check_plan_current(read, rubric_folder, plan)
    paths = export_files(read, opened, form, out)
    for path in paths:
        say(str(path))
    show_records("files", "Files for raters", [{"file": str(path)} for path in paths])
    hand_out = "Send each rater their file." if form in FORMS else TOOL_FORMS.load(form).next_step
    note(f"{hand_out} Next: bedside annotate import {typed(plan)} FILES…{run_option(plan, opened)}")


@annotate_app.command("import")
def annotate_import(
    plan: PlanArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Files that raters filled in, as XLSX or CSV, or exports of Label Studio, Argilla, doccano, potato or "
            "Prodigy.",
        ),
    ],
    rater: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The rater who answered, where the file names only a tool's user, or somebody else.",
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="ID=NAME,…",
            help="The raters who answered, by their user ids in Label Studio or Argilla, such as 3=anna,4=ben.",
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
    # Label Studio's ids are numbers, those of others aren't.
    pairs = {int(user) if user.isdigit() else user: name for user, name in read_pairs(users, "--users").items()}
    collected = read_files(read, opened, files, rater=rater, users=pairs)
    say_left_out(collected)
    say_kept(opened, read, plan, keep_answers(opened, read, collected.answers))


def say_left_out(collected: CollectedAnswers, tell: Callable[[str], None] = say) -> None:
    """Print which answers belong to nobody, or to no item of the plan."""
    for user, count in collected.strangers.items():
        tell(f"Left out: {counted(count, 'answer')} of user {user}, who is not a rater of the plan.")
    if collected.unplanned_tasks:
        tell(f"Left out: {counted(collected.unplanned_tasks, 'task')} about no item of the plan.")
    if collected.altered_tasks:
        tasks = counted(collected.altered_tasks, "task")
        tell(f"Left out: {tasks} with the id of an item of the plan and another text.")
    for line in collected.set_aside:
        tell(f"Set aside: {line}")


@annotate_app.command("reassign")
def annotate_reassign(
    plan: PlanArgument,
    rater: Annotated[str, typer.Option("--rater", metavar="NAME", help="The rater who drops out.")],
    to: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Who takes over, new raters too. Without it, all other raters of the plan."),
    ] = None,
    run: RunOption = None,
) -> None:
    """Give what a rater hasn't answered to others.

    The plan stays as it was drawn, and answers given count as before. Pull before it: what is answered is known from
    the run.

    Examples:
        $ bedside annotate reassign plan.json --rater ben
        $ bedside annotate reassign plan.json --rater ben --to dora
    """
    from bedside.annotation.reassignment import reassign

    read, opened = open_plan(plan, run)
    done = reassign(opened, read, rater, read_names(to) or ())
    for name, count in done.moved.items():
        say(f"{name} takes over {counted(count, 'item')} of {done.rater}.")
    if done.untaken:
        say(
            f"{counted(done.untaken, 'item')} can go to nobody who hasn't got them, and stay with {done.rater}: name "
            "somebody new with --to."
        )
    if done.repeats:
        say(f"Dropped: {counted(done.repeats, 'second showing')} of what {done.rater} answered the first time.")
    show_records(
        "reassigned",
        f"What {done.rater} hasn't answered",
        [
            *({"rater": name, "items": count} for name, count in done.moved.items()),
            *([{"rater": None, "items": done.untaken}] if done.untaken else []),
        ],
    )
    named = f"{typed(plan)}{run_option(plan, opened)}"
    note(f"Next: bedside annotate push {named}, or bedside annotate export {named}")


@annotate_app.command("revisions")
def annotate_revisions(
    plan: PlanArgument,
    restore: Annotated[
        int | None,
        typer.Option(
            "--restore",
            metavar="NO.",
            help="A revision that is to count, until its rater says something else.",
        ),
    ] = None,
    run: RunOption = None,
) -> None:
    """Show the answers that were changed, by whom and to what; let an earlier one count again.

    Examples:
        $ bedside annotate revisions plan.json
        $ bedside annotate revisions plan.json --restore 12
    """
    from bedside.annotation.answer_store import read_store, restore_answer
    from bedside.reports.annotation import revisions_table

    read, opened = open_plan(plan, run)
    if restore is not None:
        restore_answer(opened, read, restore)
    history = read_store(opened, read)
    show_tables((revisions_table(read, history),))


@annotate_app.command("next")
def annotate_next(
    plan: PlanArgument,
    aim: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What the ratings are to bring: kappa (a narrower interval) or disagreement (cases to settle).",
            autocompletion=choices("kappa", "disagreement"),
        ),
    ] = "kappa",
    count: Annotated[int, typer.Option(metavar="NUMBER", help="How many transcripts or turns to propose.")] = 10,
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
) -> None:
    """Propose what people should rate next, and say what it would bring.

    Examples:
        $ bedside annotate next plan.json --aim kappa --count 20 --out more.json
    """
    from bedside.annotation.proposals import follow_up_plan, propose
    from bedside.reports.annotation import plan_tables, proposal_tables

    read, opened = open_plan(plan, run)
    proposal = propose(opened, read, aim=aim, count=count, judge=judge, seed=seed)  # type: ignore[arg-type]
    tables = proposal_tables(proposal)
    if out is not None:
        next_plan = follow_up_plan(opened, read, proposal, seed)
        keep_plan(next_plan, opened, out)
        tables += plan_tables(next_plan)
    show_tables(tables)
    note(f"Wrote {out}" if out is not None else "To make a plan of it, add --out FILE.")
