"""A conversation as a notebook shows it: small, without scripts, and in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from bedside.support.plurals import counted

if TYPE_CHECKING:
    from bedside.transcripts.transcript import Transcript, Turn

#: Turns that are shown at once, and those that can be folded out; what is beyond them would make a notebook heavy.
SHOWN, FOLDED = 12, 200
#: Characters of a turn that are shown.
LONGEST_TURN = 4000
_TURN_STYLE = "margin: 0.3em 0; padding-inline-start: 0.6em; white-space: pre-wrap; overflow-wrap: anywhere"
#: A side is told by its line, not by a colour: a notebook may be light or dark.
_LINES = {"clinician": "solid", "patient": "dotted"}


def transcript_html(transcript: Transcript) -> str:
    """A fragment with the first turns, and the others folded; all text of the transcript is escaped.

    Each turn finds its own direction, so that what runs from right to left turns nothing else round.
    """
    facts = [
        transcript.system,
        transcript.case_id,
        transcript.language,
        counted(len(transcript.turns), "turn"),
    ]
    about = " · ".join(f"<bdi>{_text(fact)}</bdi>" for fact in facts if fact is not None)
    parts = [
        f"<p><strong><bdi>{_text(transcript.id)}</bdi></strong> {about}</p>",
        _turns(transcript.turns[:SHOWN]),
    ]
    rest = transcript.turns[SHOWN : SHOWN + FOLDED]
    if rest:
        more = counted(len(transcript.turns) - SHOWN, "more turn")
        parts.append(f"<details><summary>{more}</summary>{_turns(rest)}{_beyond(transcript)}</details>")
    return f'<div class="bedside-transcript">{"".join(parts)}</div>'


def _beyond(transcript: Transcript) -> str:
    """What to do for the turns that are not even folded."""
    beyond = len(transcript.turns) - SHOWN - FOLDED
    return (
        f"<p>{counted(beyond, 'turn')} after these: print the transcript to read all.</p>"
        if beyond > 0
        else ""
    )


def _turns(turns: Sequence[Turn]) -> str:
    return "".join(
        f'<p dir="auto" style="{_TURN_STYLE}; border-inline-start: 3px {_LINES.get(turn.role, "none")} currentColor">'
        f"<small>{turn.index}</small> <strong><bdi>{_text(turn.speaker)}</bdi></strong> {_said(turn.text)}</p>"
        for turn in turns
    )


def _said(text: str) -> str:
    cut = len(text) - LONGEST_TURN
    return _text(text) if cut <= 0 else f"{_text(text[:LONGEST_TURN])} <em>… {cut:,} more characters</em>"


def _text(text: str) -> str:
    """Text as text, without the control characters that no page may hold."""
    return escape(
        "".join(letter for letter in text if letter.isprintable() or letter in "\n\t" or ord(letter) > 159)
    )
