"""What an annotation tool's form states: the files it gets of a plan, and what its export says.

A form is made of :mod:`~bedside.annotation.tool_tasks`, which know the plan; it knows the tool alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.annotation.answers import State
from bedside.annotation.plan_choices import Mode
from bedside.annotation.tool_tasks import ToolPage, ToolTask
from bedside.core.registry import Registry
from bedside.ratings.rating_content import RatingContent


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """What an export says of a task.

    Attributes:
        where: the place in the export, for messages.
        task: the task's id, as :class:`~bedside.annotation.tool_tasks.ToolTask` has it.
        rater: the rater that the task was made for, as the export says it; empty where it doesn't.
        user: who answered, by the tool's name of them; empty where the export doesn't say it or names no lasting user.
        state: as of a :class:`~bedside.annotation.answers.RaterAnswer`.
        values: question → what was chosen or written.
        shown: the text that was shown; None where the export hasn't it.
        updated: when, as ISO 8601, UTC; empty where unknown.
        fault: why it can't be an answer, and what to do; empty where it can.
    """

    where: str
    task: str
    rater: str
    user: str
    state: State
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown: str | None = None
    updated: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ToolForm:
    """The form of an annotation tool's files.

    Attributes:
        name: the entry's name, equal to its file name.
        title: the tool's own name.
        modes: of the plans that it holds.
        one_role: whether all tasks of a plan ask the same, so that codes of two roles need two plans.
        next_step: what to do with a rater's folder, a sentence.
        files: relative path → text, of a rater's folder, given the page and the tasks.
        claims: whether a file is the tool's export, given its first JSON value.
        responses: what an export says.
    """

    name: str
    title: str
    modes: tuple[Mode, ...]
    one_role: bool
    next_step: str
    files: Callable[[ToolPage, Sequence[ToolTask]], Mapping[str, str]]
    claims: Callable[[Any], bool]
    responses: Callable[[RatingContent], Iterator[ToolResponse]]


TOOL_FORMS: Registry[ToolForm] = Registry(
    "bedside.annotation.tool_forms", "TOOL", "form of an annotation tool", ToolForm, group="bedside.tool_forms"
)
