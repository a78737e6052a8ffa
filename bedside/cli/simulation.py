"""``bedside simulate`` as a whole: conversations, what became of them, and cases of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.simulating import QualitySettings, simulation_quality
from bedside.cli import cases
from bedside.cli.help import App
from bedside.cli.output import is_json, say, say_or_show, show_records, show_tables
from bedside.cli.progress import judging_progress
from bedside.cli.settings_options import takes_settings
from bedside.cli.simulate import simulate
from bedside.core.errors import InputError
from bedside.core.words import counted, typed

simulate_app: App = App("", runs=True)
simulate_app.command("run", hidden=True)(simulate)

TalksArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder that bedside simulate made, also while it goes on.")
]


@simulate_app.command("status")
def simulation_status(folder: TalksArgument) -> None:
    """Show how many conversations there are by system, how they ended, and what it took.

    Examples:
        $ bedside simulate status talks
    """
    from bedside.reports.simulations import simulation_tables

    show_tables(simulation_tables(folder))


@simulate_app.command("failed")
def simulation_failed(folder: TalksArgument) -> None:
    """List the conversations without a transcript, whose doing it is and why.

    Examples:
        $ bedside simulate failed talks
    """
    from bedside.reports.simulations import lost_table

    table = lost_table(folder)
    if table.rows or is_json():
        show_tables([table])
    else:
        say("Every conversation has a transcript.")


@simulate_app.command("show")
def simulation_show(
    folder: TalksArgument,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The transcript's id. Without one, the ids are listed.")
    ] = None,
) -> None:
    """Show one conversation turn by turn, with hidden states and decisions that no judge sees.

    Examples:
        $ bedside simulate show talks
        $ bedside simulate show talks note2chat/script:good/cough-smoker/26-messages/1
    """
    from bedside.reports.simulations import conversation_ids, conversation_text

    if conversation is not None:
        text = conversation_text(folder, conversation)
        about = f"The conversation {conversation}"
        say_or_show(text, "conversation", about, [{"id": conversation, "text": text}])
        return
    names = list(conversation_ids(folder))
    say_or_show("\n".join(names), "conversations", "The conversations", [{"id": name} for name in names])


@simulate_app.command("quality")
@takes_settings
def quality(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that bedside simulate made.")],
    settings: QualitySettings,
) -> None:
    with judging_progress() as progress:
        tables = simulation_quality.with_settings(folder, replace(settings, progress=progress))
    show_tables(list(tables))


@simulate_app.command("turns")
def simulation_turns(
    folder: TalksArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The JSON lines to write.", dir_okay=False)],
    parameters: Annotated[
        str, typer.Option(metavar="NAME", help="The parameters that the patient went by: a set's name, or a file.")
    ] = "default",
) -> None:
    """Write MedConceal's clinician turns as rows to label and to fit a policy to.

    There is a row for each turn and hidden concern. What it says of reveal and address is what the patient did; correct
    it by reading the conversations.

    Examples:
        $ bedside simulate turns talks --out turns.jsonl
    """
    from bedside.core.files import write_text
    from bedside.metrics.protocols.medconceal import turn_rows
    from bedside.metrics.protocols.medconceal.policy import find_parameters
    from bedside.transcripts.reading import read_transcripts

    if out.exists():
        raise InputError("the file is already there", where=str(out), todo="name another with --out")
    policy = find_parameters(parameters)
    rows = [row for transcript in read_transcripts([folder]) for row in turn_rows(transcript, policy)]
    write_text(out, "".join(f"{row.model_dump_json(exclude_none=True)}\n" for row in rows))
    say(
        f"Wrote {counted(len(rows), 'row')} to {out}; fit a policy with bedside train policy {typed(out)} "
        "--out mine.yaml"
    )
    show_records("turns", "Turns to label", [{"file": str(out), "rows": len(rows)}])


@simulate_app.command("dialogues")
def simulation_dialogues(
    folder: TalksArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write; it must not be there yet.")
    ],
) -> None:
    """Write MDD-5k's interviews in the JSON of its authors.

    There is a file for each case in conversations, with its dialogues, and one in labels, with its diagnosis. Each of
    several systems has a folder.

    Examples:
        $ bedside simulate dialogues talks --out mdd5k
    """
    from bedside.core.files import write_text
    from bedside.simulation.simulators.mdd5k.dialogue_files import dialogue_files
    from bedside.transcripts.reading import read_transcripts

    if out.exists():
        raise InputError("the folder is already there", where=str(out), todo="name another with --out")
    transcripts = list(read_transcripts([folder]))
    files = dialogue_files(transcripts)
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(out / name, text)
    say(f"Wrote {counted(len(transcripts), 'dialogue')} to {out}, {counted(len(files), 'file')}.")
    show_records(
        "dialogues",
        "Interviews in the JSON of MDD-5k's authors",
        [{"folder": str(out), "dialogues": len(transcripts), "files": len(files)}],
    )


for _command in (cases.check, cases.convert, cases.match, cases.profiles):
    simulate_app.command(_command.__name__, rich_help_panel="Cases of your own")(_command)
