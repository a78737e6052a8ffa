"""A plan as other annotation tools can hold it: questions that are the same for all tasks, and a text for each task.

A task is an item of the plan, or in mode codes a turn of one: few tools know of conversations, and none of questions
that are asked of every turn. Questions are named as the plan's fields are; in mode codes by the code alone, because
the task names the turn. In mode audit a rater gives their own choice, seeing the judge's, and agrees where they are the
same; the task's name says which of the judge's ratings it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, opaque_id, plan_hash
from bedside.annotation.fields import (
    LABEL_SEPARATOR,
    LISTED,
    NOTES,
    NOTHING,
    REASONED_MODES,
    choices,
    code_field,
    entry_fields,
    entry_part,
    reason_field,
)
from bedside.annotation.items import coded_positions, label_studio_tasks
from bedside.annotation.offline_tables import shown_conversation
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import level_lines
from bedside.ratings.run import Run

#: What stands between an item and a turn of it in a task's id, and between it and a digest of what a judge said.
_OF_TURN, _JUDGED = "-turn-", "-judged-"


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """What a rater is asked.

    Attributes:
        name: letters, digits and underscores.
        title: a few words.
        about: the definition, and what else is needed to answer; may be empty.
        choices: what may be chosen, each with its descriptor; empty where text is asked for.
        several: whether several may be chosen.
        required: whether it must be answered.
        role: the role of the turns that it is asked of; None where it is asked of every task.
    """

    name: str
    title: str
    about: str
    choices: tuple[tuple[str, str], ...] = ()
    several: bool = False
    required: bool = True
    role: str | None = None


@dataclass(frozen=True, slots=True)
class ToolPage:
    """What all tasks of a rater have in common.

    Attributes:
        name: of the plan and the rater, fit for a project or dataset.
        rater: whose tasks they are.
        questions: what is asked, in order.
        guide: what each rubric says, as Markdown.
    """

    name: str
    rater: str
    questions: tuple[ToolQuestion, ...]
    guide: str


@dataclass(frozen=True, slots=True)
class ToolTask:
    """A task of a rater.

    Attributes:
        id: the item's id, in mode codes with the turn's number, in mode audit with a digest of what the judge said.
        rater: whose task it is; empty where it is anybody's.
        lines: number, speaker and text of what is read; what has no turn's number is no turn.
        request: what is asked about, where that is not the whole conversation; and in mode audit what the judge said.
            Empty where there is nothing to say.
        questions: what is asked of it.
    """

    id: str
    rater: str
    lines: tuple[tuple[str, str, str], ...]
    request: str
    questions: tuple[ToolQuestion, ...]

    @property
    def conversation(self) -> str:
        """What is read, as text."""
        return "\n\n".join(
            f"[{number}] {speaker}: {text}" if number else f"{speaker}: {text}" for number, speaker, text in self.lines
        )

    @property
    def text(self) -> str:
        """All of it as one text."""
        return f"{self.conversation}\n\n{self.request}" if self.request else self.conversation


def tool_page(plan: AnnotationPlan, rater: str) -> ToolPage:
    """What all tasks of a rater have in common."""
    parts = []
    for number, question in enumerate(plan.questions):
        rubric = question.shown()
        described = (
            [(label.label, label.descriptor) for label in entry_part(rubric)[0].labels]
            if plan.mode == "findings"
            else choices(question)
        )
        lines = [f"- **{choice}** {descriptor}" for choice, descriptor in described]
        if plan.mode == "pairs":
            lines += ["", *level_lines(plan.rubrics[number].rubric)]
        decide = [rubric.instructions] if rubric.instructions else []
        parts.append("\n\n".join([f"## {rubric.title}", rubric.definition, "\n".join(lines), *decide]))
    return ToolPage(f"{plan_hash(plan)}-{rater}", rater, tuple(_questions(plan)), "\n\n".join(parts) + "\n")


def _questions(plan: AnnotationPlan) -> Iterator[ToolQuestion]:
    for number, question in enumerate(plan.questions):
        rubric = question.shown()
        if plan.mode == "findings":
            yield from _findings_questions(question)
            continue
        about = rubric.definition
        if plan.mode == "pairs":
            about = "\n".join((about, "Levels of the rubric:", *level_lines(plan.rubrics[number].rubric)))
        several, required = rubric.kind == "set", question.name not in plan.flow_of
        role = rubric.role if plan.mode == "codes" else None
        yield ToolQuestion(question.name, rubric.title, about, choices(question), several, required, role)
        if plan.mode in REASONED_MODES:
            yield ToolQuestion(reason_field(question.name), f"Why: {rubric.title}", "In your words.", required=False)
    yield ToolQuestion(NOTES, "Notes", "Anything you want to say about the item.", required=False)


def _findings_questions(question: Rubric) -> Iterator[ToolQuestion]:
    rubric = question.shown()
    label_part, text_part = entry_part(rubric)
    yield ToolQuestion(
        question.name,
        rubric.title,
        rubric.definition,
        ((LISTED, "Written below, one a line."), (NOTHING, "There is none.")),
    )
    about = {label.label: label.descriptor for label in label_part.labels}
    for field, label in entry_fields(question).items():
        each = f"{about[label]} {text_part.descriptor} One a line.".strip()
        yield ToolQuestion(field, label.capitalize(), each, required=False)


def tool_tasks(plan: AnnotationPlan, run: Run, rater: str | None = None) -> list[ToolTask]:
    """The tasks of a rater, in the rater's order; without a rater, those of all items.

    Raises:
        RunError: the run keeps no text.
        DataError: in audit mode, the judge has not rated an item.
        InputError: a transcript can't be shown by the plan's rubrics.
    """
    questions = tuple(_questions(plan))
    whose = rater or ""
    positions = coded_positions(plan, run)
    tasks: list[ToolTask] = []
    for task in label_studio_tasks(plan, run, rater):
        data = task["data"]
        item, lines = data["external_id"], tuple(shown_conversation(plan, data))
        if plan.mode != "codes":
            request = _request(plan, data)
            judged = f"{_JUDGED}{opaque_id(request)}" if plan.mode == "audit" else ""
            tasks.append(ToolTask(f"{item}{judged}", whose, lines, request, questions))
            continue
        turns = sorted((turn, role) for role in _roles(plan) for turn in positions[item][role])
        for turn, role in turns:
            asked = tuple(question for question in questions if question.role in (None, role))
            spoken = next(f"[{number}] {who}: {text}" for number, who, text in lines if number == str(turn))
            request = f"Code this turn:\n{spoken}"
            tasks.append(ToolTask(f"{item}{_OF_TURN}{turn}", whose, lines, request, asked))
    return tasks


def _roles(plan: AnnotationPlan) -> list[str]:
    return list(dict.fromkeys(str(rubric.role) for rubric in plan.questions))


def _request(plan: AnnotationPlan, data: Mapping[str, Any]) -> str:
    parts = []
    if "rated_turn" in data:
        parts.append(f"Rate the last turn shown, which is turn {data['rated_turn']}.")
    if plan.mode == "audit":
        for question in plan.questions:
            said, why = data[f"judge_{question.name}"], data[f"judge_reason_{question.name}"]
            named = said.split(f"{LABEL_SEPARATOR} ") if question.kind == "set" else [said]
            shown = "; ".join(f"{one} ({dict(choices(question))[one]})" for one in named)
            parts.append(f"{question.shown().title}: the judge says {shown}. {why}")
    return "\n\n".join(parts)


class TaskFields:
    """Which item and fields of a plan a tool's task and questions are.

    Args:
        plan: the plan.
        run: its run.
    """

    def __init__(self, plan: AnnotationPlan, run: Run) -> None:
        self._plan = plan
        self._positions = coded_positions(plan, run)
        self._texts = {
            question.name for question in _questions(plan) if not question.choices
        }  # fmt: skip
        self._names = {question.name: question for question in _questions(plan)}

    def item(self, task: str) -> str | None:
        """The item of a task; None where it is no task of the plan."""
        item, _, turn = task.partition(_JUDGED)[0].partition(_OF_TURN)
        if item not in self._plan.by_id or bool(turn) != (self._plan.mode == "codes"):
            return None
        if turn and not any(self._place(item, role, turn) is not None for role in _roles(self._plan)):
            return None
        return item

    def _place(self, item: str, role: str, turn: str) -> int | None:
        """Which of a role's turns it is, from 0; None where it is none."""
        turns = list(self._positions[item][role])
        known = turn.isdecimal() and len(turn) <= 9 and int(turn) in turns
        return turns.index(int(turn)) if known else None

    def field(self, task: str, question: str) -> str | None:
        """The field that a question of a task fills in; None where there is none."""
        asked = self._names.get(question)
        if asked is None:
            return None
        if asked.role is None:
            return question
        item, _, turn = task.partition(_OF_TURN)
        place = self._place(item, asked.role, turn)
        return None if place is None else code_field(question, place)

    def is_text(self, question: str) -> bool:
        """Whether a question asks for text."""
        return question in self._texts
