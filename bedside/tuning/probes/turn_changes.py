"""Changes of a conversation's turns that several probes make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bedside.judges.rubrics.rubric import Rubric
from bedside.transcripts.transcript import Role, Transcript, Turn

#: What is said in an added turn, and by whom.
AddedTurn = tuple[Role, str]


def rated_role(rubric: Rubric) -> Role:
    """Whose turns a change is made to: those that the rubric rates, the clinician's where it rates the whole."""
    return rubric.role or "clinician"


def numbered(transcript: Transcript, turns: Sequence[Turn]) -> Transcript:
    """The conversation with these turns, numbered anew."""
    return replace(
        transcript,
        turns=tuple(
            turn if turn.index == index else replace(turn, index=index) for index, turn in enumerate(turns)
        ),
    )


def with_texts(transcript: Transcript, role: Role, text: Callable[[str], str]) -> Transcript:
    """The conversation with each turn of a role in other words."""
    return replace(
        transcript,
        turns=tuple(
            replace(turn, text=text(turn.text)) if turn.role == role else turn for turn in transcript.turns
        ),
    )


def exchanges(transcript: Transcript) -> list[list[Turn]]:
    """The turns in exchanges, each from where the clinician begins to speak until they begin again.

    What others say before the clinician's first turn is an exchange of its own.
    """
    blocks: list[list[Turn]] = []
    before: Role | None = None
    for turn in transcript.turns:
        if not blocks or (turn.role == "clinician" and before != "clinician"):
            blocks.append([])
        blocks[-1].append(turn)
        before = turn.role
    return blocks


def with_turns(transcript: Transcript, place: int, added: Sequence[AddedTurn]) -> Transcript:
    """The conversation with turns added before the one at ``place``; they belong to the stage of their neighbour.

    A speaker is called as the first turn of that role calls them.
    """
    neighbour = transcript.turns[min(place, len(transcript.turns) - 1)]
    stage = {"stage": neighbour.meta["stage"]} if "stage" in neighbour.meta else {}
    speakers = {turn.role: turn.speaker for turn in reversed(transcript.turns)}
    turns = [Turn(0, role, speakers.get(role, role), text, stage) for role, text in added]
    return numbered(transcript, [*transcript.turns[:place], *turns, *transcript.turns[place:]])
