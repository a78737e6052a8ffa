"""A conversation as a notebook shows it: small, without scripts, and in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bedside.support.plurals import counted

#: Role, speaker and text of a turn.
ShownTurn = tuple[str, str, str]
#: Turns that are shown at once, and those that can be folded out; what is beyond them would make a notebook heavy.
SHOWN, FOLDED = 12, 200
#: Characters of a turn that are shown.
LONGEST_TURN = 4000
_TURN_STYLE = "margin: 0.3em 0; padding-inline-start: 0.6em; white-space: pre-wrap; overflow-wrap: anywhere"
#: A side is told by its line, not by a colour: a notebook may be light or dark.
_LINES = {"clinician": "solid", "patient": "dotted"}


def conversation_html(name: str, facts: Sequence[str], turns: Sequence[ShownTurn]) -> str:
    """A fragment with the first turns of a conversation, and the others folded; all text is escaped.

    Each turn finds its own direction, so that what runs from right to left turns nothing else round.

    Args:
        name: what it is called.
        facts: what is said beside that.
        turns: all of them.
    """
    about = " · ".join(f"<bdi>{_text(fact)}</bdi>" for fact in (*facts, counted(len(turns), "turn")))
    parts = [f"<p><strong><bdi>{_text(name)}</bdi></strong> {about}</p>", _paragraphs(turns, 0, SHOWN)]
    more, beyond = len(turns) - SHOWN, len(turns) - SHOWN - FOLDED
    if more > 0:
        end = (
            f"<p>{counted(beyond, 'turn')} after these: print the transcript to read all.</p>"
            if beyond > 0
            else ""
        )
        folded = _paragraphs(turns, SHOWN, SHOWN + FOLDED)
        parts.append(f"<details><summary>{counted(more, 'more turn')}</summary>{folded}{end}</details>")
    return f'<div class="bedside-transcript">{"".join(parts)}</div>'


def _paragraphs(turns: Sequence[ShownTurn], first: int, end: int) -> str:
    return "".join(
        f'<p dir="auto" style="{_TURN_STYLE}; border-inline-start: 3px {_LINES.get(role, "none")} currentColor">'
        f"<small>{index}</small> <strong><bdi>{_text(speaker)}</bdi></strong> {_said(text)}</p>"
        for index, (role, speaker, text) in enumerate(turns[first:end], first)
    )


def _said(text: str) -> str:
    cut = len(text) - LONGEST_TURN
    return _text(text) if cut <= 0 else f"{_text(text[:LONGEST_TURN])} <em>… {cut:,} more characters</em>"


def _text(text: str) -> str:
    """Text as text, without the control characters that no page may hold."""
    return escape(
        "".join(letter for letter in text if letter.isprintable() or letter in "\n\t" or ord(letter) > 159)
    )
