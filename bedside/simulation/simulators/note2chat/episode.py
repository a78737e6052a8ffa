"""The interview: complaint, questions and answers, and five diagnoses at the end or at the cap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import get_args

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_ATTEMPTS, Spoken
from bedside.simulation.simulators.calls import ActorRole, Exchange
from bedside.simulation.simulators.case import Case, ClinicalNote
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.note2chat.clinician import Interviewer
from bedside.simulation.simulators.note2chat.fixed_sentences import fixed_sentences
from bedside.simulation.simulators.note2chat.patient import VignettePatient
from bedside.simulation.simulators.note2chat.vignette import shared_start

#: Messages of an interview at most, the opening and the diagnosis among them, by setting.
CAPS: Mapping[str, int] = {"26-messages": 26, "40-messages": 40}
#: Diagnoses that a ranking is to hold.
RANKED = 5


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    interview = _Interview(situation)
    return (yield from interview.ledger.keep(interview.whole()))


class _Interview:
    """One conversation while it is held."""

    def __init__(self, situation: Situation) -> None:
        case, options = situation.case, situation.options
        self.case = case
        self.note = _note(case)
        self.cap = CAPS[situation.setting]
        self.fixed = fixed_sentences(options, case.language)
        self.ledger = Ledger()
        self.patient = VignettePatient(self.note, case.language, self.fixed, options["strict"], self.ledger)
        self.clinician = Interviewer(case.language, options["brief"], options["decision"], self.ledger)
        self.diagnoses: tuple[str, ...] = ()

    def whole(self) -> Exchange[Outcome]:
        """All of it."""
        return self._outcome((yield from self._course()))

    def _course(self) -> Exchange[str]:
        """Complaint, questions, answers and diagnoses; why it ended."""
        ledger = self.ledger
        ledger.say("patient", (yield from self.patient.opening()))
        for number in range(1, self.cap // 2 + 1):
            last = number == self.cap // 2
            spoken, diagnoses = yield from self.clinician.message(number, last=last)
            stop = self._taken(spoken, diagnoses, last=last)
            if stop is not None:
                return stop
            ledger.say("patient", (yield from self.patient.reply(ledger.lines, number)))
            if stop := ledger.repeated():
                return stop
        raise AssertionError("the last message ends the interview")

    def _taken(self, spoken: Spoken, diagnoses: tuple[str, ...] | None, *, last: bool) -> str | None:
        """Take a message of the clinician; why the interview ends with it, if it does."""
        if not spoken.text:
            if diagnoses is None:
                return self.ledger.silence(spoken.flags)
            # A turn needs words: the list that came without any stands as the released dialogues write it.
            text = "\n".join(f"{rank}. {name}" for rank, name in enumerate(diagnoses, start=1))
            spoken = replace(spoken, text=text, flags=(*spoken.flags, "diagnosis without words"))
        self.ledger.say("clinician", spoken)
        if diagnoses is not None:
            self.diagnoses = diagnoses
        elif not last:
            return None
        if len(self.diagnoses) != RANKED:
            self.ledger.flags[f"clinician: not {RANKED} diagnoses"] += 1
        return "forced" if last else "diagnosis"

    def _outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return self.ledger.outcome(
            stop,
            completed=stop in ("diagnosis", "forced") and bool(self.diagnoses),
            reference={
                "findings": [
                    {"text": finding.text, "categories": list(finding.categories)}
                    for finding in self.note.findings
                ],
                "diagnosis": self.case.hidden.diagnosis,
                "ranked_diagnoses": list(self.diagnoses),
                "note": self.note.vignette,
                "patient_sentences": {
                    "dont_know": self.fixed.dont_know,
                    "already_asked": self.fixed.already_asked,
                },
            },
        )


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that an interview can take, by role, attempts included."""
    messages = CAPS[situation.setting] // 2
    by_clinician = situation.options["decision"] == "clinician"
    replies = ATTEMPTS * (messages - 1)
    return {
        "clinician": messages * (CLINICIAN_ATTEMPTS + (ATTEMPTS if by_clinician else 0)),
        "patient": replies + (0 if _note(situation.case).opening.strip() else ATTEMPTS),
        "evaluator": (0 if by_clinician else messages * ATTEMPTS)
        + (replies * ATTEMPTS if situation.options["strict"] == "judge" else 0),
    }


def problems(case: Case) -> Iterator[str]:
    """What a case lacks or has wrong for this protocol, a sentence each."""
    if case.note is None:
        yield "It has no `note`: make one with bedside note2chat prepare, or write complaint, vignette and findings."
        return
    note = case.note
    if not note.vignette.strip():
        yield "Its note has no `vignette`, the history before any treatment: bedside note2chat prepare makes it."
    elif note.text.strip() and shared_start(note.text, note.vignette) is None:
        yield "Its `vignette` is not, word for word, how the `text` of its note begins."
    if not note.findings:
        yield "Its note has no `findings`: bedside note2chat prepare makes them of the vignette."
    if not (case.hidden.diagnosis or "").strip():
        yield "It has no `diagnosis` under `hidden`, so that no ranking can be judged."
    for number, finding in enumerate(note.findings, start=1):
        for category in finding.categories:
            if category not in get_args(Category):
                known = ", ".join(get_args(Category))
                yield f"Finding {number} has the category {category!r}, which is none of {known}."
    if case.speaker != "patient":
        yield "Its `speaker` is a caregiver; in this interview the patient speaks."


def _note(case: Case) -> ClinicalNote:
    if case.note is None:
        raise AssertionError(f"case {case.id!r} has no note")
    return case.note
