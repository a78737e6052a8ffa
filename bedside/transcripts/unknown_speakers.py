"""Speakers whose role nothing tells: how often they speak, and a guess of who they are, for the user to judge."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bedside.support.plurals import counted
from bedside.transcripts.transcript import ROLE_ALIASES, Role, Transcript, Turn

#: Most speakers that a message names, and most of their letters together: it is one line.
_MOST, _LONGEST = 12, 450

#: Words within a name of a third person. A guest of the patient is a third, so that thirds go before all others.
THIRDS: frozenset[str] = frozenset(
    """
    mother mom mum mama father dad papa parent parents wife husband spouse son daughter child brother sister sibling
    family relative friend guest carer caregiver nurse interpreter translator observer moderator narrator supervisor
    student
    """.split()
)
_WORDS: Mapping[str, Role] = {
    **ROLE_ALIASES,
    **dict.fromkeys(THIRDS, "other"),
    **dict.fromkeys(("dr", "doc", "md", "gp", "th", "ther", "psy", "couns", "clin", "t", "d"), "clinician"),
    **dict.fromkeys(("pt", "pat", "cl", "p"), "patient"),
}
_WORD = re.compile(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Zà-ÿ]+")


@dataclass(slots=True)
class UnknownSpeaker:
    """One of them.

    Attributes:
        turns: how many.
        transcripts: in how many.
        votes: what each transcript says of the role.
    """

    turns: int = 0
    transcripts: int = 0
    votes: Counter[Role] = field(default_factory=Counter)


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
        by_name: dict[str, list[Turn]] = {}
        roles: set[Role] = set()
        for turn in transcript.turns:
            if turn.speaker in self.names:
                by_name.setdefault(turn.speaker, []).append(turn)
            else:
                roles.add(turn.role)
        for name, role in _roles_beside(by_name, roles).items():
            speaker = self.speakers.setdefault(name, UnknownSpeaker())
            speaker.turns += len(by_name[name])
            speaker.transcripts += 1
            speaker.votes[role] += 1

    def guesses(self) -> dict[str, Role]:
        """The likeliest role of each, those who speak most first."""
        order = sorted(self.speakers.items(), key=lambda item: (-item[1].turns, item[0]))
        return {name: speaker.votes.most_common(1)[0][0] for name, speaker in order}

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
        pairs = ",".join(f"{as_csv(name)}={guesses[name]}" for name in shown)
        return (
            f"{what} {', '.join(counts)}{rest}",
            "say who each is: clinician, patient or other; a guess by their names and by who asks is "
            f"`roles={as_typed(pairs)}`",
        )


def _roles_beside(unknown: Mapping[str, Sequence[Turn]], known: set[Role]) -> dict[str, Role]:
    """A guess for each unknown speaker of a transcript: by words within the name, else by the side that nobody has,
    else by who asks more questions; who comes beside a clinician and a patient is a third."""
    guesses = {name: role for name in unknown if (role := _role_in_name(name)) is not None}
    rest = sorted(
        (name for name in unknown if name not in guesses),
        key=lambda name: _asking(unknown[name]),
        reverse=True,
    )
    sides: tuple[Role, ...] = ("clinician", "patient")
    taken = known | {*guesses.values()}
    free = [side for side in sides if side not in taken]
    # Of two, who asks more is the clinician; where more than two are unknown, those who say least are the thirds.
    chosen = sorted(rest, key=lambda name: len(unknown[name]), reverse=True)[: len(free)]
    for name in rest:
        guesses[name] = free.pop(0) if name in chosen else "other"
    return guesses


def names_speaker(name: str) -> bool:
    """Whether a name is of words for those who speak and of nothing else: ``guest_family``, ``Doctor 2``."""
    words = _WORD.findall(name)
    return bool(words) and all(word.casefold() in _WORDS for word in words)


def _role_in_name(name: str) -> Role | None:
    roles = [_WORDS[word] for word in map(str.casefold, _WORD.findall(name)) if word in _WORDS]
    return "other" if "other" in roles else roles[0] if roles else _WORDS.get(name.strip().casefold())


def _asking(turns: Sequence[Turn]) -> float:
    """Share of the turns that hold a question mark."""
    return sum("?" in turn.text or "？" in turn.text for turn in turns) / len(turns)


def as_csv(name: str) -> str:
    """A name as it may stand in a list with commas."""
    return '"' + name.replace('"', '""') + '"' if re.search('[,"]', name) else name


def as_typed(text: str) -> str:
    """A text as it is typed in a shell."""
    if not re.search(r"[^\w=,.-]", text):
        return text
    return shlex.quote(text) if re.search(r"[\"$`\\!]", text) else f'"{text}"'
