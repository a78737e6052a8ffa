"""Transcripts of traced calls, for the readers of tracing services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.message_lists import MODEL_SPEAKERS, message_turns
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.trace_sessions import TracedCall, TracedSession, by_noun, sessions
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_maker import check_nesting


def traced_values(source: SourceFile) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place, id for want of another, and each object of a file; what can't be read is left out where so wished."""
    for where, name, value in source.json_values():
        record = source.attempt(_checked, value, where)
        if record is not None:
            yield where, name, record


def _checked(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, InputError):
        raise value
    if not isinstance(value, dict):
        raise InputError(
            f"a record must be an object, not {json_kind(value)}", where=where, todo="mend or remove it"
        )
    return value


def traced_transcripts(source: SourceFile, calls: Iterable[TracedCall]) -> Iterator[Transcript]:
    """One transcript for each session of a file's calls.

    Raises:
        InputError: the file holds no call with messages, or more than can be held.
    """
    source.aliases = MODEL_SPEAKERS
    calls = [call for call in calls if _has_messages(source, call)]
    if not calls:
        raise InputError(
            "no record holds the messages of a model's call",
            where=source.name,
            todo="export the calls of models with their input and output",
        )
    for session in sessions(calls, source.name):
        source.account.left_out.update(session.left_out)
        transcript = source.attempt(_transcript, source, session)
        if transcript is not None:
            yield transcript


def _has_messages(source: SourceFile, call: TracedCall) -> bool:
    if not call.said.messages:
        source.account.left_out["records without messages"] += 1
        source.account.left_out.update(by_noun(call.said.left_out))
    return source.attempt(_sound, call) or False


def _sound(call: TracedCall) -> bool:
    """Whether a call has messages; an error where they are nested too deep to be compared with others."""
    check_nesting(call.said.messages, call.place)
    return bool(call.said.messages)


def _transcript(source: SourceFile, session: TracedSession) -> Transcript:
    return source.transcript(
        message_turns(source, session.messages, session.place),
        session.place,
        id=session.name,
        system=next(iter(session.models)) if len(session.models) == 1 else None,
    )
