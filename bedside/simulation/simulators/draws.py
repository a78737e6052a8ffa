"""What is drawn for a case, and who speaks for a small child, which does not speak for itself."""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from typing import Literal

# -- Chance in simulated conversations ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draws:
    """Streams of random numbers of one conversation, or of what several share.

    Attributes:
        seed: the user's.
        key: whose streams they are; another key, other numbers.
    """

    seed: int
    key: str

    def stream(self, purpose: str, ordinal: int = 1) -> random.Random:
        """The stream for a purpose, at its ``ordinal``-th use; the same whenever it is asked for."""
        name = f"{self.seed}\n{self.key}\n{purpose}\n{ordinal}"
        return random.Random(hashlib.sha256(name.encode()).digest())


# -- Who speaks for a patient whom a text describes -----------------------------------------------------

#: Age in years below which somebody else speaks.
SPEAKS_FROM = 10

_INFANT = re.compile(
    r"\b(?:new-?born|neonate|infant|toddler)\b|\b\d+[- ](?:day|week|month|hour)s?[- ]old\b", re.IGNORECASE
)
_YEARS = re.compile(r"\b(\d{1,3})[- ]years?[- ]old\b", re.IGNORECASE)


def speaker(description: str) -> Literal["patient", "caregiver"]:
    """The patient, or a caregiver where the age that comes first in the description is below ten years."""
    infant, years = _INFANT.search(description), _YEARS.search(description)
    if years is not None and (infant is None or years.start() < infant.start()):
        return "caregiver" if int(years[1]) < SPEAKS_FROM else "patient"
    return "caregiver" if infant is not None else "patient"
