"""The interview: patient, clinician, and the course from complaint to five diagnoses at the end or at the cap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_ATTEMPTS, Fault, Spoken, ask_patient
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.case import Case, ClinicalNote
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.ledger import Ledger, ProtocolTalk
from bedside.simulation.simulators.note2chat.vignette import (
    FOLDER,
    FixedSentences,
    ask_evaluator,
    fixed_sentences,
    prompt,
    sentences,
    shared_start,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt, prompt_call

# -- The patient of the interview -----------------------------------------------------------------------

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
        complaint = self.note.chief_complaint
        call = prompt_call(
            "patient",
            "opening",
            1,
            prompt("opening", self.language, complaint=complaint),
            material={"complaint": complaint, "language": self.language},
            scope="case",
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
        fixed = asdict(self.fixed)
        call = prompt_call(
            "patient",
            "reply",
            number,
            prompt("patient", self.language, vignette=self.note.vignette, **fixed),
            history=tuple(lines),
            material={"sentences": sentences(self.note.vignette), **fixed, "language": self.language},
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


# -- The clinician under test ---------------------------------------------------------------------------
# Whether a message ends the interview is never looked for in its words: it is a field beside them, or the answer to a
# call of its own, to the clinician or to the evaluator. Nothing of the case is in what the clinician is told.

#: Which brief the clinician gets: that for any model, or that for models tuned for the interview.
Brief = Literal["general", "tuned"]


def clinician_prompts(language: str, brief: Brief, *, structured: bool, last: bool = False) -> list[FilledPrompt]:
    """What the clinician is told for a message.

    Args:
        language: code of the case's language.
        brief: which it gets.
        structured: whether it is asked to say itself, beside its words, what they are.
        last: whether it is the last message that it has, in which it must give its diagnosis.
    """
    names = [f"clinician_{brief}", *(["forced_diagnosis"] if last else []), *(["reply_form"] if structured else [])]
    return [prompt(name, language) for name in names]


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


# -- The interview --------------------------------------------------------------------------------------

#: Messages of an interview at most, the opening and the diagnosis among them, by setting.
CAPS: Mapping[str, int] = {"26-messages": 26, "40-messages": 40}
#: Diagnoses that a ranking is to hold.
RANKED = 5


class NoteInterview(ProtocolTalk):
    """One interview while it is held."""

    folder = FOLDER

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.note = _note(self.case)
        self.cap = CAPS[situation.setting]
        self.fixed = fixed_sentences(self.options, self.language)
        self.patient = VignettePatient(self.note, self.language, self.fixed, self.options["strict"], self.ledger)
        #: Whether the clinician says itself what its words are: a tuned model has its own form.
        self.structured = self.options["brief"] == "general" and self.options["decision"] == "clinician"
        self.diagnoses: tuple[str, ...] = ()

    def course(self) -> Exchange[str]:
        """Complaint, questions, answers and diagnoses; why it ended."""
        ledger = self.ledger
        ledger.say("patient", (yield from self.patient.opening()))
        for number in range(1, self.cap // 2 + 1):
            last = number == self.cap // 2
            spoken, diagnoses = yield from self._message(number, last=last)
            stop = self._taken(spoken, diagnoses, last=last)
            if stop is not None:
                return stop
            ledger.say("patient", (yield from self.patient.reply(ledger.lines, number)))
            if stop := ledger.repeated():
                return stop
        raise AssertionError("the last message ends the interview")

    def _message(self, number: int, *, last: bool) -> Exchange[tuple[Spoken, tuple[str, ...] | None]]:
        """The clinician's next message, and the final diagnoses that it gives; None where the interview goes on."""
        prompts = clinician_prompts(self.language, self.options["brief"], structured=self.structured, last=last)
        material = {"last": last, "language": self.language}
        spoken = yield from self.ask_clinician(number, *prompts, material=material)
        self.ledger.note_refused("message", spoken)
        diagnoses, by, readable = yield from self._decided(spoken, number)
        self.ledger.note("decision", by=by, diagnoses=None if diagnoses is None else list(diagnoses), readable=readable)
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
        actor: ActorRole = self.options["decision"]
        filled = self.prompt("decision" if actor == "clinician" else "diagnosis_reading", message=spoken.text)
        call = self.call(actor, "decision", number, filled, material={"message": spoken.text}, history=())
        decided = yield from self.decide(call, read_diagnoses)
        return decided.value, actor, decided.readable

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

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return self.ledger.outcome(
            stop,
            completed=stop in ("diagnosis", "forced") and bool(self.diagnoses),
            reference={
                "findings": [
                    {"text": finding.text, "categories": list(finding.categories)} for finding in self.note.findings
                ],
                "diagnosis": self.case.hidden.diagnosis,
                "ranked_diagnoses": list(self.diagnoses),
                "note": self.note.vignette,
                "patient_sentences": asdict(self.fixed),
            },
            fixed_lines=(self.fixed.dont_know, self.fixed.already_asked),
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
        yield "It has no `note`: bedside train note2chat prepare makes one; or write complaint, vignette and findings."
        return
    note = case.note
    if not note.vignette.strip():
        yield "Its note has no `vignette`, the history before any treatment: bedside train note2chat prepare makes it."
    elif note.text.strip() and shared_start(note.text, note.vignette) is None:
        yield "Its `vignette` is not, word for word, how the `text` of its note begins."
    if not note.findings:
        yield "Its note has no `findings`: bedside train note2chat prepare makes them of the vignette."
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
