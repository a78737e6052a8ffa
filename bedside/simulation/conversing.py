"""One conversation: its controller is played over the log, and what the log doesn't hold is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bedside.simulation.actor_contract import Actor, CallPlace, Spending
from bedside.simulation.conversation_log import CallSite, ConversationLog
from bedside.simulation.logged_actors import LoggedActors, call_seed
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulators.contract import Outcome


class Interlocutors(LoggedActors):
    """Those who are asked in a simulation.

    Args:
        plan: the simulation's.
        actors, log, spending, replay: see :class:`~bedside.simulation.logged_actors.LoggedActors`.
    """

    def __init__(
        self,
        plan: SimulationPlan,
        actors: Mapping[tuple[ActorRole, str], Actor],
        log: ConversationLog,
        *,
        spending: Spending,
        replay: bool = False,
    ) -> None:
        super().__init__(actors, log, spending=spending, replay=replay)
        self.plan = plan

    def actor(self, role: ActorRole, conversation: PlannedConversation) -> Actor:
        """Who plays a role in a conversation."""
        return self.actors[role, self.plan.actor(role, conversation.clinician).identity]

    async def converse(self, conversation: PlannedConversation) -> HadConversation:
        """Have a conversation.

        Raises:
            UnusableConversationError, UnansweredError, NotAskedError: it has no outcome, and why.
            BedsideError: the run can't go on.
        """
        stateful = any(self.actor(role, conversation).stateful for role in ("clinician", "patient"))
        session = max(1, self.log.session(conversation.key))
        exchange = _Conversation(self, conversation, session, stateful and not self.replay)
        try:
            return await exchange.had()
        except _CutOffError:
            # Whoever remembers was told this conversation by a process that is no more.
            self.counts.broken += 1
            session += 1
            await self.log.begin_session(conversation.key, session)
            return await _Conversation(self, conversation, session, False).had()


@dataclass(frozen=True, slots=True)
class HadConversation:
    """A conversation that was had.

    Attributes:
        outcome: what it came to.
        session: how often it was begun.
        prompts: the prompt files that its calls were made from, sorted.
        hidden: calls that held a text which the case hides from whom they were put to.
    """

    outcome: Outcome
    session: int
    prompts: tuple[str, ...]
    hidden: int


class _CutOffError(Exception):
    """An actor that remembers would have to go on with what another process began."""


class _Conversation:
    """A conversation under way.

    Args:
        who: those who are asked.
        conversation: which it is.
        session: how often it was begun.
        remembers: whether it can't go on where another process stopped.
    """

    def __init__(
        self, who: Interlocutors, conversation: PlannedConversation, session: int, remembers: bool
    ) -> None:
        self._who = who
        self._conversation = conversation
        self._session = session
        self._key = conversation.key if session == 1 else f"{conversation.key}#{session}"
        self._replies = who.log.replies(self._key)
        self._begun = remembers and bool(self._replies)
        self._prompts: set[str] = set()
        self._hidden = 0
        self._replied: dict[ActorRole, list[str]] = {role: [] for role in who.plan.simulator.roles}

    async def had(self) -> HadConversation:
        """Play the controller to its end."""
        controller = self._who.plan.simulator.converse(self._who.plan.situation(self._conversation))
        try:
            calls = next(controller)
            while True:
                replies = await self._answers(calls)
                for call, reply in zip(calls, replies, strict=True):
                    self._replied[call.actor].append(reply.text)
                calls = controller.send(replies)
        except StopIteration as end:
            return HadConversation(end.value, self._session, tuple(sorted(self._prompts)), self._hidden)
        finally:
            controller.close()

    async def _answers(self, calls: tuple[Call, ...]) -> tuple[ActorReply, ...]:
        if len(calls) == 1:
            return (await self._answer(calls[0]),)
        answers = await asyncio.gather(*map(self._answer, calls), return_exceptions=True)
        # What was answered beside a failure is in the log; of several failures, the first call's counts.
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return tuple(answer for answer in answers if isinstance(answer, ActorReply))

    async def _answer(self, call: Call) -> ActorReply:
        who, conversation = self._who, self._conversation
        name = who.plan.actor(call.actor, conversation.clinician)
        shared = call.scope != "conversation"
        key = conversation.key_of(call.scope) if shared else self._key
        at = CallSite(key, call.purpose, call.ordinal, call.attempt)
        place = CallPlace(
            key if shared else conversation.key,
            1 if shared else self._session,
            conversation.id,
            conversation.case.id,
            conversation.case.language,
            call_seed(who.plan.seed, at),
        )
        self._prompts.update(call.prompt.split())
        self._hidden += holds_hidden(call, conversation, self._replied[call.actor])
        if shared:
            return await who.shared(call, at, place, name)
        logged = self._replies.get(at)
        if logged is not None:
            return who.logged(logged, call, place)
        if self._begun:
            raise _CutOffError
        return await who.ask(call, at, place, name)


def holds_hidden(call: Call, conversation: PlannedConversation, replied: Sequence[str]) -> bool:
    """Whether what an actor is told holds a text that the case hides from it and nobody said yet.

    A text that was said stands in the history, and may be repeated by who heard it; what the actor ``replied`` itself
    may be put to it again.
    """
    hidden = conversation.case.hidden
    texts: list[str] = []
    if call.actor == "clinician":
        for concern in hidden.concerns:
            texts += (concern.text, *concern.voiced, *concern.evidence)
    elif call.actor == "patient":
        for concern in hidden.concerns:
            texts += concern.evidence
    if call.actor in ("clinician", "patient") and hidden.diagnosis:
        texts.append(hidden.diagnosis)
    if not texts:
        return False
    told = f"{call.brief}\n{call.instruction}"
    spoken = "\n".join((*(line.text for line in call.history), *replied))
    return any(text in told and text not in spoken for text in texts)
