"""Identifiers of a transcript: in what was said, in speakers' names, and in all else that is kept along with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.transcripts.identifiers.kinds import LANGUAGES
from bedside.transcripts.identifiers.patterns import NO_NAMES
from bedside.transcripts.identifiers.recognition import Recognition, SeenSpan
from bedside.transcripts.language import not_english, primary_language
from bedside.transcripts.transcript import Transcript, is_speaker_word

#: The last so many words that were said before a turn may ask for what it tells.
_WORDS_BEFORE = 12
#: A turn that tells what it was asked for is no longer than this, in words.
_ANSWER = 12
#: Smaller whole numbers in data are counts, ages and scores; no pattern takes them for the number of a record.
_SHORTEST_NUMBER = 10_000
_WORD = re.compile(r"[^\W\d_][\w'’-]*|[\u4e00-\u9fff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_OTHER_SCRIPT = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
#: Frequent in German and rare as words of other languages.
_GERMAN = frozenset(
    "ich und nicht das ist sie die der mit auch aber wie bei sich mir mein meine haben habe wir einen eine noch schon "
    "dann wenn weil für über können heute".split()
)
#: Names of speakers that name nobody.
_NOBODY = re.compile(
    r"(?:speaker|spk|participant|person|sprecher|voice|channel|agent|model|bot|role|male|female|unknown|p|t|c|s|d|k|"
    r"gpt[\w.-]*|claude[\w.-]*|gemini[\w.-]*|llama[\w.-]*|human|ai|counsel\w*|coach|helper|caller|mi|cl|th|pt|dr|"
    r"arzt|ärztin|therapeut(?:in)?|patient(?:in)?|klient(?:in)?|mother|father|family|caregiver|parent|carer)?[\s_#-]*\d*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SeenIdentifier:
    """One identifier that was seen in a transcript.

    Attributes:
        transcript: id of the transcript.
        source: file and position it was read from.
        turn: 0-based number of the turn; None outside of turns.
        field: where it stands: ``text``, ``speaker`` or ``meta`` of a turn, ``id``, ``system``, ``case_id``,
            ``factors`` or ``reference`` of the transcript, with keys after a point (``reference.background``).
        kind: a key of :data:`~bedside.transcripts.identifiers.kinds.KINDS`.
        start, end: its characters in that text, from 0.
        text: what stands there.
    """

    transcript: str
    source: str
    turn: int | None
    field: str
    kind: str
    start: int
    end: int
    text: str

    @property
    def masked(self) -> str:
        """The text with the first letter of each word written in letters with cases; all else is covered."""
        return re.sub(r"[^\W_]+", _covered, self.text)


def _covered(word: re.Match[str]) -> str:
    first = word[0][0]
    shown = first if first.lower() != first.upper() and len(word[0]) > 2 else "•"
    return shown + "•" * (len(word[0]) - 1)


@dataclass(frozen=True, slots=True)
class _LookedAtText:
    turn: int | None
    field: str
    text: str
    before: tuple[str, ...] = ()


def language_of(transcript: Transcript) -> str:
    """The language a transcript is looked at in: ``en``, ``de`` or ``zh``; else its own tag, or ``und`` where that
    isn't known."""
    if transcript.language is not None:
        return primary_language(transcript.language)
    sample = " ".join(turn.text for turn in transcript.turns)[:4000]
    if _OTHER_SCRIPT.search(sample):
        return "und"
    if 3 * len(_HAN.findall(sample)) > len(re.findall(r"[^\W\d_]", sample)):
        return "zh"
    words = re.findall(r"[^\W\d_]+", sample.lower())
    if words and sum(map(_GERMAN.__contains__, words)) >= max(2, 0.08 * len(words)):
        return "de"
    return "en" if not_english(sample, None) is None else "und"


def identifiers_of(transcript: Transcript, recognition: Recognition) -> tuple[SeenIdentifier, ...]:
    """What is seen in a transcript, in order of its place.

    A name that is seen anywhere in it counts wherever it stands there.

    Args:
        transcript: what was said.
        recognition: what sees.
    """
    texts = list(_texts(transcript))
    english = language_of(transcript) not in LANGUAGES.keys() - {"en"}
    seen = recognition.see(
        [looked_at.text for looked_at in texts], [looked_at.before for looked_at in texts], english=english
    )
    spans = [
        [SeenSpan("name", 0, len(looked_at.text), 1.0)] if looked_at.field == "speaker" else places
        for looked_at, places in zip(texts, seen, strict=True)
    ]
    known = _known_names(texts, spans)
    if known is not None:
        spans = [_with_known(looked_at.text, places, known) for looked_at, places in zip(texts, spans, strict=True)]
    return tuple(
        SeenIdentifier(
            transcript=transcript.id,
            source=transcript.source,
            turn=looked_at.turn,
            field=looked_at.field,
            kind=span.kind,
            start=span.start,
            end=span.end,
            text=looked_at.text[span.start : span.end],
        )
        for looked_at, places in zip(texts, spans, strict=True)
        for span in places
    )


def names_somebody(speaker: str) -> bool:
    """Whether a speaker's name is more than a role or a number."""
    return not is_speaker_word(speaker) and _NOBODY.fullmatch(speaker.strip(" :：")) is None


def _texts(transcript: Transcript) -> Iterator[_LookedAtText]:
    """All text of a transcript, what was said last; a speaker's name once."""
    for field in ("id", "system", "case_id"):
        value = getattr(transcript, field)
        if value:
            yield _LookedAtText(None, field, re.sub(r"[_/]", " ", value))
    for field, values in (("factors", transcript.factors), ("reference", transcript.reference)):
        for path, text, key in strings(values, field):
            yield _LookedAtText(None, path, text, _words_of(key))
    for number, item in enumerate(transcript.provenance):
        yield _LookedAtText(None, f"provenance.{number}.text", item.text)
        for path, text, key in strings(item.meta, f"provenance.{number}.meta"):
            yield _LookedAtText(None, path, text, _words_of(key))
    speakers: set[str] = set()
    before: tuple[str, ...] = ()
    for turn in transcript.turns:
        if turn.speaker not in speakers and names_somebody(turn.speaker):
            speakers.add(turn.speaker)
            yield _LookedAtText(turn.index, "speaker", turn.speaker)
        words = tuple(_WORD.findall(turn.text.lower()))
        yield _LookedAtText(turn.index, "text", turn.text, before if len(words) <= _ANSWER else ())
        before = words[-_WORDS_BEFORE:]
        for path, text, key in strings(turn.meta, "meta"):
            if path != "meta.stage":
                yield _LookedAtText(turn.index, path, text, _words_of(key))


def _words_of(key: str) -> tuple[str, ...]:
    """The words of a key such as ``record_number`` or ``recordNumber``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key.replace("_", " "))
    return tuple(_WORD.findall(apart.lower()))


def strings(value: Any, path: str, key: str = "") -> Iterator[tuple[str, str, str]]:
    """All strings in nested data, and whole numbers that are as long as a record's: where each stands, as it is
    written, and the nearest key."""
    if isinstance(value, str):
        yield path, value, key
    elif isinstance(value, int) and abs(value) >= _SHORTEST_NUMBER:
        yield path, str(value), key
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from strings(part, f"{path}.{name}", str(name))
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for place, part in enumerate(value):
            yield from strings(part, f"{path}.{place}", key)


def _known_names(texts: Sequence[_LookedAtText], spans: Sequence[Sequence[SeenSpan]]) -> re.Pattern[str] | None:
    """What finds the names of a transcript wherever they stand: whole, and each of their words.

    A name that is also a word (Will, Mai) is looked for with the capitals that it was seen with.
    """
    names: set[str] = set()
    for looked_at, places in zip(texts, spans, strict=True):
        for span in places:
            if span.kind != "name":
                continue
            text = looked_at.text[span.start : span.end]
            parts = re.findall(r"[^\W\d_][\w'’-]*", text)
            said = looked_at.field in ("text", "speaker")
            names.update(
                part
                for part in parts
                if len(part) > 2
                and part.casefold() not in NO_NAMES
                and names_somebody(part)
                and (said or part[0].isupper())
            )
            if _HAN.search(text) and len(text) > 1:
                names.add(text)
    if not names:
        return None
    whole = "|".join(
        re.escape(name) if _HAN.search(name) else rf"\b{re.escape(name)}(?:['’]s)?\b"
        for name in sorted(names, key=lambda name: (-len(name), name))
    )
    return re.compile(whole)


def _with_known(text: str, seen: Sequence[SeenSpan], known: re.Pattern[str]) -> list[SeenSpan]:
    more = [
        SeenSpan("name", match.start(), match.end() - (2 if match[0][-2:] in ("'s", "’s") else 0), 1.0)
        for match in known.finditer(text)
    ]
    free = [span for span in more if all(span.end <= other.start or span.start >= other.end for other in seen)]
    return sorted([*seen, *free], key=lambda span: span.start)
