"""Kinds of patient reply, told by their words: by the sentences fixed for a simulated patient, else in English."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bedside.metrics.protocols.note2chat.labels import Reply

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


#: What surrounds the words of a reply and doesn't count.
_EDGES = " .,!?…。，！？\"'“”"


def reply_kind(text: str, sentences: Mapping[str, str] | None = None) -> Reply:
    """What kind of reply a text is.

    ``already_asked`` where it says so, ``dont_know`` where that is all it says, else ``answer``.

    Args:
        text: the reply.
        sentences: what this patient says word for word, as ``dont_know`` and ``already_asked``: such a reply is of that
            kind in any language (see :func:`says`).
    """
    if sentences is not None:
        if "already_asked" in sentences and says(text, sentences["already_asked"]):
            return "already_asked"
        if "dont_know" in sentences and says(text, sentences["dont_know"]):
            return "dont_know"
    plain = _folded(text)
    if _ALREADY_ASKED.search(plain):
        return "already_asked"
    return "dont_know" if _DONT_KNOW.match(plain) else "answer"


def says(text: str, sentence: str) -> bool:
    """Whether a text is a sentence and no more; case, white space and marks at either end don't count."""
    plain = _folded(text).strip(_EDGES)
    return bool(plain) and plain == _folded(sentence).strip(_EDGES)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
