"""Invented transcripts with planted identifiers, and how many of them are seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bedside.transcripts.identifiers.kinds import KINDS
from bedside.transcripts.identifiers.recognition import Recognition
from bedside.transcripts.identifiers.transcript_identifiers import identifiers_of
from bedside.transcripts.transcript import Role, Transcript, Turn

#: Talks that were looked at while patterns were written, and those that were not.
IN_SIGHT, HELD_OUT = (Path(__file__).with_name(name) for name in ("planted.txt", "held_out.txt"))
_MARK = re.compile(r"\{(\w+):([^{}]*)\}")
_ROLES: dict[str, Role] = {"C": "clinician", "P": "patient", "N": "other"}


@dataclass(frozen=True, slots=True)
class Planted:
    """An identifier that was written into a turn."""

    kind: str
    start: int
    end: int
    text: str


@dataclass(slots=True)
class Counts:
    """How many planted identifiers there are, how many were seen whole or in part, and how much else was seen.

    ``other_kind`` counts those seen of which the kind was another.
    """

    planted: int = 0
    seen: int = 0
    in_part: int = 0
    other_kind: int = 0
    reported: int = 0
    right: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)


def planted(file: Path) -> Iterator[tuple[Transcript, list[list[Planted]]]]:
    """The transcripts without the marks, and what was planted in each of their turns."""
    for block in file.read_text("utf-8").split("\n== ")[1:]:
        heading, *lines = block.strip().splitlines()
        name, language = heading.split()
        turns, marks = [], []
        for index, line in enumerate(lines):
            role, said = line.split(": ", 1)
            text, places = unmarked(said)
            turns.append(Turn(index, _ROLES[role], _ROLES[role], text))
            marks.append(places)
        yield Transcript(name, tuple(turns), language=language, source=file.name), marks


def unmarked(marked: str) -> tuple[str, list[Planted]]:
    text, places, at = "", [], 0
    for mark in _MARK.finditer(marked):
        text += marked[at : mark.start()]
        assert mark[1] in KINDS, mark[0]
        places.append(Planted(mark[1], len(text), len(text) + len(mark[2]), mark[2]))
        text += mark[2]
        at = mark.end()
    return text + marked[at:], places


def measure(recognition: Recognition, file: Path, languages: Iterable[str]) -> dict[str, Counts]:
    """What is seen of the planted, by kind; an identifier counts as seen where every letter and digit of it is."""
    chosen = set(languages)
    counts = {kind: Counts() for kind in KINDS}
    for transcript, marks in planted(file):
        if transcript.language not in chosen:
            continue
        seen = [one for one in identifiers_of(transcript, recognition) if one.field == "text"]
        for turn, places in zip(transcript.turns, marks, strict=True):
            here = [one for one in seen if one.turn == turn.index]
            for place in places:
                count = counts[place.kind]
                count.planted += 1
                covered = {at for one in here for at in range(one.start, one.end)}
                letters = {at for at in range(place.start, place.end) if turn.text[at].isalnum()}
                if letters <= covered:
                    count.seen += 1
                    kinds = Counter(one.kind for one in here if one.start < place.end and place.start < one.end)
                    count.other_kind += place.kind not in kinds
                else:
                    count.in_part += bool(letters & covered)
                    count.missed.append(f"{transcript.id} {turn.index}: {place.text}")
            for one in here:
                count = counts[one.kind]
                count.reported += 1
                if any(one.start < place.end and place.start < one.end for place in places):
                    count.right += 1
                else:
                    count.false.append(f"{transcript.id} {turn.index}: {one.text}")
    return counts
