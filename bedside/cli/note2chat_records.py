"""Commands of ``bedside note2chat`` that have models make something: each goes on where it was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.options import SeedOption
from bedside.cli.output import say
from bedside.cli.progress import simulation_progress
from bedside.cli.simulate import MaxConcurrencyOption, MaxRequestsOption, ReplayOption, TimeLimitOption
from bedside.support.plurals import counted

if TYPE_CHECKING:
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary

_MADE_OF = "What about"

FolderOption = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder to write; the same command goes on where it was stopped.",
    ),
]
RecordCasesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CASES", help="Cases: JSON, JSON lines or YAML files, or folders of them.", show_default=False
    ),
]
RecordEvaluatorOption = Annotated[
    str,
    typer.Option(
        metavar="ACTOR",
        help="Model that is asked, named as judges are; rules is a toy that needs none.",
        autocompletion=complete.actors,
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        min=0, max=2, metavar="NUMBER", help="Temperature of the models. Without it, the provider's own."
    ),
]


def prepare(
    notes: Annotated[
        list[str],
        typer.Argument(
            metavar="NOTES",
            help="Notes: JSON, JSON lines, YAML or tables, or folders of them; docs/note2chat-training.md shows the "
            "form.",
        ),
    ],
    evaluator: RecordEvaluatorOption,
    out: FolderOption = Path("prepared"),
    temperature: TemperatureOption = None,
    max_concurrency: MaxConcurrencyOption = 8,
    max_calls: MaxRequestsOption = None,
    time_limit: TimeLimitOption = 120.0,
    replay: ReplayOption = False,
    seed: SeedOption = 0,
) -> None:
    """Make cases of clinical notes: the history before treatment, its findings, and what each is about.

    Examples:
        $ bedside note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
    """
    from bedside.api.note2chat_training import CASES_FILE, Asking, prepare_notes

    with simulation_progress() as progress:
        asking = Asking(
            evaluator,
            temperature=temperature,
            time_limit=time_limit,
            seed=seed,
            settings=_settings(max_concurrency, max_calls, replay),
            progress=progress,
        )
        summary = prepare_notes(notes, out, asking)
    _say_made(summary, out, "case")
    if summary.counts.finished:
        say(f"Next: bedside note2chat dialogues {out / CASES_FILE} --writer MODEL")


def dialogues(
    cases: RecordCasesArgument,
    writer: Annotated[
        str,
        typer.Option(
            metavar="ACTOR",
            help="Model that writes decision trees and interviews, named as judges are; rules is a toy.",
            autocompletion=complete.actors,
        ),
    ],
    critic: Annotated[
        str | None,
        typer.Option(
            metavar="ACTOR",
            help="Model that says what must be changed in an interview. Without it, the writer.",
            autocompletion=complete.actors,
        ),
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option(
            metavar="ACTOR",
            help="Model that looks for the findings in an interview. Without it, the writer.",
            autocompletion=complete.actors,
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=0,
            max=3,
            metavar="NUMBER",
            help="Rounds of the critic at most; more than one only while findings are missing and fewer each time.",
            rich_help_panel=_MADE_OF,
        ),
    ] = 1,
    out: FolderOption = Path("dialogues"),
    temperature: TemperatureOption = None,
    max_concurrency: MaxConcurrencyOption = 8,
    max_calls: MaxRequestsOption = None,
    time_limit: TimeLimitOption = 120.0,
    replay: ReplayOption = False,
    seed: SeedOption = 0,
) -> None:
    """Write an interview from each case's note: decision tree, dialogue, check of the findings, critic and edits.

    Examples:
        $ bedside note2chat dialogues prepared/cases.jsonl --writer openai/gpt-5 --evaluator openai/gpt-5-mini
    """
    from bedside.api.note2chat_training import CASES_FILE, Asking, write_dialogues

    with simulation_progress() as progress:
        asking = Asking(
            evaluator or writer,
            {"decision_tree": writer, "guided_dialogue": writer, "critic": critic or writer},
            temperature=temperature,
            time_limit=time_limit,
            seed=seed,
            settings=_settings(max_concurrency, max_calls, replay),
            progress=progress,
        )
        summary = write_dialogues(cases, out, asking, rounds=rounds)
    _say_made(summary, out, "interview")
    if summary.counts.finished:
        say(f"The cases with the interviews' openings are in {out / CASES_FILE}.")


def _settings(max_concurrency: int, max_calls: int | None, replay: bool) -> SimulationSettings:
    from bedside.simulation.simulate import SimulationSettings

    return SimulationSettings(max_concurrency=max_concurrency, max_calls=max_calls, replay=replay)


def _say_made(summary: SimulationSummary, out: Path, noun: str) -> None:
    """What was made, what wasn't, and what to do."""
    counts, calls = summary.counts, summary.calls
    say(
        f"{counted(counts.finished, noun)} of {counts.planned:,} in {out}; {calls.asked:,} calls asked now, "
        f"{calls.replayed:,} replies taken from the log."
    )
    for (whose, reason), number in counts.failed.items():
        say(f"{number:,} failed ({whose}: {reason}).")
    if counts.failed:
        say(f"bedside simulation failed {out} lists them. Calls that got no answer are asked again.")
    if counts.unfinished:
        say(f"{counts.unfinished:,} have not ended: the same command goes on.")


#: The commands by name.
COMMANDS: dict[str, Any] = {"prepare": prepare, "dialogues": dialogues}
