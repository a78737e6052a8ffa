"""Other names for the speakers."""

from __future__ import annotations

import re
from functools import partial

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant

#: How a turn begins in a prompt, see :mod:`bedside.judges.prompt`.
_SPEAKER = re.compile(r"^\[(\d+)\] (clinician|patient): ", re.MULTILINE)
_RUBRIC = "\nThe rubric\n"


def _renamed(text: str, names: dict[str, str]) -> str:
    """A prompt whose turns begin with other names, and that says who they are."""
    explained = ", ".join(f"“{name}” is the {role}" for role, name in names.items())
    renamed = _SPEAKER.sub(lambda turn: f"[{turn[1]}] {names[turn[2]]}: ", text)
    return renamed.replace(_RUBRIC, f"\nIn the conversation {explained}.\n{_RUBRIC}", 1)


def _rename(material: ProbeMaterial, *, clinician: str, patient: str) -> Altered | Unalterable:
    if not material.rubric.transcript:
        return Unalterable("the rubric doesn't show the conversation")
    names = {"clinician": clinician, "patient": patient}
    return Altered(material.transcript, material.rubric, reword=partial(_renamed, names=names))


PROBE = Probe(
    name="speakers",
    title="Names of speakers",
    description="The turns begin with other names than “clinician” and “patient”, and the prompt says who is who. "
    "Nothing else is changed, so a level should stay.",
    expects="stays",
    variants=(
        Variant("letters", "speakers called A and B", partial(_rename, clinician="Speaker A", patient="Speaker B")),
        Variant(
            "other-words",
            "speakers called counsellor and client",
            partial(_rename, clinician="counsellor", patient="client"),
        ),
    ),
)
