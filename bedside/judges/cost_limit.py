"""A limit of what a judge's replies may cost."""

from __future__ import annotations

from bedside.llm.prices import Price
from bedside.llm.protocol import Client, NotAskedError, Reply, Request, UnusableError


class CostLimitedClient:
    """A client that sends nothing more once its replies have cost so much; a :class:`bedside.llm.protocol.Client`.

    What is under way when the limit is reached is still waited for, and counts.

    Args:
        client: the judge's.
        price: of its tokens.
        max_cost: in US dollars.
    """

    def __init__(self, client: Client, price: Price, max_cost: float) -> None:
        self.max_prompt_tokens = client.max_prompt_tokens
        self._client = client
        self._price = price
        self._max_cost = max_cost
        self._cost = 0.0

    async def complete(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            NotAskedError: the limit is reached.
        """
        if self._cost >= self._max_cost:
            raise NotAskedError(f"not asked: the limit of {self._max_cost:g} US dollars was reached")
        try:
            reply = await self._client.complete(request)
        except UnusableError as unusable:
            self._count(unusable.reply)
            raise
        self._count(reply)
        return reply

    def _count(self, reply: Reply) -> None:
        self._cost += self._price.of(reply.input_tokens or 0, reply.output_tokens or 0)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()
