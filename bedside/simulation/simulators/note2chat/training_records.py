"""Interviews as records to train on: whole, or message by message with the thought before each.

The patient is ``user``, the doctor ``assistant``; after the system's message, the brief of models tuned for the
interview, they alternate strictly, the patient first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bedside.metrics.protocols.note2chat.turn_candidates import written_message
from bedside.simulation.simulators.note2chat.prompts import prompt
from bedside.transcripts import Transcript

#: What a record holds: a whole interview, or one message of the doctor.
Unit = Literal["dialogue", "message"]
UNITS: tuple[Unit, ...] = get_args(Unit)
#: Whose trainer reads it. LLaMA-Factory's forms are ShareGPT's for dialogues and Alpaca's for messages.
Form = Literal["trl", "llama-factory"]
FORMS: tuple[Form, ...] = get_args(Form)
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
    said = [
        {"from": "human" if turn.role == "patient" else "gpt", "value": turn.text}
        for turn in transcript.turns
    ]
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
