"""The patient of the interview: it knows its record, and what happened to it only once that is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bedside.simulation.simulators.asking import Fault, Spoken, ask_patient
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.mdd5k.bundled_material import interview_prompt
from bedside.simulation.simulators.mdd5k.case_fields import patient_lines, record_of
from bedside.simulation.simulators.mdd5k.doctor_personas import WORDS
from bedside.simulation.simulators.mdd5k.topic_tree import PARSE

#: What the patient does with questions that the record says nothing of.
Unknown = Literal["deny", "dont_know", "improvise"]
#: Most words of a reply, bedside's own: of Chinese that is 450 characters, and the longest of 3,000 replies that were
#: read of the released dialogues has 423.
WORDS_OF_A_REPLY = 300


@dataclass(slots=True)
class RecordPatient:
    """The patient's part of one interview.

    Attributes:
        case: whose record it knows.
        unknown: what it does with questions that the record says nothing of.
        diagnosis: what it was told that it has; empty where it doesn't know.
        story: what happened to it; empty until that is to be told.
        states: what was refused so far.
    """

    case: Case
    unknown: Unknown
    diagnosis: str = ""
    story: str = ""
    states: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, lines: Sequence[Line], number: int, topic: str) -> Exchange[Spoken]:
        """The answer to the doctor's last message.

        Args:
            lines: the interview up to it.
            number: of the reply, from 1.
            topic: what the doctor was to ask about; empty where nobody said.
        """
        language = self.case.language
        rules = [interview_prompt(f"unknown_{self.unknown}", language)]
        if self.diagnosis:
            rules.append(interview_prompt("diagnosis_told", language, diagnosis=self.diagnosis))
        record, facts = record_of(self.case), patient_lines(self.case)
        parts = [
            interview_prompt(
                "patient",
                language,
                age=record.age,
                sex=WORDS[language][record.sex],
                record="\n".join(facts),
                rules="\n".join(rule.brief for rule in rules),
            )
        ]
        if self.story:
            parts.append(interview_prompt("story_told", language, story=self.story))
        topic = "" if topic == PARSE else topic
        wish = interview_prompt("answer_topic", language, topic=topic) if topic else None
        call = Call(
            "patient",
            "reply",
            number,
            brief="\n\n".join(part.brief for part in parts),
            history=tuple(lines),
            instruction="" if wish is None else wish.instruction,
            material={
                "facts": facts,
                "story": self.story,
                "topic": topic,
                "unknown": self.unknown,
                "language": language,
            },
            prompt=" ".join(part.reference for part in (*parts, *rules, *(() if wish is None else (wish,)))),
        )
        earlier = [line.text for line in lines if line.role == "patient"]

        def check(text: str) -> Fault | None:
            return patient_fault(
                text, language=language, earlier=earlier, sentences=None, words=WORDS_OF_A_REPLY
            )

        spoken = yield from ask_patient(call, check)
        self.states += [
            {"turn": len(lines), "purpose": "reply", "refused": text, "reason": reason}
            for text, reason in spoken.refused
        ]
        return spoken
