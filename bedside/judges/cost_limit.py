"""What judges cost, and a limit of it."""

from __future__ import annotations

from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Client, NotAskedError, Reply, Request, UnusableError


class JudgeBudget:
    """What judges may cost, all together, and have cost and sent.

    Args:
        max_cost: once replies have cost so many US dollars, nothing more is sent; None for no limit.

    Attributes:
        spent: US dollars, of all replies that came, those that were thrown away too.
        known: whether that is all: the prices of all judges are known.
        calls: requests sent.
    """

    def __init__(self, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self.spent: float = 0.0
        self.known = True
        self.calls = 0

    @property
    def cost(self) -> float | None:
        """What was spent, in US dollars; None where that isn't known."""
        return self.spent if self.known else None

    @property
    def used_up(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.max_cost is not None and self.spent >= self.max_cost


class PricedClient:
    """A client whose replies count against a budget; a :class:`bedside.judges.llm.protocol.Client`.

    What is under way when the limit is reached is still waited for, and counts.

    Args:
        client: the judge's.
        price: of its tokens.
        budget: what judges may cost.
    """

    def __init__(self, client: Client, price: Price, budget: JudgeBudget) -> None:
        self.max_prompt_tokens: int | None = client.max_prompt_tokens
        self._client = client
        self._price = price
        self._budget = budget

    async def complete(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            NotAskedError: the limit is reached.
        """
        if self._budget.used_up:
            raise NotAskedError(f"not asked: the limit of {self._budget.max_cost:g} US dollars was reached")
        try:
            reply = await self._client.complete(request)
        except UnusableError as unusable:
            self._count(unusable.reply)
            raise
        self._count(reply)
        return reply

    def _count(self, reply: Reply) -> None:
        tokens = reply.input_tokens or 0, reply.output_tokens or 0, reply.cached_tokens or 0
        self._budget.spent += self._price.of(*tokens)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()
