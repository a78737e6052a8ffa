"""Speakers whose role nothing tells: how often they speak, and a guess of who they are, for the user to judge."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from bedside.support.plurals import counted
from bedside.transcripts.role_evidence import SURE, role_evidence
from bedside.transcripts.transcript import Role, Transcript

#: Most speakers that a message names, and most of their letters together: it is one line.
_MOST, _LONGEST = 12, 450
#: Most examples that it gives, and letters of each.
_MOST_EXAMPLES, _LONGEST_EXAMPLE = 3, 60


@dataclass(slots=True)
class UnknownSpeaker:
    """One of them.

    Attributes:
        turns: how many.
        transcripts: in how many.
        votes: what the transcripts say of the role, by probability.
        example: a turn of theirs, the longest that was met first.
    """

    turns: int = 0
    transcripts: int = 0
    votes: dict[Role, float] = field(default_factory=dict)
    example: str = ""

    def guess(self) -> tuple[Role, float]:
        """The likeliest role, and how probable it is over all transcripts."""
        role = max(self.votes, key=lambda role: self.votes[role])
        return role, self.votes[role] / self.transcripts


class UnknownSpeakers:
    """All unknown speakers of a reading.

    Attributes:
        names: of those who were met.
        speakers: what is known of each, by the name.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.speakers: dict[str, UnknownSpeaker] = {}

    def add(self, transcript: Transcript) -> None:
        """Count a transcript's turns of unknown speakers, whose role it doesn't tell."""
        by_name: dict[str, list[str]] = {}
        known: dict[Role, list[str]] = {}
        for turn in transcript.turns:
            said = (
                by_name.setdefault(turn.speaker, [])
                if turn.speaker in self.names
                else known.setdefault(turn.role, [])
            )
            said.append(turn.text)
        for name, (role, probability) in role_evidence(by_name, known).items():
            speaker = self.speakers.setdefault(name, UnknownSpeaker())
            speaker.turns += len(by_name[name])
            speaker.transcripts += 1
            speaker.votes[role] = speaker.votes.get(role, 0) + probability
            speaker.example = speaker.example or max(by_name[name], key=len)

    def guesses(self) -> dict[str, tuple[Role, float]]:
        """The likeliest role of each with its probability, those who speak most first."""
        order = sorted(self.speakers.items(), key=lambda item: (-item[1].turns, item[0]))
        return {name: speaker.guess() for name, speaker in order}

    def told(self) -> tuple[str, str]:
        """What is wrong, with all of them and their turns; and what to do, with a guess for each."""
        guesses = self.guesses()
        shown: list[str] = []
        for name in guesses:
            if len(shown) == _MOST or sum(map(len, shown)) + len(name) > _LONGEST:
                break
            shown.append(name)
        counts = [
            f"{name!r} ({counted(self.speakers[name].turns, 'turn')} in "
            f"{counted(self.speakers[name].transcripts, 'transcript')})"
            for name in shown
        ]
        more = len(guesses) - len(shown)
        what = "unknown speaker" + ("s" if len(guesses) > 1 else "")
        rest = f" and {more:,} more" if more else ""
        todo = "say who each is: clinician, patient or other"
        unsure = [name for name in shown if guesses[name][1] < SURE]
        if unsure:
            examples = ", ".join(
                f"{name!r} says {_cut(self.speakers[name].example)!r}" for name in unsure[:_MOST_EXAMPLES]
            )
            todo += f", as in `roles=NAME=ROLE`; how they talk doesn't tell surely: {examples}"
        else:
            pairs = ",".join(f"{as_csv(name)}={guesses[name][0]}" for name in shown)
            todo += f"; a guess by their names and by how they talk is `roles={as_typed(pairs)}`"
        return f"{what} {', '.join(counts)}{rest}", todo


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
