"""What speakers say and when, as recordings are transcribed: stretches of speech become turns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bedside.transcripts.transcript import Dialogue, Role

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: The name of whoever speaks where a file that names speakers names none: the user says who it is.
NO_SPEAKER = "no speaker"
JOINED = "What a speaker says before another begins is one turn, from its first start to its last stop."

#: A time as transcripts have it: minutes and seconds, or hours before them.
TIME = r"\d{1,3}:[0-5]?\d(?::[0-5]?\d)?(?:[.,]\d{1,6})?"
_TIME = re.compile(TIME)


@dataclass(frozen=True, slots=True)
class SpeechStretch:
    """A stretch of speech.

    Attributes:
        speaker: the name as written.
        text: what is said.
        where: its place in the file, for messages.
        start: seconds; None where the file doesn't say.
        stop: likewise.
        role: of the speaker, where the user says it of what is said; None where the name tells it.
    """

    speaker: str
    text: str
    where: str
    start: float | None = None
    stop: float | None = None
    role: Role | None = None


def seconds(time: str) -> float:
    """Seconds of a time such as ``00:12``, ``1:02:03.5`` or ``00:00:01,200``."""
    total = 0.0
    for part in time.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return round(total, 6)


def times(start: float | None, stop: float | None) -> dict[str, Any]:
    """What a turn's meta says of its times."""
    return {name: value for name, value in (("start", start), ("stop", stop)) if value is not None}


def speech_turns(source: SourceFile, speeches: Iterable[SpeechStretch]) -> Dialogue:
    """Checked turns: stretches in order of their start, those of one speaker that follow one another joined.

    Speech that overlaps stands whole in order of its start. Where a start is lacking the order is the file's.
    """
    ordered = list(speeches)
    if all(speech.start is not None for speech in ordered):
        ordered.sort(key=lambda speech: speech.start or 0.0)
    groups: list[list[SpeechStretch]] = []
    for speech in ordered:
        if groups and (groups[-1][0].speaker, groups[-1][0].role) == (speech.speaker, speech.role):
            groups[-1].append(speech)
        else:
            groups.append([speech])
    if len(groups) < len(ordered):
        source.account.remark(JOINED)
    return source.turns(
        [group[0].speaker for group in groups],
        [joined_text([speech.text for speech in group]) for group in groups],
        [group[0].where for group in groups],
        [
            times(
                group[0].start,
                max((speech.stop for speech in group if speech.stop is not None), default=None),
            )
            for group in groups
        ],
        [group[0].role or group[0].speaker for group in groups],
    )


def joined_text(texts: Iterable[str]) -> str:
    """Texts one after the other, with a space between, unless they are in a script that has none."""
    pieces: list[str] = []
    for text in texts:
        if not text:
            continue
        if pieces and not (_is_wide(pieces[-1][-1]) and _is_wide(text[0])):
            pieces.append(" ")
        pieces.append(text)
    return "".join(pieces)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
