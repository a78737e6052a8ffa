"""Structure: how many turns, how long, who talks, whether the conversation was completed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bedside.metrics._contract import Example, Family, Metric, Value, missing
from bedside.transcripts.model import Role, Transcript

_ROLES: tuple[Role, ...] = ("clinician", "patient")
_TWO = (("clinician", "How are you?"), ("patient", "I am not well."))
_BY_HAND = "counted by hand"


def exchanges(transcript: Transcript) -> int:
    """Number of exchanges: clinician turns, or runs of them, each with the patient's answer or the end."""
    count = 0
    previous: Role | None = None
    for turn in transcript.turns:
        if turn.role == "clinician" and previous != "clinician":
            count += 1
        elif turn.role == "patient" and previous is None:
            count += 1
        if turn.role != "other":
            previous = turn.role
    return count
