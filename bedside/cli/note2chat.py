"""``bedside note2chat``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import note2chat_records
from bedside.cli.completion import choices
from bedside.cli.help import App
from bedside.cli.note2chat_options import TestCasesOption
from bedside.cli.options import SeedOption
from bedside.cli.output import note, say, show_records
from bedside.cli.parsing import check_choice
from bedside.core.errors import InputError
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.api.note2chat_files import TrainingFiles
    from bedside.metrics.protocols.note2chat.labels import CaseSplit
    from bedside.metrics.protocols.note2chat.preferences import Outside, Rule

note2chat_app: App = App(
    """Make training data as Note2Chat does.

    The commands are listed in the order in which they follow one another; each reads what an earlier one wrote.

    Examples:
        $ bedside note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
        $ bedside note2chat dialogues prepared/cases.jsonl --writer openai/gpt-5
        $ bedside note2chat sft dialogues/transcripts.jsonl
    """
)

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
        typer.Argument(metavar="FILES", help="Interviews: of dialogues, the best rollouts, or with thoughts."),
    ],
    unit: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What a record holds: dialogue, a whole interview, or message, one message of the doctor with the "
            "thought before it.",
            autocompletion=choices(*_UNITS),
        ),
    ] = "dialogue",
    form: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Whose trainer reads it: trl, or llama-factory (ShareGPT's form for dialogues, Alpaca's for "
            "messages).",
            autocompletion=choices(*_FORMS),
        ),
    ] = "trl",
    train: TrainCasesOption = None,
    test: TestCasesOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path("sft"),
) -> None:
    """Write interviews as files for supervised fine-tuning, divided by case.

    Examples:
        $ bedside note2chat sft dialogues/transcripts.jsonl rollouts/best.jsonl --test test-ids.txt
        $ bedside note2chat sft thoughts/transcripts.jsonl --unit message --form llama-factory
    """
    from bedside.api.note2chat_files import write_sft
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.transcripts.reading import read_transcripts

    check_choice(unit, _UNITS, "--unit")
    check_choice(form, _FORMS, "--form")
    written = write_sft(
        read_transcripts(files),
        out,
        unit="message" if unit == "message" else "dialogue",
        form="llama-factory" if form == "llama-factory" else "trl",
        split=read_split(train, test),
        sources=_files(files),
    )
    for name, reason in written.left_out:
        note(f"{name}: {reason}")
    tested = f", {written.rows['test']:,} of {counted(written.cases['test'], 'case')} to test on"
    say(
        f"Wrote {counted(written.rows['train'], 'record')} of {counted(written.cases['train'], 'case')} to {out}"
        f"{tested if written.rows['test'] else ''}."
    )
    _show_written(written, out)


@note2chat_app.command("preferences")
def note2chat_preferences(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Transcripts, with several dialogues of each case; for single messages, files of candidates.",
        ),
    ],
    unit: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is paired: dialogue, whole interviews of a case, or message, candidates for the same message "
            "of the doctor.",
            autocompletion=choices(*_UNITS),
        ),
    ] = "dialogue",
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of the transcripts, where they don't hold them; docs/note2chat.md shows their form.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where rewards and pairs of dialogues come from: the paper, or the code that was released with it. "
            "Without it, the paper.",
            autocompletion=choices(*_RULES),
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="What each exchange costs in the reward of the rule paper."),
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, metavar="NUMBER", help="Pairs count where the rewards differ by more.")
    ] = 0.0,
    max_pairs_per_turn: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2,
            metavar="NUMBER",
            help="Pairs of messages of one turn at most: 2 (the best with the worst diagnosing and with the worst "
            "asking one) unless it is 1, which draws one of the two.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path("preferences"),
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
            autocompletion=choices(*_OUTSIDE),
        ),
    ] = None,
    train: TrainCasesOption = None,
    test: TestCasesOption = None,
    seed: SeedOption = 0,
) -> None:
    """Write pairs of dialogues or of messages, the better by its reward first, in TRL's form.

    Examples:
        $ bedside note2chat preferences rollouts/checked/transcripts.jsonl --alpha .05 --test test-ids.txt
        $ bedside note2chat preferences rollouts/checked/transcripts.jsonl dialogues/transcripts.jsonl --rule code
        $ bedside note2chat preferences candidates/candidates.jsonl --unit message --test test-ids.txt
    """
    from bedside.metrics.protocols.note2chat.labels import read_split

    check_choice(unit, _UNITS, "--unit")
    check_choice(rule, _RULES, "--rule")
    check_choice(outside, _OUTSIDE, "--outside")
    of_dialogues = {
        "--labels": labels, "--rule": rule, "--alpha": alpha, "--rater": rater, "--outside": outside,
    }  # fmt: skip
    _refuse(of_dialogues if unit == "message" else {"--max-pairs-per-turn": max_pairs_per_turn}, unit)
    split = read_split(train, test)
    if unit == "message":
        written, paired = _write_message_pairs(
            files, out, split, margin=margin, most=max_pairs_per_turn or 2, seed=seed
        )
    else:
        written, paired = _write_dialogue_pairs(
            files,
            out,
            split,
            labels=labels,
            rule="code" if rule == "code" else "paper",
            alpha=alpha,
            rater=rater,
            outside=None if outside is None else "term" if outside == "term" else "reward",
            margin=margin,
            seed=seed,
        )
    for name, reason in written.left_out:
        note(f"{name}: {reason}")
    say(f"Wrote {counted(written.rows['train'], 'pair')} from {paired} to {out}")
    _show_written(written, out)


def _show_written(written: TrainingFiles, out: Path) -> None:
    """Show what training files hold, where JSON is asked for."""
    show_records(
        "training_files",
        f"Training files in {out}",
        [{"part": part, "rows": rows, "cases": written.cases.get(part, 0)} for part, rows in written.rows.items()],
        notes=[f"Left out: {name}: {reason}" for name, reason in written.left_out],
    )


def _refuse(options: Mapping[str, Any], unit: str) -> None:
    """Refuse what is set and wouldn't count."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"it means nothing for pairs of {unit}s", where=name, todo="leave it out")


def _write_message_pairs(
    files: list[str], out: Path, split: CaseSplit, *, margin: float, most: int, seed: int
) -> tuple[TrainingFiles, str]:
    """Write pairs of messages; what they are from, in words."""
    from bedside.api.note2chat_files import candidate_pairs, read_candidates, write_preference_files
    from bedside.simulation.simulators.note2chat.training_records import brief_reference

    interviews = [one for one in read_candidates(files) if split.side(one.case) == "train"]
    preferences = candidate_pairs(interviews, seed=seed, margin=margin, max_pairs_per_turn=most)
    written = write_preference_files(
        preferences.pairs,
        out,
        about={
            "rewards": sorted({interview.reward for interview in interviews}),
            "margin": margin,
            "max_pairs_per_turn": most,
            "seed": seed,
            "prompts": sorted({brief_reference(interview.language) for interview in interviews}),
        },
        unit="message",
        notes=[{"origin": interview.origin, "licence": interview.licence} for interview in interviews],
        sources=_files(files),
        left_out=preferences.left_out,
    )
    return written, counted(sum(len(interview.turns) for interview in interviews), "turn")


def _write_dialogue_pairs(
    files: list[str],
    out: Path,
    split: CaseSplit,
    *,
    labels: Path | None,
    rule: Rule,
    alpha: float | None,
    rater: str | None,
    outside: Outside | None,
    margin: float,
    seed: int,
) -> tuple[TrainingFiles, str]:
    """Write pairs of dialogues; what they are from, in words."""
    from bedside.api.note2chat_files import write_preference_files
    from bedside.metrics.protocols.note2chat import preference_pairs, rewarded, with_labels
    from bedside.transcripts.reading import read_transcripts

    talks = list(read_transcripts(files) if labels is None else with_labels(read_transcripts(files), labels))
    used = [talk for talk in talks if talk.case_id is None or split.side(talk.case_id) == "train"]
    candidates, unrewarded = rewarded(used, alpha=alpha, rater=rater, outside=outside, rule=rule)
    preferences = preference_pairs(candidates, seed=seed, rule=rule, margin=margin)
    priced = {"alpha": alpha, "outside": outside or "reward"} if rule == "paper" else {}
    written = write_preference_files(
        preferences.pairs,
        out,
        about={"rule": rule, **priced, "margin": margin, "seed": seed},
        notes=[talk.reference for talk in used],
        sources=_files([*files, *([str(labels)] if labels else ())]),
        left_out=(*unrewarded, *preferences.left_out),
    )
    return written, counted(len(candidates), "case")


def _files(names: list[str]) -> list[Path]:
    return [Path(name) for name in names if Path(name).is_file()]
