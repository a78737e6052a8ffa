"""The language that a probe's own texts are in, and the words of a text."""

from __future__ import annotations

import re

from bedside.transcripts.language import not_english, primary_language
from bedside.transcripts.transcript import Transcript

#: The languages that probes have texts in.
LANGUAGES = ("en", "zh", "de")

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"\S[^.!?。！？…\n]*[.!?。！？…]*[\"'”’」』)）]*")
#: Frequent in German, and rare as words of other languages.
_GERMAN = frozenset(
    """
    aber auch auf das dass dem den der die doch ein eine einen er es habe haben hat ich ihnen immer ist ja kann
    mal mehr mein mich mir mit nicht noch nur oder schon sehr sich sie sind und uns von vor wann war was wenn wie wir
    wird zu zum über
    """.split()
)
#: Share of these words that German has at least.
_GERMAN_SHARE = 0.15
_SAMPLE = 4000


def text_language(transcript: Transcript) -> tuple[str, str | None]:
    """The language of a probe's texts for a conversation, and what is amiss with it as a phrase; None where nothing.

    The transcript's own where it names one; else what its characters and commonest words show. A conversation in a
    language that probes have no texts in gets English ones.
    """
    if transcript.language is not None:
        tag = primary_language(transcript.language)
        return (
            (tag, None)
            if tag in LANGUAGES
            else ("en", f"English texts were put into a conversation in {tag}")
        )
    text = " ".join(turn.text for turn in transcript.turns)[:_SAMPLE]
    letters = len(_LETTER.findall(text))
    if 5 * len(_HAN.findall(text)) > letters > 0:
        return "zh", None
    words = _WORD.findall(text.lower())
    if words and sum(map(_GERMAN.__contains__, words)) >= _GERMAN_SHARE * len(words):
        return "de", None
    if not_english(text, None) is None:
        return "en", None
    return "en", "English texts were put into a conversation whose language isn't known"


def word_count(text: str) -> int:
    """How many words a text has; each Chinese character counts as one."""
    han = len(_HAN.findall(text))
    return han + len(_HAN.sub(" ", text).split()) if han else len(text.split())


def sentences(text: str) -> list[str]:
    """A text's sentences, with their ends."""
    return [match[0].strip() for match in _SENTENCE.finditer(text)]


def joined(parts: list[str], language: str) -> str:
    """Sentences as a text; Chinese has no space between them."""
    return ("" if language == "zh" else " ").join(parts)
