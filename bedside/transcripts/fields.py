"""What several formats share: names of columns and keys, and messages of role and content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.sources import SourceFile, is_language, kind, number_or_text
from bedside.transcripts.transcript import Role

#: Names of a transcript's fields that are understood in foreign files, in lower case, the first found counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": (
        "transcript_id", "conversation_id", "dialogue_id", "dialog_id", "session_id", "encounter_id", "id",
    ),
    "system": ("system", "model"),
    "case_id": ("case_id", "case", "patient_id"),
    "language": ("language", "lang"),
}  # fmt: skip

#: Names of speakers in files of language models' messages.
MODEL_SPEAKERS: Mapping[str, Role] = {
    **dict.fromkeys(("human", "prompter"), "patient"),
    **dict.fromkeys(("gpt", "chatgpt", "ai", "bot", "model"), "clinician"),
    **dict.fromkeys(("function", "function_call", "observation"), "other"),
}  # fmt: skip

SPEAKER_KEYS = ("role", "from", "speaker")
TEXT_KEYS = ("content", "value", "message", "text", "utterance")

#: A text longer than this is no factor: it is kept in the reference.
LONGEST_FACTOR = 100


def factor_or_reference(
    name: str, value: Any, factors: dict[str, Any], reference: dict[str, Any], *, typed: bool = True
) -> None:
    """File a value under the factors if it is single and short, else under the reference; nothing if empty."""
    if isinstance(value, str) and not typed:
        value = value.strip()
    if value is None or value == "":
        return
    if isinstance(value, dict | list) or (
        isinstance(value, str) and (len(value) > LONGEST_FACTOR or "\n" in value)
    ):
        reference[name] = value
    else:
        factors[name] = value if typed else number_or_text(value)


def described(item: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    """What the keys of an object say beside those ``used``: fields of a transcript, factors and reference.

    The objects ``factors`` and ``reference`` are taken as such, the content of ``metadata`` as if it stood
    beside them.
    """
    taken = set(used)
    inner = [item.get(key) for key in ("metadata", "meta", "additional_metadata")]
    fields: dict[str, Any] = {}
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    for level in (item, *(each for each in inner if isinstance(each, dict))):
        rest = {key: value for key, value in level.items() if level is not item or key not in taken}
        for name, keys in FIELDS.items():
            for key in keys:
                value = rest.get(key)
                right = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
                if name not in fields and right and (name != "language" or is_language(value)):
                    fields[name] = value
                    del rest[key]
        for name, kept in (("factors", factors), ("reference", reference)):
            if isinstance(rest.get(name), dict):
                kept.update(rest.pop(name))
        for key, value in rest.items():
            if not any(value is each for each in inner) or not isinstance(value, dict):
                factor_or_reference(key, value, factors, reference)
    return {**fields, "factors": factors, "reference": reference}


def is_message(value: Any) -> bool:
    """Whether a JSON value is an object that names a speaker and holds a text."""
    return (
        isinstance(value, dict)
        and any(key in value for key in SPEAKER_KEYS)
        and any(key in value for key in TEXT_KEYS)
    )


def said(
    source: SourceFile, messages: list[Any], where: str
) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
    """Speakers, texts and what else is known of messages of role and content."""
    speakers, texts, metas = [], [], []
    for index, message in enumerate(messages):
        place = f"{where}, turn {index}"
        if not isinstance(message, dict):
            raise InputError(
                f"a message must be an object, not {kind(message)}", where=place, todo="give role and content"
            )
        meta = {key: value for key, value in message.items() if value is not None}
        speaker = next((meta.pop(key) for key in SPEAKER_KEYS if key in meta), None)
        text = next((meta.pop(key) for key in TEXT_KEYS if key in meta), None)
        if isinstance(text, list):
            text = _parts(text, place)
        calls = meta.get("tool_calls") or meta.get("function_call")
        if not text and calls:
            # Nothing is said to the other party, but what the model did must not vanish.
            if isinstance(calls, dict | list):
                source.kept(calls, place)
            speaker, text = "tool", orjson.dumps(calls).decode()
            meta = {key: value for key, value in meta.items() if value is not calls}
        if "timestamp" in meta and "time" not in meta:
            meta["time"] = meta.pop("timestamp")
        if meta:
            source.kept(meta, place)
        speakers.append(speaker)
        texts.append(text)
        metas.append(meta)
    return speakers, texts, metas


def _parts(parts: list[Any], where: str) -> str:
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            what = part.get("type") if isinstance(part, dict) else kind(part)
            raise InputError(
                f"a part of the content is no text ({what!r:.40})",
                where=where,
                todo="only parts of type text can be read",
            )
        texts.append(text)
    return "\n".join(texts)
