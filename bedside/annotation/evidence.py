"""Turns and words that a rater marks as evidence for a level, as text: the form that answers, files and reasons share.

Marked turns are kept as a tuple of texts, ``"3"`` for a whole turn and ``"3: the words"`` for words of one, with turns
counted from 0. In a rating's reason they are named as judges name them (``turn 3``, words in quotes), so that what
finds turns in a judge's reason finds them here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARK = re.compile(r"(\d{1,9})(?:: (\S.*))?", re.DOTALL)
_TURN = re.compile(r"(?:turns?\s*)?\[?(\d{1,9})\]?", re.IGNORECASE)
_SPAN = re.compile(r"(?:turns?\s*)?\[?(\d{1,9})\]?\s*(?:-|–|to)\s*\[?(\d{1,9})\]?", re.IGNORECASE)
#: Turns that one span in a cell may have.
_LONGEST_SPAN = 2_000


def mark_of(turn: int, words: str = "") -> str:
    """A marked turn, or words of it."""
    cleaned = " ".join(words.split())
    return f"{turn}: {cleaned}" if cleaned else str(turn)


def marked_turn(mark: str) -> int:
    """The number of the turn that a mark is of.

    Raises:
        ValueError: it is no mark.
    """
    match = _MARK.fullmatch(mark)
    if match is None:
        raise ValueError(f"{mark!r} names no turn")
    return int(match[1])


def listed_turns(cell: str) -> tuple[str, ...]:
    """The marks that a cell names, such as ``3; 5-7`` or ``turns 3, 5``.

    Raises:
        ValueError: a part of it is no turn.
    """
    marks: list[str] = []
    for part in re.split(r"\s*[;,\n]\s*|\s+and\s+", cell.strip()):
        span, turn = _SPAN.fullmatch(part), _TURN.fullmatch(part)
        if span is not None and 0 <= int(span[2]) - int(span[1]) < _LONGEST_SPAN:
            marks += map(str, range(int(span[1]), int(span[2]) + 1))
        elif turn is not None:
            marks.append(str(int(turn[1])))
        elif part:
            raise ValueError(f"{part!r} is not the number of a turn")
    return in_order(marks)


def in_order(marks: Iterable[str]) -> tuple[str, ...]:
    """Marks in the order of their turns, each once.

    Raises:
        ValueError: one is no mark.
    """
    return tuple(sorted(dict.fromkeys(marks), key=marked_turn))


def reason_with_evidence(reason: str, marks: Sequence[str]) -> str:
    """What a rater says of a level, and the turns that show it, in the words of a judge's reason."""
    if not marks:
        return reason
    whole = [str(marked_turn(mark)) for mark in marks if ": " not in mark]
    parts = [f"turn{'s' if len(whole) > 1 else ''} {', '.join(whole)}"] if whole else []
    for mark in marks:
        turn, _, words = mark.partition(": ")
        if words:
            quoted = re.sub(r"[“”\"]", "'", words)
            parts.append(f"turn {turn} “{quoted}”")
    return f"{reason}{' ' if reason else ''}Evidence: {'; '.join(parts)}."
