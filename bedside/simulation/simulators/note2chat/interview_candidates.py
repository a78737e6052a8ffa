"""Candidates for each message of the doctor in an interview: what a model writes in its place, and what that is worth.

The model is asked what one that is tuned message by message is asked. What it writes is judged by the evaluator, which
sees the note; of the note nothing stands in what the model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.metrics.protocols.note2chat.turn_candidates import (
    CandidateTurn,
    TurnCandidate,
    TurnReward,
    diagnosing_reward,
)
from bedside.simulation.simulators.asking import Spoken, ask_clinician, flag_reader, part_of
from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.case import ClinicalNote
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.note2chat.episode import VignettePatient, read_diagnoses
from bedside.simulation.simulators.note2chat.finding_places import (
    FindingPlace,
    diagnosis_rank,
    finding_places,
    numbered,
)
from bedside.simulation.simulators.note2chat.training_records import DoctorState
from bedside.simulation.simulators.note2chat.vignette import FixedSentences, ask_evaluator, prompt, sentences
from bedside.simulation.simulators.prompt_files import prompted

#: The call sites at which the doctor and the patient are asked.
DOCTOR, PATIENT = "candidate", "reply"
#: What a message has that can't be judged.
_UNUSABLE = ("refusal", "empty", "cut off")


@dataclass(frozen=True, slots=True)
class CandidateMaterial:
    """What candidates are made of.

    Attributes:
        lines: the interview, the patient first, the doctor's diagnosis last.
        states: where the doctor is asked.
        vignette, findings, diagnosis: of the case.
        language: code of their language.
        fixed: what the patient says word for word.
        generated_recall: recall of the interview that was written from the note, 0 to 1; None where it isn't known.
    """

    lines: tuple[Line, ...]
    states: tuple[DoctorState, ...]
    vignette: str
    findings: tuple[str, ...]
    diagnosis: str
    language: str
    fixed: FixedSentences
    generated_recall: float | None


def interview_candidates(
    material: CandidateMaterial, *, number: int, reward: TurnReward
) -> Exchange[tuple[CandidateTurn, ...]]:
    """Candidates for each message of the doctor, with their rewards.

    Args:
        material: of the interview.
        number: candidates of each message.
        reward: what asking ones are rewarded for.

    Raises:
        UnusableConversationError: where the interview conveys its findings can't be read, three times.
    """
    places = yield from finding_places(material.lines, material.findings, material.language)
    return (
        yield from together(
            *(
                _Turn(material, state, places, place * number, reward).judge_candidates(number)
                for place, state in enumerate(material.states)
            )
        )
    )


class _Turn:
    """The candidates of one turn, while they are made."""

    def __init__(
        self,
        material: CandidateMaterial,
        state: DoctorState,
        places: Sequence[FindingPlace],
        asked_before: int,
        reward: TurnReward,
    ) -> None:
        self.material = material
        self.state = state
        self.asked_before = asked_before
        self.reward = reward
        self.lines = material.lines[: state.turn]
        counted = [
            (text, place.patient_first is not None and place.patient_first < state.turn)
            for text, place in zip(material.findings, places, strict=True)
            if not place.opening
        ]
        self.recall = sum(known for _, known in counted) / len(counted) if counted else None
        #: The findings that count and were not told yet.
        self.untold = tuple(text for text, known in counted if not known)

    def judge_candidates(self, number: int) -> Exchange[CandidateTurn]:
        """So many candidates; of several with the same words one is judged for all."""
        messages = yield from together(*(self._message(place) for place in range(1, number + 1)))
        first: dict[str, int] = {}
        for place, spoken in enumerate(messages):
            if not set(spoken.flags) & set(_UNUSABLE):
                first.setdefault(" ".join(spoken.text.split()), place)
        judgements = yield from together(
            *(self._judgement(messages[place].text, place + 1) for place in first.values())
        )
        by_words = dict(zip(first, judgements, strict=True))
        candidates = [
            TurnCandidate(
                number=place,
                message=spoken.text,
                thought=spoken.thought,
                flags=spoken.flags,
                **by_words.get(" ".join(spoken.text.split()), _unusable(spoken)),
            )
            for place, spoken in enumerate(messages, start=1)
        ]
        asked = self.state.prompt(prompt("clinician_tuned", self.material.language).brief)
        return CandidateTurn(
            turn=self.state.turn, prompt=tuple(asked), recall=self.recall, candidates=tuple(candidates)
        )

    def _message(self, place: int) -> Exchange[Spoken]:
        filled = prompt("clinician_tuned", self.material.language)
        call = prompted(
            "clinician",
            DOCTOR,
            self.asked_before + place,
            filled,
            instruction=self.state.asked,
            material={
                "asked": self.state.asked,
                "language": self.material.language,
                "turn": self.state.turn,
                "number": place,
            },
        )
        return (yield from ask_clinician(call, clinician_watch(self.lines, self.material.language)))

    def _judgement(self, text: str, place: int) -> Exchange[Mapping[str, Any]]:
        """What a message is and what it is worth; or why that isn't known."""
        ordinal = self.asked_before + place
        try:
            diagnoses = yield from ask_evaluator(
                "diagnosis_reading",
                ordinal,
                self.material.language,
                read_diagnoses,
                variables={"message": text},
            )
            if diagnoses is not None:
                return (yield from self._diagnosing(diagnoses, ordinal))
            if self.reward == "answerable":
                return (yield from self._answerable(text, ordinal))
            return (yield from self._finding(text, ordinal))
        except UnusableConversationError as error:
            return {"missing": f"{error.whose}: {error.reason}"}

    def _diagnosing(self, diagnoses: tuple[str, ...], ordinal: int) -> Exchange[Mapping[str, Any]]:
        rank = yield from diagnosis_rank(self.material.diagnosis, diagnoses, self.material.language, ordinal=ordinal)
        worth = diagnosing_reward(rank, self.recall, self.material.generated_recall)
        return {
            "kind": "diagnosing",
            "diagnoses": diagnoses,
            "rank": rank,
            "reward": worth.value,
            "missing": worth.missing or "",
        }

    def _finding(self, text: str, ordinal: int) -> Exchange[Mapping[str, Any]]:
        """Whether the patient's answer tells a finding that wasn't told."""
        if not self.untold:
            return {"kind": "asking", "reward": 0.0}
        note = ClinicalNote(chief_complaint=self.lines[0].text, vignette=self.material.vignette)
        patient = VignettePatient(note, self.material.language, self.material.fixed, "rules")
        answer = yield from patient.reply((*self.lines, Line("clinician", text)), ordinal)
        listed = "\n".join(f"{number}. {finding}" for number, finding in enumerate(self.untold))
        findings = yield from ask_evaluator(
            "exchange_findings",
            ordinal,
            self.material.language,
            self._read_findings,
            variables={"findings": listed, "question": text, "answer": answer.text},
            material={"findings": self.untold, "question": text, "answer": answer.text},
        )
        return {
            "kind": "asking",
            "answer": answer.text,
            "findings": findings,
            "reward": float(bool(findings)),
        }

    def _read_findings(self, value: Any) -> tuple[str, ...]:
        numbers = part_of(value, "findings")
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError('"findings" must be a list of numbers')
        wrong = next((number for number in numbers if not 0 <= number < len(self.untold)), None)
        if wrong is not None:
            raise ValueError(f"no finding of the list has the number {wrong}")
        return tuple(self.untold[number] for number in sorted(set(numbers)))

    def _answerable(self, text: str, ordinal: int) -> Exchange[Mapping[str, Any]]:
        """Whether a question was not answered before, and the note answers it."""
        language, vignette = self.material.language, self.material.vignette
        answered, answerable = yield from together(
            ask_evaluator(
                "answered_before",
                ordinal,
                language,
                flag_reader("answered"),
                variables={"conversation": numbered(self.lines, language), "question": text},
                material={
                    "messages": tuple((line.role, line.text) for line in self.lines),
                    "question": text,
                },
            ),
            ask_evaluator(
                "answerable",
                ordinal,
                language,
                flag_reader("answerable"),
                variables={"vignette": vignette, "question": text},
                material={"sentences": sentences(vignette), "question": text},
            ),
        )
        worth = float(answerable and not answered)
        return {"kind": "asking", "answered": answered, "answerable": answerable, "reward": worth}


def _unusable(spoken: Spoken) -> Mapping[str, Any]:
    """Why a message isn't judged."""
    reasons = [flag for flag in spoken.flags if flag in _UNUSABLE]
    return {"missing": f"the message can't be used: {', '.join(reasons)}"}
