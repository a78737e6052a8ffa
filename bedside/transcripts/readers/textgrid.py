"""Praat's TextGrid: a tier for each speaker, in one file or in a file each."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from bedside.core.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ending_of, printable_path, without_endings
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import (
    SpeakerTier,
    Utterance,
    check_one_tier_each,
    chosen_tiers,
    one_talk,
    talk,
    whole_text,
)
from bedside.transcripts.transcript import Transcript, is_speaker_word

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
        groups = _groups(os.path.dirname(os.path.abspath(source.path)), os.stat(source.path.parent).st_mtime_ns)
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
    bare = without_endings(name, (_ENDING,))
    match = _PARTS.fullmatch(bare)
    if ending_of(name) != _ENDING or match is None or match["speaker"].isdigit():
        return bare, ""
    return match["stem"], match["speaker"]


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
                "not UTF-8", where=printable_path(path), todo="say which encoding the files are in with `encoding=NAME`"
            ) from error
    chosen = chosen_tiers(source, tiers)
    if not siblings or len({tier.name.casefold() for tier in chosen}) == len(chosen):
        for tier in chosen:
            for utterance in tier.speech:
                utterance.speaker = tier.name
    else:
        check_one_tier_each(chosen, lambda tier: ("the file of one speaker", tier.place))
    if siblings:
        folder, _, _ = source.stem.rpartition("/")
        source.stem = f"{folder}/{_divided(source.path.name)[0]}".lstrip("/")
        source.account.remark("Files that differ by who speaks alone are one conversation, joined by their times.")
    return talk(source, (utterance for tier in chosen for utterance in tier.speech))


def _tiers(source: SourceFile, text: str, path: Path) -> list[SpeakerTier]:
    """The tiers with their speech; empty intervals and tiers of points have none, and points with text are counted."""
    place = printable_path(path)
    tokens = (match for match in _TOKEN.finditer(text) if match.lastgroup)
    counted, line = 0, 1

    def where(position: int) -> str:
        nonlocal counted, line
        line += text.count("\n", counted, position)
        counted = position
        return f"{place}:{line}"

    def token(kind: str, what: str, fits: Callable[[str], bool] = lambda _: True) -> tuple[str, str]:
        """The next token, and its place."""
        match = next(tokens, None)
        at = where(len(text) if match is None else match.start())
        if match is not None and match.lastgroup == kind and fits(match[0]):
            return match[kind].replace('""', '"'), at
        fault = f"{match[0]!r:.40} stands" if match else "the TextGrid ends"
        end = "" if match else " stand"
        raise InputError(f"{fault} where {what} should{end}", where=at, todo="save it again in Praat")

    def number(what: str) -> float:
        return float(token("number", what, lambda said: math.isfinite(float(said)))[0])

    def count(what: str) -> int:
        return int(float(token("number", what, lambda said: float(said).is_integer() and float(said) >= 0)[0]))

    for what in ("the kind of file", "the class of what it holds"):
        token("text", what)
    number("the beginning"), number("the end")
    if token("flag", "whether there are tiers")[0] != "exists":
        return []
    tiers: list[SpeakerTier] = []
    for _ in range(count("the number of tiers")):
        kind, at = token("text", "the kind of a tier")
        if kind not in ("IntervalTier", "TextTier"):
            raise InputError(f"{kind!r:.40} is no kind of tier", where=at, todo="save it again in Praat")
        name = token("text", "the name of a tier")[0].strip()
        tiers.append(SpeakerTier(name, _divided(path.name)[1], place))
        number("the beginning of a tier"), number("the end of a tier")
        for _ in range(count("the number of a tier's intervals")):
            start = number("the time of an interval")
            stop = number("the end of an interval") if kind == "IntervalTier" else start
            said, at = token("text", "the text of an interval")
            if kind == "TextTier" and said.strip():
                source.check_unread(name, said.strip(), at, instead="give it an interval of time")
            elif said.strip():
                speech = Utterance(tiers[-1].speaker, " ".join(said.split()), at, round(start, 6), round(stop, 6))
                tiers[-1].speech.append(speech)
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
    read=one_talk(_transcript),
    priority=20,
)
