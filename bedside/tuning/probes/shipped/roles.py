"""Who said what is exchanged: a judge that reads must notice."""

from __future__ import annotations

from dataclasses import replace

from bedside.transcripts.transcript import Role
from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant

_OTHER_SIDE: dict[Role, Role] = {"clinician": "patient", "patient": "clinician"}


def _swapped(material: ProbeMaterial) -> Altered | Unalterable:
    """All that the clinician said is the patient's, and conversely."""
    if material.rubric.role is None:
        return Unalterable("the rubric rates nobody's part in particular")
    transcript = material.transcript
    speakers = {turn.role: turn.speaker for turn in reversed(transcript.turns)}
    if not _OTHER_SIDE.keys() <= speakers.keys():
        return Unalterable("only one side speaks")
    turns = []
    for turn in transcript.turns:
        role = _OTHER_SIDE.get(turn.role, turn.role)
        turns.append(replace(turn, role=role, speaker=speakers[role]))
    return Altered(replace(transcript, turns=tuple(turns)), material.rubric)


PROBE = Probe(
    name="roles",
    title="Who said what",
    description="All that the clinician said becomes the patient's, and conversely. By a rubric on one side's part the "
    "levels must move, one way or the other: a judge whose levels stay doesn't look at who said what. It counts how "
    "far levels move, whatever the direction, beyond what they move when asked again.",
    expects="moves",
    variants=(Variant("swapped", "clinician and patient swapped", _swapped),),
)
