"""The doctor's messages: what the clinician under test is told, and what it says.

It is told who it plays, the patient's age and sex, and one topic at a time; nothing else of the case. Whether a topic
is over, and which comes next, is not its to decide: that is the schedule's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import Decided, Spoken, ask_clinician, ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.mdd5k.bundled_material import interview_prompt
from bedside.simulation.simulators.mdd5k.case_fields import PsychiatricRecord, record_of
from bedside.simulation.simulators.mdd5k.doctor_personas import WORDS, DoctorPersona, find_doctors
from bedside.simulation.simulators.mdd5k.topic_tree import PARSE
from bedside.simulation.simulators.prompt_files import FilledPrompt

#: Settings: whether the schedule says what is asked about, or the clinician itself.
GUIDED, FREE = "guided", "direct"


@dataclass(frozen=True, slots=True)
class AskedTopic:
    """What a message of the doctor is to be about.

    Attributes:
        text: the topic; empty where the clinician decides.
        follow_up: how many messages there were on it before.
        parsed: whether it grew from what the patient said.
        opening: whether it is the first of the interview.
    """

    text: str = ""
    follow_up: int = 0
    parsed: bool = False
    opening: bool = False


@dataclass(frozen=True, slots=True)
class Doctor:
    """The clinician's part of one interview.

    Attributes:
        language: code of the case's language.
        record: of which only age and sex are ever told.
        persona: whom the clinician plays; None where it is told what to find out and no more.
    """

    language: str
    record: PsychiatricRecord
    persona: DoctorPersona | None

    def brief(self) -> FilledPrompt:
        """What it is told at the start."""
        words = WORDS[self.language]
        patient: dict[str, str | int] = {"age": self.record.age, "sex": words[self.record.sex]}
        if self.persona is None:
            return interview_prompt("free_clinician", self.language, **patient)
        persona = self.persona
        manner = interview_prompt("manner_warm" if persona.empathy else "manner_short", self.language)
        return interview_prompt(
            "clinician",
            self.language,
            **patient,
            doctor_age=persona.age,
            doctor_sex=words[persona.sex],
            specialties=persona.specialties,
            speed=words[persona.speed],
            style=persona.style,
            explains=words[persona.explains],
            manner=manner.brief,
        )

    def message(self, lines: Sequence[Line], number: int, topic: AskedTopic) -> Exchange[Spoken]:
        """The next message.

        Args:
            lines: the interview so far.
            number: of the message, from 1.
            topic: what it is to be about.
        """
        brief, wish = self.brief(), self._wish(topic)
        call = Call(
            "clinician",
            "message",
            number,
            brief=brief.brief,
            history=tuple(lines),
            instruction="" if wish is None else wish.instruction,
            material={
                "topic": topic.text,
                "follow_up": topic.follow_up,
                "opening": topic.opening,
                "language": self.language,
            },
            prompt=" ".join(part.reference for part in (brief, wish) if part is not None),
        )
        return (yield from ask_clinician(call, clinician_watch(lines, self.language)))

    def _wish(self, topic: AskedTopic) -> FilledPrompt | None:
        """What the message is to be about, as it is told."""
        if not topic.text:
            return None
        if topic.opening and topic.text == PARSE:
            return interview_prompt("open_question", self.language)
        name = "opening" if topic.opening else "topic_again" if topic.follow_up else "topic"
        return interview_prompt(name, self.language, topic=topic.text)

    def closing(self, lines: Sequence[Line]) -> Exchange[tuple[Spoken, Decided]]:
        """The diagnosis that the clinician infers from the interview, in its own words, and what it names in them, the
        likeliest first."""
        brief, wish = self.brief(), interview_prompt("closing", self.language)
        call = Call(
            "clinician",
            "closing",
            1,
            brief=brief.brief,
            history=tuple(lines),
            instruction=wish.instruction,
            schema=wish.schema,
            material={"language": self.language},
            prompt=f"{brief.reference} {wish.reference}",
        )
        spoken = yield from ask_clinician(call, clinician_watch(lines, self.language))
        if spoken.fields is not None:
            try:
                return spoken, Decided(_read_diagnoses(spoken.fields))
            except ValueError:
                pass
        if not spoken.text:
            return spoken, Decided((), readable=False)
        filled = interview_prompt("diagnoses", self.language, message=spoken.text)
        asked = Call(
            "clinician",
            "diagnoses",
            1,
            instruction=filled.instruction,
            kind="data",
            schema=filled.schema,
            material={"message": spoken.text, "language": self.language},
            prompt=filled.reference,
        )
        return spoken, (yield from ask_for_data(asked, _read_diagnoses, neutral=()))


def brief_text(case: Case, setting: str) -> str:
    """What a clinician is told at the start about a case, as the first of the bundled doctors."""
    persona = find_doctors("bundled", case.language)[0] if setting == GUIDED else None
    return Doctor(case.language, record_of(case), persona).brief().brief


def _read_diagnoses(value: Any) -> tuple[str, ...]:
    names = value.get("diagnoses") if isinstance(value, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError('"diagnoses" must be a list of names')
    return tuple(name.strip() for name in names if name.strip())
