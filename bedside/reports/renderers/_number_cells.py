"""The numbers in a cell as a table prints it: their values, and how they are shown."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal

from bedside.reports.table_content import Cell

#: A number: a true minus sign or a plus sign, commas between thousands, with or without a zero before its point.
_NUMBER = re.compile(r"([−+]?)(\d{1,3}(?:,\d{3})+(?!\d)|\d*)(?:\.(\d+))?")
#: What may follow a number, and what may stand before one.
_AFTER = re.compile(r"(?:\s*[)\]},;%])*")
_BEFORE = re.compile(r"(?:[(\[{$±/×\s]|n=|of|to)*")


@dataclass(frozen=True, slots=True)
class ShownNumber:
    """A number as shown.

    Attributes:
        value: of what is shown, with all its digits; a share shown in per cent is 45 where 45 % stands.
        before: shown before it.
        after: shown after it.
        decimals: digits after its point.
        signed: whether it has a plus sign if it is above zero.
        zero: whether a zero stands before its point.
        grouped: whether commas stand between thousands.
    """

    value: float
    before: str
    after: str
    decimals: int
    signed: bool
    zero: bool
    grouped: bool

    @property
    def excel_format(self) -> str:
        """How a spreadsheet shows it so."""
        digits = "#,##0" if self.grouped else "0" if self.zero else ""
        digits += f".{'0' * self.decimals}" if self.decimals else ""
        before, after = _quoted(self.before), _quoted(self.after)
        plus = '"+"' if self.signed else ""
        unsigned = f"{before}{digits}{after}"
        return f'{before}{plus}{digits}{after};{before}"−"{digits}{after};{unsigned}'


def _quoted(text: str) -> str:
    """Text as a spreadsheet's format has it: each sign by itself, so that quotes need no care."""
    return "".join(rf"\{character}" for character in text)


def shown_numbers(cell: Cell, exact: float | None = None) -> tuple[ShownNumber, ...]:
    """The numbers of a cell, in order; none where it holds words, or nothing.

    Args:
        cell: the cell; its marks are shown after its last number.
        exact: what its first number was rounded from, or a hundredth of that, if it is known.
    """
    matches = [match for match in _NUMBER.finditer(cell.text) if match[2] or match[3]]
    if not matches:
        return ()
    edges = [0, *(edge for match in matches for edge in match.span()), len(cell.text)]
    between = [cell.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    afters = ["", *(_AFTER.match(text)[0] for text in between[1:])]  # type: ignore[index]
    befores = [text[len(after) :].strip() for text, after in zip(between, afters, strict=True)]
    if befores[-1] or not all(map(_BEFORE.fullmatch, befores)):
        return ()
    afters.append(afters.pop() + cell.marks)
    numbers = [
        _shown(match, before, after)
        for match, before, after in zip(matches, befores, afters[1:], strict=False)
    ]
    if exact is not None:
        numbers[0] = _with_exact(numbers[0], exact)
    return tuple(numbers)


def _shown(match: re.Match[str], before: str, after: str) -> ShownNumber:
    sign, integer, decimals = match[1], match[2], match[3] or ""
    value = float(f"{integer.replace(',', '') or '0'}.{decimals or '0'}")
    return ShownNumber(
        -value if sign == "−" else value,
        before,
        after,
        decimals=len(decimals),
        signed=sign == "+",
        zero=bool(integer),
        grouped="," in integer,
    )


def _with_exact(shown: ShownNumber, exact: float) -> ShownNumber:
    """The number with all its digits, where it is the one that a spreadsheet shows so."""
    for value in (exact, 100 * exact):
        if math.isfinite(value):
            rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-shown.decimals), ROUND_HALF_UP)
            # A spreadsheet shows what rounds to 0 from below with a minus sign.
            if float(rounded) == shown.value and not (rounded.is_zero() and value < 0):
                return replace(shown, value=value)
    return shown
