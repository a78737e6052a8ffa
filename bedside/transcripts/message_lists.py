"""Lists of messages of role and content, as files of language models' conversations have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.transcript import Role
from bedside.transcripts.transcript_maker import check_nesting

#: Names of speakers in files of language models' messages.
MODEL_SPEAKERS: Mapping[str, Role] = {
    **dict.fromkeys(("human", "prompter"), "patient"),
    **dict.fromkeys(("gpt", "chatgpt", "ai", "bot", "model"), "clinician"),
    **dict.fromkeys(("function", "function_call", "observation"), "other"),
}  # fmt: skip


SPEAKER_KEYS = ("role", "from", "speaker")


TEXT_KEYS = ("content", "value", "message", "text", "utterance")


def is_message(value: Any) -> bool:
    """Whether a JSON value is an object that names a speaker and holds a text."""
    return (
        isinstance(value, dict)
        and any(key in value for key in SPEAKER_KEYS)
        and any(key in value for key in TEXT_KEYS)
    )


def speakers_texts_metas(
    messages: list[Any], where: str
) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
    """Speakers, texts and what else is known of messages of role and content."""
    speakers, texts, metas = [], [], []
    for index, message in enumerate(messages):
        place = f"{where}, turn {index}"
        if not isinstance(message, dict):
            raise InputError(
                f"a message must be an object, not {json_kind(message)}",
                where=place,
                todo="give role and content",
            )
        meta = {key: value for key, value in message.items() if value is not None}
        speaker = next((meta.pop(key) for key in SPEAKER_KEYS if key in meta), None)
        text = next((meta.pop(key) for key in TEXT_KEYS if key in meta), None)
        if isinstance(text, list):
            text = _joined_parts(text, place)
        calls = meta.get("tool_calls") or meta.get("function_call")
        if not text and calls:
            # Nothing is said to the other party, but what the model did must not vanish.
            if isinstance(calls, dict | list):
                check_nesting(calls, place)
            speaker, text = "tool", orjson.dumps(calls).decode()
            meta = {key: value for key, value in meta.items() if value is not calls}
        if "timestamp" in meta and "time" not in meta:
            meta["time"] = meta.pop("timestamp")
        if meta:
            check_nesting(meta, place)
        speakers.append(speaker)
        texts.append(text)
        metas.append(meta)
    return speakers, texts, metas


def _joined_parts(parts: list[Any], where: str) -> str:
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            what = part.get("type") if isinstance(part, dict) else json_kind(part)
            raise InputError(
                f"a part of the content is not text ({what!r:.40})",
                where=where,
                todo="only parts of type text can be read",
            )
        texts.append(text)
    return "\n".join(texts)
