"""How wide text is in Computer Modern, the letters that LaTeX sets where a class doesn't say otherwise."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from bedside.reports.renderers.plain_text import plain

#: Of a paper's text at 10 pt: the width of its characters in points, from the metrics of cmr10.
_WIDTHS = {
    1.67: "\u2009\u202f", 2.78: "!',.:;[]il|·‘’ıł", 3.06: "fj", 3.34: " -\u00a0", 3.62: "I", 3.89: "()t", 3.92: "r",
    3.95: "s", 4.45: "cez†", 4.49: "²", 4.67: "ε", 4.73: "?", 5.0: '*/0123456789ago\\{}$"`↑↓–“”ßø', 5.14: "J",
    5.18: "ρ", 5.28: "kqvxy", 5.56: "Sbdhnpuđ", 5.77: "κ", 6.03: "μµ", 6.06: "π", 6.08: "σ", 6.11: "Z~^", 6.19: "β",
    6.25: "LŁ", 6.26: "χ", 6.44: "α", 6.53: "F", 6.59: "ω", 6.81: "EP", 7.09: "B", 7.23: "CTwæΣ", 7.37: "R",
    7.5: "AHNUVXY", 7.64: "DĐ", 7.78: "+=@KOQ&<>_−≥≤×±œØ", 7.85: "G", 8.34: "m%#Δ√", 9.03: "Æ", 9.17: "M",
    10.0: "—∞→", 10.14: "Œ", 10.28: "W", 13.34: "…",
}  # fmt: skip
_WIDTH = {character: width for width, characters in _WIDTHS.items() for character in characters}
#: How much wider bold letters are, and upright ones than slanted ones at most.
BOLD, ITALIC = 1.16, 1.03
#: The size of what is raised beside that of the line.
RAISED = 0.9


@lru_cache(maxsize=1 << 16)
def text_width(text: str) -> float:
    """The width of a text at 10 pt, in points: LaTeX's without its kerning, which narrows most texts a little.

    A character that LaTeX has no letter for is as wide as its code, ``[U+4E2D]``, which stands in its place.
    """
    return sum(map(_character_width, unicodedata.normalize("NFC", plain(text))))


@cache
def _character_width(character: str) -> float:
    if character in _WIDTH:
        return _WIDTH[character]
    base = unicodedata.normalize("NFD", character)[0]
    if base in _WIDTH:
        return _WIDTH[base]
    return sum(_WIDTH[sign] for sign in f"[U+{ord(character):04X}]")
