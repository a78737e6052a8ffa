"""The conversation in another language."""

from __future__ import annotations

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant


def _translated(material: ProbeMaterial) -> Altered | Unalterable:
    if material.translation is None:
        return Unalterable("there is no translation")
    return Altered(material.translation, material.rubric)


PROBE = Probe(
    name="translation",
    title="Another language",
    description="The judge reads the conversation in another language: in translations of yours, or in those that a "
    "model makes turn by turn, which are kept as its judgements are. What the rubric takes beside the conversation "
    "stays as it is. A level should stay; what a translation loses or smooths can't be told from what the judge does "
    "with the language, so that a movement is a reason to look at both.",
    expects="stays",
    variants=(Variant("translated", "the conversation translated", _translated, needs="translation"),),
)
