"""The clinician under test: its messages, and whether one is the final diagnosis.

Whether a message ends the interview is never looked for in its words: it is a field beside them, or the answer to a
call of its own, to the clinician or to the evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bedside.simulation.simulators.asking import Spoken, ask_clinician, ask_for_data
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.faults import clinician_flags
from bedside.simulation.simulators.note2chat.prompts import prompt

#: Which brief the clinician gets: that for any model, or that for models tuned for the interview.
Brief = Literal["general", "tuned"]
#: Who says whether a message is the diagnosis.
Decision = Literal["clinician", "evaluator"]


@dataclass(frozen=True, slots=True)
class ClinicianMessage:
    """What the clinician said, and what it meant by it.

    Attributes:
        spoken: the message; without text where it said nothing.
        diagnoses: its final diagnoses, as they were given; None where the interview goes on.
        states: how it was decided.
    """

    spoken: Spoken
    diagnoses: tuple[str, ...] | None
    states: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Interviewer:
    """The clinician's part of one conversation; nothing of the case is in it.

    Attributes:
        language: code of the case's language.
        brief: which it gets.
        decision: who says whether a message is the diagnosis.
    """

    language: str
    brief: Brief
    decision: Decision

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

    def message(self, lines: Sequence[Line], number: int, *, last: bool) -> Exchange[ClinicianMessage]:
        """The next message.

        Args:
            lines: the conversation so far.
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
            history=tuple(lines),
            instruction="\n\n".join(part.instruction for part in extras),
            schema=extras[-1].schema if self.structured else None,
            material={"last": last, "language": self.language},
            prompt=" ".join(part.reference for part in (start, *extras)),
        )
        own = [line.text for line in lines if line.role == "clinician"]
        spoken = yield from ask_clinician(
            call, lambda text: clinician_flags(text, language=self.language, earlier=own)
        )
        turn = len(lines)
        states: list[dict[str, Any]] = [
            {"turn": turn, "purpose": "message", "refused": text, "reason": reason}
            for text, reason in spoken.refused
        ]
        diagnoses, state = yield from self._decided(spoken, number)
        return ClinicianMessage(spoken, diagnoses, (*states, {"turn": turn, **state}))

    def _decided(
        self, spoken: Spoken, number: int
    ) -> Exchange[tuple[tuple[str, ...] | None, dict[str, Any]]]:
        """The final diagnoses that a message gives, if it does, and how that is known."""
        if spoken.fields is not None:
            try:
                diagnoses = read_diagnoses(spoken.fields)
            except ValueError:
                pass
            else:
                return diagnoses, _decision("message", diagnoses)
        if not spoken.text:
            return None, _decision("message", None)
        diagnoses, readable = yield from self._asked(spoken.text, number)
        return diagnoses, _decision(self.decision, diagnoses, readable)

    def _asked(self, text: str, number: int) -> Exchange[tuple[tuple[str, ...] | None, bool]]:
        actor: ActorRole = self.decision
        filled = prompt(
            "decision" if actor == "clinician" else "diagnosis_reading", self.language, message=text
        )
        call = Call(
            actor,
            "decision",
            number,
            instruction=filled.instruction,
            kind="data",
            schema=filled.schema,
            material={"message": text},
            prompt=filled.reference,
        )
        decided = yield from ask_for_data(call, read_diagnoses)
        return decided.value, decided.readable


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


def _decision(by: str, diagnoses: tuple[str, ...] | None, readable: bool = True) -> dict[str, Any]:
    return {
        "purpose": "decision",
        "by": by,
        "diagnoses": None if diagnoses is None else list(diagnoses),
        "readable": readable,
    }
