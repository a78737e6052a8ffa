"""Conversations that the system under test failed: it said nothing, refused, or broke. They are results, not gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: How simulated conversations end that the clinician failed, as their ``stop`` says, and what it did.
CLINICIAN_FAILURES: Mapping[str, str] = {
    "clinician empty": "it said nothing",
    "refused": "it refused to answer",
    "clinician failed": "it failed to answer",
    "no candidates": "it wrote no messages that could be read",
}


def clinician_failure(reference: Mapping[str, Any]) -> str:
    """How the clinician failed a simulated conversation, in words; empty where it didn't, or nobody knows.

    Args:
        reference: the transcript's.
    """
    simulation = reference.get("simulation")
    if not isinstance(simulation, Mapping):
        return ""
    said = simulation.get("failed")
    stop = simulation.get("stop")
    return (
        said if isinstance(said, str) else CLINICIAN_FAILURES.get(stop, "") if isinstance(stop, str) else ""
    )
