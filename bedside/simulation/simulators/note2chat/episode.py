"""The interview: complaint, questions and answers, and five diagnoses at the end or at the cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    CLINICIAN_REPEATS,
    Spoken,
    silent_stop,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.case import Case, ClinicalNote
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.note2chat.clinician import ClinicianMessage, Interviewer
from bedside.simulation.simulators.note2chat.fixed_sentences import fixed_sentences
from bedside.simulation.simulators.note2chat.patient import VignettePatient
from bedside.simulation.simulators.note2chat.vignette import shared_start

#: Messages of an interview at most, the opening and the diagnosis among them, by setting.
CAPS: Mapping[str, int] = {"26-messages": 26, "40-messages": 40}
#: Diagnoses that a ranking is to hold.
RANKED = 5
#: Messages in a row in which the clinician repeats itself that end the interview.
REPEATS = 3


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    interview = _Interview(situation)
    try:
        stop = yield from interview.held()
    except UnusableConversationError as error:
        raise UnusableConversationError(
            error.whose, error.reason, error.detail, interview.all_states()
        ) from error
    return interview.outcome(stop)


class _Interview:
    """One conversation while it is held."""

    def __init__(self, situation: Situation) -> None:
        case, options = situation.case, situation.options
        self.case = case
        self.note = _note(case)
        self.cap = CAPS[situation.setting]
        self.fixed = fixed_sentences(options, case.language)
        self.patient = VignettePatient(self.note, case.language, self.fixed, options["strict"])
        self.clinician = Interviewer(case.language, options["brief"], options["decision"])
        self.turns: list[SpokenTurn] = []
        self.lines: list[Line] = []
        self.decisions: list[dict[str, Any]] = []
        self.flags: Counter[str] = Counter()
        self.diagnoses: tuple[str, ...] = ()

    def held(self) -> Exchange[str]:
        """The whole of it; why it ended."""
        self._say("patient", (yield from self.patient.opening()))
        in_a_row = 0
        for number in range(1, self.cap // 2 + 1):
            last = number == self.cap // 2
            message = yield from self.clinician.message(self.lines, number, last=last)
            self.decisions.extend(message.states)
            stop = self._taken(message, last=last)
            if stop is not None:
                return stop
            self._say("patient", (yield from self.patient.reply(self.lines, number)))
            in_a_row = in_a_row + 1 if "repeats itself" in message.spoken.flags else 0
            if in_a_row == REPEATS:
                return CLINICIAN_REPEATS
        raise AssertionError("the last message ends the interview")

    def _taken(self, message: ClinicianMessage, *, last: bool) -> str | None:
        """Take a message of the clinician; why the interview ends with it, if it does."""
        if any(state.get("readable") is False for state in message.states):
            self.flags["clinician: decision can't be read"] += 1
        if message.diagnoses is None and not message.spoken.text:
            self.flags.update(f"clinician: {flag}" for flag in message.spoken.flags)
            return silent_stop(message.spoken.flags)
        self._say("clinician", message.spoken, message.diagnoses)
        if message.diagnoses is not None:
            self.diagnoses = message.diagnoses
        if message.diagnoses is None and not last:
            return None
        if len(self.diagnoses) != RANKED:
            self.flags[f"clinician: not {RANKED} diagnoses"] += 1
        return "forced" if last else "diagnosis"

    def _say(self, role: Any, spoken: Spoken, diagnoses: tuple[str, ...] | None = None) -> None:
        text, flags = spoken.text, list(spoken.flags)
        if not text and diagnoses is not None:
            # A turn needs words: the list that came without any stands as the released dialogues write it.
            text = "\n".join(f"{rank}. {name}" for rank, name in enumerate(diagnoses, start=1))
            flags.append("diagnosis without words")
        meta: dict[str, Any] = {}
        if spoken.thought:
            meta["thought"] = spoken.thought
        if flags:
            meta["flags"] = flags
        self.flags.update(f"{role}: {flag}" for flag in flags)
        if role == "patient":
            self.flags.update(f"patient, refused: {reason}" for _, reason in spoken.refused)
        self.turns.append(SpokenTurn(role, text, meta))
        self.lines.append(Line(role, text))

    def all_states(self) -> tuple[dict[str, Any], ...]:
        """What was decided and refused, in the order of turns."""
        return tuple(sorted((*self.patient.states, *self.decisions), key=lambda state: state["turn"]))

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return Outcome(
            turns=tuple(self.turns),
            stop=stop,
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
            states=self.all_states(),
            flags=dict(self.flags),
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
