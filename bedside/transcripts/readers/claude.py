"""Claude's export of a person's conversations (``conversations.json``)."""

from __future__ import annotations

from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.request_answers import record_reader, record_transcript
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

_SEE = "see bedside show claude"


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    messages = item.get("chat_messages") if isinstance(item, dict) else None
    if not isinstance(messages, list):
        raise InputError("there is no list called 'chat_messages'", where=where, todo=_SEE)
    beside = {key: value for key, value in item.items() if key not in ("chat_messages", "uuid", "name")}
    title = item.get("name")
    return record_transcript(
        source,
        {"messages": [_message(source, message, where) for message in messages], **beside},
        where,
        name,
        id=item.get("uuid") or name,
        reference={"title": title} if title and isinstance(title, str) else {},
        # The plain text holds what the model thought too.
        rest=[{**message, "text": None} if message.get("content") else message for message in messages],
    )


def _message(source: SourceFile, message: Any, where: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise InputError(f"a message must be an object, not {json_kind(message)}", where=where, todo=_SEE)
    # The content tells thoughts from what was said; the plain text doesn't.
    said = {"role": message.get("sender"), "content": message.get("content") or message.get("text")}
    if message.get("created_at"):
        said["time"] = message["created_at"]
    for key in ("attachments", "files"):
        if message.get(key) and isinstance(message[key], list):
            source.account.left_out["attached files"] += len(message[key])
    return said


READER = record_reader(
    lambda first: isinstance(first.get("chat_messages"), list),
    _transcript,
    name="claude",
    title="Claude's export (conversations.json)",
    description="Claude's data export, a transcript a conversation: `human` is the patient, `assistant` the clinician.",
    example=(
        '[{"uuid": "c-1", "name": "Sleep", "chat_messages": [{"sender": "human", "text": "I sleep badly.", '
        '"created_at": "2025-03-01T10:00:00Z"}, {"sender": "assistant", "text": "Since when?"}]}]\n'
    ),
    example_name="conversations.json",
    facts={
        "family": "logs",
        "known_by": "`chat_messages`",
        "turns": "messages of `human` and `assistant`",
        "kept": "id, times, the name as title",
        "left": "thoughts, attached files",
        "decided_by": "`--leave-out KEY`",
    },
    endings=(".json",),
)
