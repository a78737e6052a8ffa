"""Copies of transcripts with what was seen covered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier, names_somebody
from bedside.transcripts.transcript import Transcript

#: Fields that hold a transcript together with others: they are left as they are.
KEPT = ("id", "system", "case_id")


def masked(transcript: Transcript, seen: Iterable[SeenIdentifier]) -> Transcript:
    """A transcript in which each identifier that was seen is its kind: ``[NAME]``, ``[DATE]``.

    A speaker's name that says more than a role becomes the role. Ids, systems and cases stay as they are, and so do
    keys.

    Args:
        transcript: the one that was looked at.
        seen: what was seen in it.
    """
    places: dict[tuple[int | None, str], list[SeenIdentifier]] = defaultdict(list)
    for identifier in seen:
        places[identifier.turn, identifier.field].append(identifier)
    turns = tuple(
        replace(
            turn,
            text=_covered(turn.text, places[turn.index, "text"]),
            speaker=turn.role if names_somebody(turn.speaker) else turn.speaker,
            meta=_data(turn.meta, turn.index, "meta", places),
        )
        for turn in transcript.turns
    )
    provenance = tuple(
        replace(
            item,
            text=_covered(item.text, places[None, f"provenance.{number}.text"]),
            meta=_data(item.meta, None, f"provenance.{number}.meta", places),
        )
        for number, item in enumerate(transcript.provenance)
    )
    return replace(
        transcript,
        turns=turns,
        provenance=provenance,
        factors=_data(transcript.factors, None, "factors", places),
        reference=_data(transcript.reference, None, "reference", places),
    )


def _data(
    value: Any, turn: int | None, path: str, places: Mapping[tuple[int | None, str], Sequence[SeenIdentifier]]
) -> Any:
    if isinstance(value, str):
        return _covered(value, places.get((turn, path), ()))
    if isinstance(value, int) and (turn, path) in places:
        return _covered(str(value), places[turn, path])
    if isinstance(value, Mapping):
        return {name: _data(part, turn, f"{path}.{name}", places) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_data(part, turn, f"{path}.{place}", places) for place, part in enumerate(value)]
    return value


def _covered(text: str, seen: Sequence[SeenIdentifier]) -> str:
    for identifier in sorted(seen, key=lambda identifier: -identifier.start):
        text = f"{text[: identifier.start]}[{identifier.kind.upper()}]{text[identifier.end :]}"
    return text
