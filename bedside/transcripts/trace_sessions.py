"""Conversations of the calls of language models that a tracing service recorded.

A service keeps each call by itself: what the model was sent and what it answered. A conversation is made of the calls
of one session, in order of time; a call that is sent all that was said before adds only what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_COMPANION
from bedside.transcripts.message_lists import SPEAKER_KEYS, TEXT_KEYS, is_message, is_of_tools, is_thought

#: What the account calls messages that hold nothing, and what stands where messages should and is none.
EMPTY, UNKNOWN = "empty messages", "parts of calls that are of no known shape"
#: Keys under which messages stand, within each other.
_INNER = ("messages", "choices", "generations", "message", "kwargs", "content", "input", "output", "text")
#: How many levels of objects, lists and texts of JSON are looked into.
_DEPTH = 20
#: Keys of what a message calls.
_CALLS = ("tool_calls", "function_call")
#: Roles of what a model is told, which a call may repeat in other words.
_TOLD = ("system", "developer")
#: LangChain's names of who speaks.
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


@dataclass(slots=True)
class TracedCall:
    """One call of a language model.

    Attributes:
        session: what it belongs to.
        time: when it began, as written; calls of a session are put in this order.
        said: what the model was sent and what it answered.
        model: its name, where known.
        place: of the record in its file.
    """

    session: str
    time: str
    said: RecordedChat
    model: str | None
    place: str


@dataclass(slots=True)
class TracedSession:
    """The conversation that the calls of one session make.

    Attributes:
        name: of the session.
        place: of its first call.
        messages: all that was said, in order.
        models: who answered.
        left_out: what of its calls was no message that says something, by :data:`EMPTY` or :data:`UNKNOWN`.
    """

    name: str
    place: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def sessions(calls: Iterable[TracedCall], file: str) -> Iterator[TracedSession]:
    """The conversations of calls, in order of each one's first record.

    Args:
        calls: of the whole file, for calls of a session needn't stand together.
        file: its name, for messages.

    Raises:
        InputError: there is more text than is held.
    """
    by_session: dict[str, list[TracedCall]] = {}
    size = 0
    for call in calls:
        size += sum(len(str(message.get("content"))) for message in call.said.messages)
        if size > MAX_COMPANION:
            raise InputError(
                f"the calls hold more than {MAX_COMPANION // 2**20} MB of text",
                where=file,
                todo="split the file",
            )
        by_session.setdefault(call.session, []).append(call)
    for name, members in by_session.items():
        session = TracedSession(name, members[0].place)
        left_out: Counter[tuple[str, bytes]] = Counter()
        for call in sorted(members, key=lambda call: call.time):
            _extend(session.messages, call.said.messages)
            # Calls repeat what was said before: counted is what one of them has most of.
            left_out |= call.said.left_out
            if call.model:
                session.models[call.model] += 1
        session.left_out = by_noun(left_out)
        yield session


def _extend(said: list[dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    """Add to what was said what a call adds to it."""
    before = [_key(message) for message in said if message["role"] not in _TOLD]
    now = [_key(message) for message in messages if message["role"] not in _TOLD]
    if before and now[: len(before)] == before:
        said[:] = messages
    elif before[: len(now)] != now:
        # A call may be sent the end only of what was said.
        shared = next(
            n for n in range(min(len(before), len(now)), -1, -1) if before[len(before) - n :] == now[:n]
        )
        added = messages if not said else [message for message in messages if message["role"] not in _TOLD]
        said.extend(added[shared:])


def _key(message: dict[str, Any]) -> tuple[Any, bytes]:
    """What a message is known by in another call, where thoughts and calls may be left out or written otherwise."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if not is_thought(part) and not is_of_tools(part)]
        alone = [part.get("text") if isinstance(part, dict) else part for part in parts]
        texts = [part for part in alone if isinstance(part, str)]
        content = "\n".join(texts) if len(texts) == len(parts) else parts
    return message["role"], orjson.dumps(content or "")


class RecordedChat:
    """The messages in what a service recorded of a call, as objects of role and content.

    OpenAI's messages and choices, LangChain's messages (serialised or not) and generations, OpenInference's
    ``message.role`` and ``message.content``, JSON within text, and a lone text.

    Args:
        sent: what was recorded as input; a lone text is the user's.
        answered: what was recorded as output; a lone text is the assistant's.

    Attributes:
        messages: those that say something or call a tool.
        left_out: what else stands there, by :data:`EMPTY` or :data:`UNKNOWN` and what it is.
    """

    def __init__(self, sent: Any, answered: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.left_out: Counter[tuple[str, bytes]] = Counter()
        self._add(sent, "user", _DEPTH)
        self._add(answered, "assistant", _DEPTH)

    def _add(self, value: Any, role: str, depth: int) -> None:
        if isinstance(value, str):
            loaded = _loaded(value)
            value = {"role": role, "content": value} if loaded is None else loaded
        if value is None or value in ([], {}):
            return
        if depth == 0 or not isinstance(value, dict | list):
            self._leave_out(UNKNOWN, value)
            return
        if isinstance(value, list):
            for part in value:
                self._add(part, role, depth - 1)
            return
        message = _message(value, role)
        inner = next((key for key in _INNER if value.get(key)), None)
        if message is None and inner is not None:
            self._add(value[inner], role, depth - 1)
        elif message is None:
            self._leave_out(EMPTY if value.keys() & set(_INNER) else UNKNOWN, value)
        elif _says_nothing(message):
            self._leave_out(EMPTY, message)
        else:
            self.messages.append(message)

    def _leave_out(self, noun: str, value: Any) -> None:
        try:
            key = orjson.dumps(value)
        except TypeError:
            key = b""  # Too deep to be told from others.
        self.left_out[noun, key] += 1


def by_noun(left_out: Mapping[tuple[str, bytes], int]) -> Counter[str]:
    """How much was left out, by what it is called."""
    counts: Counter[str] = Counter()
    for (noun, _), times in left_out.items():
        counts[noun] += times
    return counts


def _says_nothing(message: dict[str, Any]) -> bool:
    content = message["content"]
    empty = not content or (isinstance(content, str) and not content.strip())
    return empty and not message.keys() & set(_CALLS)


def _message(value: dict[str, Any], role: str) -> dict[str, Any] | None:
    """An object that is a message, as one of role and content."""
    kind = value.get("id")
    if value.get("lc") and isinstance(kind, list) and kind and isinstance(value.get("kwargs"), dict):
        speaker = str(kind[-1]).removesuffix("Chunk").removesuffix("Message").casefold()
        return {
            "role": _LANGCHAIN.get(speaker, speaker),
            "content": value["kwargs"].get("content"),
            **_called(value["kwargs"]),
        }
    said_by = value.get("type")
    if isinstance(said_by, str) and said_by in _LANGCHAIN and "content" in value:
        return {"role": _LANGCHAIN[said_by], "content": value["content"], **_called(value)}
    if "message.role" in value:
        calls = value.get("message.tool_calls")
        called = {"tool_calls": calls} if calls else {}
        return {"role": value["message.role"], "content": value.get("message.content"), **called}
    if is_message(value):
        speaker = next(value[key] for key in SPEAKER_KEYS if key in value)
        if not isinstance(speaker, str):
            return None
        message = {"role": speaker, "content": next(value[key] for key in TEXT_KEYS if key in value)}
        return message | _called(value)
    return None


def _called(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a message calls: beside its content, or where LangChain keeps what else the provider gave."""
    beside = message.get("additional_kwargs")
    places = (message, beside if isinstance(beside, dict) else {})
    return {
        key: calls
        for key in _CALLS
        if (calls := next((place[key] for place in places if place.get(key)), None))
    }


def _loaded(text: str) -> Any:
    """The JSON object or list that a text is; None where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
