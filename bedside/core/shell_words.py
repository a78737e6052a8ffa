"""Paths and names in commands that are printed to be typed."""

from __future__ import annotations

import shlex
from pathlib import Path


def typed(word: str | Path) -> str:
    """A path or name as a shell takes it for one word, and a command for no option."""
    text = str(word)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
