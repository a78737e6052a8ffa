"""Interviews as records to train on, with the thought before each message.

The patient is ``user``, the doctor ``assistant``; after the system's message, the brief of models tuned for the
interview, they alternate strictly, the patient first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bedside.metrics.protocols.note2chat.turn_candidates import written_message
from bedside.simulation.simulators.asking import text_of
from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat.vignette import ask_evaluator, prompt
from bedside.transcripts.transcript import Transcript

# -- Interviews as records to train on ------------------------------------------------------------------

#: What a record holds: a whole interview, or one message of the doctor.
Unit = Literal["dialogue", "message"]
#: Whose trainer reads it. LLaMA-Factory's forms are ShareGPT's for dialogues and Alpaca's for messages.
Form = Literal["trl", "llama-factory"]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DoctorState:
    """Where a doctor stands before a message.

    Attributes:
        turn: index of the message.
        asked: what a model that is tuned message by message is asked: the number of the turn, what it wrote last, and
            what the patient answered.
        written: the message as a model is to write it, its thought before it; None where it has none.
    """

    turn: int
    asked: str
    written: str | None

    def prompt(self, brief: str) -> list[dict[str, str]]:
        """The chat that the message follows."""
        return [{"role": "system", "content": brief}, {"role": "user", "content": self.asked}]


def training_records(transcript: Transcript, unit: Unit, form: Form) -> Iterator[Record] | str:
    """The records of an interview; or why it gives none.

    Args:
        transcript: the interview; for messages its doctor's turns have the thought in ``meta``.
        unit, form: what is written, and for whom.
    """
    problem = form_problem(transcript)
    if problem is not None:
        return problem
    if unit == "dialogue":
        return iter((_dialogue(transcript, form),))
    records = list(_messages(transcript, form))
    return iter(records) if records else "no message has a thought before it"


def form_problem(transcript: Transcript) -> str | None:
    """Why an interview can't be trained on; None where its roles alternate, the patient first and the doctor last."""
    turns = transcript.turns
    for number, turn in enumerate(turns):
        if turn.role != ("clinician" if number % 2 else "patient"):
            return f"turn {number} is not the {'clinician' if number % 2 else 'patient'}'s"
    return "it doesn't end with the clinician" if len(turns) < 2 or len(turns) % 2 else None


def brief_of(language: str) -> str:
    """What a model tuned for the interview is told at the start."""
    return prompt("clinician_tuned", language).brief


def brief_reference(language: str) -> str:
    """The brief's file, with its hash."""
    return prompt("clinician_tuned", language).reference


def _dialogue(transcript: Transcript, form: Form) -> Record:
    brief = brief_of(transcript.language or "en")
    about = _about(transcript)
    if form == "trl":
        said = [
            {"role": "user" if turn.role == "patient" else "assistant", "content": turn.text}
            for turn in transcript.turns
        ]
        return {**about, "messages": [{"role": "system", "content": brief}, *said]}
    said = [{"from": "human" if turn.role == "patient" else "gpt", "value": turn.text} for turn in transcript.turns]
    return {**about, "system": brief, "conversations": said}


def doctor_states(transcript: Transcript) -> Iterator[DoctorState]:
    """What a doctor is asked before each message that it can be asked for: one whose predecessor has a thought.

    Args:
        transcript: the interview, the patient first, the roles in turn; thoughts stand in the turns' ``meta``.
    """
    turns = transcript.turns
    before: str | None = None
    for number, index in enumerate(range(1, len(turns), 2)):
        thought = turns[index].meta.get("thought")
        written = None
        if isinstance(thought, str) and thought.strip():
            written = written_message(thought, turns[index].text)
        if number == 0 or before is not None:
            # What a model remembers is what it wrote itself: the thought before its last message.
            heard = [f"current turn {number}", *([before] if before else []), turns[index - 1].text]
            yield DoctorState(index, "\n\n".join(heard), written)
        before = written


def _messages(transcript: Transcript, form: Form) -> Iterator[Record]:
    """A record for each message that has a thought before it, as has the one before."""
    brief = brief_of(transcript.language or "en")
    for state in doctor_states(transcript):
        if state.written is None:
            continue
        about = {**_about(transcript), "turn": state.turn}
        if form == "trl":
            yield {
                **about,
                "prompt": state.prompt(brief),
                "completion": [{"role": "assistant", "content": state.written}],
            }
        else:
            yield {**about, "instruction": brief, "input": state.asked, "output": state.written}


def _about(transcript: Transcript) -> Record:
    return {"id": transcript.id, "case": transcript.case_id}


# -- What a doctor would note and think before each of its messages -------------------------------------
# They are made from what was said up to there alone: no note, no finding and no diagnosis of the case stands in a call.


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
    return (yield from _text("exchange_summary", "summary", ordinal, language, question=question, answer=answer))


def _thought(summary: str | None, message: str, ordinal: int, language: str) -> Exchange[MessageThought | None]:
    if summary is None:
        return None
    plan = yield from _text("message_plan", "plan", ordinal, language, summaries=summary, message=message)
    return None if plan is None else MessageThought(summary, plan)


def _text(purpose: str, key: str, ordinal: int, language: str, **variables: str) -> Exchange[str | None]:
    """What the evaluator writes under a key; None where its replies can't be used."""

    def read(value: object) -> str:
        return " ".join(text_of(value, key).split())

    try:
        return (yield from ask_evaluator(purpose, ordinal, language, read, variables=variables))
    except UnusableConversationError:
        return None
