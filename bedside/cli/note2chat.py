"""``bedside note2chat``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli import note2chat_records
from bedside.cli.completion import one_of
from bedside.cli.help import App
from bedside.cli.note2chat_records import TestCasesOption
from bedside.cli.options import SeedOption
from bedside.cli.output import note, say
from bedside.cli.parsing import check_choice
from bedside.support.plurals import counted

note2chat_app = App("Make training data as Note2Chat does.")

_UNITS, _FORMS, _RULES = ("dialogue", "message"), ("trl", "llama-factory"), ("paper", "code")
_OUTSIDE = ("reward", "term")


@note2chat_app.callback()
def _note2chat() -> None:
    pass


for _name, _command in note2chat_records.COMMANDS.items():
    note2chat_app.command(_name)(_command)


TrainCasesOption = Annotated[
    Path | None,
    typer.Option(
        "--train",
        metavar="FILE",
        help="Ids of the cases that are trained on, one a line. Without it, all that aren't kept for testing.",
    ),
]


@note2chat_app.command("sft")
def note2chat_sft(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Interviews: of dialogues, the best rollouts, or with thoughts."
        ),
    ],
    unit: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What a record holds: dialogue, a whole interview, or message, one message of the doctor with the "
            "thought before it.",
            autocompletion=one_of(*_UNITS),
        ),
    ] = "dialogue",
    form: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Whose trainer reads it: trl, or llama-factory (ShareGPT's form for dialogues, Alpaca's for "
            "messages).",
            autocompletion=one_of(*_FORMS),
        ),
    ] = "trl",
    train: TrainCasesOption = None,
    test: TestCasesOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path(
        "sft"
    ),
) -> None:
    """Write interviews as files for supervised fine-tuning, divided by case.

    Examples:
        $ bedside note2chat sft dialogues/transcripts.jsonl rollouts/best.jsonl --test test-ids.txt
        $ bedside note2chat sft thoughts/transcripts.jsonl --unit message --form llama-factory
    """
    from bedside.api.note2chat_files import write_sft
    from bedside.protocols.note2chat.case_split import read_split
    from bedside.transcripts import read_transcripts

    check_choice(unit, _UNITS, "--unit")
    check_choice(form, _FORMS, "--form")
    written = write_sft(
        read_transcripts(files),
        out,
        unit="message" if unit == "message" else "dialogue",
        form="llama-factory" if form == "llama-factory" else "trl",
        split=read_split(train, test),
        sources=[Path(file) for file in files if Path(file).is_file()],
    )
    for name, reason in written.left_out:
        note(f"{name}: {reason}")
    tested = f", {written.rows['test']:,} of {counted(written.cases['test'], 'case')} to test on"
    say(
        f"Wrote {counted(written.rows['train'], 'record')} of {counted(written.cases['train'], 'case')} to {out}"
        f"{tested if written.rows['test'] else ''}."
    )


@note2chat_app.command("preferences")
def note2chat_preferences(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Transcripts, with several dialogues of each case.")
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of the transcripts, where they don't hold them; docs/note2chat.md shows their form.",
        ),
    ] = None,
    rule: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where rewards and pairs come from: the paper, or the code that was released with it.",
            autocompletion=one_of(*_RULES),
        ),
    ] = "paper",
    alpha: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="What each exchange costs in the reward of the rule paper."),
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, metavar="NUMBER", help="Pairs count where the rewards differ by more.")
    ] = 0.0,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path(
        "preferences"
    ),
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The rater whose labels count, where there are several."),
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What becomes 0 in the rule paper where the diagnosis is not ranked: the whole reward, or only its "
            "term in the reward. Without it, the reward.",
            autocompletion=one_of(*_OUTSIDE),
        ),
    ] = None,
    train: TrainCasesOption = None,
    test: TestCasesOption = None,
    seed: SeedOption = 0,
) -> None:
    """Write pairs of dialogues, the better by its reward first, in TRL's form.

    Examples:
        $ bedside note2chat preferences rollouts/checked/transcripts.jsonl --alpha .05 --test test-ids.txt
        $ bedside note2chat preferences rollouts/checked/transcripts.jsonl dialogues/transcripts.jsonl --rule code
    """
    from bedside.api.note2chat_files import write_preference_files
    from bedside.protocols.note2chat import preference_pairs, rewarded, with_labels
    from bedside.protocols.note2chat.case_split import read_split
    from bedside.transcripts import read_transcripts

    check_choice(rule, _RULES, "--rule")
    check_choice(outside, _OUTSIDE, "--outside")
    split = read_split(train, test)
    talks = list(read_transcripts(files) if labels is None else with_labels(read_transcripts(files), labels))
    used = [talk for talk in talks if talk.case_id is None or split.side(talk.case_id) == "train"]
    candidates, unrewarded = rewarded(
        used,
        alpha=alpha,
        rater=rater,
        outside=None if outside is None else "term" if outside == "term" else "reward",
        rule="code" if rule == "code" else "paper",
    )
    preferences = preference_pairs(
        candidates, seed=seed, rule="code" if rule == "code" else "paper", margin=margin
    )
    left_out = (*unrewarded, *preferences.left_out)
    for name, reason in left_out:
        note(f"{name}: {reason}")
    written = write_preference_files(
        preferences.pairs,
        out,
        about={"rule": rule, **_priced(rule, alpha, outside), "margin": margin, "seed": seed},
        transcripts=used,
        sources=[Path(file) for file in (*files, *([labels] if labels else ())) if Path(file).is_file()],
        left_out=left_out,
    )
    say(f"Wrote {counted(written.rows['train'], 'pair')} from {counted(len(candidates), 'case')} to {out}")


def _priced(rule: str, alpha: float | None, outside: str | None) -> dict[str, Any]:
    """What the rule paper depends on, for the card."""
    return {"alpha": alpha, "outside": outside or "reward"} if rule == "paper" else {}
