"""LangSmith's exports of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.trace_sessions import RecordedChat, TracedCall
from bedside.transcripts.traced_transcripts import traced_transcripts, traced_values
from bedside.transcripts.transcript import Transcript

#: Keys of a run's metadata that name the conversation it belongs to.
_THREAD = ("session_id", "conversation_id", "thread_id")
_MODEL = ("ls_model_name", "model_name", "model")


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = head.first
    if isinstance(first, dict) and isinstance(first.get("runs"), list) and first["runs"]:
        first = first["runs"][0]
    right = isinstance(first, dict) and "run_type" in first and "inputs" in first
    return "transcripts" if right else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    return traced_transcripts(source, _calls(source))


def _calls(source: SourceFile) -> Iterator[TracedCall]:
    for where, name, value in traced_values(source):
        runs = value["runs"] if isinstance(value.get("runs"), list) else [value]
        for run in runs:
            if not isinstance(run, dict):
                continue
            if run.get("run_type") != "llm":
                source.account.left_out["runs that are no call of a model"] += 1
                continue
            metadata = _metadata(run)
            thread = next((metadata[key] for key in _THREAD if metadata.get(key)), None)
            yield TracedCall(
                session=str(thread or run.get("trace_id") or run.get("id") or name),
                time=str(run.get("start_time") or ""),
                said=RecordedChat(run.get("inputs"), run.get("outputs")),
                model=next((str(metadata[key]) for key in _MODEL if metadata.get(key)), None),
                place=where,
            )


def _metadata(run: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    return metadata if isinstance(metadata, dict) else {}


READER = Reader(
    name="langsmith",
    title="LangSmith's runs (JSON, JSON lines)",
    description=(
        "Runs that LangSmith exported, one a line, as a list or under `runs`: calls of models (`run_type` `llm`) "
        "become one transcript a thread (`session_id`, `conversation_id` or `thread_id` of the metadata) or, without "
        "one, a trace. A call that repeats what was said before adds only what is new. The model is the system where "
        "there was one only. Chains, tools and feedback are not read."
    ),
    example=(
        '{"id": "r-1", "trace_id": "t-1", "run_type": "llm", "start_time": "2025-03-01T10:00:00", "extra": '
        '{"metadata": {"thread_id": "s-1", "ls_model_name": "A"}}, "inputs": {"messages": [{"role": "user", "content": '
        '"I sleep badly."}]}, "outputs": {"choices": [{"message": {"role": "assistant", "content": "Since when?"}}]}}\n'
    ),
    example_name="runs.jsonl",
    endings=(".jsonl", ".ndjson", ".json"),
    claims=_claims,
    read=_read,
    priority=20,
)
