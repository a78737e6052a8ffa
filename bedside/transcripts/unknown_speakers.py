"""Speakers whose role nothing tells: how often they speak, and a guess of who they are, for the user to judge."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from itertools import accumulate

from bedside.core.words import counted
from bedside.transcripts.role_evidence import SURE, role_evidence
from bedside.transcripts.transcript import Role, Transcript

#: Most speakers that a message names, and most of their letters together: it is one line.
_MOST, _LONGEST = 12, 450
#: Most examples that it gives, and letters of each.
_MOST_EXAMPLES, _LONGEST_EXAMPLE = 3, 60


@dataclass(slots=True)
class _Speaker:
    """One of them: how many turns in how many transcripts, votes for each role by probability, a turn of theirs."""

    turns: int = 0
    transcripts: int = 0
    votes: dict[Role, float] = field(default_factory=dict)
    example: str = ""


class UnknownSpeakers:
    """All unknown speakers of a reading.

    Attributes:
        names: of those who were met.
        speakers: what is known of each, by the name.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.speakers: dict[str, _Speaker] = {}

    def add(self, transcript: Transcript) -> None:
        """Count a transcript's turns of unknown speakers, whose role it doesn't tell."""
        by_name: dict[str, list[str]] = {}
        known: dict[Role, list[str]] = {}
        for turn in transcript.turns:
            if turn.speaker in self.names:
                by_name.setdefault(turn.speaker, []).append(turn.text)
            else:
                known.setdefault(turn.role, []).append(turn.text)
        for name, (role, probability) in role_evidence(by_name, known).items():
            speaker = self.speakers.setdefault(name, _Speaker())
            speaker.turns += len(by_name[name])
            speaker.transcripts += 1
            speaker.votes[role] = speaker.votes.get(role, 0) + probability
            speaker.example = speaker.example or max(by_name[name], key=len)

    def complaint(self) -> tuple[str, str]:
        """What is wrong, with all of them and their turns; and what to do, with a guess for each."""
        ranked = sorted(self.speakers.items(), key=lambda item: (-item[1].turns, item[0]))
        lengths = accumulate(len(name) for name, _ in ranked)
        shown = dict(speaker for speaker, length in zip(ranked[:_MOST], lengths, strict=False) if length <= _LONGEST)
        counts = ", ".join(
            f"{name!r} ({counted(speaker.turns, 'turn')} in {counted(speaker.transcripts, 'transcript')})"
            for name, speaker in shown.items()
        )
        more = f" and {len(ranked) - len(shown):,} more" if len(ranked) > len(shown) else ""
        what = f"unknown speaker{'s' if len(ranked) > 1 else ''} {counts}{more}"
        todo = "say who each is: clinician, patient or other"
        unsure = [
            f"{name!r} says {_cut(speaker.example)!r}"
            for name, speaker in shown.items()
            if max(speaker.votes.values()) / speaker.transcripts < SURE
        ]
        if unsure:
            examples = ", ".join(unsure[:_MOST_EXAMPLES])
            return what, f"{todo}, as in `roles=NAME=ROLE`; how they talk doesn't tell surely: {examples}"
        pairs = ",".join(
            f"{as_csv(name)}={max(speaker.votes, key=speaker.votes.__getitem__)}" for name, speaker in shown.items()
        )
        return what, f"{todo}; a guess by their names and by how they talk is `roles={as_typed(pairs)}`"


def _cut(text: str) -> str:
    """The beginning of a text as one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_EXAMPLE else line[: _LONGEST_EXAMPLE - 1] + "…"


def as_csv(name: str) -> str:
    """A name as it may stand in a list with commas."""
    return '"' + name.replace('"', '""') + '"' if re.search('[,"]', name) else name


def as_typed(text: str) -> str:
    """A text as it is typed in a shell."""
    if not re.search(r"[^\w=,.-]", text):
        return text
    return shlex.quote(text) if re.search(r"[\"$`\\!]", text) else f'"{text}"'
