"""The closed sets of labels of states, strategies and actions, from the file beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from bedside.core.files import file_digest
from bedside.core.yaml_files import keys_and_values
from bedside.simulation.simulators.prompt_files import HASH_DIGITS

_FILE = Path(__file__).parent / "labels.yaml"

#: Appraisals from the worst to the best: 1 to 5, where a prompt wants a number.
APPRAISALS: tuple[str, ...] = ("VERY BAD", "BAD", "NEUTRAL", "GOOD", "VERY GOOD")
NEUTRAL = "NEUTRAL"
#: After these a client may step back.
UNHELPFUL = frozenset(APPRAISALS[:2])
#: What a therapist's picture of the client can have entries under; bedside's spelling of the published 18.
BACKGROUND_KEYS: tuple[str, ...] = (
    "hobbies", "interests", "preferences", "dislikes", "family", "relationships", "living_situation", "occupation",
    "education", "routines", "languages", "cultural_background", "pets", "location", "communication_style",
    "media_diet", "goals", "therapy_preferences",
)  # fmt: skip


@cache
def labels(kind: str) -> Mapping[str, str]:
    """The labels of a kind in their order, each with what it means.

    Args:
        kind: ``stages``, ``emotions``, ``appraisals``, ``processes``, ``strategies``, ``pivots`` or ``actions``.
    """
    sets = keys_and_values(_FILE, "file of labels", "the docs on simulating CALM-IT")
    return MappingProxyType({str(name): str(meaning) for name, meaning in sets[kind].items()})


@cache
def labels_reference() -> str:
    """``labels@`` and the first digits of the file's SHA-256."""
    return f"labels@{file_digest(_FILE)[:HASH_DIGITS]}"


def listed(kind: str, allowed: Iterable[str]) -> str:
    """The labels that can be chosen, a line each with what they mean, in the order of the file."""
    chosen = set(allowed)
    return "\n".join(f"- {name}: {meaning}" for name, meaning in labels(kind).items() if name in chosen)
