"""Traces of models' calls: Langfuse, LangSmith, Phoenix, MLflow, and spans by the names of OpenTelemetry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import loaded_json
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.trace_sessions import TracedCall, traced_transcripts
from bedside.transcripts.transcript import Transcript

#: Paths of what is told of a call, by all services; the first that a record has counts.
_SENT = (
    "attributes.gen_ai.input.messages", "attributes.gen_ai.prompt", "attributes.llm.input_messages",
    "attributes.ai.prompt.messages", "attributes.ai.prompt", "attributes.mlflow.spanInputs", "attributes.input.value",
    "attributes.traceloop.entity.input", "input", "inputs", "request", "data.request",
)  # fmt: skip
_ANSWERED = (
    "attributes.gen_ai.output.messages", "attributes.gen_ai.completion", "attributes.llm.output_messages",
    "attributes.ai.response.text", "attributes.mlflow.spanOutputs", "attributes.output.value",
    "attributes.traceloop.entity.output", "output", "outputs", "response", "data.response",
)  # fmt: skip
_SESSION = (
    "sessionId", "session_id", "attributes.session.id", "attributes.gen_ai.conversation.id",
    "attributes.langfuse.session.id", "extra.metadata.session_id", "extra.metadata.conversation_id",
    "extra.metadata.thread_id", "info.trace_metadata.mlflow.trace.session",
    "info.request_metadata.mlflow.trace.session", "attributes.traceloop.association.properties.session_id",
)  # fmt: skip
_TRACE = ("traceId", "trace_id", "context.trace_id", "info.trace_id", "info.request_id")
_NAME = ("id", "spanId", "span_id", "context.span_id")
_TIME = (
    "startTime", "start_time", "timestamp", "startTimeUnixNano", "start_time_unix_nano", "timeUnixNano",
    "info.request_time", "info.timestamp_ms",
)  # fmt: skip
_MODEL = (
    "model", "providedModelName", "provided_model_name", "model_id", "extra.metadata.ls_model_name",
    "extra.metadata.model_name", "extra.metadata.model", "attributes.llm.model_name", "attributes.gen_ai.request.model",
    "attributes.gen_ai.response.model", "attributes.ai.model.id",
)  # fmt: skip
_TOOLS = (
    "tools",
    "attributes.llm.tools",
    "attributes.gen_ai.tool.definitions",
    "extra.invocation_params.tools",
)
#: Where records within a record stand.
_WITHIN = (
    "observations",
    "runs",
    "child_runs",
    "spans",
    "data.spans",
    "resourceSpans",
    "scopeSpans",
    "batches",
)
#: What kind a record is of, and kinds that are calls of a model.
_KIND = ("type", "run_type", "span_kind", "attributes.openinference.span.kind", "attributes.mlflow.spanType",
         "attributes.gen_ai.operation.name")  # fmt: skip
_CALLS = frozenset(("generation", "llm", "chat_model", "chat", "generate_content", "text_completion"))
_COLUMNS = ("id", "time")
#: Events of OpenTelemetry that are messages.
_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice")


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    first = _record(head.first)
    if first is None:
        return None
    traced = any(_value(first, (key,)) is not None for key in (*_TRACE, *_SESSION)) or "htmlPath" in first
    right = (
        ("run_type" in first and "inputs" in first)
        or (traced and "input" in first and "output" in first)
        or (traced and ("attributes" in first or "context" in first))
        or (isinstance(first.get("info"), dict) and traced)
        or bool(_event(first))
        or any(_record(part) is not None and _claims_part(part) for part in _within(first))
    )
    return "transcripts" if right else None


def _claims_part(part: Any) -> bool:
    return isinstance(part, dict) and not part.keys().isdisjoint(
        ("run_type", "span_kind", "attributes", "scopeSpans", "traceId", "trace_id", "context")
    )


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.check_columns(_COLUMNS)
    return traced_transcripts(source, _calls(source))


def _calls(source: SourceFile) -> Iterator[TracedCall]:
    events: dict[str, tuple[str, str, dict[str, Any]]] = {}
    records = (
        (where, name, source.attempt(_checked, value, where)) for where, name, value in source.json_values()
    )
    for where, name, record in records:
        if record is None:
            continue
        if _event(record):
            # Events of a call may be written as records of their own.
            span = str(_value(record, _NAME[1:]) or _value(record, _TRACE) or name)
            kept = events.setdefault(span, (where, name, {**record, "name": "", "events": []}))
            kept[2]["events"].append(record)
            continue
        parts = list(_inner(record))
        calls = [part for part in parts if _kind(part) in _CALLS and _said(part) != (None, None)]
        if not calls and _said(record) != (None, None) and (_kind(record) in _CALLS or not _kind(record)):
            # A trace may tell no more than what went in and what came out.
            calls = [record]
        others = max(1, len(parts)) - len(calls)
        if others > 0:
            source.account.left_out["records that are no call of a model"] += others
        for part in calls:
            yield _call(source, part, record, where, name)
    for where, name, record in events.values():
        yield _call(source, record, record, where, name)


def _call(
    source: SourceFile, part: dict[str, Any], record: dict[str, Any], where: str, name: str
) -> TracedCall:
    columns = source.options.columns
    named = columns.get("id")
    paths = (named,) if named and named != "row" else _SESSION
    session = _value(part, paths) or _value(record, paths)
    session = session or _value(part, _TRACE) or _value(record, _TRACE) or _value(part, _NAME)
    sent, answered = _said(part)
    prompt = _value(part, ("attributes.gen_ai.system_instructions",))
    tools = _value(part, _TOOLS)
    tools = loaded_json(tools) if isinstance(tools, str) else tools
    model = _value(part, _MODEL)
    told_elsewhere = (*_WITHIN, "name")
    rest = [
        {key: value for key, value in each.items() if key not in told_elsewhere} for each in (part, record)
    ]
    return TracedCall(
        name=str(_value(part, _NAME) or name),
        session=str(session or name),
        time=str(_value(part, (columns["time"],) if columns.get("time") else _TIME) or ""),
        sent=sent if prompt is None else [{"role": "system", "content": prompt}, sent],
        answered=answered,
        model=None if model is None else str(model),
        tools=tools if isinstance(tools, list) else None,
        place=where,
        record=rest,
    )


def _said(record: dict[str, Any]) -> tuple[Any, Any]:
    """What a model was sent, and what it answered."""
    sent, answered = _value(record, _SENT), _value(record, _ANSWERED)
    listed = record.get("events")
    if sent is None and isinstance(listed, list):
        events = [event for event in map(_record, listed) if event is not None]
        within = next((event for event in events if _value(event, _SENT[:2]) is not None), None)
        if within is not None:
            answers = (_value(event, _ANSWERED[:2]) for event in events)
            return _value(within, _SENT[:2]), next((answer for answer in answers if answer is not None), None)
        messages = [message for event in events if (message := _event(event))]
        return messages or None, answered
    return sent, answered


def _event(record: dict[str, Any]) -> dict[str, Any] | None:
    """The message that an event of OpenTelemetry is; None where it is none."""
    name = _value(record, ("event_name", "eventName", "EventName", "attributes.event.name", "name"))
    kind = _EVENT.fullmatch(name) if isinstance(name, str) else None
    if kind is None:
        return None
    body = record.get("body", record.get("attributes"))
    body = body if isinstance(body, dict) else {"content": body}
    inner = body.get("message")
    body = inner if isinstance(inner, dict) else body
    content = body.get("content", inner)
    return {**{key: part for key, part in body.items() if key == "tool_calls"}, "role": kind[1] or "assistant",
            "content": content}  # fmt: skip


def _checked(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, InputError):
        raise value
    record = _record(value)
    if record is None:
        raise InputError(
            f"a record must be an object, not {json_kind(value)}", where=where, todo="mend or remove it"
        )
    return record


def _inner(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records within a record, at whatever depth."""
    for part in _within(record):
        inner = _record(part)
        if inner is not None:
            deeper = list(_inner(inner))
            if not deeper or "run_type" in inner:
                yield inner
            yield from deeper


def _within(record: dict[str, Any]) -> Iterator[Any]:
    held = (_value(record, (path,)) for path in _WITHIN)
    return chain.from_iterable(value for value in held if isinstance(value, list))


def _kind(record: dict[str, Any]) -> str:
    kind = _value(record, _KIND)
    return str(kind).strip('"').casefold() if kind is not None else ""


def _record(value: Any) -> dict[str, Any] | None:
    """A record with the names of its attributes as keys within each other; None where it is no object."""
    if not isinstance(value, dict):
        return None
    nested: dict[str, Any] = {}
    for key, part in value.items():
        if key == "attributes":
            part = _nested(_plain_attributes(part))
        elif key == "body":
            part = _plain_value(part)
        _put(nested, key.split("."), part)
    return nested


def _nested(attributes: Any) -> Any:
    if not isinstance(attributes, dict):
        return attributes
    nested: dict[str, Any] = {}
    for key, value in attributes.items():
        _put(nested, key.split("."), value)
    return _listed(nested)


def _listed(value: Any) -> Any:
    """Objects with numbers for keys as lists."""
    if not isinstance(value, dict):
        return value
    value = {key: _listed(inner) for key, inner in value.items()}
    if value and all(key.isdigit() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value


def _put(holder: dict[str, Any], keys: list[str], value: Any) -> None:
    *above, last = keys
    for at, key in enumerate(above):
        below = holder.setdefault(key, {})
        if not isinstance(below, dict):
            # A name that is also the beginning of another.
            holder[".".join(keys[at:])] = value
            return
        holder = below
    held = holder.get(last)
    holder[last] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value


def _plain_attributes(attributes: Any) -> Any:
    """Attributes as OTLP writes them, a list of keys and values, as an object."""
    if isinstance(attributes, list):
        return {
            str(each.get("key")): _plain_value(each.get("value"))
            for each in attributes
            if isinstance(each, dict)
        }
    return attributes


def _plain_value(value: Any) -> Any:
    """A value as OTLP writes it, with its type."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_plain_value(each) for each in inner.get("values", [])]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return _plain_attributes(inner.get("values", []))
    return inner if kind in ("stringValue", "intValue", "doubleValue", "boolValue") else value


def _value(record: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    """What stands under the first of the paths that leads to anything."""
    for path in paths:
        value: Any = record
        keys = path.split(".")
        for at, key in enumerate(keys):
            rest = ".".join(keys[at:])
            if isinstance(value, dict) and rest in value:
                value = value[rest]
                break
            if isinstance(value, str):
                value = loaded_json(value)
            value = value.get(key) if isinstance(value, dict) else None
        if value not in (None, "", [], {}):
            return value
    return None


READER = Reader(
    name="traces",
    title="traces of models' calls: Langfuse, LangSmith, Phoenix, MLflow, OpenTelemetry (JSON, JSON lines)",
    description=(
        "Traces, observations, runs or spans, as Langfuse, LangSmith, Phoenix (OpenInference), MLflow or a "
        "collector of OpenTelemetry (`gen_ai.*`, in attributes, events or records of their own) exports them. "
        "The calls of models in one session become one transcript; where no session is named, those of one "
        "trace. Calls are put in order of time, and one that repeats what was said before adds only what is "
        "new. Reading stops where a call was made again and answered otherwise, where nothing tells the order, "
        "and where a trace repeats another and goes on: `--columns id=PATH` names the session, `--columns "
        "time=PATH` the time, `--leave-out ID` a call. The model is the system where there was one only. Other "
        "records are counted; a long text of a call that is no message stops reading until `--leave-out PATH` "
        "names it."
    ),
    example=(
        '[{"id": "o-1", "traceId": "t-1", "sessionId": "s-1", "type": "GENERATION", "startTime": '
        '"2025-03-01T10:00:00Z", "model": "A", "input": [{"role": "user", "content": "I sleep badly."}], "output": '
        '{"role": "assistant", "content": "Since when?"}}]\n'
    ),
    example_name="observations.json",
    facts={
        "family": "logs",
        "known_by": "id of a trace or session, with what a model was sent and answered",
        "turns": "what each call of a session adds, by time",
        "kept": "the session as id, the model as system, tools as provenance",
        "left": "records that are no calls, answers replaced by others, empty messages",
        "decided_by": "`--columns id=PATH,time=PATH`, `--leave-out ID`",
    },
    endings=(".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    priority=20,
)
