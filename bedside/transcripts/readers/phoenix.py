"""Phoenix's exports of spans, by the names of OpenInference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.trace_sessions import RecordedChat, TracedCall
from bedside.transcripts.traced_transcripts import traced_transcripts, traced_values
from bedside.transcripts.transcript import Transcript


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    right = isinstance(first, dict) and (
        "context.trace_id" in first or ("span_kind" in first and isinstance(first.get("context"), dict))
    )
    return "transcripts" if right else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    return traced_transcripts(source, _calls(source))


def _calls(source: SourceFile) -> Iterator[TracedCall]:
    for where, name, span in traced_values(source):
        if str(span.get("span_kind")).upper() != "LLM":
            source.account.left_out["spans that are no call of a model"] += 1
            continue
        model = _value(span, "attributes.llm.model_name")
        session = _value(span, "attributes.session.id") or _value(span, "context.trace_id")
        yield TracedCall(
            session=str(session or name),
            time=str(span.get("start_time") or ""),
            said=RecordedChat(_messages(span, "input"), _messages(span, "output")),
            model=None if model is None else str(model),
            place=where,
        )


def _messages(span: Mapping[str, Any], side: str) -> Any:
    messages = _value(span, f"attributes.llm.{side}_messages")
    return _value(span, f"attributes.{side}.value") if messages is None else messages


def _value(span: Mapping[str, Any], path: str) -> Any:
    """What stands under keys joined by points, which may be one key, or several, of objects in each other."""
    if path in span:
        return span[path]
    for end in range(len(path) - 1, 0, -1):
        inner = span.get(path[:end]) if path[end] == "." else None
        if isinstance(inner, dict):
            return _value(inner, path[end + 1 :])
    return None


READER = Reader(
    name="phoenix",
    title="Phoenix's spans (JSON, JSON lines)",
    description=(
        "Spans that Phoenix exported, with the names of OpenInference in one key (`attributes.llm.input_messages`) or "
        "in objects: calls of models (`span_kind` `LLM`) become one transcript a session (`attributes.session.id`) or, "
        "without one, a trace. A call that repeats what was said before adds only what is new. The model is the system "
        "where there was one only. Other spans, tokens and evaluations are not read."
    ),
    example=(
        '{"context.trace_id": "t-1", "span_kind": "LLM", "start_time": "2025-03-01T10:00:00", '
        '"attributes.session.id": "s-1", "attributes.llm.model_name": "A", "attributes.llm.input_messages": '
        '[{"message.role": "user", "message.content": "I sleep badly."}], "attributes.llm.output_messages": '
        '[{"message.role": "assistant", "message.content": "Since when?"}]}\n'
    ),
    example_name="spans.jsonl",
    endings=(".jsonl", ".ndjson", ".json"),
    claims=_claims,
    read=_read,
    priority=20,
)
