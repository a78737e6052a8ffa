"""What the toy actors of all simulators share: their words stand in a file beside each, and they only match words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from bedside.core.yaml_files import keys_and_values
from bedside.simulation.simulators.calls import ActorReply

_contents = cache(keys_and_values)


class ToyWords:
    """Phrases and cues of a simulator's toys by key: ``toys.yaml`` in its folder, read when it is first looked into."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "toys.yaml"

    def __getitem__(self, key: str) -> Any:
        return _contents(self._path, "file of toys' words", "CONTRIBUTING.md")[key]


@cache
def _pattern(alternatives: tuple[str, ...], end: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)}){end}", re.IGNORECASE)


def whole_words(alternatives: list[str]) -> re.Pattern[str]:
    """Any of several expressions, as whole words in any case."""
    return _pattern(tuple(alternatives), r"\b")


def beginnings(alternatives: list[str]) -> re.Pattern[str]:
    """Any of several expressions at the beginning of a word, in any case."""
    return _pattern(tuple(alternatives), "")


def object_reply(value: Any) -> ActorReply:
    """A reply that is an object."""
    return ActorReply(orjson.dumps(value).decode())
