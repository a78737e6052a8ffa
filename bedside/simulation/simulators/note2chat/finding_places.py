"""Where an interview conveys the findings of its case, where the doctor knows one beforehand, and the diagnosis's rank.

One call for each finding. What is asked about is the interview without the diagnosis at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.calls import Exchange, Line, together
from bedside.simulation.simulators.note2chat.vignette import ask_evaluator

_SPEAKERS = {"en": ("Doctor", "Patient"), "zh": ("医生", "患者")}


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """Where an interview conveys a finding; messages are counted from 0.

    Attributes:
        opening: whether the patient's first message conveys it.
        last: the last message after the first and before the diagnosis that conveys it; None where none does.
        patient_first: the patient's first message that conveys it; None where none does.
        doctor_first: the doctor's first message that states it; None where none does.
    """

    opening: bool
    last: int | None
    patient_first: int | None
    doctor_first: int | None

    @property
    def missing(self) -> bool:
        """Whether it counts, and isn't conveyed."""
        return not self.opening and self.last is None

    @property
    def known_early(self) -> bool:
        """Whether the doctor states it before the patient has said it."""
        return self.doctor_first is not None and (self.patient_first is None or self.doctor_first < self.patient_first)


def numbered(lines: Sequence[Line], language: str) -> str:
    """An interview as text, a numbered message a line."""
    doctor, patient = _SPEAKERS[language]
    names = {"clinician": doctor, "patient": patient}
    return "\n".join(
        f"{number}. {names[line.role]}: {' '.join(line.text.split())}" for number, line in enumerate(lines)
    )


def finding_places(
    lines: Sequence[Line], findings: Sequence[str], language: str, *, ordinal: int = 1
) -> Exchange[tuple[FindingPlace, ...]]:
    """Where an interview conveys each finding.

    Args:
        lines: the interview; a last message of the clinician is its diagnosis, and isn't asked about.
        findings: the sentences.
        language: code of their language.
        ordinal: of the first call.

    Raises:
        UnusableConversationError: a finding's reply can't be read, three times.
    """
    asked = lines[:-1] if lines and lines[-1].role == "clinician" else lines
    return (
        yield from together(*(_place(asked, text, language, ordinal + number) for number, text in enumerate(findings)))
    )


def _place(lines: Sequence[Line], finding: str, language: str, ordinal: int) -> Exchange[FindingPlace]:
    return (
        yield from ask_evaluator(
            "finding_place",
            ordinal,
            language,
            lambda value: _read_place(value, lines),
            variables={"finding": finding, "conversation": numbered(lines, language)},
            material={"finding": finding, "messages": tuple((line.role, line.text) for line in lines)},
        )
    )


def _read_place(value: Any, lines: Sequence[Line]) -> FindingPlace:
    if not isinstance(value, dict) or not isinstance(value.get("opening"), bool):
        raise ValueError('"opening" must be true or false')
    numbers: dict[str, int | None] = {}
    for key, role in (("last", None), ("patient_first", "patient"), ("doctor_first", "clinician")):
        number = value.get(key, ...)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise ValueError(f'"{key}" must be a message\'s number or null')
        if number is not None and not (key == "last") <= number < len(lines):
            raise ValueError(f'"{key}" is {number}, and no message that counts has this number')
        if number is not None and role is not None and lines[number].role != role:
            raise ValueError(f'"{key}" is {number}, which is not a message of the {key.split("_")[0]}')
        numbers[key] = number
    opening, first, last = value["opening"], numbers["patient_first"], numbers["last"]
    if first == 0 and not opening:
        raise ValueError('"patient_first" is 0, and "opening" is false')
    if first and (last is None or last < first):
        raise ValueError('"last" must not come before "patient_first"')
    return FindingPlace(opening, last, 0 if opening else first, numbers["doctor_first"])


def diagnosis_rank(
    diagnosis: str, candidates: Sequence[str], language: str, *, ordinal: int = 1
) -> Exchange[int | None]:
    """The position (from 0) of the true diagnosis among the candidates; None where it is not among them.

    Raises:
        UnusableConversationError: the reply can't be read, three times.
    """
    if not candidates:
        return None
    listed = "\n".join(f"{number}. {name}" for number, name in enumerate(candidates))

    def read(value: Any) -> int | None:
        number = value.get("candidate", ...) if isinstance(value, dict) else ...
        if number is None:
            return None
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(candidates):
            raise ValueError('"candidate" must be a number of the list or null')
        return number

    return (
        yield from ask_evaluator(
            "diagnosis_place",
            ordinal,
            language,
            read,
            variables={"diagnosis": diagnosis, "candidates": listed},
            material={"diagnosis": diagnosis, "candidates": tuple(candidates)},
        )
    )
