"""Who names the diagnosis first: a patient who does was told what a patient doesn't know, or the case gave it away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bedside.metrics.contract import Example, Family, Metric
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import Transcript

_NAME = "diagnosis_said_first"
#: Between several diagnoses in one text.
_SEVERAL = re.compile(r"[,;/，；、]|\band\b|\bwith\b")


def compute(transcript: Transcript, _metric_names: frozenset[str]) -> Iterator[Value]:
    """Whether the patient names the diagnosis before the clinician does."""
    diagnosis = transcript.reference.get("diagnosis")
    if not isinstance(diagnosis, str) or not diagnosis.strip():
        yield missing(_NAME, "no diagnosis in the reference")
        return
    first = names_first([(turn.role, turn.text) for turn in transcript.turns], diagnosis)
    if first is not None:
        said = transcript.turns[first]
        whose = "" if said.role == "patient" else "the clinician says it first, in "
        yield Value(_NAME, float(not whose), reason=f"{whose}turn {said.index}")
    elif any(turn.role == "patient" for turn in transcript.turns):
        yield Value(_NAME, 0.0)
    else:
        yield missing(_NAME, "no patient turn")


def names_first(turns: Sequence[tuple[str, str]], diagnosis: str) -> int | None:
    """The place of the turn that names a diagnosis, or one of several, first; None where neither side does.

    Args:
        turns: role and text of each.
        diagnosis: the name, or several.
    """
    names = [name for name in map(_folded, _SEVERAL.split(diagnosis)) if name.strip()]
    for place, (role, text) in enumerate(turns):
        if role != "other" and any(name in _folded(text) for name in names):
            return place
    return None


def _folded(text: str) -> str:
    """Words between single spaces, so that a name is found as whole words; text without spaces stays as it is."""
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return f" {words} " if words.isascii() else words


_TALK = (
    ("clinician", "Does it run in the family?"),
    ("patient", "My sister has asthma."),
    ("clinician", "It may be asthma in your case, too."),
)
_CASE = {"reference": {"diagnosis": "Asthma"}}

FAMILY = Family(
    name="diagnosis_naming",
    title="Naming of the diagnosis",
    description="Whether the patient names the diagnosis before the clinician does.",
    version="1",
    compute=compute,
    metrics=(
        Metric(
            name=_NAME,
            title="Patient names the diagnosis first",
            unit="transcript",
            low=0,
            high=1,
            direction="lower",
            digits=3,
            definition=(
                "1 where a patient turn holds the diagnosis of the reference, or one of several there, as whole words, "
                "and no clinician turn before it does; else 0. Of text without spaces between words, as characters."
            ),
            needs=("a diagnosis in the reference",),
            source="bedside's own",
            examples=(
                Example(_TALK, 1.0, "by hand", transcript=_CASE),
                Example(_TALK[2:] + _TALK[1:2], 0.0, "by hand: the clinician says it first", transcript=_CASE),
                Example(_TALK, None, "by hand: no diagnosis is there"),
            ),
        ),
    ),
    demonstration=_TALK,
    demonstration_fields=_CASE,
)
