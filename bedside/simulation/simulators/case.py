"""What conversations are made of: cases and personas, as files hold them. An unknown key is an error.

Who sees what is part of the form: ``chart`` is the clinician's, ``patient`` the patient's; ``hidden`` is in no prompt
until the protocol's rules let a part of it out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from bedside.metrics.protocols.label_files import Share, Strict, Text
from bedside.metrics.protocols.medconceal.labels import Category

#: A name that can stand in an id and in a file's name.
Name = Annotated[str, Field(pattern=r"^[^\s/][^/\r\n]*$", strict=True)]
#: A value that tables can group by.
Factor = str | int | float | bool


class PatientSide(Strict):
    """What the simulated patient knows, and how it talks."""

    narrative: str = Field(default="", description="Who the patient is and how they live, in a few sentences.")
    facts: tuple[Text, ...] = Field(default=(), description="Single facts of the illness, as the patient knows them.")
    vitals: tuple[Text, ...] = Field(default=(), description="Temperature, blood pressure, pulse, respiration.")
    psychosocial: tuple[Text, ...] = Field(default=(), description="Life, family, work; no hidden concern stands here.")
    style: str = Field(default="", description="How the patient answers.")
    deflections: tuple[Text, ...] = Field(
        default=(),
        description="Answers that give nothing away, for questions that go past what the patient wants to say.",
    )


class HiddenConcern(Strict):
    """A concern that the patient doesn't tell unless the protocol's rules let them.

    Attributes:
        id: its name, which no other concern of the case has.
        category: which of the four kinds of concerns it is of.
        primary: whether it is the one that an intervention is about.
        confidence: how sure the source is of it, from 0 to 1.
    """

    id: Name
    category: Category
    text: Text = Field(description="The concern in the third person.")
    primary: bool = False
    confidence: Share | None = None
    evidence: tuple[Text, ...] = Field(default=(), description="What in the source speaks for it; in no prompt.")
    voiced: tuple[Text, ...] = Field(default=(), description="How the patient would say it, in the first person.")


class Hidden(Strict):
    """What no prompt holds until the rules let a part of it out.

    Attributes:
        concerns: what the patient doesn't tell unless the protocol's rules let them.
    """

    diagnosis: str | None = Field(default=None, description="The true diagnosis; the patient never gets it.")
    concerns: tuple[HiddenConcern, ...] = ()


class Intervention(Strict):
    """What the second task of MedConceal is about."""

    preference: Text = Field(description="What the patient wants at first.")
    plan: Text = Field(description="What the clinician is to guide them to.")


class NoteFinding(Strict):
    """A finding of a clinical note.

    Attributes:
        text: the finding in words.
    """

    text: Text
    categories: tuple[str, ...] = Field(default=(), description="Aspects of history taking that it belongs to.")
    unanswered: tuple[str, ...] = Field(
        default=(), description="Aspects of which it is not known whether it belongs to them."
    )


class ClinicalNote(Strict):
    """What Note2Chat makes of a discharge note.

    Attributes:
        chief_complaint: what the patient came for.
        findings: what the note says of the patient, a text each.
    """

    chief_complaint: Text
    text: str = Field(default="", description="The whole history of the illness; no conversation's prompt holds it.")
    vignette: str = Field(default="", description="The history before any treatment: all that the patient knows.")
    findings: tuple[NoteFinding, ...] = ()
    opening: str = Field(default="", description="The patient's first words; made from the complaint where empty.")


class Case(Strict):
    """A person a conversation can be had with.

    Attributes of a protocol's own stand in ``extra`` by the protocol's name, and its simulator checks them.

    Attributes:
        id: its name, which no other case of the file has; it can stand in a file's name.
        language: the language that the conversation is had in.
        licence: under which the case may be used, such as CC BY 4.0.
        patient: what the simulated patient knows, and how it talks.
        hidden: what no prompt holds until the rules let a part of it out.
        intervention: what the second task of MedConceal is about.
        note: what Note2Chat makes of a discharge note.
        extra: attributes of a protocol's own, by the protocol's name.
    """

    id: Name
    language: Literal["en", "zh"] = "en"
    origin: str = Field(default="", description="Where the case comes from, e.g. invented.")
    licence: str = ""
    speaker: Literal["patient", "caregiver"] = Field(default="patient", description="Who speaks for the patient.")
    chart: Mapping[str, Text] = Field(default={}, description="What the clinician is told at the start, by heading.")
    patient: PatientSide = PatientSide()
    hidden: Hidden = Hidden()
    intervention: Intervention | None = None
    note: ClinicalNote | None = None
    factors: Mapping[str, Factor] = Field(default={}, description="What tables can group by, such as a specialty.")
    extra: Mapping[str, Mapping[str, Any]] = {}

    def digest(self) -> str:
        """SHA-256 of the case (64 hexadecimal digits)."""
        return _digest(self)


def patient_facts(case: Case) -> tuple[str, ...]:
    """What is true of the patient by the parts of the case that all protocols share, a text each.

    The diagnosis is not among it: a patient doesn't know it. Nor is what isn't about the patient, such as how they
    answer.
    """
    side, note = case.patient, case.note
    texts = (
        *(f"{heading}: {text}" for heading, text in case.chart.items()),
        side.narrative,
        *side.facts,
        *side.vitals,
        *side.psychosocial,
        *(concern.text for concern in case.hidden.concerns),
        "" if case.intervention is None else case.intervention.preference,
        *(() if note is None else (note.chief_complaint, note.vignette or note.text)),
    )
    return tuple(text for text in texts if text.strip())


class Persona(Strict):
    """How a patient is, apart from the illness; crossed with the cases.

    Attributes:
        id: its name, which no other persona of the file has.
        traits: traits by name, each low or high.
        health_literacy: how well the patient understands medical words.
    """

    id: Name
    factors: Mapping[str, Factor] = Field(default={}, description="Goes to the transcript's factors.")
    traits: Mapping[str, Literal["low", "high"]] = {}
    health_literacy: Literal["basic", "functional", "advanced"] | None = None
    manner: str = Field(default="", description="How the patient talks, in a few sentences.")
    sentences: int | None = Field(default=None, ge=1, description="Most sentences of a reply.")
    parameters: str | None = Field(default=None, description="A parameter set of the protocol, e.g. guarded.")

    def digest(self) -> str:
        """SHA-256 of the persona (64 hexadecimal digits)."""
        return _digest(self)


def _digest(model: Strict) -> str:
    return hashlib.sha256(
        orjson.dumps(model.model_dump(mode="json", exclude_defaults=True), option=orjson.OPT_SORT_KEYS)
    ).hexdigest()


_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z\"“])")
_QUESTION = re.compile(r"^(?:which|what|how|why|the most likely)\b.*\?$", re.IGNORECASE | re.DOTALL)


def sentences_and_question(vignette: str) -> tuple[list[str], str]:
    """The sentences of a vignette, and the question that an examination ends in, which no patient knows; or ``""``."""
    sentences = _SENTENCE.split(vignette)
    question = sentences.pop() if len(sentences) > 1 and _QUESTION.match(sentences[-1]) else ""
    return sentences, question


#: Age in years below which somebody else speaks.
SPEAKS_FROM = 10

_INFANT = re.compile(
    r"\b(?:new-?born|neonate|infant|toddler)\b|\b\d+[- ](?:day|week|month|hour)s?[- ]old\b", re.IGNORECASE
)
_YEARS = re.compile(r"\b(\d{1,3})[- ]years?[- ]old\b", re.IGNORECASE)


def speaker(description: str) -> Literal["patient", "caregiver"]:
    """The patient, or a caregiver where the age that comes first in the description is below ten years."""
    infant, years = _INFANT.search(description), _YEARS.search(description)
    if years is not None and (infant is None or years.start() < infant.start()):
        return "caregiver" if int(years[1]) < SPEAKS_FROM else "patient"
    return "caregiver" if infant is not None else "patient"
