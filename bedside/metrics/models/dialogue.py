"""A conversation as a language model reads it, when it is asked and when it is tuned."""

from __future__ import annotations

from typing import NamedTuple

from bedside.transcripts.transcript import Role, Transcript

#: What stands before what each role says: the same in every session, whoever speaks first.
LABELS: dict[Role, str] = {"clinician": "Speaker A:", "patient": "Speaker B:"}
#: What ends a turn.
SEPARATOR = "\n\n"


class Speech(NamedTuple):
    """What one side says before the other does.

    Attributes:
        role: who speaks.
        turns: indices of the turns it is made of, in order; at least one.
        text: their texts, joined by a space.
    """

    role: Role
    turns: tuple[int, ...]
    text: str

    @property
    def line(self) -> str:
        """The speech with its speaker's label."""
        return f"{LABELS[self.role]} {self.text}"


def speeches(transcript: Transcript) -> list[Speech]:
    """What clinician and patient say by turns: several turns of one side in a row are one speech.

    Empty turns and turns of others are left out.
    """
    speeches_so_far: list[Speech] = []
    for turn in transcript.turns:
        text = " ".join(turn.text.split())
        if turn.role not in LABELS or not text:
            continue
        if speeches_so_far and speeches_so_far[-1].role == turn.role:
            last = speeches_so_far.pop()
            speeches_so_far.append(Speech(last.role, (*last.turns, turn.index), f"{last.text} {text}"))
        else:
            speeches_so_far.append(Speech(turn.role, (turn.index,), text))
    return speeches_so_far
