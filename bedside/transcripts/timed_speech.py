"""Files that are one talk each: their text, the tiers of their speakers, and speech that becomes turns."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, TypeVar

from bedside.core.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource
from bedside.transcripts.transcript import ROLES, Role, Transcript
from bedside.transcripts.transcript_maker import TranscriptMaker

Source = TypeVar("Source", bound=TranscriptMaker)

#: Most lines of a transcript.
MAX_LINES = 200_000
#: The name of whoever speaks where a file that names speakers names none: the user says who it is.
NO_SPEAKER = "no speaker"
#: A time as transcripts have it: minutes and seconds, or hours before them.
TIME = r"\d{1,3}:[0-5]?\d(?::[0-5]?\d)?(?:[.,]\d{1,6})?"


def one_talk(build: Callable[[Source], Transcript]) -> Callable[[Source], Iterator[Transcript]]:
    """What reads a file as the one transcript that ``build`` makes; a bad one is left out where so wished."""

    def read(source: Source) -> Iterator[Transcript]:
        transcript = source.attempt(build, source)
        if transcript is not None:
            yield transcript

    return read


def whole_bytes(source: ByteSource, most: int = MAX_RECORD, of: str = "transcript", todo: str = "split it") -> bytes:
    """The content of a file, unpacked, a text's in UTF-8.

    Raises:
        InputError: it is larger than ``most`` bytes.
    """
    if source.whole is not None:
        return source.whole
    with source.open() as file:
        data = source.unpacking(file.read, most + 1)
    if len(data) > most:
        raise InputError(f"the {of} is larger than {most // 2**20} MB", where=source.name, todo=todo)
    return data


def text_lines(text: str) -> list[str]:
    """The lines as editors number them, without their ends; a lone carriage return ends one where nothing else does."""
    if "\n" not in text:
        return text.split("\r")
    return [line.removesuffix("\r") for line in text.split("\n")]


def whole_text(source: ByteSource) -> str:
    """The text of a file.

    Raises:
        InputError: it is larger than a transcript may be, or not in its encoding.
    """
    data = whole_bytes(source)
    if max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES:
        raise InputError(f"the transcript has more than {MAX_LINES:,} lines", where=source.name, todo="split it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise source.undecodable(error, 1) from error


def seconds(time: str) -> float:
    """Seconds of a time such as ``00:12``, ``1:02:03.5`` or ``00:00:01,200``."""
    total = 0.0
    for part in time.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return round(total, 6)


@dataclass(slots=True)
class Utterance:
    """What somebody says in one go.

    Attributes:
        speaker: the name as written.
        text: what is said.
        where: its place in the file, for messages.
        start: seconds; None where the file doesn't say.
        stop: likewise.
        role: of the speaker, where the user says it of what is said; None where the name tells it.
        time: the time as written, where it is of a day.
    """

    speaker: str
    text: str
    where: str = ""
    start: float | None = None
    stop: float | None = None
    role: Role | None = None
    time: str | None = None

    def go_on(self, line: str) -> None:
        """Add a line to the text."""
        self.text = f"{self.text}\n{line}".strip()


def talk(
    source: TranscriptMaker, speech: Iterable[Utterance], where: str = "", *, joined: bool = True, **fields: Any
) -> Transcript:
    """A checked transcript of what is said.

    Args:
        source: the file.
        speech: all of it.
        where: the transcript's place; empty for the file.
        joined: whether speech stands in order of its start (where none lacks one; it stands whole where it overlaps),
            and that of one speaker that follows one another is one turn; else each is a turn.
        fields: what else is known of the transcript, such as its ``language``.
    """
    ordered = list(speech)
    if joined and all(piece.start is not None for piece in ordered):
        ordered.sort(key=lambda piece: piece.start or 0.0)
    groups = [[piece] for piece in ordered]
    if joined:
        groups = [list(group) for _, group in groupby(ordered, key=lambda piece: (piece.speaker, piece.role))]
    if any((group[0].where, group[0].start) != (group[-1].where, group[-1].start) for group in groups):
        source.account.remark(
            "What a speaker says before another begins is one turn, from its first start to its last stop."
        )
    firsts = [group[0] for group in groups]
    metas = [{"start": piece.start, "stop": piece.stop, "time": piece.time} for piece in firsts]
    for meta, group in zip(metas, groups, strict=True):
        meta["stop"] = max((piece.stop for piece in group if piece.stop is not None), default=None)
    turns = source.turns(
        [piece.speaker for piece in firsts],
        [joined_text(piece.text for piece in group) for group in groups],
        [piece.where for piece in firsts],
        [{name: value for name, value in meta.items() if value is not None} for meta in metas],
        [piece.role or piece.speaker for piece in firsts],
    )
    return source.transcript(turns, where or source.name, **fields)


def joined_text(texts: Iterable[str]) -> str:
    """Texts one after the other, with a space between, unless they are in a script that has none."""
    joined = ""
    for text in filter(None, texts):
        wide = joined and all(unicodedata.east_asian_width(one) in "WF" for one in (joined[-1], text[0]))
        joined += text if wide or not joined else f" {text}"
    return joined


@dataclass(slots=True, eq=False)
class SpeakerTier:
    """What a speaker says, or what is noted of it, apart from what others say.

    Attributes:
        name: of the tier.
        speaker: who speaks.
        place: the file as shown.
        depends: whether it only goes with another tier, such as a translation.
        speech: in its order; empty texts too.
    """

    name: str
    speaker: str
    place: str
    depends: bool = False
    speech: list[Utterance] = field(default_factory=list)


def chosen_tiers(source: TranscriptMaker, tiers: Sequence[SpeakerTier]) -> list[SpeakerTier]:
    """The tiers that ``columns`` chooses and that hold something, in their order; all where it chooses none.

    ``text=NAME`` takes tiers whose speaker tells the role, ``clinician=NAME``, ``patient=NAME`` and ``other=NAME``
    those of a role; in each, ``*`` stands for any letters. What is left out is noted in the source's account.

    Raises:
        InputError: there is no such tier, one is chosen twice, or ``columns`` names something else.
    """
    source.check_columns(("text", *ROLES))
    patterns = {column: pattern for column, pattern in source.options.columns.items() if pattern}
    names = list(dict.fromkeys(tier.name for tier in tiers))
    chosen_as: dict[str, str] = {}
    for column, pattern in patterns.items():
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(f"there is no tier {pattern!r}", where=source.name, todo=f"tiers: {', '.join(names)}")
        for name in matching:
            if chosen_as.setdefault(name, column) != column:
                raise InputError(
                    f"the tier {name!r} is chosen as {chosen_as[name]} and as {column} (`columns`)",
                    where=source.name,
                    todo="choose it as one of them",
                )
    if patterns:
        source.account.columns.update(patterns)
        source.account.unused = [name for name in names if name and name not in chosen_as]
    chosen = []
    for tier in tiers:
        if patterns and tier.name not in chosen_as:
            for utterance in tier.speech:
                if utterance.text:
                    source.account.note_unread(tier.name, utterance.text, utterance.where)
        elif tier.speech:
            for utterance in tier.speech:
                utterance.role = next((role for role in ROLES if role == chosen_as.get(tier.name)), None)
            chosen.append(tier)
    return chosen


def check_one_tier_each(tiers: Iterable[SpeakerTier], owner: Callable[[SpeakerTier], tuple[str, str]]) -> None:
    """An error where one who speaks has several tiers: nothing tells which of them holds the words.

    Args:
        tiers: all of them.
        owner: says whose a tier is, and that one's place.
    """
    owned: dict[tuple[str, str], list[str]] = {}
    for tier in tiers:
        owned.setdefault(owner(tier), []).append(repr(tier.name))
    for (who, where), names in owned.items():
        if len(names) > 1:
            raise InputError(
                f"{who} has {len(names)} tiers that may hold the words: {', '.join(names):.200}",
                where=where,
                todo="say which do with `columns=clinician=TIER,patient=TIER`, or with `columns=text=PATTERN`, in "
                "which * stands for any letters",
            )
