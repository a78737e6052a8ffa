"""``bedside merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.api.run_files import MergeSettings, merge as merge_runs
from bedside.cli.output import say, show_records
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted, typed
from bedside.ratings.names import person_name


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
