"""Conversations with Gemini: contents and parts of its interface, and what Google AI Studio saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.message_lists import MODEL_SPEAKERS, PICTURES, THOUGHTS, message_turns
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import described

_SEE = "see bedside readers show gemini"
_INSTRUCTIONS = ("systemInstruction", "system_instruction")


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if not isinstance(first, dict):
        return None
    if isinstance(first.get("chunkedPrompt"), dict):
        return "transcripts"
    contents = first.get("contents")
    message = contents[0] if isinstance(contents, list) and contents else None
    return "transcripts" if isinstance(message, dict) and "parts" in message else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    return source.json_transcripts(_transcript)


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    if not isinstance(item, dict):
        raise InputError(f"a conversation must be an object, not {json_kind(item)}", where=where, todo=_SEE)
    settings = item.get("runSettings")
    if isinstance(item.get("chunkedPrompt"), dict):
        messages = _chunks(source, item["chunkedPrompt"].get("chunks"), where)
        fields: dict[str, Any] = {"reference": {}}
        if isinstance(settings, dict) and isinstance(settings.get("model"), str):
            fields["system"] = settings["model"].removeprefix("models/")
    else:
        contents = item.get("contents")
        if not isinstance(contents, list):
            raise InputError("there is no list called 'contents'", where=where, todo=_SEE)
        messages = contents
        fields = described(item, {"contents", "generationConfig", "generation_config", *_INSTRUCTIONS})
    instruction = next((text for key in _INSTRUCTIONS if (text := _text(item.get(key)))), None)
    if instruction:
        messages = [{"role": "system", "content": instruction}, *messages]
    return source.transcript(message_turns(source, messages, where), where, **{"id": name, **fields})


def _chunks(source: SourceFile, chunks: Any, where: str) -> list[Any]:
    if not isinstance(chunks, list):
        raise InputError("there is no list called 'chunks'", where=where, todo=_SEE)
    messages = []
    for chunk in chunks:
        if isinstance(chunk, dict) and chunk.get("isThought"):
            source.account.left_out[THOUGHTS] += 1
        elif isinstance(chunk, dict) and not chunk.get("text"):
            source.account.left_out[PICTURES] += 1
        elif isinstance(chunk, dict):
            messages.append({"role": chunk.get("role"), "content": chunk["text"]})
        else:
            messages.append(chunk)
    return messages


def _text(instruction: Any) -> str | None:
    """What a system instruction says, however it is written."""
    if isinstance(instruction, str):
        return instruction.strip() or None
    if isinstance(instruction, dict):
        if isinstance(instruction.get("text"), str):
            return _text(instruction["text"])
        parts = instruction.get("parts")
        texts = (
            [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        )
        return "\n".join(text for text in texts if isinstance(text, str)).strip() or None
    return None


READER = Reader(
    name="gemini",
    title="Gemini's contents and Google AI Studio's files (JSON, JSON lines)",
    description=(
        "Requests of `contents` with `role` and `parts`, or a prompt that Google AI Studio saved (`chunkedPrompt`): "
        "`user` is the patient, `model` the clinician; the system instruction is provenance and no turn. "
        "Thoughts and parts that are no text are left out and counted. The model's name is the system; other single "
        "values become factors."
    ),
    example=(
        '{"id": "a-1", "contents": [{"role": "user", "parts": [{"text": "I sleep badly."}]}, {"role": "model", '
        '"parts": [{"text": "Since when?"}]}]}\n'
    ),
    example_name="contents.jsonl",
    endings=(".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    spans=line_spans,
    priority=20,
)
