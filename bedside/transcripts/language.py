"""Which language a transcript is in, as far as formulas made for some language need to know."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

#: Words a text needs before their kind says anything about its language.
ENOUGH = 30
#: Share of the words below that English has at least: in AnnoMI 13 % is the least in any turn of 30 words and
#: 23 % in all that one side says in a session; other languages in Latin script stay below 5 %.
SHARE = 0.08
_SAMPLE = 1500

# Frequent in spoken English and rare as words of other languages: neither "in" and "was" (German), "to" and
# "do" (Polish), "me" and "no" (Spanish), "on" (French), "are" (Romanian) nor "of" and "we" (Dutch).
_COMMON = frozenset(
    """
    about and because been but can could did does doing don don't for from get going have having how i'm i've
    it it's just know like lot more my not our really right she some than that that's the their them then
    there these they they're things think this those time very want were what when where which who why with
    would yeah you you're your
    """.split()
)
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[a-zA-Z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def primary_language(tag: str) -> str:
    """The language itself that a tag begins with: ``de`` of ``de-AT``."""
    return re.split("[-_]", tag.strip().lower())[0]


def not_english(text: str, language: str | None) -> str | None:
    """Why formulas made for English don't apply to ``text``; None where they do.

    The transcript's ``language`` (a BCP 47 tag) decides where it is given. Else the text does: at least half
    of its letters must be Latin, and of 30 or more words at least 8 % must be common English words. A shorter
    text in Latin script passes. No more than the first 1,500 characters are looked at.
    """
    if language is not None:
        if primary_language(language) == "en":
            return None
        return f"made for English; the transcript's language is {language}"
    return _not_english(text[:_SAMPLE])


@lru_cache(maxsize=8)  # what asks about one transcript asks about the same few texts
def _not_english(sample: str) -> str | None:
    if not sample.isascii():
        some = sample[:: 1 + len(sample) // 400]  # every few characters: the script shows in 400 of them
        if 2 * sum(map(len, _LATIN.findall(some))) < sum(map(len, _LETTERS.findall(some))):
            return "made for English; the text is not in Latin script"
    lower = sample.lower().replace("’", "'")
    # Where what is common between blanks is enough for as many words as there can be, none needs to be looked for.
    most = 1 + len(lower.encode(errors="replace").translate(None, b"abcdefghijklmnopqrstuvwxyz"))
    if sum(map(_COMMON.__contains__, lower.split())) >= SHARE * most:
        return None
    words = _WORD.findall(lower)
    common = sum(map(_COMMON.__contains__, words))
    if len(words) >= ENOUGH and common < SHARE * len(words):
        return (
            f"made for English; only {common} of {len(words)} words are common English "
            "words (name the transcript's language if it is English)"
        )
    return None


_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


def is_language_tag(value: Any) -> bool:
    """Whether a value looks like a BCP 47 tag."""
    return isinstance(value, str) and _TAG.fullmatch(value) is not None
