"""Who speaks for a patient whom a text describes: a small child doesn't speak for itself."""

from __future__ import annotations

import re
from typing import Literal

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
