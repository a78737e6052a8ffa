"""The width of text and numbers, where lines may end, and the lines that a text makes in a width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from bedside.reports.renderers.markdown import plain
from bedside.reports.table_content import Cell

# -- How wide text is in Computer Modern ----------------------------------------------------------------

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


# -- Where lines of text may end ------------------------------------------------------------------------

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


# -- Columns of numbers that siunitx aligns at their decimal points -------------------------------------

#: Has siunitx print no zero before the point where a column's numbers have none, by the key of its version.
BARE_POINTS = (
    r"\providecommand\bedsidebarepoints{\ifdefined\complexnum\sisetup{print-zero-integer=false}"
    r"\else\sisetup{add-integer-zero=false}\fi}"
)
#: A number, and what follows it: its spread, its interval, a sign of per cent.
_NUMBER = re.compile(r"([−+-]?)(\d*)(?:\.(\d+))?(?![\d,:.\w-])(.*)")


@dataclass(frozen=True, slots=True)
class NumberShape:
    """How the numbers of a column look.

    Attributes:
        signed: whether one has a sign.
        plus: whether one has a plus sign.
        bare: whether one begins with the point.
        integers: most digits before the point; 0 where all begin with the point.
        decimals: most digits after it.
        longest: the widest of what follows a number, as shown and raised.
        bold: whether one is bold.
    """

    signed: bool
    plus: bool
    bare: bool
    integers: int
    decimals: int
    longest: tuple[str, str]
    bold: bool

    def column(self, escape: Callable[[str], str]) -> str:
        """What tabular is told of the column."""
        bare = r">{\bedsidebarepoints}" if self.bare else ""
        return f"{bare}S[{self._options(escape)}]"

    def _options(self, escape: Callable[[str], str]) -> str:
        """What siunitx is told of the column, by its own keys."""
        after, marks = self.longest
        shown = escape(after) + (rf"\textsuperscript{{{escape(marks)}}}" if marks else "")
        sign = "+" if self.signed else ""
        plus = "retain-explicit-plus," if self.plus else ""
        look = f"detect-weight,{plus}table-format={sign}{self.integers}.{self.decimals}"
        return look + (f",table-space-text-post={{{shown}}}" if shown else "")

    @property
    def width(self) -> float:
        """Of the column at 10 pt, in points, without its title."""
        digits = "0" * (self.integers + self.decimals) + ("." if self.decimals else "")
        number = text_width(("−" if self.signed else "") + digits) * (BOLD if self.bold else 1.0)
        return number + _after_width(*self.longest)


def _after_width(after: str, marks: str) -> float:
    return BOLD * text_width(after) + RAISED * text_width(marks)


def number_shape(cells: Sequence[Cell]) -> NumberShape | None:
    """How a column's numbers look; None where one of its cells is a word, none is a number, or some of them have a zero
    before their point and others have none."""
    matches = []
    for cell in cells:
        match = _parsed(cell)
        if match is not None:
            matches.append((match, cell))
        elif re.search(r"[\w]", cell.text):
            return None
    # siunitx prints a column's zeros before the point all or none.
    bare = any(not match[2] for match, _ in matches)
    if not matches or (bare and any(match[2] == "0" and match[3] for match, _ in matches)):
        return None
    afters = [(match[4], cell.marks) for match, cell in matches]
    return NumberShape(
        signed=any(match[1] for match, _ in matches),
        plus=any(match[1] == "+" for match, _ in matches),
        bare=bare,
        integers=max(len(match[2]) for match, _ in matches),
        decimals=max(len(match[3] or "") for match, _ in matches),
        longest=max(afters, key=lambda pair: _after_width(*pair)),
        bold=any(cell.bold for _, cell in matches),
    )


def aligned_cell(cell: Cell, escape: Callable[[str], str]) -> str:
    """A cell of such a column: its number bare, all else in braces."""
    match = _parsed(cell)
    marks = rf"\textsuperscript{{{escape(cell.marks)}}}" if cell.marks else ""
    if match is None or cell.underline:
        shown = rf"\underline{{{escape(cell.text)}}}" if cell.underline else escape(cell.text)
        return f"{{{shown}{marks}}}" if shown or marks else ""
    sign, integer, decimals, after = match.groups()
    number = sign.replace("−", "-") + integer + ("" if decimals is None else f".{decimals}")
    tail = f"{{{escape(after)}{marks}}}" if after or marks else ""
    return (r"\bfseries " if cell.bold else "") + number + tail


def _parsed(cell: Cell) -> re.Match[str] | None:
    match = _NUMBER.fullmatch(cell.text)
    return match if match is not None and (match[2] or match[3]) else None
