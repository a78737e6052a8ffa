"""What files say of a transcript beside its turns: its fields by many names, factors and reference."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

import orjson

from bedside.transcripts.language import is_language_tag
from bedside.transcripts.transcript import Provenance

#: Names of a transcript's fields that are understood in files of other forms, in lower case; the first that a file has
#: counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": (
        "transcript_id", "conversation_id", "dialogue_id", "dialog_id", "session_id", "encounter_id", "id",
    ),
    "system": ("system", "model"),
    "case_id": ("case_id", "case", "patient_id"),
    "language": ("language", "lang"),
}  # fmt: skip


_FIELD_OF: Mapping[str, str] = {key: name for name, keys in FIELDS.items() for key in keys}
#: Keys of objects whose content is taken as if it stood beside them.
_BESIDE = ("metadata", "meta", "additional_metadata")
#: A text longer than this is no factor: it is kept in the reference.
LONGEST_FACTOR = 100


#: Names of what a model was told beside the messages, and of the tools it was given, without case and underscores.
_PROMPTS = frozenset(
    ("system", "systemprompt", "systemmessage", "systeminstruction", "systeminstructions", "developerprompt",
     "developermessage")
)  # fmt: skip
_TOOLS = frozenset(("tools", "functions", "tooldefinitions"))
#: Keys that a request to a language model has, and the record of a conversation hasn't: beside them, ``system`` is what
#: the model was told.
_REQUEST = frozenset(
    ("max_tokens", "max_completion_tokens", "temperature", "top_p", "stop_sequences", "tools", "tool_choice")
)
_TOLD = re.compile(r"(?:you are|you're|act as|your (?:task|role|job)\b|please )", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?:\s+[A-Z]|$)|[。！？]")
_WIDE_SENTENCE_END = re.compile("[。！？]")


def reads_as_prompt(text: str) -> bool:
    """Whether a text that stands where a system's name may is what a model was told: it is long, has lines, or is
    written in sentences."""
    plain = text.strip()
    if len(plain) > LONGEST_FACTOR or "\n" in plain or _TOLD.match(plain):
        return True
    in_sentences = _SENTENCE_END if len(plain.split()) > 3 else _WIDE_SENTENCE_END
    return in_sentences.search(plain) is not None


def prompts_apart(
    beside: Mapping[str, Any], factors: Mapping[str, Any], reference: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[Provenance]]:
    """Factors and reference without what a model was told or given, and that as provenance before the first turn.

    A short factor that doesn't read as a prompt stays: it may name which of several prompts was in use.
    """
    own_factors, own_reference = dict(factors), dict(reference)
    apart: list[Provenance] = []
    for name, value in (*beside.items(), *factors.items(), *reference.items()):
        plain = name.replace("_", "").casefold()
        of_factors = name in own_factors
        if plain in _PROMPTS and (text := _prompt_text(value)) and not (of_factors and not reads_as_prompt(text)):
            apart.append(Provenance("system", 0, text, name))
        elif plain in _TOOLS and isinstance(value, list) and value and all(isinstance(tool, dict) for tool in value):
            apart.append(Provenance("tools", 0, orjson.dumps(value).decode(), name))
        else:
            continue
        own_factors.pop(name, None)
        own_reference.pop(name, None)
    return own_factors, own_reference, apart


def _prompt_text(value: Any) -> str:
    """What a prompt says, however it is written: a text, an object with a text, or parts of these."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "\n".join(filter(None, map(_prompt_text, value)))
    if isinstance(value, dict):
        return _prompt_text(next((value[key] for key in ("text", "content", "parts") if value.get(key)), ""))
    return ""


def factor_or_reference(
    name: str, value: Any, factors: dict[str, Any], reference: dict[str, Any], *, typed: bool = True
) -> None:
    """File a value under the factors if it is single and short, else under the reference; nothing if empty."""
    if isinstance(value, str) and not typed:
        value = value.strip()
    if value is None or value == "":
        return
    if isinstance(value, dict | list) or (isinstance(value, str) and (len(value) > LONGEST_FACTOR or "\n" in value)):
        reference[name] = value
    else:
        factors[name] = value if typed else number_or_text(value)


def described(item: Mapping[str, Any], used: Container[str]) -> dict[str, Any]:
    """What the keys of an object say beside those ``used``: fields of a transcript, factors and reference.

    The objects ``factors`` and ``reference`` are taken as such, the content of ``metadata`` as if it stood
    beside them.
    """
    fields: dict[str, Any] = {}
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    inner = [value for key in _BESIDE if isinstance(value := item.get(key), dict)]
    for level in (item, *inner):
        values = dict(level) if level is not item else {key: item[key] for key in item if key not in used}
        named = [key for key in values if key in _FIELD_OF]
        for key in named if len(named) < 2 else sorted(named, key=[*_FIELD_OF].index):
            name, value = _FIELD_OF[key], values[key]
            if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
                continue
            requested = "model" in level and not _REQUEST.isdisjoint(level)
            if key == "system" and isinstance(value, str) and (requested or reads_as_prompt(value)):
                reference[key] = values.pop(key)
            elif name not in fields and (name != "language" or is_language_tag(value)):
                fields[name] = values.pop(key)
        for name, kept in (("factors", factors), ("reference", reference)):
            if isinstance(values.get(name), dict):
                kept.update(values.pop(name))
        for key, value in values.items():
            if not (key in _BESIDE and isinstance(value, dict) and level is item):
                factor_or_reference(key, value, factors, reference)
    return {**fields, "factors": factors, "reference": reference}


_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")


def number_or_text(text: str) -> str | int | float:
    """A number written plainly (20, -0.5) as a number; anything else, such as 007 or 1e3, as it stands."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    return float(text) if match[2] else int(text)
