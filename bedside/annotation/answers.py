"""What a rater said of an item, and the turns and words marked as evidence: the one form that all ways agree on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from bedside.annotation.annotation_plan import AnnotationPlan, Opinion
from bedside.annotation.fields import LABEL_SEPARATOR, NONE, NOTES
from bedside.annotation.page_words import PageWords, words_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric

# -- What an adjudicator is shown of a unit -------------------------------------------------------------


def said_field(rubric: str) -> str:
    """The name under which a task holds what raters said by a rubric."""
    return f"said_{rubric}"


def said_by_raters(plan: AnnotationPlan, item: str, fields: Iterable[tuple[str, Rubric]]) -> Iterator[tuple[str, str]]:
    """Of each field of an adjudication, with its rubric: its :func:`said_field` and what the item's raters said."""
    words = words_of(plan)
    for field_name, rubric in fields:
        said = [
            _said(words, number, shown_answer(plan, item, rubric, field_name, opinion.answer), opinion)
            for number, opinion in enumerate(plan.opinions[item].get(field_name, ()), 1)
        ]
        yield said_field(field_name), "\n\n".join(said) or words.say("nothing_to_settle")


def shown_answer(plan: AnnotationPlan, item: str, rubric: Rubric, name: str, answer: str) -> str:
    """What is shown of a choice in a field; of a link with what it leads to."""
    if rubric.kind in LINKED_KINDS and answer != NONE:
        led_to = next((one.choices for one in plan.every_of(item, rubric) if one.name == name and one.said), ())
        return next((f"{choice}: {text}" for choice, text in led_to if choice == answer), answer)
    values, several = words_of(plan).values(plan, rubric), rubric.kind == "set"
    return "; ".join(values.get(one, one) for one in (answer.split(f"{LABEL_SEPARATOR} ") if several else (answer,)))


def _said(words: PageWords, number: int, answer: str, opinion: Opinion) -> str:
    said = words.say("said_of", what=words.say("rater", number=number), text=answer)
    return words.say("said_of", what=said, text=opinion.reason) if opinion.reason else said


# -- What a rater said of an item -----------------------------------------------------------------------

State = Literal["submitted", "skipped", "draft"]


def _uptime() -> timedelta:
    """Passes whoever sets the clock, also while the machine sleeps; Python's own monotonic one stands then on a Mac."""
    clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return timedelta(seconds=time.monotonic() if clock is None else time.clock_gettime(clock))


_SWITCHED_ON = datetime.now(UTC) - _uptime()


def time_now() -> datetime:
    """The time, by the clock as it stood when this process began: who sets it then ends nobody's time to rate."""
    return _SWITCHED_ON + _uptime()


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


# -- Turns and words that a rater marks as evidence for a level -----------------------------------------
# Marked turns are kept as a tuple of texts, ``"3"`` for a whole turn and ``"3: the words"`` for words of one, with
# turns counted from 0. In a rating's reason they are named as judges name them (``turn 3``, words in quotes), so that
# what finds turns in a judge's reason finds them here too.

_MARK = re.compile(r"(\d{1,9})(?:: (\S.*))?", re.DOTALL)
_TURN = re.compile(r"(?:turns?\s*)?\[?(\d{1,9})\]?", re.IGNORECASE)
_SPAN = re.compile(r"(?:turns?\s*)?\[?(\d{1,9})\]?\s*(?:-|–|to)\s*\[?(\d{1,9})\]?", re.IGNORECASE)
#: Turns that one span in a cell may have.
_LONGEST_SPAN = 2_000


def mark_of(turn: int, words: str = "") -> str:
    """A marked turn, or words of it."""
    cleaned = " ".join(words.split())
    return f"{turn}: {cleaned}" if cleaned else str(turn)


def marked_turn(mark: str) -> int:
    """The number of the turn that a mark is of.

    Raises:
        ValueError: it is no mark.
    """
    match = _MARK.fullmatch(mark)
    if match is None:
        raise ValueError(f"{mark!r} names no turn")
    return int(match[1])


def listed_turns(cell: str) -> tuple[str, ...]:
    """The marks that a cell names, such as ``3; 5-7`` or ``turns 3, 5``.

    Raises:
        ValueError: a part of it is no turn.
    """
    marks: list[str] = []
    for part in re.split(r"\s*[;,\n]\s*|\s+and\s+", cell.strip()):
        span, turn = _SPAN.fullmatch(part), _TURN.fullmatch(part)
        if span is not None and 0 <= int(span[2]) - int(span[1]) < _LONGEST_SPAN:
            marks += map(str, range(int(span[1]), int(span[2]) + 1))
        elif turn is not None:
            marks.append(str(int(turn[1])))
        elif part:
            raise ValueError(f"{part!r} is not the number of a turn")
    return in_order(marks)


def in_order(marks: Iterable[str]) -> tuple[str, ...]:
    """Marks in the order of their turns, each once.

    Raises:
        ValueError: one is no mark.
    """
    return tuple(sorted(dict.fromkeys(marks), key=marked_turn))


def marked_words(marks: Iterable[str], said: Mapping[int, str]) -> str:
    """The words of the first mark that is of one of these turns, the whole turn where it names none; else nothing.

    Args:
        marks: as they are kept.
        said: number of a turn → its text. Words that don't stand there are no mark of it.
    """
    for mark in in_order(marks):
        text = " ".join(said.get(marked_turn(mark), "").split())
        words = " ".join(mark.partition(": ")[2].split()) or text
        if words and words in text:
            return words
    return ""


def reason_with_evidence(reason: str, marks: Sequence[str]) -> str:
    """What a rater says of a level, and the turns that show it, in the words of a judge's reason."""
    if not marks:
        return reason
    whole = [str(marked_turn(mark)) for mark in marks if ": " not in mark]
    parts = [f"turn{'s' if len(whole) > 1 else ''} {', '.join(whole)}"] if whole else []
    for mark in marks:
        turn, _, words = mark.partition(": ")
        if words:
            quoted = re.sub(r"[“”\"]", "'", words)
            parts.append(f"turn {turn} “{quoted}”")
    return f"{reason}{' ' if reason else ''}Evidence: {'; '.join(parts)}."
