"""Traces of models' calls: Langfuse, LangSmith, Phoenix, MLflow, and spans by the names of OpenTelemetry.

A service keeps each call by itself: what the model was sent and what it answered. A conversation is made of the calls
of one session, in order of time; a call that is sent all that was said before adds only what is new.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.byte_source import MAX_COMPANION
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.message_lists import (
    EMPTY,
    MODEL_SPEAKERS,
    SeveralAnswersError,
    is_empty,
    leave_rest,
    loaded_json,
    message_key,
    message_turns,
    messages_in,
    side_of,
    speaker_of,
)
from bedside.transcripts.request_answers import EACH_ROW, unrepeated
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_maker import check_nesting

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
_TOOLS = ("tools", "attributes.llm.tools", "attributes.gen_ai.tool.definitions", "extra.invocation_params.tools")
_PROMPT = ("attributes.gen_ai.system_instructions",)
#: Where records within a record stand.
_WITHIN = ("observations", "runs", "child_runs", "spans", "data.spans", "resourceSpans", "scopeSpans", "batches")
_TOLD_ELSEWHERE = (*_WITHIN, *_TIME, "name")
#: What kind a record is of, and kinds that are calls of a model.
_KIND = ("type", "run_type", "span_kind", "attributes.openinference.span.kind", "attributes.mlflow.spanType",
         "attributes.gen_ai.operation.name", "attributes.llm.request.type")  # fmt: skip
_CALLS = frozenset(("generation", "llm", "chat_model", "chat", "generate_content", "text_completion", "completion"))
_COLUMNS = ("id", "time")
#: Events of OpenTelemetry that are messages.
_EVENT_NAME = ("event_name", "eventName", "EventName", "attributes.event.name", "name")
_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice")
#: Keys of which a record that is a trace has at least one, and those of a record within a record.
_ROOTS = frozenset(
    path.partition(".")[0] for path in (*_TRACE, *_SESSION, *_WITHIN, *_EVENT_NAME, "run_type", "htmlPath")
)
_OF_PARTS = ("run_type", "span_kind", "attributes", "scopeSpans", "traceId", "trace_id", "context")
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")
#: Forms of times: ISO's, those with AM and PM, where the month stands first, and clock times, which have no year.
_TIME_FORMS = (
    "", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%m/%d/%Y, %I:%M:%S %p", "%I:%M:%S %p", "%I:%M %p", "%H:%M:%S",
    "%H:%M", "%H:%M:%S.%f",
)  # fmt: skip
_NO_YEAR = 1900
#: Roles of what a model is told, which a call may repeat in other words.
_TOLD = ("system", "developer")
#: Least length of a text that a call quotes of another, in bytes.
_QUOTED = 30


def _claims(head: Head) -> Claim | None:
    if not isinstance(head.first, dict) or _ROOTS.isdisjoint(key.partition(".")[0] for key in head.first):
        return None
    first = _record(head.first) or {}
    traced = _value(first, (*_TRACE, *_SESSION)) is not None or "htmlPath" in first
    right = (
        ("run_type" in first and "inputs" in first)
        or (traced and "input" in first and "output" in first)
        or (traced and ("attributes" in first or "context" in first))
        or (isinstance(first.get("info"), dict) and traced)
        or bool(_event(first))
        or any(isinstance(part, dict) and not part.keys().isdisjoint(_OF_PARTS) for part in _within(first))
    )
    return "transcripts" if right else None


@dataclass(slots=True)
class _Call:
    """One call of a language model.

    Attributes:
        name: of the call.
        session: what it belongs to.
        time: when it began, as written; calls of a session are put in this order.
        place: of the record in its file.
        asked, messages: what the model was sent, and that with what it answered; without empty messages.
        empty: what the empty ones are known by.
        model: its name, where known.
        tools: definitions of tools that it was given.
        record: all that was recorded; empty where another call replaced this one.
    """

    name: str
    session: str
    time: str
    place: str
    asked: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    empty: Counter[bytes]
    model: str | None
    tools: Any
    record: Any


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.check_columns(_COLUMNS)
    source.aliases = MODEL_SPEAKERS
    sessions: dict[str, list[_Call]] = {}
    size = 0
    for part, record, where, name in _recorded(source):
        call = source.attempt(_call, source, part, record, where, name)
        if call is None:
            continue
        size += sum(len(str(message)) for message in call.messages)
        if size > MAX_COMPANION:
            raise InputError(
                f"the calls hold more than {MAX_COMPANION // 2**20} MB of text",
                where=source.name,
                todo="split the file",
            )
        sessions.setdefault(call.session, []).append(call)
    if not sessions:
        raise InputError(
            "no record holds the messages of a model's call",
            where=source.name,
            todo="export the calls of models with their input and output",
        )
    made = (source.attempt(_transcript, source, name, calls) for name, calls in sessions.items())
    yield from unrepeated(source, (transcript for transcript in made if transcript is not None))


def _recorded(source: SourceFile) -> Iterator[tuple[dict[str, Any], dict[str, Any], str, str]]:
    """Record of each call of a model, the record that it stands in, its place, and an id for want of another."""
    events: dict[str, tuple[dict[str, Any], str, str]] = {}
    for where, name, value in source.json_values():
        record = source.attempt(_checked, value, where)
        if record is None:
            continue
        if _event(record):
            # Events of a call may be written as records of their own.
            span = str(_value(record, _NAME[1:]) or _value(record, _TRACE) or name)
            kept, *_ = events.setdefault(span, ({**record, "name": "", "events": []}, where, name))
            kept["events"].append(record)
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
            yield part, record, where, name
    for record, where, name in events.values():
        yield record, record, where, name


def _call(source: SourceFile, part: dict[str, Any], record: dict[str, Any], where: str, number: str) -> _Call | None:
    """A call; None where it is left out or without messages.

    Raises:
        AmbiguousError: it has several answers.
        InputError: they are nested too deep to be compared with others.
    """
    columns = source.options.columns
    named, timed = columns.get("id"), columns.get("time")
    sessions = (named,) if named and named != EACH_ROW else _SESSION
    owners = ((part, sessions), (record, sessions), (part, _TRACE), (record, _TRACE), (part, _NAME))
    session = next((found for owner, paths in owners if (found := _value(owner, paths))), number)
    name = str(_value(part, _NAME) or number)
    if source.options.leaves_out(name):
        source.account.left_out["calls that the user left out"] += 1
        return None
    sent, answer = _said(part)
    prompt = _value(part, _PROMPT)
    if prompt is not None:
        prompt = (loaded_json(prompt) if isinstance(prompt, str) else None) or prompt
        sent = [{"role": "system", "content": prompt}, {"input": sent}]
    try:
        asked, answered = messages_in(sent, "user"), messages_in(answer, "assistant")
    except SeveralAnswersError as several:
        path = ".".join(several.path)
        raise AmbiguousError(
            f"the call has {several.number} answers under {path}",
            where=where,
            todo=f"leave the call out with `leave_out={name}`, or all but one answer: `leave_out=*{path}.1`",
        ) from None
    check_nesting([*asked, *answered], where)
    empty = Counter(message_key(message)[1] for message in (*asked, *answered) if is_empty(message))
    asked = [message for message in asked if not is_empty(message)]
    messages = [*asked, *(message for message in answered if not is_empty(message))]
    if not messages:
        source.account.left_out["records without messages"] += 1
        return None
    model, tools = _value(part, _MODEL), _value(part, _TOOLS)
    tools = loaded_json(tools) if isinstance(tools, str) else tools
    return _Call(
        name=name,
        session=str(session),
        time="" if timed == "" or (time := _value(part, (timed,) if timed else _TIME)) is None else str(time),
        place=where,
        asked=asked,
        messages=messages,
        empty=empty,
        model=None if model is None else str(model),
        tools=tools if isinstance(tools, list) else None,
        record=[
            {key: value for key, value in each.items() if key not in _TOLD_ELSEWHERE}
            for each in ((part,) if part is record else (part, record))
        ],
    )


def _transcript(source: SourceFile, name: str, calls: list[_Call]) -> Transcript:
    place = calls[0].place
    messages = _with_all_told(_joined(source, name, _by_time(name, calls)), calls)
    empty: Counter[bytes] = Counter()
    for call in calls:
        # Calls repeat what was said before: counted is what one of them has most of.
        empty |= call.empty
    if empty:
        source.account.left_out[EMPTY] += empty.total()
    models = {call.model for call in calls if call.model}
    tools = next((call.tools for call in calls if call.tools), None)
    transcript = source.transcript(
        message_turns(source, messages, place),
        place,
        id=name,
        system=models.pop() if len(models) == 1 else None,
        reference={"tools": tools} if tools else {},
    )
    leave_rest(source, (call.record for call in calls), transcript, place)
    return transcript


def _by_time(name: str, calls: list[_Call]) -> list[_Call]:
    """Calls in order of time; those without one stand first.

    Raises:
        AmbiguousError: the times can't be compared.
    """
    timed = [call for call in calls if call.time]
    if len({call.time for call in timed}) < 2:
        return sorted(calls, key=lambda call: bool(call.time))
    moments = {call.time: _moment(call.time) for call in timed}
    odd = next((call for call in timed if moments[call.time][0] != moments[timed[0].time][0]), timed[0])
    if odd is not timed[0] or not moments[odd.time][0]:
        raise AmbiguousError(
            f"the time {odd.time!r} of a call of {name!r} can't be compared with the others",
            where=odd.place,
            todo="name another with `columns=time=PATH`, or say `columns=time=` if the calls stand in order",
        )
    return sorted(calls, key=lambda call: (bool(call.time), call.time and moments[call.time][1]))


def _moment(text: str) -> tuple[str, Decimal | datetime]:
    """What kind of time a text is, and its value; no kind where it is none that is known."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        value = Decimal(text)
        # Seconds, or thousandths, millionths or billionths of them, since 1970.
        return "number", value / 1000 ** sum(value >= 10**digits for digits in (11, 14, 17))
    padded = re.sub(r"(?<!\d)(\d)(?=:)", r"0\1", text)
    for form in _TIME_FORMS:
        with suppress(ValueError):
            moment = datetime.strptime(padded, form) if form else datetime.fromisoformat(padded)
            if moment.year <= _NO_YEAR:
                return "clock", moment.replace(year=_NO_YEAR)
            return ("time and zone" if moment.tzinfo else "time"), moment
    return "", Decimal(0)


def _joined(source: SourceFile, name: str, calls: list[_Call]) -> list[dict[str, Any]]:
    """All that was said in the calls of a session, in order.

    Raises:
        AmbiguousError: a call was made again and answered otherwise, nothing tells the order, or a call is no part of
            the talk.
    """
    said: list[dict[str, Any]] = []
    last = calls[0]
    is_sent_all = any(side_of(speaker_of(message)) == "clinician" for call in calls for message in call.asked)
    named = source.options.columns.get("time")
    # Calls that were made again, with what was said by them, until a later call shows which of them counts.
    again: list[_Call] = []
    for call in calls:
        before, now, asked = _keys(said), _keys(call.messages), _keys(call.asked)
        chosen = next(
            (
                call_before
                for call_before in again
                if now[: len(_keys(call_before.messages))] == _keys(call_before.messages)
            ),
            None,
        )
        anew = bool(before) and now == before and not (is_sent_all or _is_copy(call, last, named))
        if (now[: len(before)] == before and not anew) or chosen is not None:
            if len(now) > len(before) or chosen is not None:
                for each in (*again, *([last] if chosen else ())):
                    if each is not chosen:
                        source.account.left_out["answers that were replaced by others"] += 1
                        each.record = []
                again = []
            said, last = list(call.messages), call
        elif before[: len(now)] == now and (is_sent_all or _is_copy(call, last, named)):
            continue
        elif before[: len(now)] != now and asked and before[: len(asked)] == asked and now[: len(asked)] == asked:
            again.append(call)
        else:
            # A call may be sent the end only of what was said.
            most = min(len(before), len(now))
            shared = next(n for n in range(most, -1, -1) if before[len(before) - n :] == now[:n])
            if not is_sent_all:
                shared = shared if shared < len(now) or _is_copy(call, last, named) else 0
            if not shared and not (call.time and last.time) and named is None:
                raise AmbiguousError(
                    f"the calls of {name!r} hold no time and don't repeat each other, so nothing tells their order",
                    where=call.place,
                    todo="name the time with `columns=time=PATH`, or say `columns=time=` if they stand in order",
                )
            if not shared and (is_sent_all or _quotes(before, asked)):
                aside = next(
                    (other for other in calls if other is not call and not _holds(now, _keys(other.messages))), last
                )
                raise AmbiguousError(
                    f"the calls {aside.name!r} and {call.name!r} of {name!r} don't go on from each other",
                    where=call.place,
                    todo=f"leave a call out, `leave_out={aside.name}` or `leave_out={call.name}`, or part talks with "
                    "`columns=id=PATH`",
                )
            said += [message for message in call.messages if speaker_of(message) not in _TOLD][shared:]
            last = call
    if again:
        raise AmbiguousError(
            f"the call {last.name!r} was made again ({again[0].name!r}) and answered otherwise",
            where=again[0].place,
            todo=f"leave one out with `leave_out={last.name}` or `leave_out={again[0].name}`",
        )
    return said


def _with_all_told(messages: list[dict[str, Any]], calls: Sequence[_Call]) -> list[dict[str, Any]]:
    """What was said, before it also what the model was told in other calls, such as a prompt that holds the time."""
    prompts = {
        message_key(message): message for call in calls for message in call.messages if speaker_of(message) in _TOLD
    }
    for message in messages:
        prompts.pop(message_key(message), None)
    return [*prompts.values(), *messages]


def _is_copy(call: _Call, other: _Call, named: str | None) -> bool:
    """Whether a call is another one, recorded twice."""
    return call.name == other.name or (call.time == other.time and named != "")


def _holds(said: list[tuple[Any, bytes]], some: list[tuple[Any, bytes]]) -> bool:
    return all(key in said for key in some)


def _quotes(before: list[tuple[Any, bytes]], asked: list[tuple[Any, bytes]]) -> bool:
    """Whether a question holds a text of before within it, or one of before holds it, as of a judge or a search."""
    texts = [text.strip(b'"') for _, text in before]
    return any(
        inner != outer and len(inner) >= _QUOTED and inner in outer
        for _, key in asked
        for text in texts
        for inner, outer in ((text, key.strip(b'"')), (key.strip(b'"'), text))
    )


def _keys(messages: list[dict[str, Any]]) -> list[tuple[Any, bytes]]:
    return [message_key(message) for message in messages if speaker_of(message) not in _TOLD]


# -- what a record says ------------------------------------------------------------------------------------


def _said(record: dict[str, Any]) -> tuple[Any, Any]:
    """What a model was sent, and what it answered."""
    sent, answered = _value(record, _SENT), _value(record, _ANSWERED)
    listed = record.get("events")
    if sent is None and isinstance(listed, list):
        events = [event for event in map(_record, listed) if event is not None]
        asked = (_value(event, _SENT[:2]) for event in events)
        sent = next((value for value in asked if value is not None), None)
        if sent is not None:
            answers = (_value(event, _ANSWERED[:2]) for event in events)
            return sent, next((answer for answer in answers if answer is not None), None)
        sent = [message for event in events if (message := _event(event))] or None
    return sent, answered


def _event(record: dict[str, Any]) -> dict[str, Any] | None:
    """The message that an event of OpenTelemetry is; None where it is none."""
    name = _value(record, _EVENT_NAME)
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
        raise InputError(f"a record must be an object, not {json_kind(value)}", where=where, todo="mend or remove it")
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
    plain = dict(value)
    if "attributes" in plain:
        attributes = _plain_attributes(plain["attributes"])
        plain["attributes"] = _listed(_nested(attributes)) if isinstance(attributes, dict) else attributes
    if "body" in plain:
        plain["body"] = _plain_value(plain["body"])
    return _nested(plain)


def _nested(plain: dict[str, Any]) -> dict[str, Any]:
    """An object whose keys of several names stand within each other."""
    nested: dict[str, Any] = {}
    for key, value in plain.items():
        _put(nested, key.split("."), value)
    return nested


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
        return {str(each.get("key")): _plain_value(each.get("value")) for each in attributes if isinstance(each, dict)}
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
        "where a call doesn't go on from the others, as one of a judge, "
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
