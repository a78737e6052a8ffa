"""ConvoKit's corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.convokit_corpus import ROLE_KEYS, transcript_of
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import Span
from bedside.transcripts.transcript import Transcript

_COMPANIONS = {"conversations.json", "speakers.json", "users.json", "corpus.json", "index.json"}
_SEE = "see bedside show convokit"


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if head.path.name in _COMPANIONS:
        return None if _main_file(head) is None else "companion"
    first = head.first
    if not isinstance(first, dict) or head.is_array or "text" not in first:
        return None
    named = ("speaker" in first or "user" in first) and ("conversation_id" in first or "root" in first)
    return "transcripts" if named else None


def _main_file(head: Head) -> Path | None:
    """The utterances beside what ConvoKit keeps of conversations and speakers; None where there are none."""
    beside = (head.path.with_name(f"utterances.jsonl{gz}") for gz in ("", ".gz"))
    return next((path for path in beside if path.exists()), None)


def _read(source: SourceFile) -> Iterator[Transcript]:
    conversations = _companion(source, "conversations.json")
    speakers = _companion(source, "speakers.json") or _companion(source, "users.json")

    def items() -> Iterator[tuple[str, str, int, dict[str, Any]] | InputError]:
        for where, _, value in source.json_values():
            yield value if isinstance(value, InputError) else _utterance(value, where)

    for name, group in source.by_transcript(items()):
        transcript = source.attempt(transcript_of, source, name, group, conversations, speakers)
        if transcript is not None:
            yield transcript


def _companion(source: SourceFile, name: str) -> dict[str, dict[str, Any]]:
    """What ConvoKit keeps of each conversation or speaker, by id."""
    data = source.companion(name)
    if data is None:
        return {}
    try:
        entries = orjson.loads(data)
        # Older corpora have no level called meta.
        return {key: entry.get("meta", entry) for key, entry in entries.items()}
    except (orjson.JSONDecodeError, AttributeError) as error:
        raise InputError(
            "this is not a ConvoKit file of objects by id", where=source.companions[-1][0], todo="mend or remove it"
        ) from error


def _utterance(value: Any, where: str) -> tuple[str, str, int, dict[str, Any]] | InputError:
    if not isinstance(value, dict):
        return InputError(f"an utterance must be an object, not {json_kind(value)}", where=where, todo=_SEE)
    name = value.get("conversation_id", value.get("root"))
    if not isinstance(name, str) or not name:
        return InputError("the utterance has no 'conversation_id'", where=where, todo=_SEE)
    if not isinstance(value.get("meta"), dict | None):
        return InputError(f"'meta' must be an object, not {json_kind(value['meta'])}", where=where, todo=_SEE)
    text = value.get("text")
    return where, name, len(text) if isinstance(text, str) else 0, value


def _spans(source: SourceFile, size: int) -> list[Span]:
    """A conversation's utterances are never torn."""
    return line_spans(source, size, _owner)


def _owner(line: bytes) -> str | None:
    try:
        utterance = _utterance(orjson.loads(line), "")
    except orjson.JSONDecodeError:
        return None
    return None if isinstance(utterance, InputError) else utterance[1]


READER = Reader(
    name="convokit",
    title="ConvoKit corpus",
    description=(
        "A corpus folder as ConvoKit dumps it: `utterances.jsonl`, beside it `conversations.json` and `speakers.json`. "
        "The utterances of a conversation stand together. A speaker's role is told by the name, or by the speaker's "
        f"meta ({', '.join(f'`{key}`' for key in ROLE_KEYS)}). What `bedside.to_convokit` made is read back as it was."
    ),
    example=(
        '{"id": "u1", "conversation_id": "a-1", "text": "What brings you here?", "speaker": "therapist", '
        '"meta": {}, "reply-to": null, "timestamp": 0, "vectors": []}\n'
        '{"id": "u2", "conversation_id": "a-1", "text": "I sleep badly.", "speaker": "client", '
        '"meta": {}, "reply-to": "u1", "timestamp": 1, "vectors": []}\n'
    ),
    example_name="utterances.jsonl",
    facts={
        "family": "own",
        "known_by": "`text`, `speaker` and `conversation_id` (older: `user`, `root`)",
        "turns": "utterances, by `timestamp` where all have one",
        "kept": "meta of conversations as factors or reference, of speakers in the reference, of utterances with turns",
        "left": "not counted: vectors, replies' links, the corpus' own meta",
        "decided_by": "`--roles NAME=ROLE`",
    },
    endings=(".jsonl", ".json"),
    main_file=_main_file,
    claims=_claims,
    read=_read,
    spans=_spans,
    priority=20,
)
