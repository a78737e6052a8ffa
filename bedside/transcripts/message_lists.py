"""Lists of messages of role and content, as files of language models' conversations have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.swapped_roles import check_roles
from bedside.transcripts.transcript import Role, Turn
from bedside.transcripts.transcript_maker import check_nesting

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Names of speakers in files of language models' messages.
MODEL_SPEAKERS: Mapping[str, Role] = {
    **dict.fromkeys(("human", "prompter"), "patient"),
    **dict.fromkeys(("gpt", "chatgpt", "ai", "bot", "model"), "clinician"),
    **dict.fromkeys(("function", "function_call", "observation"), "other"),
}  # fmt: skip


SPEAKER_KEYS = ("role", "from", "speaker", "sender", "author")


TEXT_KEYS = ("content", "value", "message", "text", "utterance", "parts")

#: What the account calls parts of messages that a model thought and didn't say.
THOUGHTS = "thoughts of the model that nobody was told"
#: Types of such parts, and of parts that call a tool or bring what it gave.
_THINKING = ("thinking", "redacted_thinking", "reasoning", "thought")
_TOOLS = ("tool_use", "tool_result", "server_tool_use", "web_search_tool_result")


def is_message(value: Any) -> bool:
    """Whether a JSON value is an object that names a speaker and holds a text."""
    return (
        isinstance(value, dict)
        and any(key in value for key in SPEAKER_KEYS)
        and any(key in value for key in TEXT_KEYS)
    )


def message_turns(source: SourceFile, messages: list[Any], where: str) -> list[Turn]:
    """Checked turns of messages between a user and a language model.

    Raises:
        InputError: a message is none, or its speaker is not known.
        AmbiguousError: the model may play the patient.
    """
    speakers, texts, metas = speakers_texts_metas(messages, where, source.account.left_out)
    check_roles(speakers, texts, source.options.roles, where)
    return source.turns(speakers, texts, where, metas)


def speakers_texts_metas(
    messages: list[Any], where: str, left_out: Counter[str] | None = None
) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
    """Speakers, texts and what else is known of messages of role and content; ``left_out`` counts what was not said."""
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
            thoughts: Counter[str] = Counter()
            text, called = _joined_parts(text, place, thoughts)
            if left_out is not None:
                left_out.update(thoughts)
            if not text and not called and thoughts[THOUGHTS]:
                continue  # All of it was thought.
            if called:
                meta["tool_calls"] = called
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


def _joined_parts(parts: list[Any], where: str, left_out: Counter[str]) -> tuple[str, list[Any]]:
    """The text of a message's parts, and those that call a tool or bring what it gave."""
    texts, calls = [], []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict) and (kind in _THINKING or part.get("thought") is True):
            left_out[THOUGHTS] += 1
            continue
        if kind in _TOOLS or (
            isinstance(part, dict) and ("functionCall" in part or "functionResponse" in part)
        ):
            calls.append(part)
            continue
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            what = kind if isinstance(part, dict) else json_kind(part)
            raise InputError(
                f"a part of the content is not text ({what!r:.40})",
                where=where,
                todo="only parts of type text can be read",
            )
        texts.append(text)
    return "\n".join(texts), calls
