"""Langfuse's exports of traces and observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.trace_sessions import RecordedChat, TracedCall
from bedside.transcripts.traced_transcripts import traced_transcripts, traced_values
from bedside.transcripts.transcript import Transcript

_SESSION = ("sessionId", "session_id")
_TRACE = ("traceId", "trace_id")
_TIME = ("startTime", "start_time", "timestamp")
_MODEL = ("model", "providedModelName", "provided_model_name", "model_id")


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if not isinstance(first, dict) or "input" not in first or "output" not in first:
        return None
    times = _first(first, _TIME) is not None
    return "transcripts" if times and any(key in first for key in (*_SESSION, *_TRACE, "htmlPath")) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    return traced_transcripts(source, _calls(source))


def _calls(source: SourceFile) -> Iterator[TracedCall]:
    for where, name, record in traced_values(source):
        # A trace that was downloaded whole holds its observations.
        observations = record.get("observations")
        inner = (
            [part for part in observations if isinstance(part, dict)]
            if isinstance(observations, list)
            else []
        )
        generations = [part for part in inner if part.get("type") == "GENERATION"]
        for part in generations or [record]:
            kind = part.get("type")
            if kind is not None and kind != "GENERATION":
                source.account.left_out["observations that are no call of a model"] += 1
                continue
            session = (
                _first(part, _SESSION) or _first(record, _SESSION) or _first(part, _TRACE) or part.get("id")
            )
            yield TracedCall(
                session=str(session or name),
                time=str(_first(part, _TIME) or ""),
                said=RecordedChat(part.get("input"), part.get("output")),
                model=next((part[key] for key in _MODEL if isinstance(part.get(key), str)), None),
                place=where,
            )


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key)), None)


READER = Reader(
    name="langfuse",
    title="Langfuse's exports (JSON, JSON lines)",
    description=(
        "Traces or observations that Langfuse exported, from its pages or to a store: calls of models "
        "(`GENERATION`), or traces with input and output, become one transcript a session (or a trace, where there is "
        "no session). A call that repeats what was said before adds only what is new. The model is the system where "
        "there was one only. Scores, costs and other observations are not read."
    ),
    example=(
        '[{"id": "o-1", "traceId": "t-1", "sessionId": "s-1", "type": "GENERATION", "startTime": '
        '"2025-03-01T10:00:00Z", "model": "A", "input": [{"role": "user", "content": "I sleep badly."}], "output": '
        '{"role": "assistant", "content": "Since when?"}}]\n'
    ),
    example_name="observations.json",
    endings=(".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    priority=20,
)
