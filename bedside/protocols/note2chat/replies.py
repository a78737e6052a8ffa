"""Kinds of patient reply, told by their words (English)."""

from __future__ import annotations

import re

from bedside.protocols.note2chat.labels import Reply

_LEAD = r"(?:(?:sorry|well|hmm*|um+|uh+|oh|honestly|actually|i'm afraid|no|but|doctor|doc)[,. …-]*)*"

#: The patient can't say. The first is what the published simulator answers, word for word.
DONT_KNOW: tuple[str, ...] = (
    r"i (?:really |honestly |just )?(?:don't|do not|didn't) (?:really |actually )?know"
    r"(?: that| about that| the answer)?",
    r"i(?:'m| am) (?:really |honestly )?not (?:really |too |quite )?(?:sure|certain)(?: about that| of that)?",
    r"i (?:have|'ve) no idea",
    r"no idea",
    r"not sure",
    r"i (?:can't|cannot|couldn't|can not) (?:say|tell|remember|recall)(?: that)?",
    r"i (?:don't|do not) (?:remember|recall)(?: that)?",
)
#: The patient was asked this before. The first is what the published simulator answers.
ALREADY_ASKED: tuple[str, ...] = (
    r"you(?:'ve| have)? already asked\b",
    r"you(?:'ve| have)? (?:just )?asked (?:me )?(?:that|this|about)\b.*\b(?:already|before|earlier)",
    r"\b(?:i|we)(?:'ve| have)? already (?:answered|told you|said|mentioned|discussed|talked about|went over|covered)\b",
    r"\b(?:like|as) i (?:said|mentioned|told you)\b",
    r"\bi (?:just |)told you\b",
)
_DONT_KNOW = re.compile(
    rf"^{_LEAD}(?:{'|'.join(DONT_KNOW)})(?:[,. …-]*(?:sorry|doctor|doc|really|though))*[.!…]*$"
)
_ALREADY_ASKED = re.compile("|".join(ALREADY_ASKED))


def reply_kind(text: str) -> Reply:
    """``already_asked`` where the reply says so, ``dont_know`` where that is all it says, else ``answer``."""
    plain = " ".join(text.casefold().replace("’", "'").split())
    if _ALREADY_ASKED.search(plain):
        return "already_asked"
    return "dont_know" if _DONT_KNOW.match(plain) else "answer"
