"""Batch files of requests to language models, with the replies where they stand beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.byte_source import HEAD_SIZE
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.json_source import loaded
from bedside.transcripts.message_lists import MODEL_SPEAKERS, SeveralAnswersError, messages_in
from bedside.transcripts.request_answers import record_transcript
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

_SEE = "see bedside show batch"
#: Where a request's content stands, and where a reply's: OpenAI's name, Anthropic's.
_REQUEST, _REPLY = ("body", "params"), ("response", "result")
_ENDINGS = (".jsonl", ".ndjson")


def _claims(head: Head) -> Claim | None:
    first = head.first
    if _is(first, _REQUEST):
        return "transcripts"
    if _is(first, _REPLY):
        return "companion" if _beside(head.path, _REQUEST, first["custom_id"]) else "transcripts"
    return None


def _main_file(head: Head) -> Path | None:
    """The requests that replies belong to."""
    return _beside(head.path, _REQUEST, head.first["custom_id"])


def _is(value: Any, keys: tuple[str, ...]) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("custom_id"), str)
        and any(isinstance(value.get(key), dict) for key in keys)
    )


def _beside(path: Path, keys: tuple[str, ...], name: Any) -> Path | None:
    """The file beside one that holds the other half of a batch, known by the id of a call.

    Replies come in any order, so the id is looked for in all the beginning of the file.
    """
    try:
        entries = sorted(os.listdir(path.parent))
    except OSError:
        return None
    for entry in entries:
        other = path.parent / entry
        if other == path or other.suffix.lower() not in _ENDINGS or not other.is_file():
            continue
        try:
            with other.open("rb") as file:
                start = file.read(HEAD_SIZE)
        except OSError:
            continue
        lines = start.splitlines()
        if lines and _is(loaded(lines[0]), keys) and orjson.dumps(name) in start:
            return other
    return None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    first = source.json.first if source.json else None
    if not isinstance(first, dict) or not _is(first, _REQUEST):
        raise InputError(
            "these are the replies of a batch without what was asked",
            where=source.name,
            todo="put the file of requests beside it and read that",
        )
    replies = _replies(source, first["custom_id"])

    def conversation(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
        return _transcript(source, item, replies, where)

    return source.json_transcripts(conversation)


def _replies(source: SourceFile, name: Any) -> dict[Any, Any]:
    """Each call's reply by its id; none where no file of replies stands beside."""
    path = _beside(source.path, _REPLY, name)
    data = None if path is None else source.companion(path.name)
    if path is None or data is None:
        source.account.remark("No replies stand beside the requests: each conversation ends where the model was asked.")
        return {}
    source.account.remark(f"Each conversation ends with the reply in {path.name}.")
    replies = {}
    for number, line in enumerate(data.splitlines(), 1):
        record = loaded(line)
        if line.strip() and not _is(record, _REPLY):
            raise InputError("this is no reply of a batch", where=f"{path}:{number}", todo="mend or remove it")
        if line.strip():
            replies[record["custom_id"]] = next(record[key] for key in _REPLY if isinstance(record.get(key), dict))
    return replies


def _transcript(source: SourceFile, item: Any, replies: dict[Any, Any], where: str) -> Transcript:
    if not _is(item, _REQUEST):
        raise InputError(f"this is no request of a batch but {json_kind(item)}", where=where, todo=_SEE)
    name = item["custom_id"]
    reply = replies.get(name)
    if replies and not _has_answer(reply):
        source.account.left_out["replies that failed or are missing"] += 1
        reply = None
    rest = {key: value for key, value in item.items() if key != "custom_id"}
    return record_transcript(source, rest if reply is None else {**rest, "response": reply}, where, name, id=name)


def _has_answer(reply: Any) -> bool:
    try:
        return bool(messages_in(reply, "assistant"))
    except SeveralAnswersError:
        return True


READER = Reader(
    name="batch",
    title="batch files of OpenAI and Anthropic (JSON lines)",
    description="Requests of a batch of calls, each a conversation.",
    example=(
        '{"custom_id": "a-1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "A", "messages": '
        '[{"role": "user", "content": "I sleep badly."}, {"role": "assistant", "content": "Since when?"}]}}\n'
    ),
    example_name="requests.jsonl",
    facts={
        "family": "logs",
        "known_by": "`custom_id` with `body` or `params`",
        "turns": "messages of a request; the reply in the file beside",
        "kept": "`custom_id` as id, the model as system, settings as factors",
        "left": "replies that failed or are missing",
        "decided_by": "`--leave-out KEY`",
    },
    endings=_ENDINGS,
    main_file=_main_file,
    claims=_claims,
    read=_read,
    priority=20,
)
