"""A plan in the files of other annotation tools, and their exports as the plan's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bedside.annotation.annotation_plan import AnnotationPlan, rater_of
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answers import CollectedAnswers, RaterAnswer, State
from bedside.annotation.fields import LISTED, NOTHING, agree_field, entry_fields, one_answer
from bedside.annotation.items import coded_positions, judge_scores
from bedside.annotation.tool_form import TOOL_FORMS, ToolForm, ToolResponse
from bedside.annotation.tool_tasks import TaskFields, tool_page, tool_tasks
from bedside.core.errors import InputError
from bedside.core.files import make_folder, write_text
from bedside.ratings.rating_content import FileContent
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.rubric_metrics import AGREE, DISAGREE
from bedside.ratings.run import Run

#: What the files of such exports are called.
_ENDINGS = (".json", ".jsonl", ".ndjson", ".parquet")


def write_tool_folders(plan: AnnotationPlan, run: Run, name: str, folder: Path) -> list[Path]:
    """Write a folder for each rater of a plan.

    Args:
        plan: the plan.
        run: its run.
        name: of the tool.
        folder: where the raters' folders are made.

    Returns:
        Where they are.

    Raises:
        InputError: the tool can't hold the plan.
        RunError: the run keeps no text, or the folder can't be written.
    """
    tool = TOOL_FORMS.load(name)
    _check_holds(tool, plan)
    for rater in plan.people:
        for place, text in tool.files(tool_page(plan, rater), tool_tasks(plan, run, rater)).items():
            path = folder / rater / place
            make_folder(path.parent)
            write_text(path, text)
    return [folder / rater for rater in plan.people]


def _check_holds(tool: ToolForm, plan: AnnotationPlan) -> None:
    if plan.mode not in tool.modes:
        raise InputError(
            f"{tool.title} can't hold a plan of mode {plan.mode}",
            where="`form`",
            todo=f"choose another form; {tool.title} holds {', '.join(tool.modes)}",
        )
    if plan.criteria or plan.lists:
        what = "criteria" if plan.criteria else "lists"
        raise InputError(
            f"{tool.title} asks the same of every item, and each has {what} of its own",
            where="`form`",
            todo="export csv or xlsx, or use the rating page or Label Studio",
        )
    if parts := [rubric.name for rubric in plan.questions if "." in rubric.name]:
        raise InputError(
            f"{tool.title} has no such names for its questions as {parts[0]}",
            where="`form`",
            todo="export csv or xlsx, or use the rating page or Label Studio",
        )
    roles = {rubric.role for rubric in plan.questions} if plan.mode == "codes" else set()
    if tool.one_role and len(roles) > 1:
        raise InputError(
            f"{tool.title} asks the same of every turn, and the plan has codes of {' and '.join(map(str, roles))}",
            where="`form`",
            todo="make a plan for the codes of each",
        )


def tool_content(path: Path) -> tuple[ToolForm, FileContent] | None:
    """The tool whose export a file is, and what the file holds; None where it is no tool's.

    Raises:
        InputError: it is no tool's, and its ending says that it is nothing else.
    """
    if path.suffix.lower() not in _ENDINGS:
        return None
    content = FileContent(path, RatingReading())
    first = content.first
    for tool in TOOL_FORMS.all().values():
        if tool.claims(first):
            return tool, content
    if path.suffix.lower() != ".json":
        tools = sorted(tool.title for tool in TOOL_FORMS.all().values())
        raise InputError(
            f"the file has no answers in a form of {', '.join(tools)}",
            where=str(path),
            todo="give what the tool exported, not what it was given",
        )
    return None


@dataclass(slots=True)
class _TaskAnswers:
    """What a rater said of an item, over the tasks that it was shown in."""

    where: str
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    updated: str = ""
    drafted: bool = False
    submitted: bool = False


class ToolExport:
    """An export of an annotation tool.

    Args:
        plan: the plan that the tasks were made of.
        run: its run.
        rater: who answered, whatever the export says; None where that says it.
        users: the tool's name of a user → the plan's rater; others' answers are left out. Empty where each rater's
            tasks were answered by one user.
    """

    def __init__(self, plan: AnnotationPlan, run: Run, rater: str | None, users: Mapping[str, str]) -> None:
        self._plan = plan
        self._run = run
        self._rater = None if rater is None else rater_of(plan, rater, "`rater`")
        self._users = {user: rater_of(plan, name, "`users`") for user, name in users.items()}
        self._fields = TaskFields(plan, run)
        self._check = AnswerCheck(plan, coded_positions(plan, run))
        self._scores = judge_scores(plan, run) if plan.judge is not None else {}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """What each task shows."""
        return {task.id: _plain(task.text) for task in tool_tasks(self._plan, self._run)}

    def collected(self, tool: ToolForm, content: FileContent) -> CollectedAnswers:
        """The answers in a file.

        Raises:
            InputError: not the form of an export, no task of the plan, somebody who is no rater of it, or several users
                who answered one rater's tasks; the place is named.
        """
        gathered: dict[tuple[str, str], _TaskAnswers] = {}
        faults: dict[tuple[str, str], str] = {}
        strangers: Counter[str] = Counter()
        owners: dict[str, str] = {}
        unplanned = altered = responses = 0
        for response in tool.responses(content):
            responses += 1
            item = self._fields.item(response.task)
            if item is None:
                unplanned += 1
                continue
            if self._users and response.user and response.user not in self._users:
                strangers[response.user] += 1
                continue
            rater = self._who(response, owners)
            if not self._is_as_sent(response):
                altered += 1
                continue
            if response.fault:
                faults[item, rater] = f"{response.where}: {rater}: {response.fault}"
                continue
            own = gathered.setdefault((item, rater), _TaskAnswers(response.where))
            self._take(own, response)
        if responses and unplanned == responses:
            raise InputError(
                "none of the file's tasks is of this plan",
                where=content.place,
                todo="name the plan that the tasks were made of",
            )
        # Of an item with a fault, what was said in its other tasks would be half an answer.
        whole = {key: own for key, own in gathered.items() if key not in faults}
        answers, set_aside = self._answers(whole)
        set_aside += faults.values()
        return CollectedAnswers(tuple(answers), dict(sorted(strangers.items())), unplanned, altered, tuple(set_aside))

    def _who(self, response: ToolResponse, owners: dict[str, str]) -> str:
        """The rater whose answer it is; a rater's tasks are answered by one user, and a user answers for one rater."""
        if self._users and response.user:
            return self._users[response.user]
        rater = self._rater or rater_of(self._plan, response.rater, response.where)
        if response.user:
            first = owners.setdefault(f"rater {rater}", response.user)
            if first != response.user:
                raise InputError(
                    f"{first} and {response.user} answered the tasks of {rater}",
                    where=response.where,
                    todo=f"say who is who, and leave out whose answers don't count: `users={response.user}={rater}`",
                )
            other = owners.setdefault(f"user {response.user}", rater)
            if other != rater:
                raise InputError(
                    f"{response.user} answered the tasks of {other} and of {rater}",
                    where=response.where,
                    todo=f"say whose answers they are: `users={response.user}={rater}`",
                )
        return rater

    def _is_as_sent(self, response: ToolResponse) -> bool:
        """Whether a task showed what it would show now, however its white space stands."""
        if not self._run.keeps_text:
            return True
        sent = self._texts.get(response.task)
        return sent is not None and (response.shown is None or sent in _plain(response.shown))

    def _take(self, own: _TaskAnswers, response: ToolResponse) -> None:
        own.updated = max(own.updated, response.updated)
        own.drafted |= response.state == "draft"
        own.submitted |= response.state == "submitted"
        for question, entries in response.values.items():
            name = self._fields.field(response.task, question)
            if name is None:
                raise InputError(
                    f"the plan does not ask for {question!r}",
                    where=response.where,
                    todo="name the plan that the tasks were made of",
                )
            kept = tuple(entries)
            if self._fields.is_text(question):
                kept = tuple(line.strip() for text in kept for line in _lines(self._plan, name, text))
                # What was written of an item's turns is all of it; of one task, what it says last.
                before = own.values.get(name, ()) if self._plan.mode == "codes" else ()
                kept = (*before, *(line for line in kept if line))
            own.values[name] = kept

    def _answers(self, gathered: Mapping[tuple[str, str], _TaskAnswers]) -> tuple[list[RaterAnswer], list[str]]:
        answers, set_aside = [], []
        for (item, rater), own in gathered.items():
            answer = self._answer(item, rater, own)
            try:
                self._check_findings(answer)
                if answer.state == "submitted":
                    self._check.check(answer)
            except InputError as error:
                set_aside.append(f"{own.where}: {rater}: {error.what}; {error.todo}")
                continue
            answers.append(answer)
        return answers, set_aside

    def _answer(self, item: str, rater: str, own: _TaskAnswers) -> RaterAnswer:
        if own.drafted:
            return RaterAnswer(item, rater, "draft", where=own.where)
        chosen: dict[str, tuple[str, ...]] = {}
        texts: dict[str, tuple[str, ...]] = {}
        for name, entries in own.values.items():
            if not entries:
                continue
            into = texts if self._fields.is_text(name) else chosen
            into[name] = entries
        if self._plan.mode == "audit":
            chosen |= self._opinions(item, chosen)
        if self._plan.mode == "findings":
            rubric = self._plan.questions[0]
            if rubric.name not in chosen and any(name in texts for name in entry_fields(rubric)):
                chosen[rubric.name] = (LISTED,)
        state: State = "submitted" if own.submitted else "skipped"
        return RaterAnswer(item, rater, state, chosen, texts, updated=own.updated, where=own.where)

    def _opinions(self, item: str, chosen: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Whether the rater agrees with the judge, on each rubric that they answered."""
        planned = self._plan.by_id[item]
        said = {
            rubric.name: self._scores[planned.transcript, planned.unit, rubric.name][0]
            for rubric in self._plan.questions
        }
        return {
            agree_field(name): (AGREE if one_answer(chosen[name]) == choice else DISAGREE,)
            for name, choice in said.items()
            if name in chosen
        }

    def _check_findings(self, answer: RaterAnswer) -> None:
        """Refuse a list that says two things of itself."""
        if self._plan.mode != "findings" or answer.state != "submitted":
            return
        rubric = self._plan.questions[0]
        listed = any(name in answer.texts for name in entry_fields(rubric))
        said = answer.choices.get(rubric.name, ())
        if listed == (NOTHING in said):
            what = "there is nothing to list, and something is listed" if listed else "nothing is listed"
            raise InputError(what, where=answer.where, todo=f"list it, or choose {NOTHING!r}, and export again")


def _lines(plan: AnnotationPlan, name: str, text: str) -> Sequence[str]:
    """The entries that a text holds: of a list each line, of all else the whole."""
    entries = entry_fields(plan.questions[0]) if plan.mode == "findings" else {}
    return text.splitlines() if name in entries else (text,)


def _plain(text: str) -> str:
    return " ".join(text.split())
