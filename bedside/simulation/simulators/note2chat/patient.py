"""The patient of the interview: it knows the vignette and nothing else, and has two sentences for all the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bedside.simulation.simulators.asking import ATTEMPTS, Fault, Spoken, ask_patient
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.case import ClinicalNote
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.note2chat.evaluator_questions import ask_evaluator
from bedside.simulation.simulators.note2chat.fixed_sentences import FixedSentences
from bedside.simulation.simulators.note2chat.prompts import prompt
from bedside.simulation.simulators.note2chat.vignette import sentences

Strict = Literal["rules", "judge", "off"]
#: Most sentences and words of a reply, and of the opening.
SENTENCES, WORDS = 1, 60

_VERDICTS = ("only_what_was_asked", "conflict")


@dataclass(slots=True)
class VignettePatient:
    """The patient's part of one conversation.

    Attributes:
        note: whose vignette it knows; its diagnosis, findings and whole text are never looked at.
        language: code of the case's language.
        fixed: what it says word for word.
        strict: what is checked of a reply beside its form in general: its length, and by a judge whether it tells more
            than was asked or contradicts the vignette.
        ledger: of the conversation.
    """

    note: ClinicalNote
    language: str
    fixed: FixedSentences
    strict: Strict
    ledger: Ledger = field(default_factory=Ledger)

    def opening(self) -> Exchange[Spoken]:
        """The first message: the case's own, or made of the complaint, once for all conversations about the case."""
        if self.note.opening.strip():
            return Spoken(self.note.opening.strip())
        filled = prompt("opening", self.language, complaint=self.note.chief_complaint)
        call = Call(
            "patient",
            "opening",
            1,
            instruction=filled.instruction,
            material={"complaint": self.note.chief_complaint, "language": self.language},
            scope="case",
            prompt=filled.reference,
        )

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, sentences=SENTENCES, words=WORDS)

        spoken = yield from ask_patient(call, check)
        self.ledger.note_refused("opening", spoken)
        return spoken

    def reply(self, lines: Sequence[Line], number: int) -> Exchange[Spoken]:
        """The answer to the clinician's last message.

        Args:
            lines: the conversation up to it.
            number: of the reply, from 1.
        """
        filled = prompt(
            "patient",
            self.language,
            vignette=self.note.vignette,
            dont_know=self.fixed.dont_know,
            already_asked=self.fixed.already_asked,
        )
        call = Call(
            "patient",
            "reply",
            number,
            brief=filled.brief,
            history=tuple(lines),
            material={
                "sentences": sentences(self.note.vignette),
                "dont_know": self.fixed.dont_know,
                "already_asked": self.fixed.already_asked,
                "language": self.language,
            },
            prompt=filled.reference,
        )
        earlier = [line.text for line in lines if line.role == "patient" and not self.fixed.holds(line.text)]

        def check(text: str) -> Fault | None:
            return self._fault(text, earlier)

        def review(text: str, attempt: int) -> Exchange[Fault | None]:
            place = (number - 1) * ATTEMPTS + attempt
            return self._review(lines[-1].text, text, ordinal=place)

        spoken = yield from ask_patient(call, check, review=review if self.strict == "judge" else None)
        self.ledger.note_refused("reply", spoken)
        return spoken

    def _fault(self, text: str, earlier: Sequence[str]) -> Fault | None:
        if self.fixed.holds(text):
            return None
        bounded = self.strict != "off"
        fault = patient_fault(
            text,
            language=self.language,
            earlier=earlier,
            sentences=SENTENCES if bounded else None,
            words=WORDS if bounded else None,
        )
        if fault is not None and fault.reason == "repeats itself":
            # What was asked before has its own sentence: other words for the same answer are not wanted here.
            return replace(
                fault,
                objection="You have said that before. If the doctor asks again what you have answered, reply with "
                f"exactly this sentence and nothing else: {self.fixed.already_asked}",
            )
        return fault

    def _review(self, question: str, reply: str, *, ordinal: int) -> Exchange[Fault | None]:
        """What a judge has against a reply: it is asked for again, and kept where it stays so."""
        if self.fixed.holds(reply):
            return None
        verdict = yield from ask_evaluator(
            "reply_check",
            ordinal,
            self.language,
            _read_verdict,
            variables={"vignette": self.note.vignette, "question": question, "reply": reply},
            material={"sentences": sentences(self.note.vignette), "question": question, "reply": reply},
        )
        self.ledger.note("reply_check", text=reply, **verdict)
        if verdict["conflict"]:
            return Fault(
                "conflicts with the vignette",
                "Your last reply said something that what you know about yourself doesn't hold or contradicts. "
                "Answer only from what you know.",
                kept=True,
            )
        if not verdict["only_what_was_asked"]:
            return Fault(
                "tells what was not asked",
                "Your last reply told more than was asked. Tell only what the doctor asked for.",
                kept=True,
            )
        return None


def _read_verdict(value: Any) -> Mapping[str, bool]:
    if not isinstance(value, dict) or not all(isinstance(value.get(name), bool) for name in _VERDICTS):
        raise ValueError("only_what_was_asked and conflict must each be true or false")
    return {name: value[name] for name in _VERDICTS}
