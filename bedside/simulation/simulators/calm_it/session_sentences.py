"""What is the same in every session: its greeting, its farewell, and what a side is told of the time."""

from __future__ import annotations

#: Message 0 and message T - 2, which the protocol says for the therapist.
GREETING = "Hello, good to have you here. What brings you in today?"
FAREWELL = (
    "Our time is up for today. Thank you for talking so openly with me. Is there anything that you would like to say "
    "before we stop?"
)

_OPEN = "There is time: nothing needs to be settled now."
_EARLY = "You hardly know each other yet: go gently."
_CLOSING = {
    "clinician": "The session is in its last messages: begin nothing new, gather, and bring it to a good end.",
    "patient": "The session is in its last messages: begin nothing new.",
}
_LAST = "The therapist has said goodbye: this is your last line."


def phase(side: str, index: int, *, closing: bool, last: bool = False) -> str:
    """What a side is told of the time.

    Args:
        side: ``clinician`` or ``patient``.
        index: of the message.
        closing: whether it is one of those that are kept for closing.
        last: whether it is the last.
    """
    if last:
        return _LAST
    if closing:
        return _CLOSING[side]
    return _EARLY if index < EARLY else _OPEN


def counter(index: int, length: int) -> str:
    """Which message of how many one is."""
    return f"{index + 1} of {length}"


#: Messages that count as early.
EARLY = 6
