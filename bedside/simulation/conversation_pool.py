"""Many conversations at once: a bounded number for each clinician, begun in the plan's order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bedside.llm.protocol import NotAskedError
from bedside.simulation.actor_contract import UnansweredError
from bedside.simulation.conversation_log import ConversationLog, LoggedConversation
from bedside.simulation.conversing import Interlocutors
from bedside.simulation.simulation_plan import PlannedConversation
from bedside.simulation.talk_lines import finished_conversation, state_lines
from bedside.simulators.contract import UnusableConversationError


@dataclass(frozen=True, slots=True)
class SimulationProgress:
    """How far a simulation is.

    Attributes:
        planned: conversations in all.
        finished, failed, unfinished: those that ended, by how.
        asked: calls that somebody was asked.
        replayed: calls whose reply was in the log.
    """

    planned: int
    finished: int
    failed: int
    unfinished: int
    asked: int
    replayed: int


class ConversationPool:
    """Has the conversations of a plan; used once.

    Args:
        who: those who are asked.
        log: where outcomes are kept.
        widths: how many conversations each clinician has at once, by identity.
        progress: called whenever a conversation ends.
    """

    def __init__(
        self,
        who: Interlocutors,
        log: ConversationLog,
        widths: dict[str, int],
        progress: Callable[[SimulationProgress], None] | None = None,
    ) -> None:
        self._who = who
        self._log = log
        self._widths = widths
        self._progress = progress
        self._ended = {"finished": 0, "failed": 0, "unfinished": 0}

    async def run(self) -> None:
        """Have all conversations: those with people first, one after the other, as nothing goes on while they type.

        Raises:
            BedsideError: the run can't go on; what was replied is in the log.
        """
        plan = self._who.plan
        try:
            if plan.has_people():
                planned = plan.conversations()
                await self._work(conversation for conversation in planned if plan.people(conversation))
            await self._together()
        finally:
            await self._who.stop()

    async def _together(self) -> None:
        plan = self._who.plan
        workers = []
        for clinician in plan.clinicians:
            planned = plan.conversations(clinician)
            conversations = (conversation for conversation in planned if not plan.people(conversation))
            workers += [self._work(conversations) for _ in range(self._widths[clinician.identity])]
        tasks = [asyncio.create_task(worker) for worker in workers]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, conversations: Iterator[PlannedConversation]) -> None:
        for conversation in conversations:  # shared by the clinician's workers: each takes the next
            ended = await self._end(conversation)
            await self._log.end(ended)
            self._ended[ended.state] += 1
            if self._progress is not None:
                counts = self._who.counts
                self._progress(
                    SimulationProgress(
                        len(self._who.plan),
                        **self._ended,
                        asked=counts.asked,
                        replayed=counts.replayed,
                    )
                )

    async def _end(self, conversation: PlannedConversation) -> LoggedConversation:
        key = conversation.key
        try:
            had = await self._who.converse(conversation)
        except UnusableConversationError as error:
            ending = {"whose": error.whose, "reason": error.reason, "detail": error.detail}
            states = state_lines(conversation.id, error.states)
            return LoggedConversation(key, "failed", 1, ending, states=states)
        except UnansweredError as error:
            ending = {"whose": "infrastructure", "reason": error.reason, "detail": error.detail}
            return LoggedConversation(key, "failed", 1, ending)
        except NotAskedError as error:
            ending = {"whose": "infrastructure", "reason": "not asked", "detail": str(error)}
            return LoggedConversation(key, "unfinished", 1, ending)
        return finished_conversation(self._who.plan, conversation, had)
