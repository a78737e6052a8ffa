"""What a reader took from one file and what it left, for the user to see before he believes a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

#: Longest example of a text that is kept, in characters.
_EXAMPLE = 60


class Texts(NamedTuple):
    """Texts of one name, such as a key or a column.

    Attributes:
        number: how many.
        longest: the length of the longest, in characters.
        place: where that stands.
        example: how it begins.
    """

    number: int
    longest: int
    place: str
    example: str

    def with_others(self, other: Texts | None) -> Texts:
        """These and others of the same name."""
        if other is None:
            return self
        longer = self if self.longest >= other.longest else other
        return longer._replace(number=self.number + other.number)


def text_of(text: str, place: str) -> Texts:
    """One text."""
    return Texts(1, len(text), place, " ".join(text[: 2 * _EXAMPLE].split())[:_EXAMPLE])


@dataclass(slots=True)
class FileAccount:
    """What a reader understood of one file; a reader fills in what its form has.

    Attributes:
        encoding: of the text, where it is not UTF-8.
        sheets: worksheets that were read; empty for a file without any.
        other_sheets: worksheets that were left out.
        header: line or row of the column names, where it is not the first.
        columns: bedside's name of a column → the file's.
        unused: columns of which nothing was taken.
        left_out: what was left out, a plural noun such as ``empty turns`` or ``lines above the first speaker`` → how
            many.
        first_left: the same noun → where the first of them stands, of those that are parts of a whole.
        lost: texts that are neither turns nor fields, by the name of their key, column, part or line.
        remarks: whole sentences on how the form was understood, each once.
    """

    encoding: str = ""
    sheets: list[str] = field(default_factory=list)
    other_sheets: list[str] = field(default_factory=list)
    header: int | None = None
    columns: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    first_left: dict[str, str] = field(default_factory=dict)
    lost: dict[str, Texts] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def leave(self, noun: str, place: str) -> None:
        """Note one thing that is left out, and where."""
        self.left_out[noun] += 1
        self.first_left.setdefault(noun, place)

    def lose(self, name: str, text: str, place: str) -> None:
        """Note a text that is neither a turn nor a field."""
        self.lost[name] = text_of(text, place).with_others(self.lost.get(name))

    def remark(self, sentence: str) -> None:
        """Add a sentence, unless it stands there."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def took(self, columns: Mapping[str, str], header: Iterable[str]) -> None:
        """Note which columns of a header were taken, and so which were not."""
        self.columns.update(columns)
        self.unused = [name for name in header if name and name not in self.columns.values()]
