"""``bedside ratings``, ``merge``, ``forget``, ``view``, ``export``: of a run, its ratings, other runs, what goes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.forgetting import ForgetSettings, forget as remove_data
from bedside.api.run_files import (
    ExportSettings,
    ImportSettings,
    MergeSettings,
    ViewSettings,
    export as write_export,
    import_ratings,
    merge as merge_runs,
    open_run,
    view as view_run,
)
from bedside.cli.help import App
from bedside.cli.output import files_told, note, note_account, refuse_json, say, show_records
from bedside.cli.progress import task_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted, typed
from bedside.ratings.names import person_name

# -- ``bedside ratings`` ---------------------------------------------------------------------------------


ratings_app: App = App(
    """Bring ratings that people already gave into a run.

    Examples:
        $ bedside ratings import run ratings.xlsx --scale 1-5
    """
)


@ratings_app.command("import")
@takes_settings
def ratings_import(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run to add the ratings to.")], settings: ImportSettings
) -> None:
    with files_told():
        done = import_ratings.with_settings(run, settings)
    new = done.added - done.replaced
    say(
        f"Read {counted(done.added, 'rating')} into {run}: {new:,} new, {done.replaced:,} replaced; "
        f"{counted(done.file.empty, 'empty cell')}."
    )
    for line in done.computed_words():
        say(line)
    if done.standing:
        say(f"{counted(done.standing, 'rating')} of the same people and units came by a plan before: those stand.")
    if done.plan is not None:
        say(f"Plan {done.plan} drew these units: its round and chances are those of the ratings.")
    elif done.unknown:
        say(
            "No plan of the run is known to have drawn these units, so they give no corrected mean. If one did, name "
            "it with --plan."
        )
    say(f"Next: bedside agree {typed(run)}")
    show_records(
        "imported",
        f"Ratings that were read into {run}",
        [
            {
                "run": str(run),
                "file": str(settings.file),
                "ratings": done.added,
                "new": new,
                "replaced": done.replaced,
                "standing": done.standing,
                "plan": done.plan,
                "empty_cells": done.file.empty,
                "computed": [asdict(own) for own in done.computed],
            }
        ],
    )


# -- ``bedside merge`` -----------------------------------------------------------------------------------


@takes_settings
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Two or more runs; they stay as they are.")],
    settings: MergeSettings,
) -> None:
    merged, out = merge_runs.with_settings(runs, settings), Path(settings.out)
    contents = merged.run.contents
    names = merged.run.index["system"].drop_nulls().unique().sort().to_list()
    of = f" of {counted(len(names), 'system')} ({', '.join(names)})" if names else ""
    say(
        f"Merged {counted(len(runs), 'run')} into {out}: {counted(contents.transcripts, 'transcript')}{of}, "
        f"{counted(sum(contents.ratings.values()), 'rating')}, {contents.missing:,} of them missing."
    )
    if merged.shared:
        say(
            f"  {counted(merged.shared, 'transcript')} stood in several runs, and {merged.repeated:,} of their "
            f"ratings: each is there once. {counted(merged.filled, 'rating')} missing in one run came from another."
        )
    if merged.cases:
        say(f"  {counted(merged.cases, 'case')} of several runs count as the same, and systems are compared on them.")
    if merged.people:
        people = ", ".join(map(person_name, merged.people))
        say(f"  People of one name count as the same person: {people}.")
    for run in merged.unnamed:
        say(f"  Transcripts of {run} name no system; those of several runs are taken together then.")
    if merged.unnamed:
        say("  Name the systems with --systems, a name for each run, or score again with --path-fields.")
    for run, left_out in merged.left_out.items():
        say(f"  Not taken over from {run}: {', '.join(left_out)}.")
    say(f"Next: bedside report {typed(out)}")
    show_records(
        "merged",
        f"Runs that were merged into {out}",
        [
            {
                "run": str(out),
                "runs": [str(run) for run in runs],
                "transcripts": contents.transcripts,
                "systems": names,
                "ratings": sum(contents.ratings.values()),
                "missing": contents.missing,
                "shared_transcripts": merged.shared,
                "shared_cases": merged.cases,
                "people": [person_name(person) for person in merged.people],
            }
        ],
    )


# -- ``bedside forget`` ----------------------------------------------------------------------------------


@takes_settings
def forget(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote, or a simulation.")],
    settings: ForgetSettings,
) -> None:
    done = remove_data.with_settings(run, settings)
    nouns = ("transcript", "rating", "answer", "judgement")
    counts = {f"{noun}s": getattr(done, f"{noun}s") for noun in nouns}
    say(f"Removed from {run}: {', '.join(counted(counts[f'{noun}s'], noun) for noun in nouns)}.")
    if done.replies:
        say(f"With them went {counted(done.replies, 'reply')} of the simulation's log.")
    if done.undated:
        say(f"{counted(done.undated, 'transcript')} without a date stayed.")
    if done.cleared:
        say(f"The report in the run is removed. To make it again: bedside report {typed(run)}")
    for file in done.left:
        say(f"A name of what is removed stands in {file} still.")
    say("Not reached:")
    for line in done.elsewhere:
        say(f"  {line}")
    record = {name: getattr(done, name) for name in ("kind", *counts, "undated", "plans")}
    row = {"run": str(run), **record, "left": [str(file) for file in done.left]}
    show_records("forgotten", f"What was removed from {run}", [row])
    if done.left:
        raise typer.Exit(1)


# -- ``bedside view`` ------------------------------------------------------------------------------------


@takes_settings
def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")], settings: ViewSettings
) -> None:
    copying = settings.export is not None
    if not copying:
        refuse_json("add --export FOLDER")
    with task_progress("Conversations copied") if copying else nullcontext() as progress:
        copied = view_run.with_settings(run, replace(settings, started=_say_served, progress=progress))
    if settings.export is None or copied is None:
        note("Stopped.")
        return
    page = Path(settings.export) / "index.html"
    say(f"Wrote {counted(copied.transcripts, 'conversation')} to {page}, which opens without a server.")
    say(f"The folder has {counted(copied.files, 'file')} and {copied.size / 1e6:,.1f} MB.")
    record = {
        "page": str(page),
        "transcripts": copied.transcripts,
        "files": copied.files,
        "bytes": copied.size,
        "text": copied.text,
    }
    show_records("copy", "A copy to look at without a server", [record])
    if copied.text:
        say(
            "It holds the conversations themselves, reasons, and what judges were asked and replied: whoever has the "
            "folder can read them. See that you may give them away."
        )


def _say_served(run: Path, link: str) -> None:
    say(f"{run} can be looked at here, by whoever has this link on this machine:")
    say(f"  {link}")
    note("Nothing is changed, and nothing leaves this machine. Ctrl-C ends it.")


# -- ``bedside export`` ----------------------------------------------------------------------------------


@takes_settings
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    settings: ExportSettings,
) -> None:
    note_account(open_run(run).waiting())
    written, out = write_export.with_settings(run, settings), Path(settings.out)
    holds = ", ".join(f"{table.name} ({table.rows:,})" for table in written.tables)
    say(f"Wrote {out}, {written.size / 1e3:,.0f} kB: {holds}.")
    say(f"Read {out / 'README.md'}: it says what the folder holds and how the ratings were made.")
    if written.text:
        say("What was said is in it, with all names that occur there. See that you may give it away.")
    if written.judgements:
        say("What judges were asked and replied is in it, word for word.")
    if written.pseudonyms:
        people = "person who rated has another name" if written.pseudonyms == 1 else "people who rated have other names"
        say(f"{written.pseudonyms:,} {people} in it; what is written in reasons may still name them.")
    if written.unknown_origins:
        note(
            f"Of {counted(written.unknown_origins, 'conversation')} nobody says where they come from: "
            "--origin simulated, recorded or written does."
        )
    note("Nothing was uploaded.")
    show_records(
        "export",
        f"What was written to {out}",
        [
            {
                "folder": str(out),
                "form": written.form,
                "bytes": written.size,
                "rows": {table.name: table.rows for table in written.tables},
                "text": written.text,
                "judgements": written.judgements,
                "people_renamed": written.pseudonyms,
                "transcripts_of_unknown_origin": written.unknown_origins,
            }
        ],
    )
