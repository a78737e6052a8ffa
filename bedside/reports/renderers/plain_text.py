"""Text that any form can hold: no control characters, no line breaks."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Text without control characters; white space of any kind becomes a space."""
    return "".join(
        " " if character.isspace() and character not in "\u00a0\u2009\u202f" else character
        for character in text
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs")
    )


def xml_text(text: str) -> str:
    """Plain text without what XML can't hold."""
    return plain(text).replace("\ufffe", "").replace("\uffff", "")
