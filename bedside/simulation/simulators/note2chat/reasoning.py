"""What a doctor would note and think before each of its messages: a summary of what was said, and a plan.

They are made from what was said up to there alone: no note, no finding and no diagnosis of the case stands in a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat.evaluator_questions import ask_evaluator


@dataclass(frozen=True, slots=True)
class MessageThought:
    """What stands before one message of the doctor.

    Attributes:
        summary: a sentence for the opening and for each exchange so far, ``turn 0: … turn 1: …``, a line each.
        plan: why the message follows, in the first person.
    """

    summary: str
    plan: str


def message_thoughts(lines: Sequence[Line], language: str) -> Exchange[tuple[MessageThought | None, ...]]:
    """The thoughts before each message of the doctor; None where a part of one wasn't to be had.

    Args:
        lines: the interview: the patient first, the roles in turn.
        language: code of its language.

    Raises:
        UnusableConversationError: the roles don't alternate, or the doctor says nothing.
    """
    for number, line in enumerate(lines):
        if line.role != ("clinician" if number % 2 else "patient"):
            raise UnusableConversationError("material", "the roles don't alternate", f"message {number}")
    if len(lines) < 2:
        raise UnusableConversationError("material", "the doctor says nothing")
    messages = [line.text for line in lines if line.role == "clinician"]
    answers = [line.text for line in lines if line.role == "patient"][: len(messages)]
    sentences = yield from together(
        *(
            _summary(question, answer, number, language)
            for number, (question, answer) in enumerate(
                zip(["", *messages[: len(answers) - 1]], answers, strict=True), start=1
            )
        )
    )
    summaries = [_stacked(sentences[: number + 1]) for number in range(len(messages))]
    return (
        yield from together(
            *(
                _thought(summary, message, number, language)
                for number, (summary, message) in enumerate(zip(summaries, messages, strict=True), start=1)
            )
        )
    )


def _stacked(sentences: Sequence[str | None]) -> str | None:
    """The sentences so far, numbered; None where one is missing."""
    if None in sentences:
        return None
    return "\n".join(f"turn {number}: {sentence}" for number, sentence in enumerate(sentences))


def _summary(question: str, answer: str, ordinal: int, language: str) -> Exchange[str | None]:
    return (
        yield from _text("exchange_summary", "summary", ordinal, language, question=question, answer=answer)
    )


def _thought(
    summary: str | None, message: str, ordinal: int, language: str
) -> Exchange[MessageThought | None]:
    if summary is None:
        return None
    plan = yield from _text("message_plan", "plan", ordinal, language, summaries=summary, message=message)
    return None if plan is None else MessageThought(summary, plan)


def _text(purpose: str, key: str, ordinal: int, language: str, **variables: str) -> Exchange[str | None]:
    """What the evaluator writes under a key; None where its replies can't be used."""

    def read(value: object) -> str:
        text = value.get(key) if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f'"{key}" must be a text')
        return " ".join(text.split())

    try:
        return (yield from ask_evaluator(purpose, ordinal, language, read, variables=variables))
    except UnusableConversationError:
        return None
