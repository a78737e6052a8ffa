"""bedside's own format: one transcript a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from bedside.errors import InputError
from bedside.transcripts.model import Transcript
from bedside.transcripts.reading import Head, Reader, Source

_KEYS = {"id", "system", "case_id", "language", "factors", "reference", "turns"}
_TURN_KEYS = {"index", "role", "speaker", "text", "meta"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if first is None:
        return "transcripts" if head.text.startswith("{") and '"turns"' in head.text else None
    return "transcripts" if isinstance(first, dict) and "turns" in first and not head.is_array else None


def _read(source: Source) -> Iterator[Transcript]:
    for where, item in source.json_lines():
        transcript = source.attempt(_transcript, source, item, where)
        if transcript is not None:
            yield transcript


def _transcript(source: Source, item: Any, where: str) -> Transcript:
    if not isinstance(item, dict):
        raise InputError("a line must hold one object", where=where, todo="see bedside readers show jsonl")
    _known(item, _KEYS, where)
    if not isinstance(item.get("turns"), list):
        raise InputError("no list called 'turns'", where=where, todo="see bedside readers show jsonl")
    for key in ("factors", "reference"):
        if not isinstance(item.get(key, {}), dict):
            raise InputError(f"{key!r} must be an object", where=where)
    turns = []
    for index, turn in enumerate(item["turns"]):
        if not isinstance(turn, dict):
            raise InputError("a turn must be an object", where=f"{where}, turn {index}")
        _known(turn, _TURN_KEYS, f"{where}, turn {index}")
        if turn.get("index", index) != index:
            raise InputError(
                f"the turn says it is number {turn['index']}", where=f"{where}, turn {index}",
                todo="number turns from 0 in order, or leave 'index' out",
            )  # fmt: skip
        # A line without a speaker's name is what many people write: the role serves as the name.
        speaker = turn.get("speaker", turn.get("role"))
        made = source.turn(index, turn.get("role", speaker), turn.get("text"), where, turn.get("meta"))
        if not isinstance(speaker, str):
            raise InputError("the speaker is not text", where=f"{where}, turn {index}")
        turns.append(
            made if made.speaker == speaker else type(made)(index, made.role, speaker, made.text, made.meta)
        )
    return source.transcript(
        turns,
        where,
        id=item.get("id"),
        system=item.get("system"),
        case_id=item.get("case_id"),
        language=item.get("language"),
        factors=item.get("factors"),
        reference=item.get("reference"),
    )


def _known(item: dict[str, Any], keys: set[str], where: str) -> None:
    unknown = sorted(item.keys() - keys)
    if unknown:
        raise InputError(
            f"unknown key {unknown[0]!r}", where=where, todo=f"known keys: {', '.join(sorted(keys))}"
        )


READER = Reader(
    name="jsonl",
    title="bedside's JSON lines",
    description="One transcript a line; the JSON Schema is `transcripts/transcript.schema.json` in the package.",
    example=(
        '{"id": "a-1", "system": "A", "case_id": "1", "factors": {"target_length": 20}, "turns": '
        '[{"role": "clinician", "text": "What brings you here?"}, {"role": "patient", "text": "I sleep badly."}]}\n'
    ),
    example_name="transcripts.jsonl",
    claims=_claims,
    read=_read,
    priority=10,
)
