"""ConvoKit's corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.convokit_corpus import MARK, in_order, is_ours, turn_meta
from bedside.transcripts.fields import described
from bedside.transcripts.reading import Head, Reader
from bedside.transcripts.sources import SourceFile, kind
from bedside.transcripts.spans import Span, line_spans
from bedside.transcripts.transcript import Role, Transcript, role_of

_COMPANIONS = {"conversations.json", "speakers.json", "users.json", "corpus.json", "index.json"}
#: Keys of a speaker's meta that may say who the speaker is.
_ROLE_KEYS = ("role", "type", "speaker_type", "interlocutor")
_SEE = "see bedside readers show convokit"


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if head.path.name in _COMPANIONS:
        if any(head.path.with_name(f"utterances.jsonl{gz}").exists() for gz in ("", ".gz")):
            return "companion"
        return None
    first = head.first
    if not isinstance(first, dict) or head.is_array or "text" not in first:
        return None
    named = ("speaker" in first or "user" in first) and ("conversation_id" in first or "root" in first)
    return "transcripts" if named else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    conversations = _companion(source, "conversations.json")
    speakers = _companion(source, "speakers.json") or _companion(source, "users.json")

    def items() -> Iterator[tuple[str, str, int, dict[str, Any]] | InputError]:
        for where, _, value in source.json_values():
            yield value if isinstance(value, InputError) else _utterance(value, where)

    for name, group in source.grouped(items()):
        transcript = source.attempt(conversation, source, name, group, conversations, speakers)
        if transcript is not None:
            yield transcript


def _companion(source: SourceFile, name: str) -> dict[str, dict[str, Any]]:
    """What ConvoKit keeps of each conversation or speaker, by id."""
    data = source.companion(name)
    if data is None:
        return {}
    try:
        entries = orjson.loads(data)
        # Older corpora have no level called meta.
        return {key: entry.get("meta", entry) for key, entry in entries.items()}
    except (orjson.JSONDecodeError, AttributeError) as error:
        raise InputError(
            "not a ConvoKit file of objects by id", where=source.companions[-1][0], todo="mend or remove it"
        ) from error


def _utterance(value: Any, where: str) -> tuple[str, str, int, dict[str, Any]] | InputError:
    if not isinstance(value, dict):
        return InputError(f"an utterance must be an object, not {kind(value)}", where=where, todo=_SEE)
    name = value.get("conversation_id", value.get("root"))
    if not isinstance(name, str) or not name:
        return InputError("the utterance has no 'conversation_id'", where=where, todo=_SEE)
    if not isinstance(value.get("meta"), dict | None):
        return InputError(f"'meta' must be an object, not {kind(value['meta'])}", where=where, todo=_SEE)
    text = value.get("text")
    return where, name, len(text) if isinstance(text, str) else 0, value


def conversation(
    source: SourceFile,
    name: str,
    group: list[tuple[str, dict[str, Any]]],
    conversations: Mapping[str, Any],
    speakers: Mapping[str, Any],
) -> Transcript:
    """A transcript of the placed utterances of one conversation, with what is known of conversations and speakers."""
    group = in_order(group)
    about = conversations.get(name)
    ours = is_ours(about)
    names, roles, metas = [], [], []
    for where, utterance in group:
        speaker = utterance.get("speaker", utterance.get("user"))
        who = speakers.get(speaker) if ours and isinstance(speaker, str) else None
        if isinstance(who, dict):
            names.append(who.get("name"))
            roles.append(source.role(who.get("role"), where))
            meta = turn_meta(utterance.get("meta"))
        else:
            names.append(speaker)
            roles.append(_role(source, speaker, speakers, where))
            meta = dict(utterance.get("meta") or {})
            if utterance.get("timestamp") is not None:
                meta.setdefault("time", utterance["timestamp"])
            if utterance.get("id") is not None:
                meta.setdefault("utterance_id", utterance["id"])
        source.kept(meta, where)
        metas.append(meta)
    fields = described(about, (MARK, "source") if ours else ()) if isinstance(about, dict) else {}
    return source.transcript(
        source.turns(
            names,
            [utterance.get("text") for _, utterance in group],
            [place for place, _ in group],
            metas,
            roles,
        ),
        group[0][0],
        **{**fields, "id": name},
    )


def _role(source: SourceFile, speaker: Any, speakers: Mapping[str, Any], where: str) -> Role:
    """By the speaker's name as the user maps it or as it is known, else by what the corpus says of the speaker."""
    if isinstance(speaker, str):
        role = role_of(speaker, source.options.roles)
        if role is not None:
            return role
        meta = speakers.get(speaker)
        if isinstance(meta, dict):
            for key in _ROLE_KEYS:
                if isinstance(meta.get(key), str) and role_of(meta[key], source.options.roles):
                    return source.role(meta[key], where)
    return source.role(speaker, where)


def _spans(source: SourceFile, size: int) -> list[Span]:
    """A conversation's utterances are never torn."""
    return line_spans(source, size, _owner)


def _owner(line: bytes) -> str | None:
    try:
        found = _utterance(orjson.loads(line), "")
    except orjson.JSONDecodeError:
        return None
    return None if isinstance(found, InputError) else found[1]


READER = Reader(
    name="convokit",
    title="ConvoKit corpus",
    description=(
        "A corpus folder as ConvoKit dumps it: `utterances.jsonl` (with `conversation_id`, formerly `root`, and "
        "`speaker`, formerly `user`), beside it `conversations.json` and `speakers.json`. The utterances of a "
        "conversation stand together; they are put in order of time where all have a numeric `timestamp`. A "
        "speaker's role is told by the name, or by the speaker's meta "
        f"({', '.join(f'`{key}`' for key in _ROLE_KEYS)}). A conversation's meta becomes "
        "factors (single values) and reference. What `bedside.to_convokit` made is read back as it was."
    ),
    example=(
        '{"id": "u1", "conversation_id": "a-1", "text": "What brings you here?", "speaker": "therapist", '
        '"meta": {}, "reply-to": null, "timestamp": 0, "vectors": []}\n'
        '{"id": "u2", "conversation_id": "a-1", "text": "I sleep badly.", "speaker": "client", '
        '"meta": {}, "reply-to": "u1", "timestamp": 1, "vectors": []}\n'
    ),
    example_name="utterances.jsonl",
    claims=_claims,
    read=_read,
    spans=_spans,
    priority=20,
)
