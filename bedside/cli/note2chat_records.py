"""Commands of ``bedside train note2chat`` that have models make something: each goes on where it was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bedside.cli import completion as complete
from bedside.cli.output import note, say, say_limit, show_records, show_tables
from bedside.cli.parsing import check_choice
from bedside.cli.record_requests import BatchedRecords, RecordSettings, record_asking, say_made, show_plan
from bedside.cli.settings_options import takes_settings
from bedside.core.question_settings import OPTIONS, option, settings_class
from bedside.core.words import counted

#: The panel of options that say what is made of what.
MADE_OF = "What about"
_REWARDS, _BRIEFS = ("finding", "answerable"), ("general", "tuned")

_EVALUATOR = "Model that is asked, named as judges are; rules is a toy that needs none."

RecordCasesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CASES", help="Cases: JSON, JSON lines or YAML files, or folders of them.", show_default=False
    ),
]
RecordEvaluatorOption = Annotated[str, typer.Option(metavar="ACTOR", help=_EVALUATOR, autocompletion=complete.actors)]
FolderOption = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="Folder to write; the same command goes on where it was stopped."
    ),
]
#: Cases that no training file has.
TEST_CASES: Any = option(
    "Ids of cases that are kept for testing, one a line: they come into no training file.",
    "--test", default=None, heading=MADE_OF, metavar="FILE", form="path",
)  # fmt: skip


def _actor(help: str, *, default: Any = ..., offers: str = "actors") -> Any:
    more = {} if default is ... else {"default": default}
    return option(help, heading=OPTIONS, metavar="ACTOR", offers=offers, **more)


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
        $ bedside train note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
    """
    from bedside.api.note2chat_training import CASES_FILE, note_plan

    with record_asking(evaluator, settings) as asking:
        plan = note_plan(notes, asking)
        if settings.dry_run:
            show_plan(plan, asking)
            return
        summary = asking.carry_out(plan, out)
    say_made(summary, out, "case", settings.max_cost)
    if summary.counts.finished:
        say(f"Next: bedside train note2chat dialogues {out / CASES_FILE} --writer MODEL")


@settings_class
class DialogueOptions:
    """Who writes interviews, and how often they are gone over."""

    writer: str = _actor("Model that writes decision trees and interviews, named as judges are; rules is a toy.")
    critic: str | None = _actor(
        "Model that says what must be changed in an interview. Without it, the writer.", default=None
    )
    evaluator: str | None = _actor(
        "Model that looks for the findings in an interview. Without it, the writer.", default=None
    )
    rounds: int = option(
        "Rounds of the critic at most; more than one only while findings are missing and fewer each time.",
        default=1, heading=MADE_OF, metavar="NUMBER", least=0, most=3,
    )  # fmt: skip


@takes_settings
def dialogues(
    cases: RecordCasesArgument,
    options: DialogueOptions,
    out: FolderOption = Path("dialogues"),
    *,
    settings: BatchedRecords,
) -> None:
    """Write an interview from each case's note.

    The writer makes a decision tree and writes an interview by it. The evaluator looks for the findings in it, the
    critic says what must change, and the writer changes that.

    Examples:
        $ bedside train note2chat dialogues prepared/cases.jsonl --writer openai/gpt-5 --evaluator openai/gpt-5-mini
    """
    from bedside.api.note2chat_training import CASES_FILE, dialogue_plan, usable_cases, write_dialogues

    writer, rounds = options.writer, options.rounds
    others = {"decision_tree": writer, "guided_dialogue": writer, "critic": options.critic or writer}
    with record_asking(options.evaluator or writer, settings, others=others) as asking:
        if settings.dry_run:
            show_plan(dialogue_plan(usable_cases(cases), asking, rounds=rounds), asking)
            return
        summary = write_dialogues(cases, out, asking, rounds=rounds)
    say_made(summary, out, "interview", settings.max_cost)
    if summary.counts.finished:
        say(f"The cases with the interviews' openings are in {out / CASES_FILE}.")


@settings_class
class RolloutOptions:
    """Who interviews whom, and how often."""

    clinician: str = _actor("The model that interviews, named as for bedside simulate.", offers="clinicians")
    patient: str = _actor("Who plays the patient, named in the same way.")
    evaluator: str = _actor(_EVALUATOR)
    repeats: int = option("Interviews of each case.", default=15, heading=MADE_OF, metavar="NUMBER", least=1)
    setting: str | None = option(
        "Setting of the interview; bedside show note2chat --kind protocols lists them. Without it, the first.",
        default=None, heading=MADE_OF, metavar="NAME",
    )  # fmt: skip
    brief: Literal["general", "tuned"] = option(
        "What the clinician is told at the start: general, the words for any model, or tuned, those for models tuned "
        "for the interview.",
        default="general", heading=MADE_OF, metavar="NAME",
    )  # fmt: skip
    test: Path | None = TEST_CASES
    require_correct: bool = option(
        "Which interviews can be a case's best: those that name the true diagnosis (--require-correct), or any "
        "(--any).",
        "--require-correct/--any", default=True, heading=MADE_OF,
    )  # fmt: skip


@takes_settings
def rollouts(
    cases: RecordCasesArgument,
    options: RolloutOptions,
    out: FolderOption = Path("rollouts"),
    *,
    settings: RecordSettings,
) -> None:
    """Have a model interview each case's patient several times, and find each case's best.

    Examples:
        $ bedside train note2chat rollouts cases.jsonl --clinician my.agent:reply --patient rules --evaluator rules
    """
    from bedside.api.note2chat_training import preview_rollouts, roll_out, rollout_plan
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.reports.simulations import preview_table, record_plan_table

    check_choice(options.brief, _BRIEFS, "--brief")
    with record_asking(options.evaluator, settings, sides=(options.clinician, options.patient)) as asking:
        plan = rollout_plan(
            cases,
            asking,
            clinician=options.clinician,
            patient=options.patient,
            repeats=options.repeats,
            setting=options.setting,
            options={"brief": options.brief},
            split=read_split(test=options.test),
        )
        if settings.dry_run:
            talks, checks = preview_rollouts(plan, asking)
            show_tables([preview_table(talks), record_plan_table(checks)])
            return
        rolled = roll_out(plan, out, asking, require_correct=options.require_correct)
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
        list[str], typer.Argument(metavar="FILES", help="Interviews, such as those of dialogues and the best rollouts.")
    ],
    evaluator: RecordEvaluatorOption,
    out: FolderOption = Path("thoughts"),
    *,
    settings: BatchedRecords,
) -> None:
    """Write what the doctor would note and think before each message: a summary and a plan.

    Examples:
        $ bedside train note2chat thoughts dialogues/transcripts.jsonl rollouts/best.jsonl --evaluator openai/gpt-5-mini
    """
    from bedside.api.note2chat_training import thought_plan
    from bedside.transcripts.reading import read_transcripts

    with record_asking(evaluator, settings) as asking:
        plan = thought_plan(tuple(read_transcripts(files)), asking)
        if settings.dry_run:
            show_plan(plan, asking)
            return
        summary = asking.carry_out(plan, out)
    say_made(summary, out, "interview", settings.max_cost)


@settings_class
class CandidateOptions:
    """Who writes candidates, and what they are rewarded for."""

    clinician: str = _actor("The model that writes the doctor's messages, named as judges are; rules is a toy.")
    evaluator: str = _actor(_EVALUATOR)
    patient: str | None = _actor(
        "Who answers the messages, named in the same way; needed for the reward finding.", default=None
    )
    reward: Literal["finding", "answerable"] = option(
        "What a question is rewarded for: finding, that its answer tells a new finding, or answerable, that it was not "
        "answered before and the note answers it.",
        default="finding", heading=MADE_OF, metavar="NAME",
    )  # fmt: skip
    number: int = option("Messages written for each turn.", default=10, heading=MADE_OF, metavar="NUMBER", least=2)
    test: Path | None = TEST_CASES


@takes_settings
def candidates(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Interviews with thoughts, those written from the cases' notes among them."
        ),
    ],
    options: CandidateOptions,
    out: FolderOption = Path("candidates"),
    *,
    settings: BatchedRecords,
) -> None:
    """Have a model write several messages for each turn of the doctor, and reward each.

    bedside train note2chat preferences --unit message makes pairs of them.

    Examples:
        $ bedside train note2chat candidates talks.jsonl --clinician rules --patient rules --evaluator rules
        $ bedside train note2chat candidates talks.jsonl --clinician openai/gpt-5 --evaluator rules --reward answerable
    """
    from bedside.api.note2chat_training import CANDIDATES_FILE, candidate_plan
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.transcripts.reading import read_transcripts

    check_choice(options.reward, _REWARDS, "--reward")
    sides = [name for name in (options.clinician, options.patient) if name is not None]
    with record_asking(options.evaluator, settings, sides=sides) as asking:
        plan = candidate_plan(
            tuple(read_transcripts(files)),
            asking,
            clinician=options.clinician,
            patient=options.patient,
            reward=options.reward,
            number=options.number,
            split=read_split(test=options.test),
        )
        if settings.dry_run:
            show_plan(plan, asking)
            return
        summary = asking.carry_out(plan, out)
    say_made(summary, out, "interview", settings.max_cost)
    if summary.counts.finished:
        say(f"Next: bedside train note2chat preferences {out / CANDIDATES_FILE} --unit message")


#: The commands by name.
COMMANDS: dict[str, Any] = {
    "prepare": prepare,
    "dialogues": dialogues,
    "rollouts": rollouts,
    "thoughts": thoughts,
    "candidates": candidates,
}
