"""Chance in simulated conversations: a named stream for each purpose, so that no draw depends on another."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass


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
