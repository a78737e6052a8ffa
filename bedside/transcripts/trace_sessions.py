"""Conversations of the calls of language models that a tracing service recorded.

A service keeps each call by itself: what the model was sent and what it answered. A conversation is made of the calls
of one session, in order of time; a call that is sent all that was said before adds only what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.byte_source import MAX_COMPANION
from bedside.transcripts.message_lists import (
    EMPTY,
    MODEL_SPEAKERS,
    SeveralAnswersError,
    is_empty,
    leave_rest,
    message_key,
    message_turns,
    messages_in,
    speaker_of,
)
from bedside.transcripts.request_answers import unrepeated
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_maker import check_nesting

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Roles of what a model is told, which a call may repeat in other words.
_TOLD = ("system", "developer")


@dataclass(slots=True)
class TracedCall:
    """One call of a language model.

    Attributes:
        name: of the call.
        session: what it belongs to.
        time: when it began, as written; calls of a session are put in this order.
        sent: what the model was sent; a lone text is the user's.
        answered: what it answered; a lone text is the assistant's.
        model: its name, where known.
        tools: definitions of tools that it was given.
        place: of the record in its file.
        record: all that was recorded; empty where another call replaced this one.
    """

    name: str
    session: str
    time: str
    sent: Any
    answered: Any
    model: str | None
    tools: Any
    place: str
    record: Any
    asked: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    empty: Counter[bytes] = field(default_factory=Counter)

    def read(self, source: SourceFile) -> bool:
        """Whether the call has messages.

        Raises:
            AmbiguousError: it has several answers.
            InputError: they are nested too deep to be compared with others.
        """
        if source.options.leaves_out(self.name):
            source.account.left_out["calls that the user left out"] += 1
            return False
        try:
            asked, answered = messages_in(self.sent, "user"), messages_in(self.answered, "assistant")
        except SeveralAnswersError as several:
            path = ".".join(several.path)
            raise AmbiguousError(
                f"the call has {several.number} answers under {path}",
                where=self.place,
                todo=f"leave the call out with `leave_out={self.name}`, or all but one answer: "
                f"`leave_out=*{path}.1`",
            ) from None
        check_nesting([*asked, *answered], self.place)
        self.empty.update(message_key(message)[1] for message in (*asked, *answered) if is_empty(message))
        self.asked = [message for message in asked if not is_empty(message)]
        self.messages = [*self.asked, *(message for message in answered if not is_empty(message))]
        if not self.messages:
            source.account.left_out["records without messages"] += 1
        return bool(self.messages)


def traced_transcripts(source: SourceFile, calls: Iterable[TracedCall]) -> Iterator[Transcript]:
    """One transcript for each session of a file's calls, in order of each one's first record.

    Raises:
        InputError: the file holds no call with messages, or more than can be held.
    """
    source.aliases = MODEL_SPEAKERS
    sessions: dict[str, list[TracedCall]] = {}
    size = 0
    for call in calls:
        if not source.attempt(call.read, source):
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
    made = (source.attempt(_transcript, source, name, members) for name, members in sessions.items())
    yield from unrepeated(source, (transcript for transcript in made if transcript is not None))


def _transcript(source: SourceFile, name: str, calls: list[TracedCall]) -> Transcript:
    place = calls[0].place
    messages = _joined(source, name, sorted(calls, key=lambda call: call.time))
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


def _joined(source: SourceFile, name: str, calls: list[TracedCall]) -> list[dict[str, Any]]:
    """All that was said in the calls of a session, in order.

    Raises:
        AmbiguousError: a call was made again and answered otherwise, or nothing tells the order.
    """
    said: list[dict[str, Any]] = []
    last = calls[0]
    # Calls that were made again, with what was said by them, until a later call shows which of them counts.
    again: list[TracedCall] = []
    for call in calls:
        before, now, asked = _keys(said), _keys(call.messages), _keys(call.asked)
        chosen = next((one for one in again if now[: len(_keys(one.messages))] == _keys(one.messages)), None)
        if now[: len(before)] == before or chosen is not None:
            if len(now) > len(before) or chosen is not None:
                replaced = [call for call in (*again, *([last] if chosen else ())) if call is not chosen]
                for each in replaced:
                    source.account.left_out["answers that were replaced by others"] += 1
                    each.record = []
                again = []
            said, last = list(call.messages), call
        elif before[: len(now)] == now:
            continue
        elif asked and before[: len(asked)] == asked and now[: len(asked)] == asked:
            again.append(call)
        else:
            # A call may be sent the end only of what was said.
            shared = next(
                n for n in range(min(len(before), len(now)), -1, -1) if before[len(before) - n :] == now[:n]
            )
            if not shared and not (call.time and last.time) and source.options.columns.get("time") is None:
                raise AmbiguousError(
                    f"the calls of {name!r} hold no time and don't repeat each other, so nothing tells their order",
                    where=call.place,
                    todo="name the time with `columns=time=PATH`, or say `columns=time=` if they stand in order",
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


def _keys(messages: list[dict[str, Any]]) -> list[tuple[Any, bytes]]:
    return [message_key(message) for message in messages if speaker_of(message) not in _TOLD]
