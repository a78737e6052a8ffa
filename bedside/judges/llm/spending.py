"""A limit of costs that counts what is under way, however many requests that is."""

from __future__ import annotations

import asyncio
from collections import deque

from bedside.judges.llm.prices import Price, estimate_tokens
from bedside.judges.llm.protocol import Client, NotAskedError, OuterClient, Reply, Request, Sampling, UnusableError

#: Tokens that a provider puts around a request: roles, marks of turns, the words about a schema.
_AROUND = 200


class CostLimit:
    """What may be spent, and what is: requests that are under way count with the most that they can cost.

    A request waits while others are under way and it might exceed the limit with them. One alone is let through as long
    as anything is left, so that the limit is exceeded by less than one request's cost.

    Args:
        max_cost: US dollars; None for no limit.

    Attributes:
        calls: requests sent, where who sends them notes them.
        spent: US dollars, of all replies that came, those that were thrown away too.
        known: whether ``spent`` is all: every model's price is known, and its provider counts tokens.
    """

    def __init__(self, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self.calls = 0
        self.spent: float = 0.0
        self.known = True
        self._held = 0.0
        self._under_way = 0
        self._waiting: deque[tuple[float, asyncio.Future[bool]]] = deque()

    @property
    def cost(self) -> float | None:
        """What was spent, in US dollars; None where that isn't known."""
        return self.spent if self.known else None

    @property
    def used_up(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.max_cost is not None and self.spent >= self.max_cost * (1 - 1e-9)  # sums are rounded

    async def hold(self, most: float) -> None:
        """Wait until a request may be sent that costs at most so much, and set that aside.

        Raises:
            NotAskedError: the limit is reached.
        """
        if self._waiting or not self._take(most):
            place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting.append((most, place))
            self._let_through()
            try:
                let = await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled() and place.result():
                    self.settle(most, 0.0)
                raise
            if not let:
                raise NotAskedError(f"not asked: the limit of {self.max_cost:g} US dollars was reached")

    def settle(self, most: float, cost: float) -> None:
        """Note what a request cost for which ``most`` was set aside."""
        self.spent += cost
        self._under_way -= 1
        self._held = self._held - most if self._under_way else 0.0
        self._let_through()

    def _take(self, most: float) -> bool:
        """Set an amount aside, if it is there."""
        if self.max_cost is not None:
            fits = self.spent + self._held + most <= self.max_cost
            if self.used_up or (self._under_way and not fits):
                return False
        self._held += most
        self._under_way += 1
        return True

    def _let_through(self) -> None:
        while self._waiting:
            most, place = self._waiting[0]
            if not place.done():
                let = self._take(most)
                if not let and not self.used_up:
                    return
                place.set_result(let)
            self._waiting.popleft()


class PricedClient(OuterClient):
    """A client whose replies count against a limit of costs; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        client: the model's.
        price: of its tokens.
        limit: what may be spent.
        sampling: how the model is asked to write.
    """

    def __init__(self, client: Client, price: Price, limit: CostLimit, sampling: Sampling) -> None:
        super().__init__(client)
        self._price = price
        self._limit = limit
        self._sampling = sampling

    async def complete(self, request: Request) -> Reply:
        """Send one request, when the limit has room for it.

        Raises:
            NotAskedError: the limit is reached.
        """
        limited = self._limit.max_cost is not None
        most, cost = most_cost(request, self._price, self._sampling) if limited else 0.0, 0.0
        await self._limit.hold(most)
        try:
            reply = await self._client.complete(request)
            cost = self._cost(reply, request)
        except UnusableError as unusable:
            cost = self._cost(unusable.reply, request)
            raise
        finally:
            self._limit.settle(most, cost)
        return reply

    def _cost(self, reply: Reply, request: Request) -> float:
        cost, said = _cost_of(reply, self._price, request)
        self._limit.known = self._limit.known and said
        return cost


def most_cost(request: Request, price: Price, sampling: Sampling) -> float:
    """What a request costs at most, in US dollars: no tokenizer makes more tokens of a text than it has bytes."""
    texts = [message.content for message in request.messages]
    size = sum(len(text.encode("utf-8", "replace")) for text in (*texts, request.schema or ""))
    return price.most(size + _AROUND, sampling.max_tokens)


def _cost_of(reply: Reply, price: Price, request: Request) -> tuple[float, bool]:
    """What a reply cost, in US dollars, and whether the provider said so; where it didn't, an estimate."""
    if reply.is_counted:
        cached, written = reply.cached_tokens or 0, reply.written_tokens or 0
        return price.of(reply.input_tokens or 0, reply.output_tokens or 0, cached, written), True
    asked = sum(estimate_tokens(message.content) for message in request.messages)
    return price.of(asked, estimate_tokens(reply.text)), False
