"""Arena pairs: two systems answer one user, who prefers one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS, message_turns
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import described

_SEE = "see bedside show arena"
_SIDES = ("a", "b")
_AGAIN = "conversations that stand there again, in another pair or by another judge, with who was preferred then"
_USED = {f"{part}_{side}" for part in ("conversation", "model") for side in _SIDES}


def _claims(head: Head) -> Claim | None:
    first = head.first
    return "transcripts" if isinstance(first, dict) and first.keys() >= _USED else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    read: dict[str, int] = {}
    for where, name, item in source.json_values():
        for side in _SIDES:
            transcript = source.attempt(_transcript, source, item, side, where, name)
            if transcript is None:
                continue
            # A conversation stands there once for each pair that it is of, and for each judge of that.
            said = hash(tuple((turn.speaker, turn.text) for turn in transcript.turns))
            if read.get(transcript.id) == said:
                source.account.left_out[_AGAIN] += 1
                continue
            read[transcript.id] = said
            yield transcript


def _transcript(source: SourceFile, item: Any, side: str, where: str, name: str) -> Transcript:
    if isinstance(item, InputError):
        raise item
    messages = item.get(f"conversation_{side}") if isinstance(item, dict) else None
    if not isinstance(messages, list):
        what = f"no list called 'conversation_{side}'" if isinstance(item, dict) else json_kind(item)
        raise InputError(f"there is {what}", where=where, todo=_SEE)
    fields = described(item, {*_USED, "question_id", "winner"})
    case = item.get("question_id") or fields.get("id") or name
    models = {f"model_{each}": item.get(f"model_{each}") for each in _SIDES}
    system = models[f"model_{side}"]
    if item.get("winner") is not None:
        winner = item["winner"]
        fields["reference"]["preferred"] = models.get(winner, winner) if isinstance(winner, str) else winner
    # One model may meet itself.
    own = system if isinstance(system, str) and system and len(set(map(str, models.values()))) == 2 else side
    place = f"{where}, conversation_{side}"
    return source.transcript(
        message_turns(source, messages, place),
        place,
        **{**fields, "id": f"{case}/{own}", "case_id": case, "system": system},
    )


READER = Reader(
    name="arena",
    title="arena pairs (JSON, JSON lines)",
    description=(
        "Two conversations an object, on one case. The id is `question_id/model`, of a model against itself "
        "`question_id/a`; a conversation that stands there again, for another pair or judge, is read once and counted."
    ),
    example=(
        '{"question_id": "q-1", "model_a": "A", "model_b": "B", "winner": "model_a", "conversation_a": [{"role": '
        '"user", "content": "I sleep badly."}, {"role": "assistant", "content": "Since when?"}], "conversation_b": '
        '[{"role": "user", "content": "I sleep badly."}, {"role": "assistant", "content": "Take a pill."}]}\n'
    ),
    example_name="arena.jsonl",
    facts={
        "family": "logs",
        "known_by": "`conversation_a`, `model_a` and their `_b`",
        "turns": "messages of each conversation, two transcripts a record",
        "kept": "`question_id` as case, the models as systems; who was preferred in the reference",
        "left": "parts that are no text; repeated conversations",
        "decided_by": "`--leave-out KEY`",
    },
    endings=(".jsonl", ".ndjson", ".json"),
    claims=_claims,
    read=_read,
    priority=20,
)
