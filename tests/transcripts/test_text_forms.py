"""Each line of a talk is a turn of whoever said it, a counted loss or a field, in every form of text; or reading stops.

A talk of twelve turns, each with a word that stands nowhere else, is written in many forms and changed as transcribers
and programs change texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bedside.core.errors import BedsideError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.transcripts.files import document

_WORDS = (
    "anvil", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty", "kiosk", "ledge",
)  # fmt: skip
_SAID = ("What about the {0} do you recall now?", "I still see the {0}, and that is all that I'd say.")


class Block(NamedTuple):
    """What one says: a label, or none, and lines."""

    label: str | None
    lines: tuple[str, ...]


Talk = tuple[Block, ...]


def talk(clinician: str, patient: str) -> Talk:
    return tuple(Block((clinician, patient)[n % 2], (_SAID[n % 2].format(word),)) for n, word in enumerate(_WORDS))


def _lines(pattern: str, apart: bool = False) -> Callable[[Talk], list[str]]:
    def written(blocks: Talk) -> list[str]:
        lines: list[str] = []
        for n, (label, (first, *rest)) in enumerate(blocks):
            lines += [first] if label is None else pattern.format(label, first, n=n).split("|")
            lines += [*rest, ""] if apart else rest
        return lines

    return written


def _cues(pattern: str, mark: str, head: Sequence[str] = ()) -> Callable[[Talk], list[str]]:
    def written(blocks: Talk) -> list[str]:
        lines = [*head]
        for n, (label, (first, *rest)) in enumerate(blocks):
            lines += [str(n + 1), f"00:00:{n:02}{mark}000 --> 00:00:{n:02}{mark}900"]
            lines += [first if label is None else pattern.format(label, first), *rest, ""]
        return lines

    return written


def _chat(blocks: Talk) -> list[str]:
    codes = {label: f"P{n:02}" for n, label in enumerate(dict.fromkeys(block.label for block in blocks))}
    names = " , ".join(f"{code} {label}" for label, code in codes.items() if label)
    lines = ["@UTF8", "@Begin", "@Languages:\teng", f"@Participants:\t{names}"]
    for label, said in blocks:
        lines += [f"*{codes[label]}:\t{said[0]}" if label else said[0], *(f"\t{line}" for line in said[1:])]
    return [*lines, "@End"]


def _grid(blocks: Talk) -> list[str]:
    names = list(dict.fromkeys(block.label or "" for block in blocks))
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "99", "<exists>", str(len(names))]
    for name in names:
        own = [(n, block) for n, block in enumerate(blocks) if (block.label or "") == name]
        lines += ['"IntervalTier"', f'"{name}"', "0", "99", str(len(own))]
        lines += [part for n, block in own for part in (str(n), str(n + 1), f'"{" ".join(block.lines)}"')]
    return lines


def _eaf(blocks: Talk) -> list[str]:
    names = list(dict.fromkeys(block.label or "" for block in blocks))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<ANNOTATION_DOCUMENT>", "<TIME_ORDER>"]
    lines += [f'<TIME_SLOT TIME_SLOT_ID="t{n}" TIME_VALUE="{n}000"/>' for n in range(len(blocks) + 1)]
    lines += ["</TIME_ORDER>"]
    for at, name in enumerate(names):
        lines.append(f'<TIER PARTICIPANT="{name}" TIER_ID="{at}">')
        lines += [
            f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{n}" TIME_SLOT_REF1="t{n}" TIME_SLOT_REF2="t{n + 1}">'
            f"<ANNOTATION_VALUE>{' '.join(block.lines)}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
            for n, block in enumerate(blocks)
            if (block.label or "") == name
        ]
        lines.append("</TIER>")
    return [*lines, "</ANNOTATION_DOCUMENT>"]


def _asr(blocks: Talk) -> list[str]:
    segments = [
        {"start": n, "end": n + 0.9, "text": " ".join(said), **({"speaker": label} if label else {})}
        for n, (label, said) in enumerate(blocks)
    ]
    return [json.dumps({"segments": segments, "language": "en"})]


class Form(NamedTuple):
    """A form: the file's name, how its lines are written, and whether they are free text."""

    file: str
    written: Callable[[Talk], list[str]]
    free: bool = True


FORMS = {
    "colon": Form("t.txt", _lines("{0}: {1}")),
    "paragraphs": Form("t.txt", _lines("{0}: {1}", apart=True)),
    "tab": Form("t.txt", _lines("{0}\t{1}")),
    "square": Form("t.txt", _lines("[{0}] {1}")),
    "round": Form("t.txt", _lines("({0}) {1}")),
    "bold": Form("t.md", _lines("**{0}:** {1}", apart=True)),
    "numbers": Form("t.txt", _lines("{n}. {0}: {1}")),
    "times": Form("t.txt", _lines("[00:{n:02}] {0}: {1}")),
    "dash": Form("t.txt", _lines("{0} - {1}")),
    "rev": Form("t.txt", _lines("{0} (00:{n:02}):|{1}", apart=True)),
    "otter": Form("t.txt", _lines("{0}  0:{n:02}|{1}", apart=True)),
    "zoom": Form("t.txt", _lines("[{0}] 00:00:{n:02}|{1}", apart=True)),
    "whatsapp": Form("t.txt", _lines("12/05/2024, 10:{n:02} - {0}: {1}")),
    "whatsapp, brackets": Form("t.txt", _lines("[12.05.24, 10:00:{n:02}] {0}: {1}")),
    "own lines": Form("t.txt", _lines("{0}:|{1}", apart=True)),
    "docx": Form("t.docx", _lines("{0}: {1}"), free=False),
    "srt": Form("t.srt", _cues("{0}: {1}", ","), free=False),
    "vtt": Form("t.vtt", _cues("<v {0}>{1}</v>", ".", ["WEBVTT", ""]), free=False),
    "vtt, labels": Form("t.vtt", _cues("{0}: {1}", ".", ["WEBVTT", ""]), free=False),
    "chat": Form("t.cha", _chat, free=False),
    "textgrid": Form("t.TextGrid", _grid, free=False),
    "eaf": Form("t.eaf", _eaf, free=False),
    "asr": Form("t.json", _asr, free=False),
}
_FORMS = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
_ROLES = {"Anna Berg": "clinician", "Carl": "patient"}


def _content(form: Form, lines: Sequence[str], end: str = "\n") -> bytes:
    return document(*lines) if form.file.endswith("docx") else (end.join(lines) + end).encode()


def _where(folder: Path, form: Form, content: bytes, words: Sequence[str], **options: Any) -> dict[str, set[str]]:
    """Where each word went: the roles of turns, ``field``, ``loss``; nothing where reading stops."""
    folder.mkdir(parents=True)
    file = folder / form.file
    file.write_bytes(content)
    reading = Reading(file, ReadOptions(**options))
    try:
        found = list(reading)
    except BedsideError:
        return {}
    losses = sum(texts.number for texts in reading.account.lost.values())
    places: dict[str, set[str]] = {}
    for word in words:
        places[word] = {turn.role for one in found for turn in one.turns if word in turn.text}
        if any(word in repr((one.reference, one.factors, one.provenance)) for one in found):
            places[word].add("field")
    gone = [word for word, went in places.items() if not went]
    if len(gone) <= losses:
        places.update((word, {"loss"}) for word in gone)
    return places


_OWN = {word: ("clinician", "patient")[n % 2] for n, word in enumerate(_WORDS)}


def _changed(blocks: Talk) -> Iterator[tuple[str, Talk, dict[str, str]]]:
    """Name, changed talk, and the role of each word; ``other`` for one that neither side may have said."""
    for at in (0, 5, 6, 11):
        label, lines = blocks[at]
        before, after = blocks[:at], blocks[at + 1 :]
        yield f"{at} without a label", (*before, Block(None, lines), *after), {_WORDS[at]: "own"}
        yield f"{at} renamed", (*before, Block("Zoe", lines), *after), {_WORDS[at]: "other"}
        yield f"{at} doubled", (*before, blocks[at], blocks[at], *after), {}
        more = Block(label, (*lines, "First: take the quartz with you, I'd say."))
        yield f"{at} with a colon within", (*before, more, *after), {"quartz": _OWN[_WORDS[at]]}
        long = Block(label, (*lines, "That is so.", "About 988: the quartz helps.", "At 10:30 it is worse."))
        yield f"{at} of several lines", (*before, long, *after), {"quartz": _OWN[_WORDS[at]]}
        for name in ("mother", "guest_family", "Interpreter"):
            third = Block(name, ("He dropped the quartz on his foot.",))
            yield f"{name} behind {at}", (*blocks[: at + 1], third, *after), {"quartz": "other"}
    yield "reordered", (*blocks[6:], *blocks[:6]), {}


@_FORMS
@pytest.mark.parametrize("names", [("Doctor", "Patient"), tuple(_ROLES)], ids=["known", "named"])
def test_no_line_is_lost_or_moved(tmp_path: Path, form: Form, names: tuple[str, str]) -> None:
    roles = {} if names[0] == "Doctor" else _ROLES
    faults = []
    for number, (change, blocks, roles_of) in enumerate(_changed(talk(*names))):
        words = [*_WORDS, *(["quartz"] if "quartz" in roles_of else [])]
        places = _where(tmp_path / str(number), form, _content(form, form.written(blocks)), words, roles=roles)
        for word, went in places.items():
            role = roles_of.get(word, _OWN.get(word, ""))
            allowed = {_OWN.get(word) if role == "own" else role, "field", "loss"}
            # Whom roles names are all who speak: a line without a label then goes on with the one before.
            if roles and role == "own":
                continue
            if not went or not went <= allowed:
                faults.append((change, word, went))
    assert not faults


@_FORMS
def test_what_changes_nothing_stops_nothing(tmp_path: Path, form: Form) -> None:
    blocks = talk("Doctor", "Patient")
    lines = form.written(blocks)
    own = {word: {role} for word, role in _OWN.items()}
    same = {"as it is": _content(form, lines)}
    if not form.file.endswith(("docx", "json")):
        same["line ends of Windows"] = _content(form, lines, "\r\n")
    if form.file.endswith("docx"):
        same["blank lines"] = _content(form, [part for line in lines for part in (line, "")])
    if form.free:
        same["blank lines"] = _content(form, [part for line in lines for part in (line, "")])
        same["indented"] = _content(form, [f"    {line}" for line in lines])
        same["spaces at the ends"] = _content(form, [f"{line}  " for line in lines])
        same["quotes"] = _content(form, [line.replace("'", "’") for line in lines])
        same["a mark at the start"] = b"\xef\xbb\xbf" + _content(form, lines)
        same["numbers of pages"] = _content(form, [*lines[:12], "", "Page 2 of 3", "", *lines[12:]])
        same["a heading"] = _content(form, ["Session of 12 May", "", *lines])
    for number, (name, content) in enumerate(same.items()):
        assert _where(tmp_path / str(number), form, content, _WORDS) == own, name
