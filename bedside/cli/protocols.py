"""``bedside medconceal`` and ``bedside note2chat``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import JsonOption, SeedOption, note, say, show_tables
from bedside.cli.completion import one_of
from bedside.cli.help import App
from bedside.support.errors import InputError

medconceal_app = App("Fit the parameters of MedConceal's trace.")

note2chat_app = App("Make training data as Note2Chat does.")


# The group would be its one command without a callback.
@medconceal_app.callback()
def _medconceal() -> None:
    pass


@medconceal_app.command("fit")
def medconceal_fit(
    turns: Annotated[
        Path,
        typer.Argument(metavar="TURNS", help="Labelled turns (JSON lines); docs/medconceal.md has the form."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The parameter file to write, ending in .yaml."),
    ],
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Fit the weights and thresholds of the trace to labelled turns.

    Weights by logistic regression, thresholds by replay on held-out cases.

    Examples:
        $ bedside medconceal fit turns.jsonl --out mine.yaml
    """
    from bedside.protocols.medconceal import fit, read_turns, write_parameters
    from bedside.reports.fitting import fit_tables

    if out.suffix != ".yaml":
        raise InputError("a parameter file's name ends in .yaml", where=str(out), todo="rename it")
    found = fit(read_turns(turns), seed=seed, name=out.stem, origin=f"fitted to {turns.name}, seed {seed}.")
    write_parameters(found.parameters, out)
    show_tables(fit_tables(found), json)
    note(f"Wrote {out}; use it with --set hidden_concerns.parameters={out}")


@note2chat_app.callback()
def _note2chat() -> None:
    pass


@note2chat_app.command("preferences")
def note2chat_preferences(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Transcripts: several dialogues of each case.")
    ],
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="Their labels; docs/note2chat.md has the form.")
    ],
    alpha: Annotated[float, typer.Option(metavar="NUMBER", help="Price of an exchange in the reward.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The JSON lines to write.")] = Path(
        "preferences.jsonl"
    ),
    rater: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose labels count, where several labelled.")
    ] = None,
    outside: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where the diagnosis is not ranked, what is 0: the whole reward, or its term only.",
            autocompletion=one_of("reward", "term"),
        ),
    ] = "reward",
    seed: SeedOption = 0,
) -> None:
    """Write preference pairs of dialogues by their reward, in TRL's form.

    Examples:
        $ bedside note2chat preferences dialogues.jsonl --labels labels.jsonl --alpha .05
    """
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
