"""A count with its noun."""

from __future__ import annotations

_IRREGULAR = {"person": "people", "jury": "juries"}


def counted(count: int, noun: str) -> str:
    """A number of things, in words that fit it: ``1 turn``, ``1,200 turns``, ``2 people``."""
    return f"{count:,} {noun if count == 1 else _IRREGULAR.get(noun, f'{noun}s')}"
