"""Tokens: those of a reply with their probabilities, and about how many a text has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply; a token may end in the middle of a character, so its text is bytes.

    Attributes:
        text: its text in UTF-8.
        alternatives: the likeliest tokens at its place with their log-probabilities, natural, itself included.
    """

    text: bytes
    alternatives: tuple[tuple[bytes, float], ...]


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: one for four ASCII characters, and one for each other character.

    Tokenizers differ; English comes out within about a fifth, Chinese and other scripts a little high.
    """
    ascii_characters = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // 4) + len(text) - ascii_characters
