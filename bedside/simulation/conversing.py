"""One conversation: its controller is played over the log, and what the log doesn't hold is asked."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from bedside.llm.queue import CallRecord
from bedside.simulation.actor_contract import Actor, ActorName, CallPlace, Spending, UnansweredError
from bedside.simulation.conversation_log import CallSite, ConversationLog, LoggedReply
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulators.calls import ACTOR_ROLES, ActorReply, ActorRole, Call
from bedside.simulators.contract import Outcome
from bedside.support.errors import RunError


@dataclass(slots=True)
class CallCounts:
    """What a run did, whoever was asked.

    Attributes:
        asked: calls that somebody was asked.
        replayed: calls whose reply was in the log.
        broken: conversations that were begun anew, as an actor that remembers was cut off.
    """

    asked: int = 0
    replayed: int = 0
    broken: int = 0


class Interlocutors:
    """Those who are asked in a simulation, with the log between: what is in it isn't asked.

    Args:
        plan: the simulation's.
        actors: who is asked, by role and identity.
        log: where replies are kept.
        spending: where costs are counted.
        replay: whether nobody may be asked.
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
        self.plan = plan
        self.log = log
        self.counts = CallCounts()
        self._actors = actors
        self._spending = spending
        self._replay = replay
        self._rooms = {place: asyncio.Semaphore(actor.room) for place, actor in actors.items()}
        #: What several conversations wait for.
        self._shared: dict[CallSite, asyncio.Task[ActorReply]] = {}

    def actor(self, role: ActorRole, conversation: PlannedConversation) -> Actor:
        """Who plays a role in a conversation."""
        return self._actors[role, self.plan.actor(role, conversation.clinician).identity]

    async def converse(self, conversation: PlannedConversation) -> HadConversation:
        """Have a conversation.

        Raises:
            UnusableConversationError, UnansweredError, NotAskedError: it has no outcome, and why.
            BedsideError: the run can't go on.
        """
        stateful = any(self.actor(role, conversation).stateful for role in ("clinician", "patient"))
        session = max(1, self.log.session(conversation.key))
        exchange = _Conversation(self, conversation, session, stateful and not self._replay)
        try:
            return await exchange.had()
        except _CutOffError:
            # Whoever remembers was told this conversation by a process that is no more.
            self.counts.broken += 1
            session += 1
            await self.log.begin_session(conversation.key, session)
            return await _Conversation(self, conversation, session, False).had()

    async def stop(self) -> None:
        """Ask nothing more that several conversations wait for."""
        tasks = list(self._shared.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def shared(self, call: Call, at: CallSite, place: CallPlace, name: ActorName) -> ActorReply:
        """A reply that several conversations share, asked for once."""
        task = self._shared.get(at)
        if task is None:
            logged = self.log.reply(at)
            if logged is not None:
                return self.logged(logged, call, place)
            task = asyncio.create_task(self.ask(call, at, place, name))
            self._shared[at] = task
            task.add_done_callback(lambda _: self._shared.pop(at))
        return await asyncio.shield(task)

    def logged(self, logged: LoggedReply, call: Call, place: CallPlace) -> ActorReply:
        """A reply of the log.

        Raises:
            RunError: it was to something else.
        """
        if logged.prompt != call.digest():
            parts = _parts(call)
            changed = [name for name in parts if logged.parts.get(name) != parts[name]]
            raise RunError(
                f"what the {call.actor} is asked at {_name(call)} of {place.transcript} has changed since it was"
                f" answered ({', '.join(changed) or 'the prompt'})",
                where=str(self.log.path),
                todo="simulate into another folder, or restore what changed",
            )
        self.counts.replayed += 1
        return logged.reply

    async def ask(self, call: Call, at: CallSite, place: CallPlace, name: ActorName) -> ActorReply:
        """A reply to a call that the log doesn't hold, which is in the log when this returns.

        Raises:
            UnansweredError, NotAskedError: there is none.
            BedsideError: the run can't go on.
        """
        if self._replay:
            raise RunError(
                f"the log holds no reply to {_name(call)} of {place.transcript}, and nobody is asked",
                where=str(self.log.path),
                todo="leave `replay` out to ask",
            )
        actor = self._actors[call.actor, name.identity]
        async with self._rooms[call.actor, name.identity]:
            started = _now()
            record = CallRecord()
            self.counts.asked += 1
            try:
                reply = await actor.answer(call, place, record)
            except UnansweredError as error:
                record.faults.append(str(error))
                await self._keep(call, at, name, actor, record, started, None)
                raise
        await self._keep(call, at, name, actor, record, started, reply)
        return reply

    async def _keep(
        self,
        call: Call,
        at: CallSite,
        name: ActorName,
        actor: Actor,
        record: CallRecord,
        started: str,
        reply: ActorReply | None,
    ) -> None:
        cost = None
        if actor.price is not None and record.input_tokens is not None and record.output_tokens is not None:
            cost = actor.price.of(record.input_tokens, record.output_tokens)
            self._spending.cost += cost
        elif not record.calls:
            cost = 0.0
        await self.log.keep(
            LoggedReply(
                at,
                prompt=call.digest(),
                parts=_parts(call),
                actor=call.actor,
                model=name.identity,
                parameters=actor.parameters,
                state="failed" if reply is None else "answered",
                reply=ActorReply("") if reply is None else reply,
                faults=tuple(record.faults),
                calls=record.calls,
                input_tokens=record.input_tokens,
                output_tokens=record.output_tokens,
                cost=cost,
                started=started,
                finished=_now(),
                endpoint=record.endpoint,
            )
        )


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
        self._replied: dict[ActorRole, list[str]] = {role: [] for role in ACTOR_ROLES}

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
            _seed(who.plan.seed, at),
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
    if call.actor != "evaluator" and hidden.diagnosis:
        texts.append(hidden.diagnosis)
    if not texts:
        return False
    told = f"{call.brief}\n{call.instruction}"
    spoken = "\n".join((*(line.text for line in call.history), *replied))
    return any(text in told and text not in spoken for text in texts)


def _parts(call: Call) -> dict[str, str]:
    """Digests of the parts of what is asked, to say which changed."""
    parts: dict[str, Any] = {
        "the brief": call.brief,
        "what was said before": [(line.role, line.text) for line in call.history],
        "the instruction": call.instruction,
        "the objection": call.objection,
        "the schema": call.schema,
        "the actor": call.actor,
    }
    return {
        name: hashlib.sha256(orjson.dumps(part, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
        for name, part in parts.items()
    }


def _name(call: Call) -> str:
    attempt = f", attempt {call.attempt}" if call.attempt > 1 else ""
    return f"{call.purpose} {call.ordinal}{attempt}"


def _seed(seed: int, at: CallSite) -> int:
    """A number below 2³¹ for the actor's own chance at one call."""
    name = f"{seed}\n{at.key}\n{at.purpose}\n{at.ordinal}\n{at.attempt}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
