"""What a file's path says: its ending, its name as it can be printed, and what a pattern finds in it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path


def printable_path(path: str | Path) -> str:
    """The path as text that can be printed, whatever bytes its name is made of."""
    text = str(path)
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def common_folder(paths: Iterable[str | Path]) -> str:
    """The folder that all files lie in or below; empty where none holds them all, as on several drives of Windows."""
    try:
        return os.path.commonpath({os.path.dirname(os.path.abspath(path)) for path in paths})
    except ValueError:
        return ""


def ending_of(name: str) -> str:
    """The ending of a file's name in lower case without ``.gz``, e.g. ``.jsonl``."""
    return os.path.splitext(name.lower().removesuffix(".gz"))[1]


def without_endings(path: str, endings: Collection[str]) -> str:
    """The path without ``.gz`` and without its ending, if that is one of those given."""
    if path.lower().endswith(".gz"):
        path = path[:-3]
    stem, ending = os.path.splitext(path)
    return stem if ending.lower() in endings else path
