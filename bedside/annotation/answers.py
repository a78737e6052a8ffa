"""What a rater said of an item: the one form that exports, offline files and the run's store agree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bedside.annotation.annotation_plan import AnnotationPlan, Opinion
from bedside.annotation.fields import NOTES
from bedside.annotation.page_words import PageWords, words_of

# -- What an adjudicator is shown of a unit -------------------------------------------------------------


def said_field(rubric: str) -> str:
    """The name under which a task holds what raters said by a rubric."""
    return f"said_{rubric}"


def said_by_raters(plan: AnnotationPlan, item: str) -> Iterator[tuple[str, str]]:
    """Of each rubric of an adjudication, its :func:`said_field` and what the item's raters said by it."""
    words = words_of(plan)
    opinions = plan.opinions[item]
    for rubric in plan.questions:
        values = words.values(plan, rubric)
        said = [
            _said(words, number, values.get(opinion.answer, opinion.answer), opinion)
            for number, opinion in enumerate(opinions.get(rubric.name, ()), 1)
        ]
        yield said_field(rubric.name), "\n\n".join(said) or words.say("nothing_to_settle")


def _said(words: PageWords, number: int, answer: str, opinion: Opinion) -> str:
    said = words.say("said_of", what=words.say("rater", number=number), text=answer)
    return words.say("said_of", what=said, text=opinion.reason) if opinion.reason else said


# -- What a rater said of an item -----------------------------------------------------------------------

State = Literal["submitted", "skipped", "draft"]


@dataclass(frozen=True, slots=True)
class RaterAnswer:
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

    @property
    def notes(self) -> str:
        """The rater's notes on the item."""
        return self.written(NOTES)

    def written(self, name: str) -> str:
        """What is written in a field."""
        return "\n".join(text.strip() for text in self.texts.get(name, ()) if text.strip())


@dataclass(frozen=True, slots=True)
class CollectedAnswers:
    """The answers in an export or in files, and what there was beside them.

    Attributes:
        answers: in the order they stand there.
        strangers: user → answers left out because the user is not a rater of the plan.
        unplanned_tasks: tasks left out because they are of no item of the plan.
        altered_tasks: tasks left out because they have an item's id and show something else.
        set_aside: answers left out because they can't be one: where, whose, what is wrong and what to do, a line each.
    """

    answers: tuple[RaterAnswer, ...]
    strangers: Mapping[str, int] = field(default_factory=dict)
    unplanned_tasks: int = 0
    altered_tasks: int = 0
    set_aside: tuple[str, ...] = ()
