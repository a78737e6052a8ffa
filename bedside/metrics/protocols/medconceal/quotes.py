"""Does a quote occur in what somebody said? Small differences of writing are allowed, another meaning is not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

#: Characters a quote needs for edits to be allowed; a shorter one must occur as it is.
FUZZY_LENGTH = 20
#: Edits allowed, as a share of the quote's characters (rounded down): the match is 90 % of the quote at least.
EDITS = 0.1

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´ʼ＇′", "'"),
        **dict.fromkeys("“”„‟«»″「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "\u00ad": None,
        "\u200b": None,
    }
)
_EDGES = re.compile(r"^[\s\"'.,;:!?…\-]+|[\s\"'.,;:!?…\-]+$")
# Words that turn a sentence into its opposite, and numbers: an edit must not touch them.
_CRITICAL = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|barely)\b"
    r"|\b\w+n't\b|\b(?:ain|are|ca|could|did|does|do|had|has|have|is|must|need|should|was|were|wo|would)nt\b|[不没無无别]"
)


def normalise(text: str) -> str:
    """Text without differences of case, white space, width, and kinds of quotation marks, apostrophes and dashes."""
    folded = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME).casefold()
    return " ".join(folded.split())


def bare(quote: str) -> str:
    """A normalised quote without the marks around it."""
    return _EDGES.sub("", normalise(quote))


def edits_allowed(quote: str) -> int:
    """Edits (inserted, left-out or changed characters) allowed in a normalised quote."""
    return int(EDITS * len(quote)) if len(quote) >= FUZZY_LENGTH else 0


def occurs(quote: str, text: str) -> bool:
    """Whether ``quote`` occurs in ``text``, both as they come from :func:`bare` and :func:`normalise`.

    A quote must begin and end where words do. One of 20 characters or more may differ from the text in one of ten
    characters, as long as negations and numbers are the same.
    """
    if not quote:
        return False
    start = text.find(quote)
    while start >= 0:
        if _whole_words(text, start, start + len(quote)):
            return True
        start = text.find(quote, start + 1)
    allowed = edits_allowed(quote)
    # Of allowed + 1 pieces so many edits leave one as it is: where none occurs, there is nothing to search.
    size = len(quote) // (allowed + 1)
    if not allowed or not any(quote[place : place + size] in text for place in range(0, len(quote), size)):
        return False
    wanted = _critical(quote)
    for end in (end for end, distance in endings(quote, text) if distance <= allowed):
        begin = end - _length_of_match(quote, text[:end])
        while begin > 0 and _joined(text, begin):
            begin -= 1
        while end < len(text) and _joined(text, end):
            end += 1
        if _critical(text[begin:end]) == wanted:
            return True
    return False


def _critical(text: str) -> list[str]:
    return [found.replace("'", "") for found in _CRITICAL.findall(text)]


def _joined(text: str, position: int) -> bool:
    """Whether the characters before and at a position belong to one word of a script with spaces."""
    before, after = text[position - 1], text[position]
    return all(each.isalnum() and each < "\u0e00" for each in (before, after))


def _whole_words(text: str, start: int, end: int) -> bool:
    return not (start > 0 and _joined(text, start)) and not (end < len(text) and _joined(text, end))


def endings(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Each end in ``text`` (1 … length) with the fewest edits between ``pattern`` and a part that ends there.

    Myers' bit-parallel algorithm (Journal of the ACM 46, 1999, 395–415) on one integer as long as the pattern.
    """
    places: dict[str, int] = {}
    for position, character in enumerate(pattern):
        places[character] = places.get(character, 0) | 1 << position
    full, last = (1 << len(pattern)) - 1, 1 << (len(pattern) - 1)
    up, down, distance = full, 0, len(pattern)
    for end, character in enumerate(text, start=1):
        here = places.get(character, 0)
        diagonal = (((here & up) + up) ^ up) | here | down
        rise = down | ~(diagonal | up) & full
        fall = up & diagonal
        if rise & last:
            distance += 1
        elif fall & last:
            distance -= 1
        rise, fall = rise << 1 & full, fall << 1 & full
        up = fall | ~(diagonal | rise) & full
        down = rise & diagonal
        yield end, distance


def _length_of_match(pattern: str, text: str) -> int:
    """Length of the part at the end of ``text`` that is nearest to ``pattern``."""
    tail = text[-(len(pattern) + edits_allowed(pattern)) :]
    # Of the reversed texts, the beginning that is nearest to the whole pattern, with its edit distance.
    previous = list(range(len(tail) + 1))
    for row, wanted in enumerate(reversed(pattern), start=1):
        current = [row]
        for column, character in enumerate(reversed(tail), start=1):
            current.append(
                min(
                    previous[column] + 1,
                    current[column - 1] + 1,
                    previous[column - 1] + (wanted != character),
                )
            )
        previous = current
    return min(range(len(previous)), key=lambda length: (previous[length], abs(length - len(pattern))))
