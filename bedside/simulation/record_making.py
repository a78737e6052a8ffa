"""Making records that are no conversations, such as cases of notes: each is played over the log like a conversation.

A record is made by a generator of calls, as a simulator's controller is one. So what is replied is on disk before
anything else is asked, the same command goes on where it was stopped, and a replay asks nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from bedside.judges.llm.protocol import Sampling
from bedside.simulation.actor_contract import ActorName, CallPlace
from bedside.simulation.conversation_log import CallSite, ListedConversation, LoggedConversation, state_lines
from bedside.simulation.logged_actors import (
    ConversationPool,
    LoggedActors,
    PlannedTalk,
    SimulationProgress,
    answered,
    call_seed,
    play,
)
from bedside.simulation.simulate import SimulationSettings, SimulationSummary, TalkOrder, carry_out
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Exchange
from bedside.simulation.simulators.contract import MadeRecord, Simulator
from bedside.transcripts.simulation_folder import TRANSCRIPTS

#: The role of who is asked, unless it is named: most of what makes records is neither side of a conversation.
_ROLE: ActorRole = "evaluator"


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
        simulator: whose ``rules`` make records without a model.
        tasks: each record.
        cast: who is asked, by the purpose of the calls; ``""`` stands for all other purposes.
        options: what else the records depend on.
        sampling: how language models are asked to write.
        seed: of the actors' own chance.
        file: the name of the file of records.
        roles: the role of who is asked for a purpose, where it isn't the evaluator.
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
    roles: Mapping[str, ActorRole] = field(default_factory=dict)

    def actor(self, call: Call) -> ActorName:
        """Who is asked."""
        return self.cast.get(call.purpose, self.cast[""])

    def parts(self) -> list[tuple[ActorRole, ActorName]]:
        """Everybody who is asked, with the role, each once."""
        parts = {(self.roles.get(purpose, _ROLE), name.identity): name for purpose, name in self.cast.items()}
        return [(role, name) for (role, _), name in parts.items()]

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
        BedsideError: as :func:`bedside.simulation.simulate.carry_out`.
    """
    prompts: set[str] = set()

    async def have(asked: LoggedActors) -> None:
        talks = (_talk(plan, asked, task, prompts) for task in plan.tasks)
        width = sum(actor.room for actor in asked.actors.values())
        await ConversationPool(asked, len(plan.tasks), progress).together([(talks, width)])

    order = TalkOrder(
        plan.simulator,
        plan.parts(),
        {role: plan.sampling for role, _ in plan.parts()},
        listed=plan.listed(),
        have=have,
        about=lambda: _about(plan, prompts),
        noun="records",
        done="made",
        file=plan.file,
    )
    return carry_out(order, folder, settings)


def _talk(plan: RecordPlan, asked: LoggedActors, task: RecordTask, prompts: set[str]) -> PlannedTalk:
    """A record that is to be made; the prompt files that its calls are made from are added to ``prompts``."""
    key = plan.key(task)

    async def have() -> LoggedConversation:
        replies = asked.log.replies(key)

        async def answer(call: Call) -> ActorReply:
            at = CallSite(key, call.purpose, call.ordinal, call.attempt)
            place = CallPlace(key, 1, task.id, task.case, task.language, call_seed(plan.seed, at))
            prompts.update(call.prompt.split())
            return await asked.answer(call, at, place, name=plan.actor(call), replies=replies)

        record = await play(task.make(), partial(answered, answer=answer))
        ending = {"stop": "made", "completed": True, "flags": dict(record.flags)}
        line = orjson.dumps(dict(record.content)) + b"\n"
        states = state_lines(task.id, record.states)
        return LoggedConversation(key, "finished", 1, ending, line, states)

    return PlannedTalk(key, task.id, have)


def _about(plan: RecordPlan, prompts: set[str]) -> dict[str, Any]:
    """What records are of."""
    return {
        "made": plan.name,
        "version": plan.version,
        "protocol": plan.simulator.name,
        "source": plan.simulator.source,
        "file": plan.file,
        "actors": {purpose or "all other calls": name.identity for purpose, name in plan.cast.items()},
        "toys": sorted({name.identity for name in plan.cast.values() if name.toy}),
        "sources": {task.id: task.source for task in plan.tasks},
        "prompts": sorted(prompts),
        "options": dict(plan.options),
        "sampling": plan.sampling.parameters(),
        "seed": plan.seed,
    }
