"""A case whose every text can be told from every other, and actors that say what they are told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case, ClinicalNote, Hidden, NoteFinding, PatientSide
from tests.simulation.simulators.playing import Replies

FIVE = ["asthma", "pneumonia", "gout", "anaemia", "migraine"]


def case(**note: Any) -> Case:
    """A case with a canary in each text."""
    vignette = "The qzvignette ache began two days ago. It is worse at night."
    return Case(
        id="canary",
        origin="invented",
        chart={"Ward": "qzchart"},
        patient=PatientSide(narrative="qznarrative", facts=("qzfact",)),
        hidden=Hidden(diagnosis="qzdiagnosis"),
        note=ClinicalNote(
            **{
                "chief_complaint": "qzcomplaint",
                "text": f"{vignette} In the ED the qzintervention was given.",
                "vignette": vignette,
                "findings": (
                    NoteFinding(text="qzfinding one.", categories=("onset",)),
                    NoteFinding(text="qzfinding two."),
                ),
                **note,
            }
        ),
        extra={"note2chat": {"private": "qzextra"}},
    )


def said(message: str, diagnoses: Sequence[str] | None = None) -> str:
    """A structured message of the clinician."""
    return json.dumps({"message": message, "diagnoses": diagnoses})


def questions(number: int, diagnoses: Sequence[str] = FIVE) -> list[str | ActorReply]:
    """So many different questions, and then the diagnosis."""
    words = ("where", "when", "how", "why", "since", "which", "who", "whose", "what", "whether", "whom", "whence")
    asked: list[str | ActorReply] = [
        said(f"Tell me {words[n % 12]}{n} it hurt{n} after{n} lunch{n}?") for n in range(number)
    ]
    return [*asked, said("It is this.", diagnoses)]


def actors(
    clinician: Sequence[str | ActorReply] | Callable[[Call], str | ActorReply],
    patient: str | Sequence[str | ActorReply] | Callable[[Call], str | ActorReply] = "Sorry, I don't know.",
    data: Mapping[str, str | ActorReply | Callable[[Call], str | ActorReply]] | None = None,
) -> Replies:
    """Replies by role: lists are said in order of the calls, their last entry again where they run out."""
    told = {"clinician": 0, "patient": 0}

    def reply(call: Call) -> str | ActorReply:
        if data is not None and call.purpose in data:
            step = data[call.purpose]
            return step(call) if callable(step) else step
        if call.purpose == "opening":
            return "I have this ache."
        assert call.kind == "message", call.purpose
        own = clinician if call.actor == "clinician" else patient
        if callable(own):
            return own(call)
        if isinstance(own, str | ActorReply):
            return own
        told[call.actor] += 1
        return own[min(told[call.actor], len(own)) - 1]

    return reply
