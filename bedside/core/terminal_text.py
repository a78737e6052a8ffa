"""Text of others on a terminal."""

from __future__ import annotations

import re

#: What commands a terminal, or has letters shown in another order than they stand in; neither tabs nor line breaks.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def terminal_text(text: str) -> str:
    """A text that can do nothing to a terminal: what would command it is written out, as ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return _COMMANDS.sub(
        lambda letter: letter[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n")
    )
