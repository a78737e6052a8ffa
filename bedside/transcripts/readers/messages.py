"""Messages of role and content, as language models take them: OpenAI, ShareGPT and their kin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.message_lists import MODEL_SPEAKERS, TEXT_KEYS, is_message, speakers_texts_metas
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import described

_LISTS = (
    "messages", "conversations", "conversation", "dialog_history", "dialogue_history", "history", "dialogue",
    "dialog", "turns",
)  # fmt: skip
_SEE = "see bedside readers show messages"


def _list_of(item: dict[str, Any]) -> str | None:
    """The key under which an object holds its messages."""
    lists = [key for key in _LISTS if isinstance(item.get(key), list)]
    return next((key for key in lists if any(map(is_message, item[key][:1]))), lists[0] if lists else None)


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if is_message(first):
        return "transcripts" if head.is_array else None
    if isinstance(first, dict):
        key = _list_of(first)
        # Turns that have a text are bedside's own.
        if key == "turns" and (not first[key] or not is_message(first[key][0]) or "text" in first[key][0]):
            return None
        if key is None or not (is_message(first[key][0]) if first[key] else key == "messages"):
            return None
        return "transcripts"
    return "transcripts" if isinstance(first, list) and is_message(first[0] if first else None) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    form, first = source.json or ("object", None)
    if form == "array" and is_message(first):
        transcript = source.attempt(_single_transcript, source)
        return iter([] if transcript is None else [transcript])
    return source.json_transcripts(_transcript)


def _single_transcript(source: SourceFile) -> Transcript:
    """The file is one list of messages."""
    messages = source.all_items()
    speakers, texts, metas = speakers_texts_metas(messages, source.name)
    return source.transcript(source.turns(speakers, texts, source.name, metas), source.name)


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    fields: dict[str, Any] = {}
    if isinstance(item, dict):
        key = _list_of(item)
        if key is None:
            raise InputError("there is no list of messages", where=where, todo=_SEE)
        messages = item[key]
        fields = described(item, {key, "system"} if _is_sharegpt(messages) else {key})
        # There the key holds the prompt; the model stands elsewhere.
        if _is_sharegpt(messages) and item.get("system"):
            fields["reference"]["system_prompt"] = item["system"]
    elif isinstance(item, list):
        messages = item
    else:
        raise InputError(
            f"a conversation must be an object or a list, not {json_kind(item)}", where=where, todo=_SEE
        )
    speakers, texts, metas = speakers_texts_metas(messages, where)
    return source.transcript(source.turns(speakers, texts, where, metas), where, **{"id": name, **fields})


def _is_sharegpt(messages: list[Any]) -> bool:
    return bool(messages) and isinstance(messages[0], dict) and "from" in messages[0]


READER = Reader(
    name="messages",
    title="messages of role and content (JSON, JSON lines)",
    description=(
        f"A list of messages under {', '.join(f'`{key}`' for key in _LISTS[:-1])} or `turns`, or a bare list. A "
        "message names its speaker (`role`, `from` or `speaker`) and holds its text "
        f"({', '.join(f'`{key}`' for key in TEXT_KEYS)}; a list of text parts is joined). One conversation a line, a "
        "list of conversations, or one conversation a file. OpenAI's and ShareGPT's names are understood: "
        "`user` and `human` are the patient, `assistant` and `gpt` the clinician, `system` and `tool` neither. "
        "Beside the messages: the id (`id`, `conversation_id`, `session_id`, `dialog_id`), the system (`system` or "
        "`model`; ShareGPT's `system` is the prompt and goes to the reference), the case (`case_id`, `case`, "
        "`patient_id`) and the language; other single values become factors, lists and objects go to the "
        "reference."
    ),
    example=(
        '{"id": "a-1", "model": "A", "case_id": "1", "messages": [{"role": "assistant", "content": '
        '"What brings you here?"}, {"role": "user", "content": "I sleep badly."}]}\n'
    ),
    example_name="messages.jsonl",
    endings=(".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    spans=line_spans,
    priority=40,
)
