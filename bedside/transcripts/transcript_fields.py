"""What files say of a transcript beside its turns: its fields by many names, factors and reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bedside.transcripts.language import is_language_tag

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
    skipped = set(used)
    inner = [item.get(key) for key in ("metadata", "meta", "additional_metadata")]
    fields: dict[str, Any] = {}
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    for level in (item, *(level for level in inner if isinstance(level, dict))):
        values = {key: value for key, value in level.items() if level is not item or key not in skipped}
        for name, keys in FIELDS.items():
            for key in keys:
                value = values.get(key)
                right = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
                if name not in fields and right and (name != "language" or is_language_tag(value)):
                    fields[name] = value
                    del values[key]
        for name, kept in (("factors", factors), ("reference", reference)):
            if isinstance(values.get(name), dict):
                kept.update(values.pop(name))
        for key, value in values.items():
            if not any(value is level for level in inner) or not isinstance(value, dict):
                factor_or_reference(key, value, factors, reference)
    return {**fields, "factors": factors, "reference": reference}


_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")


def number_or_text(text: str) -> str | int | float:
    """A number written plainly (20, -0.5) as a number; anything else, such as 007 or 1e3, as it stands."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    return float(text) if match[2] else int(text)
