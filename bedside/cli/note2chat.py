"""``bedside train note2chat``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bedside.cli import note2chat_records
from bedside.cli.help import App
from bedside.cli.note2chat_records import TEST_CASES
from bedside.cli.output import SeedOption, note, say, show_records
from bedside.cli.parsing import check_choice
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.question_settings import OPTIONS, option, settings_class
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.api.note2chat_files import TrainingFiles
    from bedside.metrics.protocols.note2chat.labels import CaseSplit

note2chat_app: App = App(
    """Make training data as Note2Chat does.

    The commands are listed in the order in which they follow one another; each reads what an earlier one wrote.

    Examples:
        $ bedside train note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
        $ bedside train note2chat dialogues prepared/cases.jsonl --writer openai/gpt-5
        $ bedside train note2chat sft dialogues/transcripts.jsonl
    """
)

_UNITS, _FORMS, _RULES = ("dialogue", "message"), ("trl", "llama-factory"), ("paper", "code")
_OUTSIDE = ("reward", "term")
#: What these are, as settings have them.
_Unit = Literal["dialogue", "message"]


@note2chat_app.callback()
def _note2chat() -> None:
    pass


for _name, _command in note2chat_records.COMMANDS.items():
    note2chat_app.command(_name)(_command)


_TRAIN_CASES: Any = option(
    "Ids of the cases that are trained on, one a line. Without it, all that aren't kept for testing.",
    "--train", default=None, heading=OPTIONS, metavar="FILE", form="path",
)  # fmt: skip


@settings_class
class SftOptions:
    """What training files of interviews hold."""

    unit: _Unit = option(
        "What a record holds: dialogue, a whole interview, or message, one message of the doctor with the thought "
        "before it.",
        default="dialogue", heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    form: Literal["trl", "llama-factory"] = option(
        "Whose trainer reads it: trl, or llama-factory (ShareGPT's form for dialogues, Alpaca's for messages).",
        default="trl", heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    train: Path | None = _TRAIN_CASES
    test: Path | None = TEST_CASES


@note2chat_app.command("sft")
@takes_settings
def note2chat_sft(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Interviews: of dialogues, the best rollouts, or with thoughts."),
    ],
    options: SftOptions,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path("sft"),
) -> None:
    """Write interviews as files for supervised fine-tuning, divided by case.

    Examples:
        $ bedside train note2chat sft dialogues/transcripts.jsonl rollouts/best.jsonl --test test-ids.txt
        $ bedside train note2chat sft thoughts/transcripts.jsonl --unit message --form llama-factory
    """
    from bedside.api.note2chat_files import write_sft
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.transcripts.reading import read_transcripts

    check_choice(options.unit, _UNITS, "--unit")
    check_choice(options.form, _FORMS, "--form")
    written = write_sft(
        read_transcripts(files),
        out,
        unit=options.unit,
        form=options.form,
        split=read_split(options.train, options.test),
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


@settings_class
class PreferenceOptions:
    """What is paired, and by which rewards."""

    unit: _Unit = option(
        "What is paired: dialogue, whole interviews of a case, or message, candidates for the same message of the "
        "doctor.",
        default="dialogue", heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    labels: Path | None = option(
        "Labels of the transcripts, where they don't hold them; docs/suites/note2chat.md shows their form.",
        default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip
    rule: Literal["paper", "code"] | None = option(
        "Where rewards and pairs of dialogues come from: the paper, or the code that was released with it. Without "
        "it, the paper.",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    alpha: float | None = option(
        "What each exchange costs in the reward of the rule paper.", default=None, heading=OPTIONS, metavar="NUMBER"
    )
    margin: float = option(
        "Pairs count where the rewards differ by more.", default=0.0, heading=OPTIONS, metavar="NUMBER", least=0
    )
    max_pairs_per_turn: int | None = option(
        "Pairs of messages of one turn at most: 2 (the best with the worst diagnosing and with the worst asking one) "
        "unless it is 1, which draws one of the two.",
        default=None, heading=OPTIONS, metavar="NUMBER", least=1, most=2,
    )  # fmt: skip
    rater: str | None = option(
        "The rater whose labels count, where there are several.", default=None, heading=OPTIONS, metavar="NAME"
    )
    outside: Literal["reward", "term"] | None = option(
        "What becomes 0 in the rule paper where the diagnosis is not ranked: the whole reward, or only its term in "
        "the reward. Without it, the reward.",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    train: Path | None = _TRAIN_CASES
    test: Path | None = TEST_CASES


@note2chat_app.command("preferences")
@takes_settings
def note2chat_preferences(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Transcripts, with several dialogues of each case; for single messages, files of candidates.",
        ),
    ],
    options: PreferenceOptions,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write.")] = Path("preferences"),
    seed: SeedOption = 0,
) -> None:
    """Write pairs of dialogues or of messages, the better by its reward first, in TRL's form.

    Examples:
        $ bedside train note2chat preferences rollouts/checked/transcripts.jsonl --alpha .05 --test test-ids.txt
        $ bedside train note2chat preferences rollouts/checked/transcripts.jsonl dialogues/transcripts.jsonl --rule code
        $ bedside train note2chat preferences candidates/candidates.jsonl --unit message --test test-ids.txt
    """
    from bedside.metrics.protocols.note2chat.labels import read_split

    check_choice(options.unit, _UNITS, "--unit")
    check_choice(options.rule, _RULES, "--rule")
    check_choice(options.outside, _OUTSIDE, "--outside")
    of_dialogues = {f"--{name}": getattr(options, name) for name in ("labels", "rule", "alpha", "rater", "outside")}
    by_message = options.unit == "message"
    _refuse(of_dialogues if by_message else {"--max-pairs-per-turn": options.max_pairs_per_turn}, options.unit)
    split = read_split(options.train, options.test)
    write = _write_message_pairs if by_message else _write_dialogue_pairs
    written, paired = write(files, out, split, options, seed)
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
    files: list[str], out: Path, split: CaseSplit, options: PreferenceOptions, seed: int
) -> tuple[TrainingFiles, str]:
    """Write pairs of messages; what they are from, in words."""
    margin, most = options.margin, options.max_pairs_per_turn or 2
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
    files: list[str], out: Path, split: CaseSplit, options: PreferenceOptions, seed: int
) -> tuple[TrainingFiles, str]:
    """Write pairs of dialogues; what they are from, in words."""
    from bedside.api.note2chat_files import write_preference_files
    from bedside.metrics.protocols.note2chat.labels import with_labels
    from bedside.metrics.protocols.note2chat.preferences import preference_pairs, rewarded
    from bedside.transcripts.reading import read_transcripts

    labels, rule, alpha, outside = options.labels, options.rule or "paper", options.alpha, options.outside
    talks = list(read_transcripts(files) if labels is None else with_labels(read_transcripts(files), labels))
    used = [talk for talk in talks if talk.case_id is None or split.side(talk.case_id) == "train"]
    candidates, unrewarded = rewarded(used, alpha=alpha, rater=options.rater, outside=outside, rule=rule)
    preferences = preference_pairs(candidates, seed=seed, rule=rule, margin=options.margin)
    priced = {"alpha": alpha, "outside": outside or "reward"} if rule == "paper" else {}
    written = write_preference_files(
        preferences.pairs,
        out,
        about={"rule": rule, **priced, "margin": options.margin, "seed": seed},
        notes=[talk.reference for talk in used],
        sources=_files([*files, *([str(labels)] if labels else ())]),
        left_out=(*unrewarded, *preferences.left_out),
    )
    return written, counted(len(candidates), "case")


def _files(names: list[str]) -> list[Path]:
    return [Path(name) for name in names if Path(name).is_file()]
