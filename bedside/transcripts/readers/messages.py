"""Messages of role and content, as language models take them: OpenAI, Anthropic, Gemini, ShareGPT and their kin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bedside.support.errors import AmbiguousError, InputError
from bedside.support.json_shape import json_kind
from bedside.support.registry import nearest
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.message_lists import (
    MODEL_SPEAKERS,
    SPEAKER_KEYS,
    TEXT_KEYS,
    is_message,
    is_response,
    message_turns,
    response_messages,
)
from bedside.transcripts.message_paths import LISTS, MessageList, list_of, lists_at, message_paths
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_layout import tells_transcripts
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import FIELDS, described

_SEE = "see bedside readers show messages"
_COLUMNS = ("messages", *FIELDS)


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if "messages" in head.source.options.columns and isinstance(first, dict):
        return "transcripts"
    if is_message(first):
        return "transcripts" if head.is_array and not tells_transcripts(head.source, SPEAKER_KEYS) else None
    if isinstance(first, dict):
        key = list_of(first)
        # Turns that have a text are bedside's own.
        if key == "turns" and (not first[key] or not is_message(first[key][0]) or "text" in first[key][0]):
            return None
        if key is not None and (is_message(first[key][0]) if first[key] else key == "messages"):
            return "transcripts"
        return "transcripts" if is_response(first) or message_paths(first) else None
    return "transcripts" if isinstance(first, list) and is_message(first[0] if first else None) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    form, first = source.json or ("object", None)
    if form == "array" and is_message(first):
        transcript = source.attempt(_single_transcript, source)
        if transcript is not None:
            yield transcript
        return
    pattern = _pattern(source, first)
    for where, name, value in source.json_values():
        lists = source.attempt(_lists, value, pattern, where)
        for found in lists or ():
            transcript = source.attempt(_transcript, source, value, found, where, name)
            if transcript is not None:
                yield transcript


def _pattern(source: SourceFile, first: Any) -> str | None:
    """Where the messages of the file's objects stand; None where each object tells it."""
    columns = source.options.columns
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown:
        raise InputError(
            f"bedside knows no column {unknown[0]!r} here (`columns`)",
            where=source.name,
            todo=nearest(unknown[0], _COLUMNS),
        )
    if columns.get("messages"):
        source.account.columns["messages"] = columns["messages"]
        return columns["messages"]
    if not isinstance(first, dict) or list_of(first) is not None or is_response(first):
        return None
    paths = message_paths(first)
    if len(paths) > 1:
        common = {re.sub(r"\d+", "*", path) for path in paths}
        both = common.pop() if len(common) == 1 else paths[1]
        raise AmbiguousError(
            f"the objects hold {len(paths)} lists of messages: {', '.join(paths[:6])}{', …' if paths[6:] else ''}",
            where=source.name,
            todo=f"take one with `columns=messages={paths[0]}`, "
            + (
                f"or all, each as a transcript, with `columns=messages={both}`"
                if "*" in both
                else f"or another with `columns=messages={both}`"
            ),
        )
    if paths:
        source.account.remark(f"The messages stand under {paths[0]}.")
        return paths[0]
    return None


def _lists(item: Any, pattern: str | None, where: str) -> list[MessageList]:
    """The lists of messages of a file's object, or the list that it is."""
    if isinstance(item, InputError):
        raise item
    if isinstance(item, list):
        return [MessageList("", item, {}, {})]
    if not isinstance(item, dict):
        raise InputError(
            f"a conversation must be an object or a list, not {json_kind(item)}", where=where, todo=_SEE
        )
    if pattern is not None:
        lists = list(lists_at(item, pattern))
        for found in lists:
            if not isinstance(found.messages, list):
                raise InputError(
                    f"under {found.path} stands {json_kind(found.messages)} and no list of messages",
                    where=where,
                    todo="name another with `columns=messages=PATH`",
                )
        if not lists:
            raise InputError(
                f"there is nothing under {pattern}",
                where=where,
                todo=f"name where the messages stand with `columns=messages=PATH`; keys: {', '.join(map(str, item))}",
            )
        return lists
    key = list_of(item)
    if key is None and is_response(item):
        return [MessageList("output", response_messages(item), item, {})]
    if key is None:
        raise InputError("there is no list of messages", where=where, todo=_SEE)
    return [MessageList(key, item[key], item, {})]


def _single_transcript(source: SourceFile) -> Transcript:
    """The file is one list of messages."""
    messages = source.all_items()
    return source.transcript(message_turns(source, messages, source.name), source.name)


def _transcript(source: SourceFile, item: Any, listed: MessageList, where: str, name: str) -> Transcript:
    turns = message_turns(source, listed.messages, where)
    if not isinstance(item, dict):
        return source.transcript(turns, where, id=name)
    fields = {**_fields(source, item, listed, where)}
    owner = fields.pop("id", name)
    factors = {**fields.pop("factors"), **listed.levels}
    if not listed.levels:
        return source.transcript(turns, where, id=owner, factors=factors, **fields)
    # Several conversations of one object are about one case.
    fields.setdefault("case_id", owner)
    levels = "/".join(str(level) for level in listed.levels.values())
    return source.transcript(turns, where, id=f"{owner}/{levels}", factors=factors, **fields)


def _fields(source: SourceFile, item: dict[str, Any], listed: MessageList, where: str) -> dict[str, Any]:
    """What the object says beside its messages."""
    messages = listed.messages
    sharegpt = bool(messages) and isinstance(messages[0], dict) and "from" in messages[0]
    used = {listed.path.split(".")[0], *(path.split(".")[0] for path in message_paths(item))}
    if is_response(item):
        used |= {"input", "output", "instructions"}
    fields = described(item, used | {"system"} if sharegpt else used)
    if listed.holder is not item:
        inner = described(listed.holder, {listed.path.split(".")[-1]})
        fields = {
            **inner,
            **fields,
            **{part: {**inner[part], **fields[part]} for part in ("factors", "reference")},
        }
    # There the key holds the prompt; the model stands elsewhere.
    if sharegpt and item.get("system"):
        fields["reference"]["system_prompt"] = item["system"]
    for name, path in source.options.columns.items():
        if name != "messages":
            fields.pop(name, None)
            if path:
                fields[name] = _single(item, path, name, where)
    named = source.options.columns.get("system")
    if named == "system":
        fields["reference"].pop("system", None)
    elif named is not None and item.get("system"):
        fields["reference"]["system_prompt"] = item["system"]
    return fields


def _single(item: Mapping[str, Any], path: str, name: str, where: str) -> Any:
    values = [listed.messages for listed in lists_at(item, path)]
    if len(values) != 1 or isinstance(values[0], dict | list):
        raise InputError(
            f"under {path} stands no {name}", where=where, todo=f"name another with `columns={name}=PATH`"
        )
    return values[0]


READER = Reader(
    name="messages",
    title="messages of role and content (JSON, JSON lines)",
    description=(
        f"A list of messages under {', '.join(f'`{key}`' for key in LISTS[:-1])} or `turns`, under another key or one "
        "level down (`--columns messages=trial_0.conversation` says where; `trial_*.conversation` takes several, each "
        "as a transcript of the same case), or a bare list. A message names its speaker (`role`, `from`, `speaker`, "
        f"`sender` or `author`) and holds its text ({', '.join(f'`{key}`' for key in TEXT_KEYS)}; a list of text parts "
        "is joined, what a model thought is left out and counted). One conversation a line, a list of conversations, "
        "or one conversation a file. OpenAI's and ShareGPT's names are understood: `user` and `human` are the patient, "
        "`assistant` and `gpt` the clinician. What `system`, `developer` and tools say is no turn: it is kept as "
        "provenance, which raters and judges are not shown. So is a prompt beside the messages (`system_prompt`, "
        "Anthropic's `system`, the `instructions` of OpenAI's responses, whose `input` and `output` are one "
        "conversation). Where the assistant seems to play the patient, reading stops and asks for `--roles`. Beside "
        "the messages: the id (`id`, `conversation_id`, `session_id`, `dialog_id`), the system (`system` or `model`; a "
        "`system` written in sentences is the prompt, `--columns system=system` says it is the name), the case "
        "(`case_id`, `case`, `patient_id`) and the language; other single values become factors, lists and objects go "
        "to the reference."
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
