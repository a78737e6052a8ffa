"""The clinician under test: its messages, and whether one is the final diagnosis.

Whether a message ends the interview is never looked for in its words: it is a field beside them, or the answer to a
call of its own, to the clinician or to the evaluator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bedside.simulation.simulators.asking import Spoken, ask_clinician, ask_for_data
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.note2chat.prompts import prompt

#: Which brief the clinician gets: that for any model, or that for models tuned for the interview.
Brief = Literal["general", "tuned"]
#: Who says whether a message is the diagnosis.
Decision = Literal["clinician", "evaluator"]


@dataclass(frozen=True, slots=True)
class Interviewer:
    """The clinician's part of one conversation; nothing of the case is in it.

    Attributes:
        language: code of the case's language.
        brief: which it gets.
        decision: who says whether a message is the diagnosis.
        ledger: of the conversation.
    """

    language: str
    brief: Brief
    decision: Decision
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def structured(self) -> bool:
        """Whether it is asked to say itself, beside its words, what they are: a tuned model has its own form."""
        return self.brief == "general" and self.decision == "clinician"

    def brief_text(self) -> str:
        """What it is told at the start."""
        parts = [prompt(f"clinician_{self.brief}", self.language).brief]
        if self.structured:
            parts.append(prompt("reply_form", self.language).instruction)
        return "\n\n".join(parts)

    def message(self, number: int, *, last: bool) -> Exchange[tuple[Spoken, tuple[str, ...] | None]]:
        """The next message, without text where nothing was said, and the final diagnoses that it gives; None where the
        interview goes on.

        Args:
            number: of the message, from 1.
            last: whether it is the last that it has, in which it must give its diagnosis.
        """
        start = prompt(f"clinician_{self.brief}", self.language)
        extras = [prompt("forced_diagnosis", self.language)] if last else []
        if self.structured:
            extras.append(prompt("reply_form", self.language))
        call = Call(
            "clinician",
            "message",
            number,
            brief=start.brief,
            history=tuple(self.ledger.lines),
            instruction="\n\n".join(part.instruction for part in extras),
            schema=extras[-1].schema if self.structured else None,
            material={"last": last, "language": self.language},
            prompt=" ".join(part.reference for part in (start, *extras)),
        )
        spoken = yield from ask_clinician(call, clinician_watch(self.ledger.lines, self.language))
        diagnoses, by, readable = yield from self._decided(spoken, number)
        self.ledger.note_refused("message", spoken)
        self.ledger.note(
            "decision", by=by, diagnoses=None if diagnoses is None else list(diagnoses), readable=readable
        )
        if not readable:
            self.ledger.flags["clinician: decision can't be read"] += 1
        return spoken, diagnoses

    def _decided(self, spoken: Spoken, number: int) -> Exchange[tuple[tuple[str, ...] | None, str, bool]]:
        """The final diagnoses that a message gives, if it does, and who says so, and whether that could be read."""
        if spoken.fields is not None:
            try:
                return read_diagnoses(spoken.fields), "message", True
            except ValueError:
                pass
        if not spoken.text:
            return None, "message", True
        actor: ActorRole = self.decision
        filled = prompt(
            "decision" if actor == "clinician" else "diagnosis_reading", self.language, message=spoken.text
        )
        call = Call(
            actor,
            "decision",
            number,
            instruction=filled.instruction,
            kind="data",
            schema=filled.schema,
            material={"message": spoken.text},
            prompt=filled.reference,
        )
        decided = yield from ask_for_data(call, read_diagnoses)
        return decided.value, actor, decided.readable


def read_diagnoses(value: Any) -> tuple[str, ...] | None:
    """The final diagnoses of an object; None where it says that there are none yet.

    Raises:
        ValueError: it doesn't say.
    """
    if not isinstance(value, dict) or "diagnoses" not in value:
        raise ValueError('there is no key "diagnoses"')
    names = value["diagnoses"]
    if names is None or names == []:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError('"diagnoses" must be null or a list of names')
    return tuple(name.strip() for name in names)
