"""What a simulator asks of an actor, and what the actor replies.

A simulator's controller is a generator that does no input or output: it yields calls, several where they don't depend
on each other, and is sent the replies in the same order. Whoever runs it answers them, from a log, a model, a person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import orjson

from bedside.core.neutral_text import neutral
from bedside.judges.llm.protocol import Message
from bedside.judges.prompt import clean, codes, fenced
from bedside.judges.rubrics.prompt_words import prompt_words

#: Who is asked. The evaluator does all that is neither side's part: labels of turns, facts, decisions of a scaffold.
#: The ranker says which of several candidates for a message fits best; the reviewer what is wrong with the patient.
ActorRole = Literal["clinician", "patient", "evaluator", "ranker", "reviewer"]
#: The roles of every protocol; which has a ranker beside them, it says itself.
ACTOR_ROLES: tuple[ActorRole, ...] = ("clinician", "patient", "evaluator")
#: What a reply belongs to: one conversation, or a case (or a case with a persona) and all conversations about it.
Scope = Literal["conversation", "case", "persona"]
#: ``message``: what is said to the other side. ``data``: an object that fits the schema.
CallKind = Literal["message", "data"]

#: Precedes a chat that its reader began, and follows one that its reader ended: servers want a user's line there.
OPENING_LINE = "(The conversation begins.)"
CLOSING_LINE = "(It is your turn.)"


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the public conversation, as an actor sees it."""

    role: Literal["clinician", "patient"]
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One thing to ask an actor.

    Attributes:
        actor: who is asked.
        purpose: the call site, in a word or two; with ``ordinal`` it is unique in a conversation.
        ordinal: the number of the call at its site, from 1.
        brief: who the actor is and what it knows: the system message.
        history: the conversation that it continues or looks at as its own; empty where the text is in ``instruction``.
        instruction: what is wanted now, where the brief doesn't say it.
        kind: what the reply is.
        schema: JSON Schema of the reply; None for plain text. A ``message`` may have one too: then an actor that can
            gives its words as ``message`` beside the schema's other fields, and one that can't replies plain text.
        material: what the texts were made from, for actors that are no language models. It never holds more than they
            do.
        scope: whom the reply is for.
        attempt: from 1.
        objection: what was wrong with the attempt before; empty at the first.
        prompt: the prompt files that the texts come from, as ``name@hash``.
    """

    actor: ActorRole
    purpose: str
    ordinal: int
    brief: str = ""
    history: tuple[Line, ...] = ()
    instruction: str = ""
    kind: CallKind = "message"
    schema: Mapping[str, Any] | None = None
    material: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = "conversation"
    attempt: int = 1
    objection: str = ""
    prompt: str = ""
    _chat: list[tuple[Message, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    def again(self, objection: str) -> Call:
        """The call once more, with what was wrong with the last reply."""
        return replace(self, attempt=self.attempt + 1, objection=objection)

    def messages(self) -> tuple[Message, ...]:
        """The chat that a language model is sent.

        What the actor said itself stands there as ``assistant``, what the other side said as ``user``; every message
        is there, with control tokens spelt apart.
        """
        if not self._chat:  # it is what is sent, and what is kept a digest of
            self._chat.append(tuple(Message(each.role, neutral(each.content)) for each in self._messages()))
        return self._chat[0]

    def _messages(self) -> tuple[Message, ...]:
        wish = "\n\n".join(part for part in (self.instruction, self.objection) if part)
        if self.actor == "ranker":
            # On neither side: what was said is what it looks at, and no chat of its own.
            said = _fenced([f"{line.role.capitalize()}: {clean(line.text)}" for line in self.history])
            return (Message("system", self.brief), Message("user", "\n\n".join(part for part in (said, wish) if part)))
        text = "\n\n".join(part for part in (self.brief, wish if self.history else "") if part)
        system = (Message("system", text),) if text else ()  # some providers take none without words
        if not self.history:
            return (*system, Message("user", wish or OPENING_LINE))
        chat = [Message("assistant" if line.role == self.actor else "user", line.text) for line in self.history]
        if chat[0].role == "assistant":
            chat.insert(0, Message("user", OPENING_LINE))
        if chat[-1].role == "assistant":
            chat.append(Message("user", CLOSING_LINE))
        return (*system, *chat)

    def digest(self) -> str:
        """SHA-256 of all that a model is asked: chat and schema (64 hexadecimal digits)."""
        asked = [[message.role, message.content] for message in self.messages()]
        content = orjson.dumps([asked, self.schema], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(content).hexdigest()


def _fenced(lines: Sequence[str]) -> str:
    """What was said, between marker lines; nothing where nothing was."""
    content, words = "\n".join(lines), prompt_words()
    code = next(codes(content, [content]))
    return fenced(words.say("prompt", "conversation"), content, code, words).rstrip("\n") if lines else ""


@dataclass(frozen=True, slots=True)
class ActorReply:
    """What an actor replied to one call.

    Attributes:
        text: its words; JSON where the call has a schema.
        cut: whether they end at a limit of length.
        declined: how the provider says that the model declined; empty where it didn't.
        failed: how the actor itself failed to reply, such as what it raised; empty where it didn't.
        typed: whether a person typed it: how people write is no fault of form.
        fixed: whether a toy or a script said it, which says the same when it is asked again.
    """

    text: str
    cut: bool = False
    declined: str = ""
    failed: str = ""
    typed: bool = False
    fixed: bool = False


T = TypeVar("T")
#: A part of a controller: it yields calls that can be asked at once, is sent their replies, and comes to a result.
Exchange = Generator[tuple[Call, ...], tuple[ActorReply, ...], T]


def together(*parts: Exchange[Any]) -> Exchange[tuple[Any, ...]]:
    """Run parts that don't depend on each other side by side; their results come in the parts' order."""
    results: list[Any] = [None] * len(parts)
    waiting: dict[int, tuple[Call, ...]] = {}
    for place, part in enumerate(parts):
        try:
            waiting[place] = next(part)
        except StopIteration as end:
            results[place] = end.value
    while waiting:
        replies = yield tuple(call for calls in waiting.values() for call in calls)
        start = 0
        for place, calls in list(waiting.items()):
            own = replies[start : start + len(calls)]
            start += len(calls)
            try:
                waiting[place] = parts[place].send(own)
            except StopIteration as end:
                results[place] = end.value
                del waiting[place]
    return tuple(results)
