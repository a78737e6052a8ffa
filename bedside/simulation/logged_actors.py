"""Those who are asked, with the log between: what is in it isn't asked again. Many conversations at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson

from bedside.core.errors import RunError
from bedside.judges.llm.protocol import SENDING, NotAskedError
from bedside.judges.llm.queue import CallRecord
from bedside.simulation.actor_contract import Actor, ActorName, CallPlace, Spending, UnansweredError
from bedside.simulation.conversation_log import CallSite, ConversationLog, LoggedConversation, LoggedReply, state_lines
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Exchange
from bedside.simulation.simulators.contract import UnusableConversationError

T = TypeVar("T")


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


class LoggedActors:
    """Those who are asked, with the log between.

    Args:
        actors: who is asked, by role and identity.
        log: where replies are kept.
        spending: where costs are counted.
        counts: where calls are counted.
        replay: whether nobody may be asked.
    """

    def __init__(
        self,
        actors: Mapping[tuple[ActorRole, str], Actor],
        log: ConversationLog,
        *,
        spending: Spending,
        counts: CallCounts,
        replay: bool = False,
    ) -> None:
        self.actors = actors
        self.log = log
        self.replay = replay
        self.counts = counts
        self.spending = spending
        #: Who plays several roles is asked no more at once for that.
        self._rooms = {identity: asyncio.Semaphore(actor.room) for (_, identity), actor in actors.items()}
        #: What several conversations wait for.
        self._shared: dict[CallSite, asyncio.Task[ActorReply]] = {}

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
                return _as_said(self.logged(logged, call, place), name)
            task = asyncio.create_task(self.ask(call, at, place, name))
            self._shared[at] = task
            task.add_done_callback(lambda _: self._shared.pop(at))
        return _as_said(await asyncio.shield(task), name)

    async def answer(
        self, call: Call, at: CallSite, place: CallPlace, *, name: ActorName, replies: Mapping[CallSite, LoggedReply]
    ) -> ActorReply:
        """A reply to a call: that of the log, of which ``replies`` are what may be looked up, or else a new one."""
        logged = replies.get(at)
        reply = await self.ask(call, at, place, name) if logged is None else self.logged(logged, call, place)
        return _as_said(reply, name)

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
        if self.replay:
            raise RunError(
                f"the log holds no reply to {_name(call)} of {place.transcript}, and nobody is asked",
                where=str(self.log.path),
                todo="leave `replay` out to ask",
            )
        actor = self.actors[call.actor, name.identity]
        async with self._rooms[name.identity]:
            started = _now()
            record, sent = CallRecord(), 0
            outcome: ActorReply | UnansweredError

            def note() -> None:
                nonlocal sent
                sent += 1
                self.log.note_sent(call.actor)

            noting = SENDING.set(note)
            try:
                outcome = await actor.answer(call, place, record)
            except UnansweredError as error:
                record.faults.append(str(error))
                outcome = error
            finally:
                SENDING.reset(noting)
            self.log.note_sent(call.actor, record.calls - sent)  # by clients that don't say when they send
            reply = None if isinstance(outcome, UnansweredError) else outcome
            await self._keep(call, at, name, actor, record, started, reply)
        if isinstance(outcome, UnansweredError):
            raise outcome
        return outcome

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
        self.counts.asked += 1
        cost = None
        if actor.price is not None and record.input_tokens is not None and record.output_tokens is not None:
            cost = actor.price.of(
                record.input_tokens, record.output_tokens, record.cached_tokens or 0, record.written_tokens or 0
            )
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


def _as_said(reply: ActorReply, name: ActorName) -> ActorReply:
    """A reply that knows whether its words are fixed."""
    return replace(reply, fixed=True) if name.toy else reply


async def play(exchange: Exchange[T], answers: Callable[[tuple[Call, ...]], Awaitable[tuple[ActorReply, ...]]]) -> T:
    """Play what makes a conversation or a record to its end.

    Args:
        exchange: yields calls that may be answered at once.
        answers: answers them.
    """
    try:
        calls = next(exchange)
        while True:
            calls = exchange.send(await answers(calls))
    except StopIteration as end:
        outcome: T = end.value
        return outcome
    finally:
        exchange.close()


async def answered(calls: tuple[Call, ...], answer: Callable[[Call], Awaitable[ActorReply]]) -> tuple[ActorReply, ...]:
    """Replies to calls that are answered at once."""
    if len(calls) == 1:
        return (await answer(calls[0]),)
    answers = await asyncio.gather(*map(answer, calls), return_exceptions=True)
    # What was answered beside a failure is in the log; of several failures, the first call's counts.
    for reply in answers:
        if isinstance(reply, BaseException):
            raise reply
    return tuple(reply for reply in answers if isinstance(reply, ActorReply))


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


def call_seed(seed: int, at: CallSite) -> int:
    """A number below 2³¹ for the actor's own chance at one call."""
    name = f"{seed}\n{at.key}\n{at.purpose}\n{at.ordinal}\n{at.attempt}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# -- Many conversations, or records, at once ------------------------------------------------------------


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
        self, asked: LoggedActors, planned: int, progress: Callable[[SimulationProgress], None] | None = None
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
                        cost=self._asked.spending.spent,
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
