"""Where lines of text may end, and the lines that a text makes in a width."""

from __future__ import annotations

import re
from functools import lru_cache

from bedside.reports.renderers._text_width import text_width
from bedside.reports.renderers.plain_text import plain

#: An arrow at the end stays with the word before it.
_BETWEEN_WORDS = re.compile(" +(?![↑↓]$)")
_SPACE = text_width(" ")
#: After these a long name may go on in the next line.
_SEAMS = re.compile(r"(?<=\w[-/_:=])(?=[^-/_:=])|(?<=\w,)(?=[^\d,])")


@lru_cache(maxsize=1 << 14)
def words(text: str) -> tuple[str, ...]:
    """The words between white space; a space that must not break a line, as before a last arrow, is part of a word."""
    shown = plain(text).strip(" ")
    return tuple(_BETWEEN_WORDS.split(shown)) if shown else ()


@lru_cache(maxsize=1 << 14)
def widest_piece(text: str) -> float:
    """The width at 10 pt, in points, of the longest piece between places where a line may end."""
    return max((text_width(piece) for word in words(text) for piece in _SEAMS.split(word)), default=0.0)


def pieces(word: str, width: float) -> list[str]:
    """A word in pieces that fit a width: whole if it does, else cut after its hyphens and the like, else anywhere.

    Args:
        word: without white space.
        width: at 10 pt, in points.
    """
    if text_width(word) <= width:
        return [word]
    cut: list[str] = []
    for piece in _SEAMS.split(word):
        cut += [piece] if text_width(piece) <= width else list(piece)
    return cut


@lru_cache(maxsize=1 << 14)
def lines(text: str, width: float) -> tuple[str, ...]:
    """The lines that a text makes in a width.

    Args:
        text: of one paragraph.
        width: at 10 pt, in points.
    """
    broken: list[str] = []
    left = 0.0
    for word in words(text):
        for place, piece in enumerate(pieces(word, width)):
            wide = text_width(piece)
            between = 0.0 if place else _SPACE
            if broken and between + wide <= left:
                broken[-1] += piece if place else f" {piece}"
                left -= between + wide
            else:
                broken.append(piece)
                left = width - wide
    return tuple(broken) or ("",)
