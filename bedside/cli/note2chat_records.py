"""Commands of ``bedside note2chat`` that have models make something: each goes on where it was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.note2chat_options import (
    MADE_OF,
    FolderOption,
    RecordCasesArgument,
    RecordEvaluatorOption,
    TestCasesOption,
)
from bedside.cli.output import note, say, say_limit, show_records, show_tables
from bedside.cli.parsing import check_choice
from bedside.cli.record_requests import BatchedRecords, RecordSettings, record_asking, say_made, show_plan
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted

_REWARDS = ("finding", "answerable")


@takes_settings
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
    *,
    settings: BatchedRecords,
) -> None:
    """Make cases of clinical notes.

    A case has the history before treatment, its findings, and what each is about.

    Examples:
        $ bedside note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
    """
    from bedside.api.note2chat_training import CASES_FILE, note_plan, prepare_notes

    with record_asking(evaluator, settings) as asking:
        if settings.dry_run:
            show_plan(note_plan(notes, asking), asking)
            return
        summary = prepare_notes(notes, out, asking)
    say_made(summary, out, "case", settings.max_cost)
    if summary.counts.finished:
        say(f"Next: bedside note2chat dialogues {out / CASES_FILE} --writer MODEL")


@takes_settings
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
            rich_help_panel=MADE_OF,
        ),
    ] = 1,
    out: FolderOption = Path("dialogues"),
    *,
    settings: BatchedRecords,
) -> None:
    """Write an interview from each case's note.

    The writer makes a decision tree and writes an interview by it. The evaluator looks for the findings in it, the
    critic says what must change, and the writer changes that.

    Examples:
        $ bedside note2chat dialogues prepared/cases.jsonl --writer openai/gpt-5 --evaluator openai/gpt-5-mini
    """
    from bedside.api.note2chat_training import CASES_FILE, dialogue_plan, usable_cases, write_dialogues

    others = {"decision_tree": writer, "guided_dialogue": writer, "critic": critic or writer}
    with record_asking(
        evaluator or writer,
        settings,
        others=others,
    ) as asking:
        if settings.dry_run:
            show_plan(dialogue_plan(usable_cases(cases), asking, rounds=rounds), asking)
            return
        summary = write_dialogues(cases, out, asking, rounds=rounds)
    say_made(summary, out, "interview", settings.max_cost)
    if summary.counts.finished:
        say(f"The cases with the interviews' openings are in {out / CASES_FILE}.")


@takes_settings
def rollouts(
    cases: RecordCasesArgument,
    clinician: Annotated[
        str,
        typer.Option(
            metavar="ACTOR",
            help="The model that interviews, named as for bedside simulate.",
            autocompletion=complete.clinicians,
        ),
    ],
    patient: Annotated[
        str,
        typer.Option(
            metavar="ACTOR",
            help="Who plays the patient, named in the same way.",
            autocompletion=complete.actors,
        ),
    ],
    evaluator: RecordEvaluatorOption,
    repeats: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", help="Interviews of each case.", rich_help_panel=MADE_OF),
    ] = 15,
    setting: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Setting of the interview; bedside simulators show note2chat lists them. Without it, the first.",
            rich_help_panel=MADE_OF,
        ),
    ] = None,
    brief: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What the clinician is told at the start: general, the words for any model, or tuned, those for "
            "models tuned for the interview.",
            autocompletion=complete.choices("general", "tuned"),
            rich_help_panel=MADE_OF,
        ),
    ] = "general",
    test: TestCasesOption = None,
    require_correct: Annotated[
        bool,
        typer.Option(
            "--require-correct/--any",
            help="Which interviews can be a case's best: those that name the true diagnosis (--require-correct), or "
            "any (--any).",
            rich_help_panel=MADE_OF,
        ),
    ] = True,
    out: FolderOption = Path("rollouts"),
    *,
    settings: RecordSettings,
) -> None:
    """Have a model interview each case's patient several times, and find each case's best.

    Examples:
        $ bedside note2chat rollouts cases.jsonl --clinician my.agent:reply --patient openai/gpt-5 --evaluator rules
    """
    from bedside.api.note2chat_files import preview_rollouts, roll_out
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.reports.simulations import preview_table, record_plan_table

    check_choice(brief, ("general", "tuned"), "--brief")
    asked: dict[str, Any] = {
        "clinician": clinician,
        "patient": patient,
        "repeats": repeats,
        "setting": setting,
        "options": {"brief": brief},
        "split": read_split(test=test),
    }
    with record_asking(
        evaluator,
        settings,
        sides=(clinician, patient),
    ) as asking:
        if settings.dry_run:
            talks, checks = preview_rollouts(cases, asking, **asked)
            show_tables([preview_table(talks), record_plan_table(checks)])
            return
        rolled = roll_out(cases, out, asking, **asked, require_correct=require_correct)
    say_made(rolled.talks, out / "talks", "interview")
    say_made(rolled.checked, out / "checked", "checked interview")
    if rolled.talks.counts.unfinished or rolled.checked.counts.unfinished:
        say_limit(rolled.talks.cost + rolled.checked.cost, settings.max_cost, say)
    for name, reason in rolled.best.left_out:
        note(f"{name}: {reason}")
    say(f"The best interviews of {counted(len(rolled.best.best), 'case')} are in {out / 'best.jsonl'}.")
    best = {"file": str(out / "best.jsonl"), "cases": len(rolled.best.best)}
    show_records("best", "Each case's best interview", [best])


@takes_settings
def thoughts(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Interviews, such as those of dialogues and the best rollouts."),
    ],
    evaluator: RecordEvaluatorOption,
    out: FolderOption = Path("thoughts"),
    *,
    settings: BatchedRecords,
) -> None:
    """Write what the doctor would note and think before each message: a summary and a plan.

    Examples:
        $ bedside note2chat thoughts dialogues/transcripts.jsonl rollouts/best.jsonl --evaluator openai/gpt-5-mini
    """
    from bedside.api.note2chat_training import thought_plan, write_thoughts
    from bedside.transcripts.reading import read_transcripts

    with record_asking(evaluator, settings) as asking:
        talks = tuple(read_transcripts(files))
        if settings.dry_run:
            show_plan(thought_plan(talks, asking), asking)
            return
        summary = write_thoughts(talks, out, asking)
    say_made(summary, out, "interview", settings.max_cost)


@takes_settings
def candidates(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Interviews with thoughts, those written from the cases' notes among them.",
        ),
    ],
    clinician: Annotated[
        str,
        typer.Option(
            metavar="ACTOR",
            help="The model that writes the doctor's messages, named as judges are; rules is a toy.",
            autocompletion=complete.actors,
        ),
    ],
    evaluator: RecordEvaluatorOption,
    patient: Annotated[
        str | None,
        typer.Option(
            metavar="ACTOR",
            help="Who answers the messages, named in the same way; needed for the reward finding.",
            autocompletion=complete.actors,
        ),
    ] = None,
    reward: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What a question is rewarded for: finding, that its answer tells a new finding, or answerable, that "
            "it was not answered before and the note answers it.",
            autocompletion=complete.choices(*_REWARDS),
            rich_help_panel=MADE_OF,
        ),
    ] = "finding",
    number: Annotated[
        int,
        typer.Option(min=2, metavar="NUMBER", help="Messages written for each turn.", rich_help_panel=MADE_OF),
    ] = 10,
    test: TestCasesOption = None,
    out: FolderOption = Path("candidates"),
    *,
    settings: BatchedRecords,
) -> None:
    """Have a model write several messages for each turn of the doctor, and reward each.

    bedside note2chat preferences --unit message makes pairs of them.

    Examples:
        $ bedside note2chat candidates thoughts/transcripts.jsonl --clinician rules --patient rules --evaluator rules
        $ bedside note2chat candidates talks.jsonl --clinician openai/gpt-5 --evaluator rules --reward answerable
    """
    from bedside.api.note2chat_files import CANDIDATES_FILE, candidate_plan
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.transcripts.reading import read_transcripts

    check_choice(reward, _REWARDS, "--reward")
    with record_asking(
        evaluator,
        settings,
        sides=(clinician, *([] if patient is None else [patient])),
    ) as asking:
        plan = candidate_plan(
            tuple(read_transcripts(files)),
            asking,
            clinician=clinician,
            patient=patient,
            reward="answerable" if reward == "answerable" else "finding",
            number=number,
            split=read_split(test=test),
        )
        if settings.dry_run:
            show_plan(plan, asking)
            return
        summary = asking.carry_out(plan, out)
    say_made(summary, out, "interview", settings.max_cost)
    if summary.counts.finished:
        say(f"Next: bedside note2chat preferences {out / CANDIDATES_FILE} --unit message")


#: The commands by name.
COMMANDS: dict[str, Any] = {
    "prepare": prepare,
    "dialogues": dialogues,
    "rollouts": rollouts,
    "thoughts": thoughts,
    "candidates": candidates,
}
