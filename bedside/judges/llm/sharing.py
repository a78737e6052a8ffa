"""Sharing calls out among endpoints that serve one model, each no faster than it may be asked.

Calls whose chats begin alike (in judging, those about one transcript) go to one endpoint, so that its prefix cache
serves them: the one that weighted rendezvous hashing prefers, which is the same in every run and each as often as its
weight says.
They wait there while it is full; an endpoint that has nothing to do takes over what came last to the one where most
waits, all calls that begin alike first.

An endpoint at its limit (429, 503) is left alone for as long as it says, and then sent less until it keeps up. One
that doesn't answer, refuses access or fails three times in a row is set aside, and tried with a single call after a
while. Where all are set aside, calls go to them as if they weren't, and what becomes of that is for whoever
asks to decide, as it is with a single endpoint.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bedside.judges.llm.contract import open_model
from bedside.judges.llm.endpoints import label, rooms, with_endpoint_fields
from bedside.judges.llm.model_names import Endpoint, ModelName
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.llm.protocol import (
    Client,
    FaultError,
    LanguageModelError,
    OuterClient,
    RefusedError,
    Reply,
    Request,
    Sampling,
    UnusableError,
    WrongFormError,
)

_LOG = logging.getLogger(__name__)
#: Faults in a row that set an endpoint aside; one that never answered is set aside by its first.
_STRIKES = 3
#: An endpoint that has nothing to do waits so long for calls of its own before it takes others', in seconds.
_OWN_FIRST = 0.02
#: How much longer than after a busy answer an endpoint that was set aside is left alone.
_ASIDE = 4.0


@dataclass(frozen=True, slots=True)
class Sharing:
    """How calls are shared out among endpoints.

    Attributes:
        max_concurrency: requests under way at the endpoint of the largest weight.
        first_wait: seconds that an endpoint at its limit is left alone where it doesn't say; doubled each time.
        longest_wait: seconds that no wait exceeds.
        rpm, tpm: requests and tokens a minute that an endpoint is sent, unless it has its own; None for no limit.
        places: the room at each address, by its URL, of all models that are opened with it; filled as they are.
    """

    max_concurrency: int = 8
    first_wait: float = 0.5
    longest_wait: float = 60.0
    rpm: float | None = None
    tpm: float | None = None
    places: dict[str, asyncio.Semaphore] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Server:
    """What is known of one endpoint.

    Attributes:
        label, weight, client, room: what it is called, its share, what asks it, and how many requests it takes at once.
        limit: how many it is sent at the moment.
        in_flight: how many are under way.
        waiting: calls for it that wait, by what their prompts begin with, in the order in which they came.
        answered: whether it ever replied.
        strikes: faults since its last answer; those that come in together count once.
        rests: times it was left alone since its last answer.
        resume: when it may be asked again, in the loop's time.
        aside: whether it is set aside.
        refusal: why nothing can be asked of it, where it said so.
    """

    label: str
    weight: float
    client: Client
    room: int
    limit: float
    in_flight: int = 0
    waiting: dict[str, deque[asyncio.Future[_Server]]] = field(default_factory=dict)
    answered: bool = False
    strikes: int = 0
    rests: int = 0
    resume: float = 0.0
    aside: bool = False
    refusal: LanguageModelError | None = None

    @property
    def waits(self) -> int:
        """How many calls wait."""
        return sum(map(len, self.waiting.values()))

    def preference(self, opening: str) -> float:
        """How much calls that begin so belong here: the largest wins, each endpoint as often as its weight says."""
        digest = hashlib.sha256(f"{opening} {self.label}".encode()).digest()
        share = (int.from_bytes(digest[:8]) + 1) / (2**64 + 1)
        return -self.weight / math.log(share)


class SharedOut:
    """Asks several endpoints; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        endpoints: where the model is served.
        clients: what asks each.
        sharing: how many requests at once, and waits.
    """

    def __init__(self, endpoints: Sequence[Endpoint], clients: Sequence[Client], sharing: Sharing) -> None:
        self._sharing = sharing
        self.inner = tuple(clients)
        self._servers = [
            _Server(label(endpoint), endpoint.weight, client, room, float(room))
            for endpoint, client, room in zip(
                endpoints, clients, rooms(endpoints, sharing.max_concurrency), strict=True
            )
        ]
        limits = [client.max_prompt_tokens for client in clients if client.max_prompt_tokens is not None]
        self.max_prompt_tokens: int | None = min(limits, default=None)
        #: Where calls are that begin alike, and how many of them are under way or waiting.
        self._homes: dict[str, tuple[_Server, int]] = {}
        #: The form of structured output to try next for a judgement, at an endpoint that didn't take another.
        self._forms: dict[tuple[str, str], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def complete(self, request: Request) -> Reply:
        """Send one request when an endpoint has room for it; see :class:`bedside.judges.llm.protocol.Client`."""
        opening = request.opening
        try:
            server = await self._place(opening)
            began = asyncio.get_running_loop().time()
            form = self._forms.get((request.key, server.label), 0)
            try:
                reply = await server.client.complete(replace(request, form=form))
            except UnusableError:
                self._good(server)
                raise
            except WrongFormError as wrong:
                self._forms[request.key, server.label] = wrong.form
                raise
            except FaultError as fault:
                raise self._bad(server, fault, began) from fault
            except LanguageModelError as refusal:
                raise self._no_entry(server, refusal) from refusal
            except RefusedError as refused:
                raise self._refused(server, refused) from refused
            finally:
                server.in_flight -= 1
            self._good(server)
            self._forms.pop((request.key, server.label), None)
            return reply
        finally:
            self._leave(opening)
            self._fill()

    async def close(self) -> None:
        """Close all connections."""
        if self._timer is not None:
            self._timer.cancel()
        for server in self._servers:
            await server.client.close()

    # -- whose turn it is ----------------------------------------------------------------------------

    async def _place(self, opening: str) -> _Server:
        """Wait until an endpoint has room; the request is counted there."""
        home, calls = self._homes.get(opening, (None, 0))
        if home is None or not self._serves(home):
            home = self._preferred(opening)
        self._homes[opening] = (home, calls + 1)
        place: asyncio.Future[_Server] = asyncio.get_running_loop().create_future()
        home.waiting.setdefault(opening, deque()).append(place)
        self._fill()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                place.result().in_flight -= 1
            raise

    def _leave(self, opening: str) -> None:
        home, calls = self._homes[opening]
        if calls > 1:
            self._homes[opening] = (home, calls - 1)
        else:
            del self._homes[opening]

    def _serves(self, server: _Server) -> bool:
        """Whether calls are meant for an endpoint at the moment."""
        return self._all_aside or (not server.aside and server.resume <= self._now())

    @property
    def _all_aside(self) -> bool:
        return all(server.aside for server in self._servers)

    def _preferred(self, opening: str) -> _Server:
        serving = [server for server in self._servers if self._serves(server)]
        if serving:
            return max(serving, key=lambda server: server.preference(opening))
        return min((server for server in self._servers if not server.aside), key=lambda server: server.resume)

    def _fill(self) -> None:
        """Let calls go for which there is room, each where it belongs unless far more waits there than elsewhere."""
        for server in self._servers:
            while self._serves(server) and server.in_flight < int(server.limit):
                if not self._next(server) and not self._take_over(server, server.room):
                    break
        if self._timer is None and any(server.waiting for server in self._servers):
            # Whoever has room now may have calls of its own in a moment.
            self._timer = asyncio.get_running_loop().call_later(_OWN_FIRST, self._even_out)

    def _next(self, server: _Server) -> bool:
        """Let the first call that waits for an endpoint go; whether there was one."""
        while server.waiting:
            opening = next(iter(server.waiting))
            calls = server.waiting[opening]
            place = calls.popleft()
            if not calls:
                del server.waiting[opening]
            if not place.done():
                server.in_flight += 1
                place.set_result(server)
                return True
        return False

    def _even_out(self) -> None:
        """Let whoever has room take over what waits elsewhere; one that was set aside is tried with a single call."""
        self._timer = None
        for server in self._servers:
            most = 1 if server.aside and not self._all_aside else int(server.limit)
            while server.resume <= self._now() and server.in_flight < most:
                if not self._next(server) and not self._take_over(server, 0):
                    break
        self._fill()

    def _take_over(self, server: _Server, least: int) -> bool:
        """Take over what came last to the endpoint where most waits, if that is more than ``least``."""
        busiest = max(self._servers, key=lambda other: other.waits / other.room)
        if busiest.waits <= least:
            return False
        opening, calls = busiest.waiting.popitem()
        if server.aside or (not busiest.waiting and len(calls) > 1):
            moved = [calls.pop() for _ in range(1 if server.aside else len(calls) // 2)]
            if calls:
                busiest.waiting[opening] = calls
            calls = deque(reversed(moved))
        else:
            self._homes[opening] = (server, self._homes[opening][1])
        server.waiting.setdefault(opening, deque()).extend(calls)
        return True

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # -- how it went ---------------------------------------------------------------------------------

    def _good(self, server: _Server) -> None:
        if server.aside:
            _LOG.warning("%s answers again", server.label)
        server.answered, server.aside, server.refusal = True, False, None
        server.strikes = server.rests = 0
        server.limit = min(server.room, server.limit + 1)

    def _bad(self, server: _Server, fault: FaultError, began: float) -> FaultError:
        """Note a fault; returns the one to raise."""
        if began >= server.resume:  # it isn't one of several that failed together
            server.strikes += 1
            gone = server.strikes >= _STRIKES or (fault.unreachable and not server.answered)
            if gone or server.aside:
                self._set_aside(server, fault.what)
            elif fault.busy:
                server.limit = max(1.0, server.limit / 2)
                self._rest(server, fault.wait or self._doubled(server))
        return FaultError(
            fault.what,
            wait=fault.wait,
            unreachable=fault.unreachable and not any(other.answered for other in self._servers),
            elsewhere=server.resume > self._now() and self._others_serve,
        )

    def _no_entry(self, server: _Server, refusal: LanguageModelError) -> Exception:
        """Note that nothing can be asked of an endpoint; returns what to raise."""
        server.refusal = refusal
        self._set_aside(server, refusal.what)
        if all(other.refusal for other in self._servers):
            return refusal
        return FaultError(str(refusal), elsewhere=self._others_serve)

    def _refused(self, server: _Server, refused: RefusedError) -> Exception:
        """Note that a request was refused: by an endpoint that never answered any, the fault may be its own."""
        if server.answered or not any(other.answered for other in self._servers):
            return refused
        self._set_aside(server, str(refused))
        return FaultError(str(refused), elsewhere=self._others_serve)

    @property
    def _others_serve(self) -> bool:
        return not self._all_aside and any(map(self._serves, self._servers))

    def _set_aside(self, server: _Server, why: str) -> None:
        if server.aside and server.resume > self._now():
            return  # for what came in together with this
        if not server.aside:
            server.aside = True
            number = sum(not other.aside for other in self._servers)
            remaining = f"{number} of {len(self._servers)} endpoints are left" if number else "no endpoint is left"
            _LOG.warning("%s is set aside: %s; %s", server.label, why, remaining)
        server.limit = 1.0
        if self._all_aside:
            for other in self._servers:
                other.limit = float(other.room)
        self._rest(server, _ASIDE * self._doubled(server))

    def _doubled(self, server: _Server) -> float:
        """How long an endpoint is left alone: twice as long each time."""
        return self._sharing.first_wait * 2.0 ** min(server.rests, 20)

    def _rest(self, server: _Server, seconds: float) -> None:
        """Leave an endpoint alone, and give what waits for it to others."""
        server.rests += 1
        server.resume = self._now() + min(seconds, self._sharing.longest_wait)
        moved, server.waiting = server.waiting, {}
        for opening, calls in moved.items():
            home = self._preferred(opening)
            home.waiting.setdefault(opening, deque()).extend(calls)
            self._homes[opening] = (home, self._homes[opening][1])


# -- Requests and tokens a minute -----------------------------------------------------------------------
# A provider that refuses what comes too fast is waited for in any case (429); with its limits known, nothing is
# refused.

_MINUTE = 60.0
#: What a reply is reckoned at until the first has come.
_REPLY_TOKENS = 300.0


class PacedClient(OuterClient):
    """Asks another client no faster than so; a :class:`bedside.judges.llm.protocol.Client`.

    Each call takes the time that it has at these limits, one after the other. Tokens are estimated before a call, and
    what it really took is made up for by those after it.

    Args:
        client: what is asked.
        rpm: requests a minute; None for no limit.
        tpm: tokens a minute, of prompts and replies; likewise.
    """

    def __init__(self, client: Client, rpm: float | None, tpm: float | None) -> None:
        super().__init__(client)
        self._rpm, self._tpm = rpm, tpm
        #: When the next call may be sent, in the loop's time.
        self._next = 0.0
        self._replies, self._reply_tokens = 0, _REPLY_TOKENS

    async def complete(self, request: Request) -> Reply:
        """Send one request when its time has come; see :class:`bedside.judges.llm.protocol.Client`."""
        tokens = 0.0
        if self._tpm is not None:
            tokens = self._reply_tokens + sum(estimate_tokens(message.content) for message in request.messages)
        now = asyncio.get_running_loop().time()
        begin = max(now, self._next)
        self._next = begin + max(_MINUTE / self._rpm if self._rpm else 0.0, self._seconds(tokens))
        if begin > now:
            await asyncio.sleep(begin - now)
        try:
            reply = await self._client.complete(request)
        except UnusableError as unusable:
            self._settle(unusable.reply, tokens)
            raise
        self._settle(reply, tokens)
        return reply

    def _seconds(self, tokens: float) -> float:
        return tokens * _MINUTE / self._tpm if self._tpm else 0.0

    def _settle(self, reply: Reply, tokens: float) -> None:
        """Make up for what a call took beyond what it was reckoned at, or left."""
        if self._tpm is None or reply.input_tokens is None or reply.output_tokens is None:
            return
        self._replies += 1
        self._reply_tokens += (reply.output_tokens - self._reply_tokens) / self._replies
        self._next += self._seconds(reply.input_tokens + reply.output_tokens - tokens)


class RoomedClient(OuterClient):
    """Asks another client while its address has room; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        client: what is asked.
        room: at the address, which other models may share.
    """

    def __init__(self, client: Client, room: asyncio.Semaphore) -> None:
        super().__init__(client)
        self._room = room

    async def complete(self, request: Request) -> Reply:
        """Send one request when there is room; see :class:`bedside.judges.llm.protocol.Client`."""
        async with self._room:
            return await self._client.complete(request)


# -- A model, wherever it is served ---------------------------------------------------------------------


def open_client(name: ModelName, sampling: Sampling, sharing: Sharing | None = None) -> Client:
    """Make ready to ask a model, wherever it is served.

    Args:
        name: the model's.
        sampling: how it is asked to write.
        sharing: how calls are shared out where several endpoints serve it.

    Raises:
        MissingExtraError: a library for it isn't installed.
        LanguageModelError: it isn't set up, as where its key is missing.
    """
    sharing = sharing or Sharing()
    endpoints = name.endpoints or (Endpoint(name),)
    sizes = rooms(endpoints, sharing.max_concurrency)
    clients = [_open_endpoint(*place, sampling, sharing) for place in zip(endpoints, sizes, strict=True)]
    return SharedOut(endpoints, clients, sharing) if len(clients) > 1 else clients[0]


def _open_endpoint(endpoint: Endpoint, room: int, sampling: Sampling, sharing: Sharing) -> Client:
    """What asks one endpoint, as fast as it may be asked, with as many requests at once as its address takes."""
    client = open_model(endpoint.name, with_endpoint_fields(sampling, endpoint.name))
    if endpoint.name.url is not None:
        client = RoomedClient(client, sharing.places.setdefault(endpoint.name.url, asyncio.Semaphore(room)))
    rpm, tpm = endpoint.rpm or sharing.rpm, endpoint.tpm or sharing.tpm
    return client if rpm is None and tpm is None else PacedClient(client, rpm, tpm)
