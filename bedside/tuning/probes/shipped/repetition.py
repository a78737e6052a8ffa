"""The same prompt asked again: the noise beside which every other effect is seen."""

from __future__ import annotations

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Variant


def _unchanged(material: ProbeMaterial) -> Altered:
    return Altered(material.transcript, material.rubric)


PROBE = Probe(
    name="repetition",
    title="The same again",
    description="The same prompt is asked in further passes, with other seeds where the temperature isn't 0. Nothing "
    "is changed, so what moves is the judge's own noise: the base line of all other probes, and always asked.",
    expects="stays",
    variants=(Variant("again", "the same prompt again", _unchanged, again=True),),
)
