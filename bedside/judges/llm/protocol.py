"""What asking a language model is: a request goes in, and a reply or one of these errors comes out.

A client sends one request when it is asked to and keeps no results; waiting, asking again and counting are
:mod:`bedside.judges.llm.queue`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TypedDict, Unpack

from bedside.core.errors import BedsideError
from bedside.judges.llm.extra_fields import told_apart
from bedside.judges.llm.prices import Token

# -- Which version of a model replied, which may change behind a name that stays ------------------------

#: Longest name of a model, its build or its provider that is kept.
_LONGEST = 120
#: What a name of a rater can't hold where raters are chosen by patterns.
_OF_PATTERNS = re.compile(r"[,*?\[\]]+")


@dataclass(frozen=True, slots=True)
class Served:
    """Which model replied, as its server says it; None where it doesn't.

    Attributes:
        model: its name, such as ``gpt-5-mini-2025-08-07`` where ``gpt-5-mini`` was asked.
        fingerprint: of the configuration that it ran in (``system_fingerprint``).
        provider: who ran it, where a router chose.
    """

    model: str | None = None
    fingerprint: str | None = None
    provider: str | None = None

    @property
    def version(self) -> str:
        """All of it, in a line: two replies with the same one are of one version."""
        through = f"by {self.provider}" if self.provider else None
        return " ".join(filter(None, (self.model, self.fingerprint, through)))

    def as_data(self) -> dict[str, str]:
        """What is known, by name."""
        return {name: value for name in ("model", "fingerprint", "provider") if (value := getattr(self, name))}


def served_by(answer: Any, line: Callable[[str], str]) -> Served | None:
    """What an answer's JSON says of who replied; None where it says nothing.

    Args:
        answer: of any provider: OpenAI's form and Anthropic's, Ollama's (``model``), Gemini's (``modelVersion``).
        line: makes one line without secrets of what came from outside.
    """
    if not isinstance(answer, Mapping):
        return None
    model, build, provider = (
        _OF_PATTERNS.sub("_", line(value))[:_LONGEST] if isinstance(value, str) and value.strip() else None
        for value in (
            answer.get("model") or answer.get("modelVersion"),
            answer.get("system_fingerprint"),
            answer.get("provider"),
        )
    )
    return Served(model, build, provider) if model or build or provider else None


# -- What goes in, and what comes out -------------------------------------------------------------------


class TokenCounts(TypedDict, total=False):
    """The tokens of a reply, who gave it, and what wasn't sent: the fields of :class:`Reply` of these names."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    served: Served | None
    written_tokens: int | None
    endpoint: str | None
    unsent: tuple[str, ...]


class LanguageModelError(BedsideError):
    """A model can't be asked at all: no such model, no permission, no server. The run stops."""


class FaultError(Exception):
    """A request failed in a way that may pass.

    Args:
        what: what happened, without secrets.
        wait: how long the server asks to wait, in seconds.
        busy: whether the server is at its limit, so that other requests had better wait too.
        unreachable: whether no answer came at all.
        other_protocol: whether what answered speaks another protocol, or none.
        elsewhere: whether another server is there to be asked at once, so that this counts as no attempt.
        silent: whether what was asked took the request, and then gave no answer.
    """

    def __init__(
        self,
        what: str,
        *,
        wait: float | None = None,
        busy: bool = False,
        unreachable: bool = False,
        other_protocol: bool = False,
        elsewhere: bool = False,
        silent: bool = False,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.wait = wait
        self.busy = busy
        self.unreachable = unreachable
        self.other_protocol = other_protocol
        self.elsewhere = elsewhere
        self.silent = silent


class RefusedError(Exception):
    """This one request is not accepted, and won't be if it is sent again; ``status`` is of HTTP, if known."""

    def __init__(self, what: str, status: int | None = None) -> None:
        super().__init__(what)
        self.status = status


class NotAskableError(Exception):
    """The request can't be put to this model, as where it is longer than the model takes in; others can."""


class NotAskedError(Exception):
    """The request was not sent, for a reason that has nothing to do with it; another run may send it."""


class WrongFormError(Exception):
    """The model may not take the form of structured output that was asked for; ``form`` is the next to try."""

    def __init__(self, form: int) -> None:
        super().__init__("another form of structured output")
        self.form = form


class NotTakenError(Exception):
    """The model doesn't take a parameter; the client has noted it, and the request is to be sent again without it.

    Args:
        parameter: its name as :meth:`Sampling.parameters` has it, such as ``temperature``.
        what: what the server said, in one line without secrets.
    """

    def __init__(self, parameter: str, what: str) -> None:
        super().__init__(what)
        self.parameter = parameter


class UnusableError(Exception):
    """The model replied, but with nothing that could be used.

    Args:
        problem: what is wrong.
        text: what there is of the reply.
        counts: of its tokens.
        final: whether it would come to the same if the model were asked again.
        cut: whether the reply ended at the limit of tokens.
    """

    def __init__(
        self, problem: str, text: str = "", *, final: bool = False, cut: bool = False, **counts: Unpack[TokenCounts]
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.final = final
        self.reply: Reply = Reply(text, cut=cut, **counts)


class DeclinedError(UnusableError):
    """The model, or its provider's content filter, won't answer this request. It isn't asked again.

    Args:
        by: ``model``, where it refused, or ``filter``.
        words: of a model, its own; of a filter, what it did and why. In one line without secrets.
        text: what there is of the reply.
        counts: of its tokens.
    """

    def __init__(
        self, by: Literal["model", "filter"], words: str, text: str = "", **counts: Unpack[TokenCounts]
    ) -> None:
        who = "the model declined:" if by == "model" else "the provider's content filter"
        super().__init__(f"{who} {words}", text, final=True, **counts)
        self.by = by
        self.words = words


def empty_reply(
    cut: bool, max_tokens: int, *, text: str = "", also: str = "", **counts: Unpack[TokenCounts]
) -> UnusableError:
    """The error where a model said nothing.

    With the limit that cut it, the next attempt would come to the same; it is asked again where more is allowed.

    Args:
        cut: whether it ended at the limit of tokens.
        max_tokens: that limit.
        text: what there is of its reasoning.
        also: what else is known of how it ended.
        counts: of its tokens.
    """
    if not cut:
        return UnusableError(f"the reply is empty{also}", text, **counts)
    problem = (
        f"the model used all {max_tokens} tokens for reasoning before its reply: allow it more (max_tokens), or ask "
        "for less reasoning (reasoning_effort)"
    )
    return UnusableError(problem, text, final=True, cut=True, **counts)


@dataclass(frozen=True, slots=True)
class Message:
    """What one side says in a chat with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


def cache_marked(messages: Sequence[Message], shared: int) -> list[Message | dict[str, Any]]:
    """Messages in Anthropic's form, with a mark after the first message's ``shared`` characters: so far it is kept."""
    if not shared:
        return list(messages)
    first, *rest = messages
    kept = {"type": "text", "text": first.content[:shared], "cache_control": {"type": "ephemeral"}}
    return [{"role": first.role, "content": [kept, {"type": "text", "text": first.content[shared:]}]}, *rest]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask a model.

    Attributes:
        messages: the chat so far, whose last message is to be answered.
        schema: JSON Schema of the reply, as JSON; None for free text.
        schema_name: what the schema is called, for providers that want a name.
        seed: for sampling; None where it isn't sent.
        form: the first form of structured output to try; see :class:`bedside.judges.llm.endpoints.Forms`.
        items: what the ``item`` of each answer is to be, in order, where the reply is a list of answers about items.
        choices: the numbers that each key of the reply can have whose value is a whole number.
        key: digest of what the request is for; the same in every run.
        number: which reply to it is wanted, from 1.
        opening: digest of what the chat begins with; chats that have it in common share a server's prefix cache.
        shared: how many characters of the first message other requests begin with too; 0 where none is known.
    """

    messages: tuple[Message, ...]
    schema: str | None = None
    schema_name: str = "reply"
    seed: int | None = None
    form: int = 0
    items: tuple[int, ...] | None = None
    choices: Mapping[str, Sequence[int]] = field(default_factory=dict)
    key: str = ""
    number: int = 1
    opening: str = ""
    shared: int = 0

    @classmethod
    def of_text(cls, text: str, schema: str | None = None, **fields: Any) -> Request:
        """A request whose chat is one message of the user's."""
        return cls((Message("user", text),), schema, **fields)

    def objecting(self, reply: str, objection: str) -> Request:
        """The request again, after a reply that was none: the first message, that reply, and what is said to it."""
        chat = (self.messages[0], Message("assistant", reply), Message("user", objection))
        return replace(self, messages=chat)

    def without_reply(self) -> Request:
        """The request again, with what was said to an earlier reply and without that reply."""
        first, last = self.messages[0], self.messages[-1]
        return replace(self, messages=(Message(first.role, f"{first.content}\n\n{last.content}"),))

    def single(self) -> str:
        """The chat as one text, for models that take no chat."""
        text, before = self.messages[0].content, self.messages[0]
        for message in self.messages[1:]:
            if message.role == "assistant":
                text += f"\n\nYour earlier reply:\n{message.content}\n"
            elif before.role == "assistant":
                text += f"\n{message.content}\n"
            else:
                text += f"\n\n{message.content}"
            before = message
        return text


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied.

    Attributes:
        text: its words.
        input_tokens: tokens of the request as the provider counts them, those of its cache included; None where it
            doesn't say.
        output_tokens: tokens of the reply and of the reasoning before it, likewise.
        tokens: the reply's tokens with their probabilities; empty where not asked for or not given.
        cut: whether the reply ended at the limit of tokens.
        endpoint: the address of the server that replied; None where there is none.
        cached_tokens: of the request's tokens, those that the provider had in its cache; None where it doesn't say.
        reasoning_tokens: of the output tokens, those of the reasoning before the reply, likewise.
        unsent: names of parameters (as :meth:`Sampling.parameters` has them) that were wanted and not sent, because the
            model doesn't take them.
        served: which version of the model replied; None where the provider doesn't say.
        written_tokens: of the request's tokens, those that the provider put into its cache for a price of their own.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: tuple[Token, ...] = ()
    cut: bool = False
    endpoint: str | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    unsent: tuple[str, ...] = ()
    served: Served | None = None
    written_tokens: int | None = None

    @property
    def is_counted(self) -> bool:
        """Whether its tokens are known. Those of no words are 0 unless they are said, as where a filter stopped it."""
        return not self.text or None not in (self.input_tokens, self.output_tokens)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked to write.

    Attributes:
        temperature: None leaves it to the provider, for models that refuse one.
        max_tokens: limit of a reply's tokens.
        probabilities: whether the probabilities of tokens are wanted.
        seed: of the first pass; sent, plus the number of the pass, only where the temperature isn't 0.
        timeout: seconds until a request counts as unanswered.
        max_prompt_tokens: for servers that must be told how much room to make.
        reasoning_effort: how long a model that reasons does so, one of
            :data:`bedside.judges.ask_settings.REASONING_EFFORTS`; None leaves it to the provider.
        extra: fields that are added to each request, see :mod:`bedside.judges.llm.extra_fields`.
    """

    temperature: float | None = 0.0
    max_tokens: int = 4096
    probabilities: bool = False
    seed: int = 0
    timeout: float = 120.0
    max_prompt_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def parameters(self) -> dict[str, Any]:
        """What tells two replies to the same request apart."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "probabilities": self.probabilities,
            "seed": self.seed if self.temperature else None,
            **({} if self.reasoning_effort is None else {"reasoning_effort": self.reasoning_effort}),
            **({"extra": extra} if (extra := told_apart(self.extra)) else {}),
        }


class Client(Protocol):
    """A model that can be asked; ``max_prompt_tokens`` is how much it takes in, None where not known."""

    max_prompt_tokens: int | None

    async def complete(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            LanguageModelError: nothing can be asked of this model.
            FaultError: it may work another time.
            RefusedError: this request won't be answered.
            NotAskableError: it can't be put to this model.
            NotAskedError: it wasn't sent.
            WrongFormError: to be sent again in another form.
            NotTakenError: to be sent again without a parameter.
            UnusableError: there is a reply, but none that could be read.
            DeclinedError: the model or a content filter won't answer it.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


#: Notes that a request goes out in this context, called right before it does.
SENDING: ContextVar[Callable[[], None] | None] = ContextVar("sending", default=None)


def note_sending() -> None:
    """Have it noted that a request goes out now, where anybody counts them."""
    note = SENDING.get()
    if note is not None:
        note()


class OuterClient:
    """What a :class:`Client` has that asks another.

    Args:
        client: what is asked.
    """

    def __init__(self, client: Client) -> None:
        self.max_prompt_tokens: int | None = client.max_prompt_tokens
        self.inner = (client,)
        self._client = client

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


# -- A provider's own service for batches ---------------------------------------------------------------

#: What answers posts in this context in place of the network: of a body and its address, a status and a body.
ANSWERED_BY: ContextVar[Callable[[bytes, str], tuple[int, bytes]] | None] = ContextVar("answered_by", default=None)


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is.

    Attributes:
        done: how many of its requests came to an end.
        ended: how it ended, in the provider's word; None while it is under way.
        problem: why the provider did nothing of it; empty where it did, or doesn't say.
        data: all that the provider said.
    """

    done: int
    ended: str | None
    problem: str
    data: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class SentBatch:
    """A batch that was sent, or is about to be.

    Attributes:
        tag: what it is known by here, and at the provider where it can have a name.
        judge: the model, by its identity.
        address: the provider's.
        url: the path that its requests are for.
        calls: the ids of its requests, in order.
        sent: when, in seconds since 1970.
        most: what it costs at most, in US dollars, as far as that is known.
        id: what it is known by at the provider; None until the provider has said so.
        read: whether it has ended and was read; its calls are then those whose answers nobody took.
        before: the newest batch that was there before, where the provider can't give a batch a name; empty for none.
    """

    tag: str
    judge: str
    address: str
    url: str
    calls: list[str]
    sent: float
    most: float
    id: str | None = None
    read: bool = False
    before: str | None = None


class BatchService(Protocol):
    """A provider's service that answers many requests within a day; what it raises is as of :class:`Client`.

    Attributes:
        address: its address.
        max_requests, max_bytes: limits of one batch.
    """

    address: str
    max_requests: int
    max_bytes: int

    async def newest_batch(self) -> str:
        """What the newest batch is known by there, where a batch can't be given a name; empty for none."""
        ...

    async def post_batch(self, calls: Path, batch: SentBatch) -> str:
        """Send a file of calls; returns what the batch is known by there. After a fault it may be there or not."""
        ...

    async def find(self, batch: SentBatch, known: set[str]) -> str | None:
        """What a batch is known by that may be there, of those that aren't ``known``; None where it isn't."""
        ...

    async def look(self, batch: SentBatch) -> BatchState:
        """How far a batch is."""
        ...

    async def read(self, batch: SentBatch, state: BatchState, out: BinaryIO) -> None:
        """Write the answers of a batch that has ended, as lines in OpenAI's form."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by an answer's ``retry-after``, a number or a date by the server's clock; None without it."""
    value, now = headers.get("retry-after"), headers.get("date")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            dates = [parsedate_to_datetime(date) for date in (value, now or format_datetime(datetime.now(UTC)))]
            when, since = (date.replace(tzinfo=date.tzinfo or UTC) for date in dates)
            seconds = (when - since).total_seconds()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None
