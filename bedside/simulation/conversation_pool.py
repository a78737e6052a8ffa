"""Many conversations, or records, at once: a bounded number of each queue, begun in the queue's order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

from bedside.judges.llm.protocol import NotAskedError
from bedside.simulation.actor_contract import UnansweredError
from bedside.simulation.conversation_log import LoggedConversation
from bedside.simulation.logged_actors import LoggedActors
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.talk_lines import state_lines


@dataclass(frozen=True, slots=True)
class SimulationProgress:
    """How far a simulation is.

    Attributes:
        planned: conversations in all.
        finished, failed, unfinished: those that ended, by how.
        asked: calls that somebody was asked.
        replayed: calls whose reply was in the log.
        cost: US dollars that were spent, as far as prices are known.
    """

    planned: int
    finished: int
    failed: int
    unfinished: int
    asked: int
    replayed: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class PlannedTalk:
    """A conversation that is to be had, or a record that is to be made.

    Attributes:
        key, id: as the log lists it.
        have: has it; an UnusableConversationError, UnansweredError or NotAskedError says why it comes to nothing.
    """

    key: str
    id: str
    have: Callable[[], Awaitable[LoggedConversation]]


class ConversationPool:
    """Has conversations, and keeps what they come to; used once.

    Args:
        asked: those who are asked.
        planned: how many conversations there are in all.
        progress: called whenever one ends.
    """

    def __init__(
        self,
        asked: LoggedActors,
        planned: int,
        progress: Callable[[SimulationProgress], None] | None = None,
    ) -> None:
        self._asked = asked
        self._planned = planned
        self._progress = progress
        self._ended = {"finished": 0, "failed": 0, "unfinished": 0}

    async def together(self, queues: Iterable[tuple[Iterator[PlannedTalk], int]]) -> None:
        """Have all conversations of all queues, of each so many at once.

        Raises:
            BedsideError: the run can't go on; what was replied is in the log.
        """
        tasks = [asyncio.create_task(self.in_turn(talks)) for talks, width in queues for _ in range(width)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def in_turn(self, talks: Iterator[PlannedTalk]) -> None:
        """Have conversations one after the other; who else takes from the same queue has those between."""
        for talk in talks:
            ended = await _ended(talk)
            await self._asked.log.end(ended)
            self._ended[ended.state] += 1
            if self._progress is not None:
                counts = self._asked.counts
                self._progress(
                    SimulationProgress(
                        self._planned,
                        **self._ended,
                        asked=counts.asked,
                        replayed=counts.replayed,
                        cost=self._asked.spending.cost,
                    )
                )


async def _ended(talk: PlannedTalk) -> LoggedConversation:
    """What a conversation comes to, also where that is nothing."""
    try:
        return await talk.have()
    except UnusableConversationError as error:
        ending = {"whose": error.whose, "reason": error.reason, "detail": error.detail}
        return LoggedConversation(talk.key, "failed", 1, ending, states=state_lines(talk.id, error.states))
    except UnansweredError as error:
        ending = {"whose": "infrastructure", "reason": error.reason, "detail": error.detail}
        return LoggedConversation(talk.key, "failed", 1, ending)
    except NotAskedError as error:
        ending = {"whose": "infrastructure", "reason": "not asked", "detail": str(error)}
        return LoggedConversation(talk.key, "unfinished", 1, ending)
