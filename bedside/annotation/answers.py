"""From what raters answered to ratings: every revision is kept, the latest counts.

Answers come from a Label Studio export (below), or from an offline file (:mod:`~bedside.annotation.offline`). They are
put in the run's store of the plan's answers, ``annotations/<plan hash>/answers.jsonl``, which only grows: one line a
revision of what a rater said of an item. Ratings are made of the store alone, so that what was pulled once stays,
whatever becomes of the server.

The export form of Label Studio is a list of tasks, ``{"id": …, "data": {"external_id": …}, "annotations": [{"unique_id":
…, "completed_by": 3, "updated_by": 3, "was_cancelled": false, "created_at": …, "updated_at": …, "lead_time": 61.2,
"result": [{"from_name": …, "type": "choices", "value": {"choices": ["4"]}}, …]}], "drafts": […]}``. Fields
(``from_name``) are those of :mod:`~bedside.annotation.fields`; the value of a text area is ``{"text": ["…", …]}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bedside.annotation.plan import Plan
from bedside.ratings import Run

State = Literal["submitted", "skipped", "draft"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater said of an item, in one revision.

    Attributes:
        item: the item's opaque id.
        rater: the plan's rater.
        state: ``submitted``; ``skipped`` by the rater; or ``draft``, not handed in.
        choices: field → choices made.
        texts: field → texts written; notes are here too.
        id: what makes it the same annotation when it is pulled again.
        created, updated: times as ISO 8601, UTC; empty where unknown.
        seconds: time the rater took; None where unknown.
        changed_by: who changed it last, where that wasn't the rater.
        where: the task or row, for messages.
    """

    item: str
    rater: str
    state: State
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id: str = ""
    created: str = ""
    updated: str = ""
    seconds: float | None = None
    changed_by: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in an export or file.

    Attributes:
        answers: in the order found.
        strangers: user → answers left out because the user is no rater of the plan.
        foreign: tasks left out because they are of no item of the plan.
    """

    answers: tuple[Answer, ...]
    strangers: Mapping[str, int] = field(default_factory=dict)
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What putting answers into a run did.

    Attributes:
        new: answers to items that the rater hadn't answered before.
        revised: answers that changed an earlier one.
        unchanged: answers that were there already.
        submitted, skipped, drafts: answers that count now, by state.
        changed_by: who → answers that somebody other than their rater changed last.
        ratings: ratings of the plan in the run.
        missing: those of them without value.
    """

    new: int
    revised: int
    unchanged: int
    submitted: int
    skipped: int
    drafts: int
    changed_by: Mapping[str, int]
    ratings: int
    missing: int


def read_export(
    plan: Plan, tasks: Iterable[Mapping[str, Any]], raters: Mapping[int, str], *, where: str
) -> Read:
    """The answers in a Label Studio export.

    Args:
        plan: the plan that the tasks were made of.
        tasks: of the export, see above.
        raters: Label Studio's user id → the plan's rater.
        where: the server or file, for messages.

    Raises:
        InputError: a choice or field that the plan's rubrics don't have; the message names the task.
    """
    raise NotImplementedError


def keep_answers(run: Run, plan: Plan, answers: Sequence[Answer]) -> Kept:
    """Put answers into the run's store and make ratings of all that is there; the run is held meanwhile.

    Putting the same answers in twice changes nothing.

    Raises:
        RunError: another process holds the run, or it can't be written; nothing is half done then.
    """
    raise NotImplementedError
