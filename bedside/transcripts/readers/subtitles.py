"""Subtitles: WebVTT, as Zoom and Teams write it, and SubRip (SRT), as Otter does."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_text import LabelledLines, labelled_lines, parted, set_aside, settle_labels
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import NO_SPEAKER, Utterance, one_talk, seconds, talk, text_lines, whole_text
from bedside.transcripts.transcript import Transcript

_TIME = r"(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"[ \t]*({_TIME})[ \t]*-->[ \t]*({_TIME})(?:[ \t].*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]*)>|</v>")
# Tags that say how a text looks, and times within it.
_LOOK = re.compile(rf"</?(?:[biuscv]|c|ruby|rt|lang|font)(?:[.\s][^>]*)?>|<{_TIME}>|\{{\\[^}}]*\}}", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{3}")
# What one of two who speak in a cue says, behind a dash.
_DASHED = re.compile(r"(?:\A|(?<=[.?!…]) )[-–—] ?[^\W_]")
# What captions have where another begins to speak.
_ANOTHER = ">>"
_BLOCK = re.compile(r"(NOTE|STYLE|REGION)(?:[ \t].*)?")


@dataclass(slots=True)
class _Cue:
    line: int
    start: float
    stop: float
    text: list[str] = field(default_factory=list)


#: A line of a cue: the cue, who a voice tag says speaks, place and text.
_Row = tuple[_Cue, str | None, tuple[str, str]]


def _claims(head: Head) -> Claim | None:
    text = head.text.lstrip()
    if re.match(r"WEBVTT(?:[ \t\r\n]|$)", text):
        return "transcripts"
    lines = [line for line in text_lines(text[:2000]) if line.strip()][:2]
    timed = any(_TIMING.fullmatch(line) for line in lines)
    return "transcripts" if timed and (_TIMING.fullmatch(lines[0]) or lines[0].strip().isdigit()) else None


def _transcript(source: SourceFile) -> Transcript:
    lines = text_lines(whole_text(source))
    captions = bool(lines) and lines[0].lstrip().startswith("WEBVTT")
    cues = list(_cues(source, lines, captions))
    return talk(source, _speech(source, cues, captions))


def _cues(source: SourceFile, lines: list[str], captions: bool) -> Iterator[_Cue]:
    """The cues in order; what stands between them is counted or an error, and never lost."""
    cue: _Cue | None = None
    block: list[tuple[int, str]] = []  # lines since the last blank one that may lead a cue

    def stray() -> InputError:
        return InputError(
            f"this is no time of a cue, and no text of one: {block[0][1].strip()!r:.60}",
            where=f"{source.name}:{block[0][0]}",
            todo="write the time as 00:00:01.000 --> 00:00:04.000, with the cue's text on the next line",
        )

    open_block, header = False, captions
    for number, line in enumerate([*lines, ""], 1):
        match = _TIMING.fullmatch(line)
        if match:
            if cue is not None:
                if not captions and open_block and cue.text and cue.text[-1].strip().isdigit():
                    cue.text.pop()  # The next one's number, without an empty line before.
                yield cue
            # Above a time stands at most one line, the cue's name; what is above that belongs elsewhere.
            if len(block) > 1 and not header:
                raise stray()
            if block and not header and _WORDS.search(block[0][1]):
                set_aside(source, "names of cues", block[0][1].strip(), f"{source.name}:{block[0][0]}")
            cue, block, header = _Cue(number, seconds(match[1]), seconds(match[2])), [], False
            open_block = True
        elif not line.strip():
            text = "\n".join(text for _, text in block).strip()
            if header and (told := text.removeprefix("WEBVTT").strip()):
                source.account.note_unread("head of the file", told, source.name)
            elif block and not header:
                if captions and (found := _BLOCK.fullmatch(block[0][1].strip())):
                    if found[1] == "NOTE":
                        source.account.note_unread("notes", text[4:].strip(), f"{source.name}:{block[0][0]}")
                    else:
                        source.account.left_out["styles"] += 1
                elif not captions and cue is not None and not block[0][1].strip().isdigit():
                    cue.text += [text for _, text in block]  # A cue's text may have an empty line.
                else:
                    raise stray()
            block, header, open_block = [], False, False
        elif cue is not None and open_block:
            cue.text.append(line)
        else:
            block.append((number, line))
    if cue is not None:
        yield cue


def _check_dashes(source: SourceFile, rows: Sequence[_Row], labelled: LabelledLines) -> None:
    """An error for a cue in which two speak, told by dashes, of whom one has no name."""
    for _, group in groupby(zip(rows, labelled.labels, strict=True), key=lambda each: id(each[0][0])):
        of_cue = list(group)
        dashes = sum(
            len(_DASHED.findall(text)) + bool(label and _DASHED.match(label.text))
            for (_, _, (_, text)), label in of_cue
        )
        _, _, (place, text) = of_cue[-1][0]
        if dashes > 1 and sum(label is not None for _, label in of_cue) < dashes:
            raise InputError(
                f"dashes say that two speak in this cue, and not who: {text:.60}",
                where=place,
                todo="write each one's name and a colon instead of the dash",
            )


def _speech(source: SourceFile, cues: list[_Cue], captions: bool) -> Iterator[Utterance]:
    """What is said by whom: voice tags name who speaks, or names stand before what they say."""
    voiced = any(_VOICE.search(line) for cue in cues for line in cue.text)
    rows: list[_Row] = []
    empty = 0
    for cue in cues:
        parts = _VOICE.split("\n".join(cue.text))
        pieces = [(cue.line, who, text) for who, text in zip([None, *parts[1::2]], parts[::2], strict=True)]
        if not voiced:
            pieces = [(number, None, line) for number, line in enumerate(cue.text, cue.line + 1)]
        before = len(rows)
        for number, who, text in pieces:
            bare = _LOOK.sub("", text)
            if plain := " ".join((html.unescape(bare) if captions or voiced else bare).split()):
                rows.append((cue, who, (f"{source.name}:{number}", plain)))
        empty += len(rows) == before
    if empty:
        source.account.left_out["empty cues"] += empty
    roles = source.options.roles
    if not voiced:
        rows = [
            (cue, who, (place, part))
            for at, part in parted([text for _, _, (_, text) in rows], roles)
            for cue, who, (place, _) in rows[at : at + 1]
        ]
    lines = [line for _, _, line in rows]
    labelled = labelled_lines([] if voiced else [text for _, text in lines], roles)
    if not voiced and not labelled.speakers:
        raise InputError(
            "the subtitles name nobody who speaks",
            where=source.name,
            todo="export them with the speakers' names, as <v Name> or before each text as Name:",
        )
    if not voiced:
        _check_dashes(source, rows, labelled)
        for (place, text), label in zip(lines, labelled.labels, strict=True):
            if label is None and text.startswith(_ANOTHER):
                raise AmbiguousError(
                    f"{_ANOTHER} says that another speaks, and not who: {text:.60}",
                    where=place,
                    todo="write the name and a colon behind it",
                )
        settle_labels(source, labelled, lines)
    speaker, named = NO_SPEAKER, 0
    for (cue, who, (_, text)), label in zip_longest(rows, labelled.labels):
        if voiced:
            speaker = " ".join(html.unescape(who or "").split()) or NO_SPEAKER
        elif label is not None:
            speaker, text = label.speaker, label.text
        elif cue.line != named:
            source.account.remark("A cue that names nobody is of who spoke in the cue before it.")
        named = cue.line
        yield Utterance(speaker, text, f"{source.name}:{cue.line}", cue.start, cue.stop)


READER = Reader(
    name="subtitles",
    title="subtitles (WebVTT, SRT)",
    description=(
        "One transcript a file, of WebVTT (Zoom, Teams) or SubRip (Otter). Who speaks is told by voice tags "
        "(`<v Anna>…</v>`) or by names before the text (`Anna: …`); a cue that names nobody is of who spoke "
        "before. The cues of one speaker that follow one another are one turn, with `start` and `stop` in its "
        "`meta`, in seconds. Left out: places and looks of cues; and counted: their names (a sentence there stops), "
        "notes, styles, the head of the file, and empty cues."
    ),
    example=(
        "WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.500\n<v Doctor>What brings you here?</v>\n\n"
        "2\n00:00:04.000 --> 00:00:06.000\n<v Patient>I sleep badly.</v>\n"
    ),
    example_name="meeting.vtt",
    facts={
        "family": "recordings",
        "known_by": "`WEBVTT`, or SRT's numbers and times",
        "turns": "cues of one speaker, until another's",
        "kept": "`start` and `stop`",
        "left": "notes, styles, names of cues, empty cues; not counted: looks, places",
        "decided_by": "`--roles NAME=ROLE`",
    },
    endings=(".vtt", ".srt"),
    claims=_claims,
    read=one_talk(_transcript),
    priority=20,
)
