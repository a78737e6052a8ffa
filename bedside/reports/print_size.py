"""How large a table is set where the page is printed, so that nothing of it is cut at the edge."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.reports.renderers.html import LONG_WORD
from bedside.reports.table_content import TableContent

#: Points between the margins of the smaller of A4 and letter, which is A4 upright and letter across.
_UPRIGHT, _ACROSS = 510.0, 690.0
#: Points of a letter: of tables that are narrow, of those that are read without strain, and of the widest.
_LARGEST, _READ, _SMALLEST = 9.0, 6.5, 4.0
#: Em of a letter, taken wide, and of the space between two columns.
_LETTER, _GAP = 0.6, 0.75
#: Letters of the column of a long word, which is broken.
_BROKEN = 20


@dataclass(frozen=True, slots=True)
class PrintSize:
    """How a table is set on paper.

    Attributes:
        points: the size of its letters.
        landscape: whether its page lies across.
        broken: whether its numbers stand in several lines, too: mean, standard deviation and n below each other.
    """

    points: float
    landscape: bool = False
    broken: bool = False


def print_size(table: TableContent) -> PrintSize:
    """How a table fits the paper: upright, else across, and if it must be with its numbers broken."""
    unbroken, broken = _letters(table, broken=False), _letters(table, broken=True)
    for landscape in (False, True):
        points = _size(_ACROSS if landscape else _UPRIGHT, unbroken)
        if points >= _READ:
            return PrintSize(min(points, _LARGEST), landscape)
    return PrintSize(max(min(_size(_ACROSS, broken), _READ), _SMALLEST), landscape=True, broken=True)


def _letters(table: TableContent, *, broken: bool) -> list[int]:
    """Letters that each column needs at least: titles and sentences stand in lines, numbers and names only where they
    are ``broken``."""
    letters = []
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        texts = [cell.text + cell.marks for cell in cells]
        widths = [
            len(text)
            if not broken and (column.align == "right" or len(text) <= LONG_WORD)
            else _longest_word(text)
            for text in texts
        ]
        letters.append(max([*widths, _longest_word(column.title)]))
    return letters


def _size(width: float, letters: list[int]) -> float:
    """Points of a letter at which columns of that many letters fit a width."""
    return width / (sum(letters) * _LETTER + len(letters) * _GAP)


def _longest_word(text: str) -> int:
    longest = max(map(len, text.split()), default=0)
    return longest if longest <= LONG_WORD else _BROKEN
