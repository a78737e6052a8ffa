"""Lists of messages of role and content, as files of language models' conversations have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.swapped_roles import MODELS, USERS, check_roles
from bedside.transcripts.transcript import PROVENANCE_SPEAKERS, Dialogue, Role
from bedside.transcripts.transcript_maker import check_nesting

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Names of speakers in files of language models' messages.
MODEL_SPEAKERS: Mapping[str, Role] = {
    **dict.fromkeys(USERS, "patient"),
    **dict.fromkeys(MODELS, "clinician"),
    **dict.fromkeys(PROVENANCE_SPEAKERS, "other"),
}  # fmt: skip


SPEAKER_KEYS = ("role", "from", "speaker", "sender", "author")


TEXT_KEYS = ("content", "value", "message", "text", "utterance", "parts")

#: What the account calls parts of messages that a model thought and didn't say.
THOUGHTS = "thoughts of the model that nobody was told"
#: Types of such parts, and ends of the types of parts that call a tool or bring what it gave.
_THINKING = ("thinking", "redacted_thinking", "reasoning", "thought")
_TOOLS = ("tool_use", "tool_result", "_call", "_call_output", "tool_response")
#: Keys of Gemini's parts that do, in its interface's case and in its library's; and of those that are no text.
_GEMINI_TOOLS = frozenset(
    ("functionCall", "functionResponse", "executableCode", "codeExecutionResult", "function_call",
     "function_response", "executable_code", "code_execution_result")
)  # fmt: skip
_GEMINI_PICTURES = frozenset(("inlineData", "fileData", "inline_data", "file_data"))
#: What the account calls these.
PICTURES = "pictures and other parts that are no text"


def is_message(value: Any) -> bool:
    """Whether a JSON value is an object that names a speaker and holds a text."""
    return (
        isinstance(value, dict)
        and any(key in value for key in SPEAKER_KEYS)
        and any(key in value for key in TEXT_KEYS)
    )


def is_response(item: Any) -> bool:
    """Whether an object is a call of OpenAI's responses: what was put in, and what came out or was to be followed."""
    if not isinstance(item, dict) or not isinstance(item.get("input"), str | list):
        return False
    output = item.get("output")
    if isinstance(output, list):
        return any(isinstance(part, dict) and (is_message(part) or is_of_tools(part)) for part in output)
    return output is None and isinstance(item.get("instructions"), str) and isinstance(item["input"], list)


def response_messages(item: Mapping[str, Any]) -> list[Any]:
    """The messages of such a call, from its instructions to its output."""
    told, sent, output = item.get("instructions"), item.get("input"), item.get("output")
    return [
        *([{"role": "system", "content": told}] if told else []),
        *([{"role": "user", "content": sent}] if isinstance(sent, str) else sent or []),
        *(output or []),
    ]


def message_turns(source: SourceFile, messages: list[Any], where: str) -> Dialogue:
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
    speakers, texts = list[Any](), list[Any]()
    metas: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        place = f"{where}, turn {index}"
        if not isinstance(message, dict):
            raise InputError(
                f"a message must be an object, not {json_kind(message)}",
                where=place,
                todo="give role and content",
            )
        kind = message.get("type")
        if kind in _THINKING and left_out is not None:
            left_out[THOUGHTS] += 1
            continue
        if not message.keys() & set(SPEAKER_KEYS) and is_of_tools(message):
            # OpenAI's responses have calls and what they gave among the messages.
            check_nesting(message, place)
            speakers.append("tool")
            texts.append(orjson.dumps(message).decode())
            metas.append({})
            continue
        meta = {key: value for key, value in message.items() if value is not None}
        speaker = next((meta.pop(key) for key in SPEAKER_KEYS if key in meta), None)
        text = next((meta.pop(key) for key in TEXT_KEYS if key in meta), None)
        if text is None:
            text = meta.pop("refusal", None)
        called: Any = None
        if isinstance(text, list):
            unsaid: Counter[str] = Counter()
            text, called = _joined_parts(text, place, unsaid)
            if left_out is not None:
                left_out.update(unsaid)
            if not text and not called and unsaid:
                continue
        calls = [
            part for part in (called, meta.pop("tool_calls", None), meta.pop("function_call", None)) if part
        ]
        if "timestamp" in meta and "time" not in meta:
            meta["time"] = meta.pop("timestamp")
        if meta:
            check_nesting(meta, place)
        if text or not calls:
            speakers.append(speaker)
            texts.append(text)
            metas.append(meta)
        for part in calls:
            # It is said to no party, but what the model did must not vanish.
            if isinstance(part, dict | list):
                check_nesting(part, place)
            speakers.append("tool")
            texts.append(orjson.dumps(part).decode())
            metas.append({} if text else meta)
    return speakers, texts, metas


def is_thought(part: Any) -> bool:
    """Whether a part is what a model thought and didn't say."""
    return isinstance(part, dict) and (part.get("type") in _THINKING or part.get("thought") is True)


def is_of_tools(part: Any) -> bool:
    """Whether an object calls a tool or brings what it gave."""
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return (
        isinstance(kind, str) and kind.replace("-", "_").endswith(_TOOLS)
    ) or not _GEMINI_TOOLS.isdisjoint(part)


def _joined_parts(parts: list[Any], where: str, left_out: Counter[str]) -> tuple[str, list[Any]]:
    """The text of a message's parts, and those that call a tool or bring what it gave."""
    texts, calls = [], []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if is_thought(part):
            left_out[THOUGHTS] += 1
            continue
        if is_of_tools(part):
            calls.append(part)
            continue
        if isinstance(part, dict) and not _GEMINI_PICTURES.isdisjoint(part):
            left_out[PICTURES] += 1
            continue
        # A refusal is what the model said.
        text = part.get("text", part.get("refusal")) if isinstance(part, dict) else part
        if not isinstance(text, str):
            what = kind if isinstance(part, dict) else json_kind(part)
            raise InputError(
                f"a part of the content is not text ({what!r:.40})",
                where=where,
                todo="only parts of type text can be read",
            )
        texts.append(text)
    return "\n".join(texts), calls
