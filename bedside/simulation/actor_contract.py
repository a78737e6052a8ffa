"""Actors: who replies to a simulator's calls. Each kind is one file that says which names it takes.

Actors are named

- as judges are (``openai/gpt-5-mini``, ``http://host:port/v1#model``, a file of endpoints): a language model;
- ``package.module:function``: a Python function, see :mod:`bedside.simulation.actors.function`;
- ``webhook:https://…``: an address that calls are posted to, see :mod:`bedside.simulation.actors.webhook`;
- ``human:NAME``: a person, at the keyboard or at a page;
- ``script:FILE``, ``script:NAME``: what a file says, see :mod:`bedside.simulation.simulators.scripts`;
- ``trivial``, ``trivial:NAME``: clinicians that listen to nobody, see :mod:`bedside.simulation.actors.trivial`;
- ``rules``: the simulator's own actors without a model: toys.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bedside.core.errors import InputError, RegistryError
from bedside.core.registry import Registry
from bedside.judges.llm.batch_files import Answers, CallWriter
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Client, NotAskedError, Reply, Request, Sampling
from bedside.judges.llm.queue import CallRecord, Patience
from bedside.judges.llm.spending import CostLimit, PricedClient
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.contract import Simulator

if TYPE_CHECKING:
    from bedside.simulation.talk_page import TalkPage

#: What many calls can share of what went wrong.
_REASON = re.compile(r"(.+?)(?:: | \()")
#: The kind that takes every name which no other does.
_USUAL = "model"


@dataclass(frozen=True, slots=True)
class ActorName:
    """An actor's name, taken apart.

    Attributes:
        text: as it was written, for messages.
        kind: the kind of actor.
        identity: what tables, keys and transcripts know it by; a model's is without its server's address.
        rater: which rater it is where it labels turns.
        digest: SHA-256 of what it says, where that is known beforehand, as of a script; empty else.
        toy: whether it is a stand-in whose conversations show nothing about any system.
        detail: what its kind needs to open it.
    """

    text: str
    kind: str
    identity: str
    rater: str
    digest: str = ""
    toy: bool = False
    detail: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call belongs.

    Attributes:
        conversation: the key of the conversation (64 hexadecimal digits).
        session: how often it was begun, from 1: above 1 where an actor that remembers was cut off.
        transcript: the id that the conversation will have.
        case: the case's id.
        language: the case's language.
        seed: for the actor's own chance; another for each attempt of each call.
    """

    conversation: str
    session: int
    transcript: str
    case: str
    language: str
    seed: int

    @property
    def name(self) -> str:
        """What an actor with a memory knows the conversation by."""
        return _place_name(self.conversation, self.session)


def _place_name(conversation: str, session: int) -> str:
    return f"{conversation[:16]}-{session}"


def wave_key(conversation: str, session: int, purpose: str, ordinal: int) -> str:
    """What a request is for: SHA-256 of the conversation, how often it was begun, and the call site."""
    site = f"{_place_name(conversation, session)}\n{purpose}\n{ordinal}"
    return hashlib.sha256(site.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class WaveFiles:
    """Where a language model's replies come from, and its calls go, in place of a server.

    Attributes:
        answers: of a batch; None where there are none yet.
        writer: what open calls are written by; None where they aren't.
    """

    answers: Answers | None
    writer: CallWriter | None


def reason_and_detail(what: str) -> tuple[str, str]:
    """The beginning of what went wrong, which many calls can share, and what exactly it was; empty where no more is
    said."""
    match = _REASON.match(what)
    if match is None:
        return what, ""
    detail = what[match.end() :]
    return match[1], detail.removesuffix(")") if match[0].endswith("(") else detail


class UnansweredError(Exception):
    """A call got no answer, in a way that may pass: it is asked again by the next run.

    Args:
        reason: in a few words that many calls can share.
        detail: what exactly happened, in one line.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Actor(Protocol):
    """Who replies to calls; opened for one role.

    Attributes:
        room: most calls that it is put at once.
        conversations: most conversations that it takes part in at once; None for any number.
        stateful: whether it remembers what it was asked, so that a conversation can't go on in another process.
        price: what its tokens cost; None where that isn't known or there are none.
        parameters: what tells two of its replies apart beside what it is asked.
    """

    room: int
    conversations: int | None
    stateful: bool
    price: Price | None
    parameters: dict[str, Any]

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Reply to a call; calls, faults and tokens are noted in the record, and every reply with ``count``.

        Raises:
            UnansweredError: there is no answer this time.
            NotAskedError: nothing was sent, as a limit is reached.
            BedsideError: nothing can be asked of it: the run stops.
        """
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class LocalActor:
    """Replies in this process, without any request; an :class:`Actor`.

    Args:
        reply: what it replies to a call; None for an actor that is never asked, or that has its own ``answer``.
        room: most calls that it is put at once.
    """

    conversations: int | None = None
    stateful = False
    price: Price | None = None

    def __init__(self, reply: Callable[[Call], ActorReply] | None, room: int) -> None:
        self.room = room
        self.parameters: dict[str, Any] = {}
        self._reply = reply

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Reply to a call; see :class:`Actor`."""
        assert self._reply is not None, "nobody is asked"
        return self._reply(call)

    async def close(self) -> None:
        """Nothing is held."""


class Spending(CostLimit):
    """What a run may still send, whoever it is sent to.

    Args:
        max_calls: requests sent at most; None for no limit.
        max_cost: US dollars at most, see :class:`bedside.judges.llm.spending.CostLimit`; None for no limit.

    Attributes:
        calls: requests sent.
        spent: US dollars, as far as prices are known.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        super().__init__(max_cost)
        self.max_calls = max_calls

    def take(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            NotAskedError: it may not be.
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise NotAskedError(f"not asked: the limit of {self.max_calls} calls was reached")
        self.calls += 1


class LimitedClient:
    """A client whose requests count against what a run may send; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        client: what sends them.
        spending: what may be sent.
        price: of the client's tokens; None where it isn't known.
        sampling: how a language model is asked to write.
    """

    def __init__(self, client: Client, spending: Spending, price: Price | None, sampling: Sampling) -> None:
        self.max_prompt_tokens: int | None = client.max_prompt_tokens
        self._spending = spending
        self._client = client if price is None else PricedClient(client, price, spending, sampling)

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        self._spending.take()
        try:
            return await self._client.complete(request)
        except NotAskedError:
            self._spending.calls -= 1
            raise

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


@dataclass(frozen=True, slots=True)
class ActorSettings:
    """How an actor is opened.

    Attributes:
        role: whom it plays.
        simulator: the protocol's.
        sampling: how a language model is asked to write.
        spending: what may be sent.
        folder: where the simulation goes.
        max_concurrency: calls under way at once.
        price: of its tokens; None where it isn't known.
        patience: how hard to try.
        minutes: how long a person may talk; None for no limit.
        page: where people sit; None for the keyboard.
        wave: batch files that language models are asked by; None where they are asked themselves.
        places: the room at each address, which all models of a run share.
    """

    role: ActorRole
    simulator: Simulator
    sampling: Sampling
    spending: Spending
    folder: Path
    max_concurrency: int = 8
    price: Price | None = None
    patience: Patience = field(default_factory=Patience)
    minutes: float | None = None
    page: TalkPage | None = None
    wave: WaveFiles | None = None
    places: dict[str, asyncio.Semaphore] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActorKind:
    """One kind of actor.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what it is, in a few words.
        takes: whether a name is one of its kind.
        read: takes the names of its kind apart, which may be more or fewer actors than names; raises a RegistryError
            or an InputError.
        open: makes ready to ask. It raises a BedsideError where the actor isn't set up, as where a key is missing.
        check: raises what ``open`` would raise where actors aren't set up, for all of them, without opening anything.
        words_only: why an actor can't reply with objects to calls of these purposes; empty where it can, or where that
            isn't known before it is asked.
        language: code of the one language that an actor's words are in; None where it isn't known, or may be any.
        free: whether nobody is paid for its replies.
    """

    name: str
    title: str
    takes: Callable[[str], bool]
    read: Callable[[Sequence[str], Simulator], Sequence[ActorName]]
    open: Callable[[ActorName, ActorSettings], Actor]
    check: Callable[[Sequence[ActorName]], None] = lambda names: None
    words_only: Callable[[ActorName, Sequence[str]], str] = lambda name, purposes: ""
    language: Callable[[ActorName], str | None] = lambda name: None
    free: bool = False


ACTORS: Registry[ActorKind] = Registry(
    "bedside.simulation.actors", "ACTOR", "kind of actor", ActorKind, group="bedside.actors"
)
#: What can be named: a text, or a Python function itself.
Named = str | Callable[..., Any]


def read_actors(names: Iterable[Named], simulator: Simulator) -> tuple[ActorName, ...]:
    """The actors that are named, each once, in the order of their names.

    Raises:
        BedsideError: there is no such actor, or two different ones that tables would call alike.
    """
    named = list(names)
    texts: dict[str, list[str]] = {}
    for name in named:
        if isinstance(name, str):
            texts.setdefault(_taker(name), []).append(name)
    # Together, since names of one kind may be one actor, as addresses are that serve one model.
    actors = [actor for kind, own in texts.items() for actor in ACTORS.load(kind).read(own, simulator)]
    actors += [_callable_name(name) for name in named if not isinstance(name, str)]
    by_identity = actors_by_identity(actors)
    order = [identity for name in named for identity in _identities(name, simulator)]
    return tuple(by_identity[identity] for identity in dict.fromkeys(order))


def actors_by_identity(actors: Iterable[ActorName]) -> dict[str, ActorName]:
    """Each actor by what tables call it.

    Raises:
        InputError: two different ones are called alike.
    """
    by_identity: dict[str, ActorName] = {}
    for actor in actors:
        other = by_identity.setdefault(actor.identity, actor)
        if (other.digest, other.detail) != (actor.digest, actor.detail):
            raise InputError(f"two different actors are called {actor.identity}", todo="give one of them another name")
    return by_identity


def _identities(name: Named, simulator: Simulator) -> list[str]:
    if not isinstance(name, str):
        return [_callable_name(name).identity]
    return [actor.identity for actor in ACTORS.load(_taker(name)).read([name], simulator)]


def read_actor(name: Named, simulator: Simulator, argument: str) -> ActorName:
    """The one actor that is named; ``argument`` is what names it."""
    actors = read_actors([name], simulator)
    if len(actors) != 1:
        names = ", ".join(actor.identity for actor in actors)
        raise InputError(f"it names several actors ({names})", where=f"`{argument}`", todo="name a single one")
    return actors[0]


def check_actors(names: Iterable[ActorName]) -> None:
    """See that actors are set up, before anything is done for which they will be asked.

    Raises:
        BedsideError: one isn't, as where a key is missing.
    """
    kinds: dict[str, list[ActorName]] = {}
    for name in names:
        kinds.setdefault(name.kind, []).append(name)
    for kind, own in kinds.items():
        ACTORS.load(kind).check(own)


def open_actor(name: ActorName, settings: ActorSettings) -> Actor:
    """Make ready to ask an actor."""
    return ACTORS.load(name.kind).open(name, settings)


def _taker(text: str) -> str:
    takers = [kind.name for kind in ACTORS.all().values() if kind.name != _USUAL and kind.takes(text)]
    if len(takers) > 1:
        raise RegistryError(
            f"the kinds of actor {takers[0]} and {takers[1]} both take the name {text!r}", todo="uninstall one of them"
        )
    return takers[0] if takers else _USUAL


def _callable_name(function: Callable[..., Any]) -> ActorName:
    from bedside.ratings.names import algorithm_rater

    plain = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", None) or type(function).__module__
    name = f"{module}:{plain}".replace("<", "").replace(">", "").replace("/", ".")
    return ActorName(name, "function", name, algorithm_rater(name), detail=function)
