"""Making records that are no conversations, such as cases of notes: each is played over the log like a conversation.

A record is made by a generator of calls, as a simulator's controller is one. So what is replied is on disk before
anything else is asked, the same command goes on where it was stopped, and a replay asks nobody.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bedside import __version__
from bedside.llm.protocol import NotAskedError, Sampling
from bedside.simulation.actor_contract import (
    Actor,
    ActorName,
    ActorSettings,
    CallPlace,
    Spending,
    UnansweredError,
    open_actor,
)
from bedside.simulation.conversation_log import (
    CallSite,
    ConversationLog,
    ListedConversation,
    LoggedConversation,
    opened_log,
    spent_by_role,
)
from bedside.simulation.conversation_pool import SimulationProgress
from bedside.simulation.logged_actors import CallCounts, LoggedActors, call_seed
from bedside.simulation.simulate import (
    AbsentActor,
    SimulationSettings,
    SimulationSummary,
    held_folder,
)
from bedside.simulation.talk_files import TalkCounts, write_manifest, write_talks
from bedside.simulation.talk_lines import state_lines
from bedside.simulators.calls import ActorReply, ActorRole, Call, Exchange
from bedside.simulators.contract import Simulator, UnusableConversationError
from bedside.support.errors import InputError, RunError
from bedside.support.stopping import run_to_end
from bedside.transcripts.simulation_folder import LOG_FILE, TRANSCRIPTS

#: The role of everybody who is asked: what makes records is neither side of a conversation.
_ROLE: ActorRole = "evaluator"


@dataclass(frozen=True, slots=True)
class MadeRecord:
    """A record that was made.

    Attributes:
        content: what is written, as a line of JSON.
        states: how it came about: flat objects.
        flags: what is to be counted of it.
    """

    content: Mapping[str, Any]
    states: tuple[Mapping[str, Any], ...] = ()
    flags: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordTask:
    """A record that is to be made.

    Attributes:
        id: its name among the others.
        case: the id of the case that it is of.
        language: code of its language.
        source: SHA-256 of what it is made of (64 hexadecimal digits).
        make: makes it; it raises an :class:`UnusableConversationError` where it can't be.
    """

    id: str
    case: str
    language: str
    source: str
    make: Callable[[], Exchange[MadeRecord]]


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The records that are to be made.

    Attributes:
        name: what is made, in a word or two.
        version: of the rules and prompts that make it; part of every record's key.
        simulator: whose ``rules`` evaluator makes records without a model.
        tasks: each record.
        cast: who is asked, by the purpose of the calls; ``""`` stands for all other purposes.
        options: what else the records depend on.
        sampling: how language models are asked to write.
        seed: of the actors' own chance.
        file: the name of the file of records.
    """

    name: str
    version: int
    simulator: Simulator
    tasks: tuple[RecordTask, ...]
    cast: Mapping[str, ActorName]
    options: Mapping[str, Any]
    sampling: Sampling
    seed: int
    file: str = TRANSCRIPTS

    def actor(self, call: Call) -> ActorName:
        """Who is asked."""
        return self.cast.get(call.purpose, self.cast[""])

    def actors(self) -> dict[str, ActorName]:
        """Everybody who is asked, by identity."""
        return {name.identity: name for name in self.cast.values()}

    def key(self, task: RecordTask) -> str:
        """SHA-256 of all that a record depends on."""
        playing = {
            purpose: {
                "actor": name.identity,
                "digest": name.digest,
                "sampling": self.sampling.parameters() if name.kind == "model" else {},
            }
            for purpose, name in self.cast.items()
        }
        content = {
            "made": self.name,
            "version": self.version,
            "id": task.id,
            "source": task.source,
            "actors": playing,
            "options": dict(self.options),
            "seed": self.seed,
        }
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def listed(self) -> Iterator[ListedConversation]:
        """The records, as the log lists them."""
        for task in self.tasks:
            yield ListedConversation(self.key(task), task.id, {"system": self.name, "case": task.case})


def make_records(
    plan: RecordPlan,
    folder: Path,
    settings: SimulationSettings,
    progress: Callable[[SimulationProgress], None] | None = None,
) -> SimulationSummary:
    """Make the records of a plan, or go on with them.

    Args:
        plan: which they are.
        folder: where they go; made if it isn't there.
        settings: how actors are asked.
        progress: called whenever a record is made, or can't be.

    Raises:
        BedsideError: an actor can't be asked, the log or a file can't be written, or another process uses the folder.
            What was replied is kept.
    """
    log_path = folder / LOG_FILE
    if settings.replay and not log_path.is_file():
        raise RunError("there is no log to replay", where=str(folder), todo="leave `replay` out to ask")
    began = time.monotonic()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with held_folder(folder):
        spending = Spending(settings.max_calls, settings.max_cost)
        calls, prompts = run_to_end(lambda: _make_all(plan, folder, settings, spending, progress))
        counts = write_talks(folder, log_path, plan.file)
        run = {
            "started": started,
            "seconds": round(time.monotonic() - began, 3),
            "calls asked": calls.asked,
            "calls replayed": calls.replayed,
            "requests": spending.calls,
            "cost": spending.cost,
        }
        with opened_log(log_path) as connection:
            spent = spent_by_role(connection)
        write_manifest(folder, _manifest(plan, counts, sorted(prompts), spent, run))
    return SimulationSummary(counts, calls, spending.calls, spending.cost)


async def _make_all(
    plan: RecordPlan,
    folder: Path,
    settings: SimulationSettings,
    spending: Spending,
    progress: Callable[[SimulationProgress], None] | None,
) -> tuple[CallCounts, set[str]]:
    actors: dict[tuple[ActorRole, str], Actor] = {}
    log: ConversationLog | None = None
    try:
        for identity, name in plan.actors().items():
            actors[_ROLE, identity] = (
                AbsentActor()
                if settings.replay
                else open_actor(name, _opening(plan, name, folder, settings, spending))
            )
            if (
                settings.max_cost is not None
                and name.kind == "model"
                and actors[_ROLE, identity].price is None
            ):
                raise InputError(
                    f"what {identity} costs isn't known",
                    where="`max_cost`",
                    todo="say it with `prices`, or limit calls with `max_calls`",
                )
        log = ConversationLog(folder / LOG_FILE)
        log.plan(plan.listed())
        asked = LoggedActors(actors, log, spending=spending, replay=settings.replay)
        pool = _RecordPool(plan, asked, progress)
        await pool.run(sum(actor.room for actor in actors.values()))
        return asked.counts, pool.prompts
    finally:
        if log is not None:
            log.close()
        for actor in actors.values():
            await actor.close()


def _opening(
    plan: RecordPlan, name: ActorName, folder: Path, settings: SimulationSettings, spending: Spending
) -> ActorSettings:
    return ActorSettings(
        _ROLE,
        plan.simulator,
        plan.sampling,
        spending,
        folder,
        settings.max_concurrency,
        settings.prices.get(name.text) or settings.prices.get(name.identity),
        settings.patience,
    )


class _RecordPool:
    """Makes the records of a plan, several at once; used once."""

    def __init__(
        self,
        plan: RecordPlan,
        asked: LoggedActors,
        progress: Callable[[SimulationProgress], None] | None,
    ) -> None:
        self._plan = plan
        self._asked = asked
        self.prompts: set[str] = set()
        self._progress = progress
        self._ended = {"finished": 0, "failed": 0, "unfinished": 0}

    async def run(self, width: int) -> None:
        """Make all, so many at once."""
        tasks = iter(self._plan.tasks)
        workers = [asyncio.create_task(self._work(tasks)) for _ in range(width)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, tasks: Iterator[RecordTask]) -> None:
        for task in tasks:  # shared by the workers: each takes the next
            ended = await self._end(task)
            await self._asked.log.end(ended)
            self._ended[ended.state] += 1
            if self._progress is not None:
                counts = self._asked.counts
                self._progress(
                    SimulationProgress(
                        len(self._plan.tasks), **self._ended, asked=counts.asked, replayed=counts.replayed
                    )
                )

    async def _end(self, task: RecordTask) -> LoggedConversation:
        key = self._plan.key(task)
        try:
            record = await self._made(task, key)
        except UnusableConversationError as error:
            ending = {"whose": error.whose, "reason": error.reason, "detail": error.detail}
            states = state_lines(task.id, error.states)
            return LoggedConversation(key, "failed", 1, ending, states=states)
        except UnansweredError as error:
            ending = {"whose": "infrastructure", "reason": error.reason, "detail": error.detail}
            return LoggedConversation(key, "failed", 1, ending)
        except NotAskedError as error:
            ending = {"whose": "infrastructure", "reason": "not asked", "detail": str(error)}
            return LoggedConversation(key, "unfinished", 1, ending)
        about = {"stop": "made", "completed": True, "flags": dict(record.flags)}
        line = orjson.dumps(dict(record.content)) + b"\n"
        return LoggedConversation(key, "finished", 1, about, line, state_lines(task.id, record.states))

    async def _made(self, task: RecordTask, key: str) -> MadeRecord:
        replies = self._asked.log.replies(key)

        async def answer(call: Call) -> ActorReply:
            at = CallSite(key, call.purpose, call.ordinal, call.attempt)
            place = CallPlace(key, 1, task.id, task.case, task.language, call_seed(self._plan.seed, at))
            self.prompts.update(call.prompt.split())
            logged = replies.get(at)
            if logged is not None:
                return self._asked.logged(logged, call, place)
            return await self._asked.ask(call, at, place, self._plan.actor(call))

        maker = task.make()
        try:
            calls = next(maker)
            while True:
                answers = await asyncio.gather(*map(answer, calls), return_exceptions=True)
                # What was answered beside a failure is in the log; of several failures, the first call's counts.
                for reply in answers:
                    if isinstance(reply, BaseException):
                        raise reply
                calls = maker.send(tuple(reply for reply in answers if isinstance(reply, ActorReply)))
        except StopIteration as end:
            record: MadeRecord = end.value
            return record
        finally:
            maker.close()


def _manifest(
    plan: RecordPlan,
    counts: TalkCounts,
    prompts: list[str],
    spent: Mapping[str, Any],
    run: Mapping[str, Any],
) -> dict[str, Any]:
    """What records are of, and what they took."""
    return {
        "bedside": __version__,
        "made": plan.name,
        "version": plan.version,
        "protocol": plan.simulator.name,
        "source": plan.simulator.source,
        "file": plan.file,
        "actors": {purpose or "all other calls": name.identity for purpose, name in plan.cast.items()},
        "toys": sorted({name.identity for name in plan.cast.values() if name.toy}),
        "sources": {task.id: task.source for task in plan.tasks},
        "prompts": prompts,
        "options": dict(plan.options),
        "sampling": plan.sampling.parameters(),
        "seed": plan.seed,
        "records": {
            "planned": counts.planned,
            "made": counts.finished,
            "failed": sum(counts.failed.values()),
            "unfinished": counts.unfinished,
        },
        "failures": [
            {"whose": whose, "reason": reason, "records": number}
            for (whose, reason), number in counts.failed.items()
        ],
        "spent": dict(spent),
        "last run": dict(run),
    }
