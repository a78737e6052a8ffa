"""The doctors that a clinician under test plays: five, one of which is drawn for each case and repeat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bedside.core.errors import InputError
from bedside.core.model_errors import first_complaint
from bedside.core.yaml_files import plain_yaml
from bedside.metrics.protocols.contract import Strict, Text
from bedside.simulation.simulators.case import Name
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.mdd5k.bundled_material import BUNDLED, FOLDER
from bedside.simulation.simulators.mdd5k.case_fields import Sex

Speed = Literal["fast", "normal", "slow"]
Explaining = Literal["often", "sometimes", "rarely"]
_SEE = "see docs/simulators/mdd5k.md, Doctors"

#: How a brief says what a persona is, by language and value.
WORDS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "female": "女",
        "male": "男",
        "fast": "快",
        "normal": "适中",
        "slow": "慢",
        "often": "经常",
        "sometimes": "有时",
        "rarely": "很少",
    },
    "en": {
        "female": "woman",
        "male": "man",
        "fast": "quickly",
        "normal": "at a normal pace",
        "slow": "slowly",
        "often": "often",
        "sometimes": "sometimes",
        "rarely": "rarely",
    },
}


class DoctorPersona(Strict):
    """How a doctor is and asks.

    Attributes:
        id: its name, which no other doctor of the file has.
        age: in years, from 20 to 90.
        sex: the doctor's.
        speed: how fast the doctor talks.
    """

    id: Name
    age: Annotated[int, Field(ge=20, le=90, strict=True)]
    sex: Sex
    specialties: Text = Field(description="What the doctor treats most.")
    speed: Speed
    style: Text = Field(description="How the doctor talks, in a word or two.")
    empathy: bool = Field(description="Whether the doctor comforts where that is apt.")
    explains: Explaining = Field(description="How often technical terms are explained.")


def find_doctors(name: str, language: str) -> tuple[DoctorPersona, ...]:
    """The doctors in a language: those that come with bedside, or a file's.

    Raises:
        InputError: the file can't be read, or isn't of the form.
    """
    return read_doctors(FOLDER / f"doctors.{language}.yaml" if name == BUNDLED else Path(name))


@cache
def read_doctors(path: Path) -> tuple[DoctorPersona, ...]:
    """A file of doctors, a list.

    Raises:
        InputError: it can't be read, isn't of the form, or two doctors have one id.
    """
    data = plain_yaml(path, "file of doctors", kind=InputError)
    try:
        doctors = TypeAdapter(tuple[DoctorPersona, ...]).validate_python(data)
    except ValidationError as error:
        raise InputError(first_complaint(error, DoctorPersona)[1], where=str(path), todo=_SEE) from error
    if not doctors or len({doctor.id for doctor in doctors}) < len(doctors):
        what = "two doctors have one id" if doctors else "there are no doctors"
        raise InputError(what, where=str(path), todo=_SEE)
    return doctors


def draw_doctor(doctors: tuple[DoctorPersona, ...], draws: Draws, number: int) -> DoctorPersona:
    """One of the doctors, each with the same probability; ``number`` says which draw it is, from 1."""
    return draws.stream("doctor", number).choice(doctors)
