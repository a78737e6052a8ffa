"""The part of a note that the patient knows: the history before any treatment, word for word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

#: Signs that models write in another form than the note.
_SIGNS = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u2010": "-", "\u2011": "-"}
)
#: A sentence of a note; an abbreviation's or a number's point ends none.
_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)[.!?]+[\"'”’)]*\s+|[。！？]+[”’」』）]*\s*|\s*\n+\s*"
)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a vignette, in order, each with the sign that ends it."""
    parts = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return tuple(part for part in parts if any(map(str.isalnum, part)))


def shared_start(history: str, before: str) -> str | None:
    """The beginning of a history that a copy of it holds, in the history's own characters.

    White space, case and the form of quotation marks and dashes don't count.

    Args:
        history: the whole.
        before: the copy of its beginning.

    Returns:
        The beginning with the mark that ends its sentence; None where the copy is empty, isn't how the history begins,
        or ends within a word.
    """
    copied = [character for _, character in _plain(before)]
    whole = list(_plain(history))[: len(copied)]
    if not copied or [character for _, character in whole] != copied:
        return None
    end = whole[-1][0] + 1
    if end < len(history) and _within_word(history[end - 1], history[end]):
        return None
    while end < len(history) and history[end] in ".!?。！？":
        end += 1
    return history[:end].strip()


def folded(text: str) -> str:
    """A text as it is compared with another: without white space, case and the form of quotation marks and dashes."""
    return "".join(character for _, character in _plain(text))


def _plain(text: str) -> Iterator[tuple[int, str]]:
    """The characters that count, each with the place in the text that it comes from."""
    for place, character in enumerate(text):
        for plain in unicodedata.normalize("NFKC", character).translate(_SIGNS).casefold():
            if not plain.isspace():
                yield place, plain


def _within_word(before: str, after: str) -> bool:
    return before.isascii() and before.isalnum() and after.isascii() and after.isalnum()
