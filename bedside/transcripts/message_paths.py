"""Where in a JSON object the messages of a conversation stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from bedside.transcripts.message_lists import is_message
from bedside.transcripts.transcript_fields import number_or_text

#: Keys under which messages are looked for first.
LISTS = (
    "messages", "conversations", "conversation", "dialog_history", "dialogue_history", "history", "dialogue",
    "dialog", "turns",
)  # fmt: skip


class MessageList(NamedTuple):
    """A list of messages within an object.

    Attributes:
        path: the keys that lead to it, joined by points.
        messages: the list, or what stands in its place.
        holder: the object that holds it.
        levels: what the stars of a pattern stood for, by the name before them.
    """

    path: str
    messages: Any
    holder: Mapping[str, Any]
    levels: Mapping[str, str | int | float]


def list_of(item: Mapping[str, Any]) -> str | None:
    """The key of known name under which an object holds its messages; None where there is none."""
    lists = [key for key in LISTS if isinstance(item.get(key), list)]
    return next((key for key in lists if any(map(is_message, item[key][:1]))), lists[0] if lists else None)


def message_paths(item: Mapping[str, Any]) -> list[str]:
    """Paths of the lists of messages in an object: those under any key, or else those one level down."""
    top = [key for key, value in item.items() if _is_list(value)]
    return top or [
        f"{key}.{inner}"
        for key, value in item.items()
        if isinstance(value, dict)
        for inner, messages in value.items()
        if _is_list(messages)
    ]


def lists_at(item: Mapping[str, Any], pattern: str) -> Iterator[MessageList]:
    """What stands in an object where a pattern leads.

    Args:
        item: the object.
        pattern: keys joined by points, in which ``*`` stands for any letters, e.g. ``trial_*.conversation``.
    """
    yield from _matching(item, pattern.split("."), (), {})


def _matching(
    holder: Mapping[str, Any],
    keys: list[str],
    path: tuple[str, ...],
    levels: Mapping[str, str | int | float],
) -> Iterator[MessageList]:
    for key, value in holder.items():
        if not fnmatchcase(key, keys[0]):
            continue
        below = {**levels, **_level(key, keys[0])}
        if len(keys) == 1:
            yield MessageList(".".join((*path, key)), value, holder, below)
        elif isinstance(value, dict):
            yield from _matching(value, keys[1:], (*path, key), below)


def _level(key: str, pattern: str) -> dict[str, str | int | float]:
    """What a star stands for, under the name before it: for ``trial_*``, ``{"trial": 0}``."""
    before, star, after = pattern.partition("*")
    if not star:
        return {}
    name = re.sub(r"\W|_$", "", before) or "part"
    return {name: number_or_text(key[len(before) : len(key) - len(after)])}


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and is_message(value[0])
