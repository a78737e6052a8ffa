"""What a simulated conversation came to by what the simulation itself keeps: facts that came out, the client's rapport.

No judge is needed, so that leaderboards of toys and trivial clinicians have a number in every protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bedside.metrics.contract import Example, Family, Metric
from bedside.metrics.families.case_fidelity import PATIENT_FACTS
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import Transcript, Turn

#: Share of a fact's content words that one reply holds, from which on it tells the fact.
TOLD = 0.6
_BETWEEN = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+")


def compute(transcript: Transcript, metric_names: frozenset[str]) -> Iterator[Value]:
    """The metrics named in ``metric_names``."""
    patient = [turn for turn in transcript.turns if turn.role == "patient"]
    if "facts_told" in metric_names:
        yield _facts_told(transcript.reference.get(PATIENT_FACTS), patient)
    if "client_rapport" in metric_names:
        yield _client_rapport(transcript.factors.get("target_length"), patient)


def _facts_told(facts: Any, patient: Sequence[Turn]) -> Value:
    from bedside.metrics.protocols.medconceal.policy import content, overlap

    texts = [text for text in facts if isinstance(text, str)] if isinstance(facts, list | tuple) else []
    words = {content(part) for text in texts for part in _BETWEEN.split(text)} - {frozenset()}
    first, *replies = [content(turn.text) for turn in patient] or [frozenset()]
    counted = [own for own in words if overlap(first, own) < TOLD]
    if not counted:
        return missing("facts_told", "no facts of the case in the reference that the first message doesn't tell")
    told = sum(any(overlap(reply, own) >= TOLD for reply in replies) for own in counted)
    return Value("facts_told", told / len(counted), reason=f"{told} of {len(counted)} facts")


def _client_rapport(target: Any, patient: Sequence[Turn]) -> Value:
    states = [turn.meta.get("simulation") for turn in patient]
    rapport = [state["rapport"] for state in states if isinstance(state, dict) and "rapport" in state]
    if not rapport or not isinstance(target, int | float):
        return missing("client_rapport", "no rapport of the client in the turns, or no target length")
    # The client has every second message.
    return Value("client_rapport", sum(rapport) / max(target // 2, len(rapport)))


_TALK = (
    ("patient", "I have a cough."),
    ("clinician", "Since when, and do you smoke?"),
    ("patient", "For three weeks. I never smoked."),
)
_FACTS = {"reference": {PATIENT_FACTS: ["A cough for three weeks. Never smoked.", "Keeps two cats."]}}
_SESSION = (
    ("patient", "Here I am.", {"simulation": {"rapport": 0.1}}),
    ("clinician", "You took the time."),
    ("patient", "I did.", {"simulation": {"rapport": 0.2}}),
)
_HAND = "by hand: "

FAMILY = Family(
    name="simulated_outcomes",
    title="Outcomes of simulated conversations",
    description=(
        "What a simulated conversation came to by what the simulation keeps, without a judge: enough to tell whoever "
        "asks from whoever doesn't, and no judgement of how well anything was said."
    ),
    version="1",
    compute=compute,
    demonstration=_TALK,
    metrics=(
        Metric(
            name="facts_told",
            title="Facts told",
            unit="transcript",
            low=0,
            high=1,
            digits=3,
            direction="higher",
            definition="Share of the facts of the case (sentences of `reference.patient_facts`) that a reply of the "
            f"patient tells, of those that its first message doesn't: a reply tells a fact with {TOLD} of its content "
            "words.",
            needs=("facts of the case in the reference",),
            source="bedside's own",
            examples=(
                Example(_TALK, 2 / 3, _HAND + "duration and smoking, not the cats", transcript=_FACTS),
                Example(_TALK[:1], 0, _HAND + "no reply", transcript=_FACTS),
                Example(_TALK, None, "no facts"),
            ),
        ),
        Metric(
            name="client_rapport",
            title="Client's rapport",
            unit="transcript",
            low=-1,
            high=1,
            digits=3,
            direction="higher",
            definition="Mean of the client's rapport over all messages that it was to have by the target length, from "
            "−1 to 1; 0 for each that a session broken off never came to.",
            needs=("the client's state in the turns, as CALM-IT's simulator keeps it",),
            source="bedside's own",
            examples=(
                Example(_SESSION, 0.3 / 5, _HAND + "(.1 + .2) / 5", transcript={"factors": {"target_length": 10}}),
                Example(_TALK, None, "nothing was kept of a client"),
            ),
        ),
    ),
)
