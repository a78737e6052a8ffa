"""``bedside note2chat``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import note2chat_records
from bedside.cli.completion import one_of
from bedside.cli.help import App
from bedside.cli.options import SeedOption
from bedside.cli.output import note, say
from bedside.cli.parsing import check_choice
from bedside.support.plurals import counted

note2chat_app = App("Make training data as Note2Chat does.")


@note2chat_app.callback()
def _note2chat() -> None:
    pass


for _name, _command in note2chat_records.COMMANDS.items():
    note2chat_app.command(_name)(_command)


@note2chat_app.command("preferences")
def note2chat_preferences(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Transcripts, with several dialogues of each case.")
    ],
    labels: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Labels of the transcripts; docs/note2chat.md shows their form."),
    ],
    alpha: Annotated[float, typer.Option(metavar="NUMBER", help="What each exchange costs in the reward.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file of JSON lines to write.")
    ] = Path("preferences.jsonl"),
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The rater whose labels count, where there are several."),
    ] = None,
    outside: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What becomes 0 where the diagnosis is not ranked: the whole reward, or only its term in the reward.",
            autocompletion=one_of("reward", "term"),
        ),
    ] = "reward",
    seed: SeedOption = 0,
) -> None:
    """Write pairs of dialogues, the better by its reward first, in TRL's form.

    Examples:
        $ bedside note2chat preferences dialogues.jsonl --labels labels.jsonl --alpha .05
    """
    from bedside.protocols.note2chat import preference_pairs, rewarded, with_labels, write_preferences
    from bedside.transcripts import read_transcripts

    check_choice(outside, ("reward", "term"), "--outside")
    candidates, unrewarded = rewarded(
        with_labels(read_transcripts(files), labels),
        alpha=alpha,
        rater=rater,
        outside="term" if outside == "term" else "reward",
    )
    preferences = preference_pairs(candidates, seed=seed)
    for name, reason in (*unrewarded, *preferences.left_out):
        note(f"{name}: {reason}")
    count = write_preferences(preferences.pairs, out)
    say(f"Wrote {counted(count, 'pair')} from {counted(len(candidates), 'case')} to {out}")
