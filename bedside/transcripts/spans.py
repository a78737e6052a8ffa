"""Pieces of a large file that several processes read, each as if it read the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a file that begins and ends between transcripts.

    Attributes:
        start, end: its bytes in the file.
        head: so many bytes of the file's beginning stand before each piece: a table's header.
        lines: what is to be added to a line's number in the piece (with its head) to get that in the file.
        values: JSON values or rows of the file that precede it.
    """

    start: int
    end: int
    head: int = 0
    lines: int = 0
    values: int = 0


class NotDivisible(Exception):  # noqa: N818 - no fault, and never seen outside
    """The file has something in it that is told right only where it is read in one go."""


class Divider:
    """Divides a file at places where that may be done.

    Args:
        size: a piece ends at the first such place after this many bytes.
        head, lines: of the file's beginning that stands before every piece, bytes and lines.
    """

    def __init__(self, size: int, head: int = 0, lines: int = 0) -> None:
        self._size = size
        self._head = head
        self._head_lines = lines
        self._spans: list[Span] = []
        self._at = Span(head, head, head)

    def is_due(self, offset: int) -> bool:
        """Whether a piece that ended here, behind so many bytes, would be long enough."""
        return offset - self._at.start >= self._size

    def here(self, offset: int, lines: int, values: int) -> None:
        """A piece may begin here, behind so many bytes, lines and values of the file."""
        if self.is_due(offset):
            self._close(offset)
            self._at = Span(offset, offset, self._head, lines - self._head_lines, values)

    def _close(self, end: int) -> None:
        at = self._at
        self._spans.append(Span(at.start, end, at.head, at.lines, at.values))

    def spans(self, end: int) -> list[Span]:
        """The pieces, the last of which ends with the file; none where that is the only one."""
        self._close(end)
        return self._spans if len(self._spans) > 1 else []


class Owners:
    """Tells where in a file that has one turn a line or row another transcript begins.

    Raises:
        NotDivisible: a transcript comes back after another.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._last: str | None = None

    def changes(self, owner: str) -> bool:
        """Whether this line's transcript is another than the line's before."""
        if owner == self._last:
            return False
        if owner in self._seen:
            raise NotDivisible
        self._seen.add(owner)
        self._last = owner
        return True
