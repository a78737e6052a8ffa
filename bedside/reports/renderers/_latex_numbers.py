"""Columns of numbers that siunitx aligns at their decimal points."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bedside.reports.renderers.wrapped_text import BOLD, RAISED, text_width
from bedside.reports.table_content import Cell

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
