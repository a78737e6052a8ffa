"""Praat's TextGrid: a tier for each speaker, in one file or in a file each."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, printable_path
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.speaker_tiers import CHOOSE, chosen_tiers
from bedside.transcripts.timed_speech import SpeechStretch, speech_turns
from bedside.transcripts.transcript import Transcript, is_speaker_word
from bedside.transcripts.whole_text import whole_text

_ENDING = ".textgrid"
#: Most files that are joined to one transcript.
_MOST = 20
# Praat reads texts in quotes, and numbers and flags that stand alone; all other words are there for people.
_TOKEN = re.compile(
    r'"(?P<text>[^"]*(?:""[^"]*)*)"'
    r"|(?<!\S)(?P<number>[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d{1,3})?)(?!\S)"
    r"|(?<!\S)!.*|<(?P<flag>exists|absent)>|[^\s\"]+|\""
)
_PARTS = re.compile(r"(?P<stem>.+?)(?P<mark>[_.\- ])(?P<speaker>[^_.\- ]+)")


@dataclass(slots=True)
class _Tier:
    name: str
    path: Path
    speeches: list[SpeechStretch] = field(default_factory=list)

    def texts(self) -> Iterator[tuple[str, str]]:
        return ((speech.text, speech.where) for speech in self.speeches)


def _claims(head: Head) -> Claim | None:
    if not re.match(r'\s*(?:File type = )?"ooTextFile[^"]*"\s+(?:Object class = )?"TextGrid', head.text):
        return None
    siblings = _siblings(head.source)
    return "companion" if siblings and head.path.name != siblings[0] else "transcripts"


def _main_file(head: Head) -> Path:
    """The first of the files that are one conversation with this one."""
    return head.path.with_name(_siblings(head.source)[0])


def _siblings(source: SourceFile) -> list[str]:
    """Names of the files that are one conversation with this one, itself among them; none where it stands alone.

    They lie in one folder, and their names differ by who speaks alone: s1_doctor.TextGrid, s1_patient.TextGrid.
    """
    stem, speaker = _divided(source.path.name)
    if not speaker:
        return []
    try:
        groups = _groups(
            os.path.dirname(os.path.abspath(source.path)), os.stat(source.path.parent).st_mtime_ns
        )
    except OSError:
        return []
    names = groups.get(stem, ())
    told = [name for name in names if is_speaker_word(_divided(name)[1], source.options.roles)]
    return list(names) if 1 < len(names) <= _MOST and told and source.path.name in names else []


@lru_cache(maxsize=64)
def _groups(folder: str, changed: int) -> dict[str, tuple[str, ...]]:
    """Names of the TextGrid files of a folder, as it was last changed, by what stands before the speaker."""
    groups: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        stem, speaker = _divided(name)
        if speaker and not name.startswith("."):
            groups.setdefault(stem, []).append(name)
    return {stem: tuple(names) for stem, names in groups.items()}


def _divided(name: str) -> tuple[str, str]:
    """What a file's name says of the conversation and of who speaks; nothing of the latter where it doesn't."""
    bare = name[:-3] if name.lower().endswith(".gz") else name
    bare, ending = os.path.splitext(bare)
    match = _PARTS.fullmatch(bare)
    if ending.lower() != _ENDING or match is None or match["speaker"].isdigit():
        return bare, ""
    return match["stem"], match["speaker"]


def _read(source: SourceFile) -> Iterator[Transcript]:
    transcript = source.attempt(_transcript, source)
    if transcript is not None:
        yield transcript


def _transcript(source: SourceFile) -> Transcript:
    siblings = [name for name in _siblings(source) if name != source.path.name]
    tiers = _tiers(source, whole_text(source), source.path)
    for name in siblings:
        data = source.companion(name) or b""
        path = Path(source.companions[-1][0])
        if len(data) > MAX_RECORD:
            raise InputError(f"the file is larger than {MAX_RECORD // 2**20} MB", where=printable_path(path))
        try:
            tiers += _tiers(source, data.decode(), path)
        except UnicodeDecodeError as error:
            raise InputError(
                "not UTF-8",
                where=printable_path(path),
                todo="say which encoding the files are in with `encoding=NAME`",
            ) from error
    chosen = [(tier, role) for tier, role in chosen_tiers(source, tiers) if tier.speeches]
    speaker_of = {id(tier): tier.name for tier, _ in chosen}
    if siblings:
        speaker_of = _speakers(source, [tier for tier, _ in chosen])
        folder, _, _ = source.stem.rpartition("/")
        source.stem = f"{folder}/{_divided(source.path.name)[0]}".lstrip("/")
        source.account.remark(
            "Files that differ by who speaks alone are one conversation, joined by their times."
        )
    speeches = [
        replace(speech, speaker=speaker_of[id(tier)], role=role)
        for tier, role in chosen
        for speech in tier.speeches
    ]
    return source.transcript(speech_turns(source, speeches), source.name)


def _speakers(source: SourceFile, tiers: list[_Tier]) -> dict[int, str]:
    """Who speaks in each of the tiers of several files, by their identity: whom its name tells, or whom its file's name
    does where the tiers' own are the same.

    Raises:
        InputError: a file has several tiers of the same names as another's, so that nothing tells which has the words.
    """
    if len({tier.name.casefold() for tier in tiers}) == len(tiers):
        return {id(tier): tier.name for tier in tiers}
    for path, number in Counter(tier.path for tier in tiers).items():
        if number > 1:
            names = ", ".join(repr(tier.name) for tier in tiers if tier.path == path)
            raise InputError(
                f"the file of one speaker has {number} tiers that may hold the words: {names:.200}",
                where=printable_path(path),
                todo=CHOOSE,
            )
    return {id(tier): _divided(tier.path.name)[1] for tier in tiers}


class _Tokens:
    """Texts, numbers and flags of a TextGrid, one after the other."""

    def __init__(self, text: str, place: str) -> None:
        self._text = text
        self._place = place
        self._tokens = (match for match in _TOKEN.finditer(text) if match.lastgroup)
        self._counted, self._line = 0, 1

    def where(self, position: int) -> str:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return f"{self._place}:{self._line}"

    def next(self, kind: str, what: str) -> tuple[str, str]:
        """The next token, and its place."""
        token = next(self._tokens, None)
        if token is None:
            raise InputError(
                f"the TextGrid ends where {what} should stand",
                where=self.where(len(self._text)),
                todo="save it again in Praat",
            )
        where = self.where(token.start())
        if token.lastgroup != kind:
            raise _misplaced(token[0], what, where)
        return token[kind].replace('""', '"'), where

    def number(self, what: str) -> float:
        text, where = self.next("number", what)
        if not math.isfinite(value := float(text)):
            raise _misplaced(text, what, where)
        return value

    def count(self, what: str) -> int:
        text, where = self.next("number", what)
        value = float(text)
        if not math.isfinite(value) or value < 0 or value != int(value):
            raise _misplaced(text, what, where)
        return int(value)


def _misplaced(text: str, what: str, where: str) -> InputError:
    return InputError(f"{text!r:.40} stands where {what} should", where=where, todo="save it again in Praat")


def _tiers(source: SourceFile, text: str, path: Path) -> list[_Tier]:
    """The tiers with their speech; empty intervals and tiers of points have none, and points with text are counted."""
    tokens = _Tokens(text, printable_path(path))
    for what in ("the kind of file", "the class of what it holds"):
        tokens.next("text", what)
    tokens.number("the beginning"), tokens.number("the end")
    if tokens.next("flag", "whether there are tiers")[0] != "exists":
        return []
    tiers: list[_Tier] = []
    for _ in range(tokens.count("the number of tiers")):
        kind, where = tokens.next("text", "the kind of a tier")
        if kind not in ("IntervalTier", "TextTier"):
            raise InputError(f"{kind!r:.40} is no kind of tier", where=where, todo="save it again in Praat")
        tier = _Tier(tokens.next("text", "the name of a tier")[0].strip(), path)
        tokens.number("the beginning of a tier"), tokens.number("the end of a tier")
        for _ in range(tokens.count("the number of a tier's intervals")):
            start = tokens.number("the time of an interval")
            stop = tokens.number("the end of an interval") if kind == "IntervalTier" else start
            said, where = tokens.next("text", "the text of an interval")
            if kind == "TextTier" and said.strip():
                source.check_unread(tier.name, said.strip(), where, instead="give it an interval of time")
            elif said.strip():
                tier.speeches.append(
                    SpeechStretch(tier.name, " ".join(said.split()), where, round(start, 6), round(stop, 6))
                )
        tiers.append(tier)
    return tiers


READER = Reader(
    name="textgrid",
    title="Praat TextGrid, a tier for each speaker",
    description=(
        "Text form, long or short. A tier's name is who speaks; its intervals with text are what is said. The "
        "tiers stand in one file, or in a file for each speaker: files of one folder whose names differ by the "
        "speaker behind the last `_`, `-` or `.` alone (`s1_doctor.TextGrid`, `s1_patient.TextGrid`) are one "
        "transcript, `s1`. Turns stand in order of their start, also where speech overlaps, and intervals of "
        "one speaker that follow one another are one turn, with `start` and `stop` in its `meta`. Empty "
        "intervals are left out; tiers of points too, which are counted, and stop the reading where they may have been "
        "said. `--columns text=TIER` chooses tiers "
        "by their names (`*` stands for any letters), `--columns clinician=TIER,patient=TIER` says whose they are, too."
    ),
    example=(
        'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n4\n<exists>\n2\n'
        '"IntervalTier"\n"Doctor"\n0\n4\n2\n0\n2\n"What brings you here?"\n2\n4\n""\n'
        '"IntervalTier"\n"Patient"\n0\n4\n2\n0\n2\n""\n2\n4\n"I sleep badly."\n'
    ),
    example_name="interview.TextGrid",
    facts={
        "family": "recordings",
        "known_by": "`ooTextFile` of class `TextGrid`",
        "turns": "intervals of one speaker, until another's",
        "kept": "`start` and `stop`",
        "left": "other tiers, points; not counted: empty intervals",
        "decided_by": "`--columns clinician=TIER,patient=TIER`",
    },
    endings=(_ENDING,),
    main_file=_main_file,
    claims=_claims,
    read=_read,
    priority=20,
)
