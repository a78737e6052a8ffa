"""``bedside sample`` and ``bedside annotate``: people rate what was drawn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api import annotating
from bedside.cli.help import App
from bedside.cli.output import note, note_account, refuse_json, say, show_records, show_tables
from bedside.cli.progress import task_progress
from bedside.cli.settings_options import takes_settings, typed_again
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_store import StoreSummary
    from bedside.annotation.answers import CollectedAnswers
    from bedside.annotation.label_studio_projects import PullSummary
    from bedside.annotation.label_studio_server import OwnServer
    from bedside.ratings.run import Run

#: Turns that a warning names.
_MOST_PLACES = 6

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan that bedside sample wrote.")]

annotate_app: App = App(
    """Have people rate what `sample` drew: on a page or in spreadsheets.

    Examples:
        $ bedside annotate page plan.json                  # bedside's own rating page …
        $ bedside annotate serve run --raters anna,ben     # … a Label Studio on this machine …
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
        $ bedside annotate export plan.json --out to-rate  # … or a spreadsheet for each rater
        $ bedside annotate import plan.json to-rate/*.xlsx
    """
)


def _run_option(plan: Path, run: Run) -> str:
    """What a command on a plan needs to find its run: nothing where the plan's file says or shows where it is."""
    from bedside.annotation.plan_file import read_plan, run_places

    places = (place.resolve() for place in run_places(plan, read_plan(plan)))
    return "" if Path(run.path).resolve() in places else f" --run {typed(run.path)}"


def _named(plan: Path, run: Run) -> str:
    return typed(plan) + _run_option(plan, run)


@takes_settings
def sample(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run that keeps the text, so one scored without --no-text.")
    ],
    settings: annotating.SampleSettings,
) -> None:
    from bedside.ratings.run import read_run

    opened = read_run(run)
    note_account(opened.waiting())
    drawn = annotating.sample.with_settings(opened, settings)
    for name, reason in drawn.left_out.items():
        note(f"People can't rate {name}, which is left out: {reason}.")
    here, there = (sum(getattr(stratum, name) for stratum in drawn.plan.strata) for name in ("drawn", "available"))
    say(f"Drew {here:,} of {counted(there, 'unit')} for {counted(len(drawn.plan.raters), 'rater')} to rate.")
    show_tables(drawn.tables)
    for name, places in drawn.named.items():
        more = f" and {counted(len(places) - _MOST_PLACES, 'more turn')}" if places[_MOST_PLACES:] else ""
        note(f"Raters will read the name {name}, and may know who spoke: {'; '.join(places[:_MOST_PLACES])}{more}.")
    _note_plan(drawn.file, opened)


def _note_plan(file: Path, run: Run) -> None:
    named = _named(file, run)
    note(f"Wrote {file}. Next: bedside annotate push {named}, or bedside annotate export {named}")


# -- Files for raters -----------------------------------------------------------------------------------


@annotate_app.command("export")
@takes_settings
def annotate_export(plan: PlanArgument, settings: annotating.ExportTasksSettings) -> None:
    from bedside.annotation.offline_files import FORMS
    from bedside.annotation.tool_form import TOOL_FORMS

    written = annotating.export_tasks.with_settings(plan, settings)
    for path in written.results:
        say(str(path))
    show_records("files", "Files for raters", [{"file": str(path)} for path in written.results])
    hand_out = "Send each rater their file." if settings.form in FORMS else TOOL_FORMS.load(settings.form).next_step
    note(f"{hand_out} Next: bedside annotate import {typed(plan)} FILES…{_run_option(plan, written.run)}")


@annotate_app.command("import")
@takes_settings
def annotate_import(plan: PlanArgument, settings: annotating.ImportAnswersSettings) -> None:
    _say_pulled(annotating.import_answers.with_settings(plan, settings), plan)


def _say_pulled(pulled: annotating.PlanOutcome[PullSummary], plan_file: Path) -> None:
    """Print which answers were left out, and what putting the others into the run did."""
    _say_left_out(pulled.results.collected, say)
    _say_kept(pulled.run, pulled.plan, plan_file, pulled.results.stored)


def _say_left_out(collected: CollectedAnswers, tell: Callable[[str], None]) -> None:
    """Tell which answers belong to nobody, or to no item of the plan."""
    for user, count in collected.strangers.items():
        tell(f"Left out: {counted(count, 'answer')} of user {user}, who is not a rater of the plan.")
    if collected.unplanned_tasks:
        tell(f"Left out: {counted(collected.unplanned_tasks, 'task')} about no item of the plan.")
    if collected.altered_tasks:
        tasks = counted(collected.altered_tasks, "task")
        tell(f"Left out: {tasks} with the id of an item of the plan and another text.")
    for line in collected.set_aside:
        tell(f"Set aside: {line}")


def _say_kept(run: Run, plan: AnnotationPlan, plan_file: Path, kept: StoreSummary) -> None:
    """Print what putting answers into a run did."""
    from bedside.annotation.answer_store import FOLDER
    from bedside.annotation.plan_progress import plan_metrics

    say(
        f"{counted(kept.new, 'new answer')}, {counted(kept.revised, 'correction')}, {kept.unchanged:,} there already; "
        f"{kept.submitted:,} count, {kept.skipped:,} skipped, {kept.drafts:,} not handed in."
    )
    if kept.withdrawn:
        gone = counted(kept.withdrawn, "answer")
        say(f"Left out: {gone} of raters or items that were removed. Delete them where they came from.")
    ratings = f"{counted(kept.ratings, 'rating')} of this plan"
    say(f"{run.path} has {ratings}, {kept.missing:,} of them missing with the reason.")
    if kept.unfinished:
        say(f"A question has no full answer in {kept.unfinished:,} of {kept.submitted:,}: it is missing, not zero.")
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
        say(f"To look at them: bedside annotate revisions {_named(plan_file, run)}")
    of_round = f" --round {typed(plan.round)}" if plan.round else ""
    if plan.mode == "adjudicate":
        say(f"They are final labels of what raters differed on. Next: bedside validate {typed(run.path)}")
    elif plan.mode == "pairs":
        say(f"Next: bedside compare {typed(run.path)} --preferences{of_round}")
    else:
        say(f"Next: bedside agree {typed(run.path)} --metrics {','.join(plan_metrics(plan))}{of_round}")
    show_records("answers", f"What was put into {run.path}", [asdict(kept)])


# -- What they are asked next ---------------------------------------------------------------------------


@annotate_app.command("reassign")
@takes_settings
def annotate_reassign(plan: PlanArgument, settings: annotating.ReassignSettings) -> None:
    reassigned = annotating.reassign.with_settings(plan, settings)
    done = reassigned.results
    for name, count in done.moved.items():
        say(f"{name} takes over {counted(count, 'item')} of {done.rater}.")
    if done.untaken:
        say(
            f"{counted(done.untaken, 'item')} can go to nobody who hasn't got them, and stay with {done.rater}: name "
            "somebody new with --to."
        )
    if done.repeats:
        say(f"Dropped: {counted(done.repeats, 'second showing')} of what {done.rater} answered the first time.")
    records: list[dict[str, Any]] = [{"rater": name, "items": count} for name, count in done.moved.items()]
    records += [{"rater": None, "items": done.untaken}] if done.untaken else []
    show_records("reassigned", f"What {done.rater} hasn't answered", records)
    named = _named(plan, reassigned.run)
    note(f"Next: bedside annotate push {named}, or bedside annotate export {named}")


@annotate_app.command("people")
@takes_settings
def annotate_people(plan: PlanArgument, settings: annotating.PeopleSettings) -> None:
    people = annotating.study_people.with_settings(plan, settings)
    show_tables(people)
    if people.results.trouble is not None:
        note(f"It is decided, and the run doesn't follow yet: {people.results.trouble}")
    if people.results.paid is not None:
        note(f"Wrote {settings.payment}: {people.results.paid} in all. It holds ids of people: keep it apart.")


@annotate_app.command("revisions")
@takes_settings
def annotate_revisions(plan: PlanArgument, settings: annotating.RevisionsSettings) -> None:
    show_tables(annotating.answer_revisions.with_settings(plan, settings))


@annotate_app.command("next")
@takes_settings
def annotate_next(plan: PlanArgument, settings: annotating.NextSettings) -> None:
    show_tables(annotating.propose_next.with_settings(plan, settings))
    note(f"Wrote {settings.out}" if settings.out is not None else "To make a plan of it, add --out FILE.")


# -- Label Studio ---------------------------------------------------------------------------------------


@annotate_app.command("serve")
@takes_settings
def annotate_serve(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Folder in which the server keeps its data. If you name a run, it is RUN-label-studio beside it.",
        ),
    ],
    settings: annotating.ServeSettings,
) -> None:
    served = annotating.serve_label_studio.with_settings(folder, replace(settings, say=note))
    if served.server is not None:
        _say_server(served.server, folder, passwords=not settings.status)
        return
    say(f"Stopped the server of {served.folder}." if served.stopped else f"No server of {served.folder} runs.")
    show_records("server", "The Label Studio of this machine", [{"folder": str(served.folder), "runs": False}])


def _say_server(server: OwnServer, named: Path, *, passwords: bool) -> None:
    state = "started" if server.started else "runs"
    say(f"Label Studio {server.version} {state} at {server.url}; only this machine can reach it.")
    width = max((len(login.email) for login in server.logins), default=0)
    for login in server.logins:
        password = f"  password  {login.password}" if passwords else ""
        say(f"  {login.rater} logs in as  {login.email:<{width}}{password}".rstrip())
    say(
        f"The passwords, the administrator's too, are in {server.logins_file}, the key in {server.key_file}. Only you "
        "can read them."
    )
    say(f"Before push and pull: export LABEL_STUDIO_API_KEY=$(cat {typed(server.key_file)})")
    say(f"To stop it: bedside annotate serve {typed(named)} --stop")
    record = {
        "folder": str(named),
        "runs": True,
        "version": server.version,
        "address": server.url,
        "logins": [{"rater": login.rater, "email": login.email} for login in server.logins],
        "logins_file": str(server.logins_file),
        "key_file": str(server.key_file),
    }
    notes = ["Passwords and the key stand in their files alone."]
    show_records("server", "The Label Studio of this machine", [record], notes)


@annotate_app.command("push")
@takes_settings
def annotate_push(plan: PlanArgument, settings: annotating.PushSettings) -> None:
    with task_progress("Pushing tasks") as progress:
        outcome = annotating.push.with_settings(plan, replace(settings, progress=progress))
    pushed = outcome.results
    say(f"Sent {counted(pushed.sent, 'task')}; {pushed.present:,} there already.")
    if pushed.removed:
        say(f"Removed {counted(pushed.removed, 'task')} that stood there twice and that nobody had answered.")
    if pushed.taken_back:
        say(f"Took back {counted(pushed.taken_back, 'task')} that their raters no longer have.")
    if pushed.answered:
        gone = counted(pushed.answered, "task")
        say(f"Did not send {gone} again that the server no longer has: the run has the answers.")
    _say_enough(outcome)
    for title, address in pushed.projects.items():
        say(f"{title}: {address}")
    show_records("pushed", "What was put on the server", [asdict(pushed)])
    say("Raters open their project and choose Label All Tasks: a row of the table may open another rater's answer.")
    server = f"--url {settings.url}{_run_option(plan, outcome.run)}"
    note(f"Next, when raters are done: bedside annotate pull {typed(plan)} {server}")


@annotate_app.command("pull")
@takes_settings
def annotate_pull(plan: PlanArgument, settings: annotating.PullSettings) -> None:
    with nullcontext() if settings.watch else task_progress("Pulling tasks") as progress:
        pulled = annotating.pull.with_settings(plan, replace(settings, progress=progress, say=note))
    _say_pulled(pulled, plan)
    _say_enough(pulled)


def _say_enough(outcome: annotating.PlanOutcome[Any]) -> None:
    """Say where the targets of items by need are reached."""
    from bedside.annotation.reassignment import need_of

    need = need_of(outcome.run, outcome.plan)
    if need is not None and need.stopped:
        say(f"The targets {need.until} are reached: nobody gets more items.")


# -- Bedside's own rating page --------------------------------------------------------------------------


@annotate_app.command("page")
@takes_settings
def annotate_page(plan: PlanArgument, settings: annotating.PageSettings) -> None:
    if not (settings.links or settings.collect):
        refuse_json("add --links or --collect")
    page = annotating.rating_page.with_settings(plan, replace(settings, started=_say_served, say=note))
    if settings.links:
        _say_links(page)
    if page.stored is not None:
        _say_kept(page.run, page.plan, plan, page.stored)
    if page.trouble is not None:
        note(f"Answers are kept, and not in the run yet: {page.trouble}")
        note(f"To put them there: bedside annotate page {_named(plan, page.run)} --collect")
    if settings.links or settings.collect:
        return
    command = f"bedside annotate page {typed(plan)}{typed_again(replace(settings, run=None))}"
    again = f"{command}{_run_option(plan, page.run)}"
    note(f"Stopped. Nothing is lost; links stay as they are. To go on: {again}")


def _say_served(page: annotating.RatingPage) -> None:
    """Say where the page is served, and to whom."""
    say(f"The rating page is served at {page.place.address}. A link is a password: send it to its rater alone.")
    _say_links(page)
    if page.place.is_readable:
        say(
            "What raters read and write goes over the network unencrypted: give --certificate and --key, or put it "
            "behind a proxy with TLS."
        )
    else:
        say(page.place.reach)
    note(f"Answers are kept in {page.folder.path} and go into {page.run.path} as they come. Ctrl-C ends it.")


def _say_links(page: annotating.RatingPage) -> None:
    from bedside.annotation.reassignment import need_of

    items = {rater: len(order) for rater, order in page.plan.assignment.items()}
    width = max(map(len, page.links), default=0)
    by_need = need_of(page.run, page.plan) is not None
    for rater, link in page.links.items():
        asked = "items by need" if by_need else counted(items.get(rater, 0), "item")
        what = asked if rater in items else "what raters differ on"
        say(f"  {rater:<{width}}  {link}  {what}")
    if page.enrolment is not None:
        say(f"The link by which people enrol, for the recruiting service: {page.enrolment}")
    say(f"Yours alone, to see how the study goes: {page.researcher}")
    records: list[dict[str, Any]] = [
        {"rater": rater, "link": link, "items": items.get(rater)} for rater, link in page.links.items()
    ]
    notes = [f"Yours alone, to see how the study goes: {page.researcher}"]
    show_records("links", "The raters' links, each a password", records, notes)


# -- What raters differ on goes to somebody who settles it ----------------------------------------------


@annotate_app.command("adjudicate")
@takes_settings
def annotate_adjudicate(plan: PlanArgument, settings: annotating.AdjudicateSettings) -> None:
    settled = annotating.adjudicate.with_settings(plan, settings)
    show_tables(settled)
    _note_plan(Path(settings.out), settled.results.run)


# -- Where raters are -----------------------------------------------------------------------------------


@annotate_app.command("status")
@takes_settings
def annotate_status(
    source: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, or a run to show all of its plans.")],
    settings: annotating.StatusSettings,
) -> None:
    def note_pulled(pulled: PullSummary) -> None:
        _say_left_out(pulled.collected, note)
        note(f"{counted(pulled.stored.new, 'new answer')}, {counted(pulled.stored.revised, 'correction')}.")

    on_server = task_progress("Pulling tasks") if settings.url is not None else nullcontext()
    with on_server as progress:
        tables = annotating.annotation_status.with_settings(
            source, replace(settings, progress=progress, pulled=note_pulled)
        )
    show_tables(tables)
