"""Having conversations made: the plan is opened, played over the log, and written down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from bedside import __version__
from bedside.llm.prices import Price
from bedside.llm.queue import Patience
from bedside.simulation.actor_contract import (
    Actor,
    ActorName,
    ActorSettings,
    Spending,
    open_actor,
)
from bedside.simulation.conversation_log import ConversationLog, opened_log, spent_by_role
from bedside.simulation.conversation_pool import ConversationPool, SimulationProgress
from bedside.simulation.conversing import Interlocutors
from bedside.simulation.logged_actors import CallCounts
from bedside.simulation.simulation_plan import SimulationPlan
from bedside.simulation.talk_files import TalkCounts, write_manifest, write_talks
from bedside.simulators.calls import ActorRole
from bedside.support.errors import InputError, RunError
from bedside.support.files import make_folder, saying_where
from bedside.support.locks import hold
from bedside.support.registry import nearest
from bedside.support.stopping import run_to_end
from bedside.transcripts.simulation_folder import LOG_FILE, MANIFEST

_LOCK = ".simulation.lock"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How actors are asked.

    Attributes:
        max_concurrency: calls under way at once to a model or agent; of several endpoints, at that of the largest
            weight.
        max_calls: requests sent at most; what is left is had when the same simulation is run again.
        max_cost: once so many US dollars are spent, nothing more is sent, likewise.
        prices: of models whose price isn't known, by name.
        minutes: how long a person may talk; None for no limit.
        replay: whether nobody is asked, and all replies come from the log.
        patience: how hard to try.

    Raises:
        InputError: a number is out of range.
    """

    max_concurrency: int = 8
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    minutes: float | None = None
    replay: bool = False
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        whole = {"max_concurrency": (self.max_concurrency, 1), "max_calls": (self.max_calls, 0)}
        for name, (number, least) in whole.items():
            if number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise InputError(f"`{name}` must be {least} or more, and is {number!r}")
        amounts = {"max_cost": self.max_cost, "minutes": self.minutes}
        for name, amount in amounts.items():
            if amount is not None and not (isinstance(amount, int | float) and amount > 0):
                raise InputError(f"`{name}` must be above 0, and is {amount!r}")


@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """What a run of a simulation did.

    Attributes:
        counts: how many conversations there are, by what became of them.
        calls: what was asked in this run.
        requests: how many requests were sent in this run, repeated ones included.
        cost: US dollars that this run cost, as far as prices are known.
    """

    counts: TalkCounts
    calls: CallCounts
    requests: int
    cost: float


def simulate_plan(
    plan: SimulationPlan,
    folder: Path,
    settings: SimulationSettings,
    progress: Callable[[SimulationProgress], None] | None = None,
) -> SimulationSummary:
    """Have the conversations of a plan, or go on with them.

    Args:
        plan: which they are.
        folder: where they go; made if it isn't there.
        settings: how actors are asked.
        progress: called whenever a conversation ends.

    Raises:
        BedsideError: an actor can't be asked, the log or a file can't be written, or another process uses the folder.
            What was replied is kept.
    """
    log_path = folder / LOG_FILE
    if settings.replay and not log_path.is_file():
        raise RunError("there is no log to replay", where=str(folder), todo="leave `replay` out to simulate")
    began = time.monotonic()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with held_folder(folder):
        spending = Spending(settings.max_calls, settings.max_cost)
        calls = run_to_end(lambda: _have_conversations(plan, folder, settings, spending, progress))
        counts = write_talks(folder, log_path)
        summary = SimulationSummary(counts, calls, spending.calls, spending.cost)
        run = {
            "started": started,
            "seconds": round(time.monotonic() - began, 3),
            "calls asked": calls.asked,
            "calls replayed": calls.replayed,
            "conversations begun anew": calls.broken,
            "requests": spending.calls,
            "cost": spending.cost,
        }
        with opened_log(log_path) as connection:
            spent = spent_by_role(connection)
        write_manifest(folder, manifest(plan, counts, spent, run))
    return summary


async def _have_conversations(
    plan: SimulationPlan,
    folder: Path,
    settings: SimulationSettings,
    spending: Spending,
    progress: Callable[[SimulationProgress], None] | None,
) -> CallCounts:
    actors: dict[tuple[ActorRole, str], Actor] = {}
    log: ConversationLog | None = None
    try:
        for role, name in _cast(plan):
            if settings.replay:
                actors[role, name.identity] = AbsentActor()
            else:
                actors[role, name.identity] = open_actor(
                    name, _opening(role, plan, name, folder, settings, spending)
                )
        _check_prices(plan, actors, settings)
        log = ConversationLog(folder / LOG_FILE)
        log.plan(conversation.listed() for conversation in plan.conversations())
        who = Interlocutors(plan, actors, log, spending=spending, replay=settings.replay)
        await ConversationPool(who, log, _widths(plan, actors), progress).run()
        return who.counts
    finally:
        if log is not None:
            log.close()
        for actor in actors.values():
            await actor.close()


def _cast(plan: SimulationPlan) -> Iterator[tuple[ActorRole, ActorName]]:
    for clinician in plan.clinicians:
        yield "clinician", clinician
    yield "patient", plan.patient
    yield "evaluator", plan.evaluator
    if plan.ranker is not None:
        yield "ranker", plan.ranker


def _opening(
    role: ActorRole,
    plan: SimulationPlan,
    name: ActorName,
    folder: Path,
    settings: SimulationSettings,
    spending: Spending,
) -> ActorSettings:
    return ActorSettings(
        role,
        plan.simulator,
        plan.options.sampling[role],
        spending,
        folder,
        settings.max_concurrency,
        settings.prices.get(name.text) or settings.prices.get(name.identity),
        settings.patience,
        settings.minutes,
    )


def _widths(plan: SimulationPlan, actors: Mapping[tuple[ActorRole, str], Actor]) -> dict[str, int]:
    """How many conversations each clinician has at once: enough that everybody in them is busy."""
    widths = {}
    for clinician in plan.clinicians:
        taking_part = {
            name.identity: actors[role, name.identity] for role, name in plan.roles(clinician).items()
        }
        limits = [actor.conversations for actor in taking_part.values() if actor.conversations is not None]
        widths[clinician.identity] = min([*limits, sum(actor.room for actor in taking_part.values())])
    return widths


def _check_prices(
    plan: SimulationPlan, actors: Mapping[tuple[ActorRole, str], Actor], settings: SimulationSettings
) -> None:
    """Refuse prices of nobody, and a limit of costs where costs aren't known.

    Raises:
        InputError: a price names no actor, or a model has none.
    """
    names = {text: name for _, name in _cast(plan) for text in (name.text, name.identity)}
    for text in settings.prices:
        if text not in names:
            raise InputError(f"no actor is called {text!r}", where="`prices`", todo=nearest(text, names))
    if settings.max_cost is None or settings.replay:
        return
    for role, name in _cast(plan):
        if name.kind == "model" and actors[role, name.identity].price is None:
            raise InputError(
                f"what {name.identity} costs isn't known",
                where="`max_cost`",
                todo="say it with `prices`, or limit calls with `max_calls`",
            )


class AbsentActor:
    """Nobody: what takes an actor's place where all replies come from the log."""

    room = 8
    conversations: int | None = None
    stateful = False
    price: Price | None = None

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    async def answer(self, *_: object) -> Any:
        """Not called: a call that the log doesn't hold ends the run."""
        raise AssertionError("nobody is asked")

    async def close(self) -> None:
        """Nothing is held."""


def manifest(
    plan: SimulationPlan, counts: TalkCounts, spent: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    """What a simulation is of, and what it took."""
    return {
        "bedside": __version__,
        "protocol": plan.simulator.name,
        "version": plan.simulator.version,
        "source": plan.simulator.source,
        "parameters of bedside's own": list(plan.simulator.parameters),
        "clinicians": [name.identity for name in plan.clinicians],
        "patient": plan.patient.identity,
        "evaluator": plan.evaluator.identity,
        **({} if plan.ranker is None else {"ranker": plan.ranker.identity}),
        "toys": sorted({name.identity for _, name in _cast(plan) if name.toy}),
        "cases": {case.id: case.digest() for case in plan.cases},
        "personas": {persona.id: persona.digest() for persona in plan.personas if persona is not None},
        "settings": list(plan.settings),
        "lengths": [length for length in plan.lengths if length is not None],
        "repeats": plan.repeats,
        "options": dict(plan.options.own),
        "sampling": {role: sampling.parameters() for role, sampling in plan.options.sampling.items()},
        "seed": plan.seed,
        "conversations": {
            "planned": counts.planned,
            "finished": counts.finished,
            "failed": sum(counts.failed.values()),
            "unfinished": counts.unfinished,
        },
        "failures": [
            {"whose": whose, "reason": reason, "conversations": number}
            for (whose, reason), number in counts.failed.items()
        ],
        "spent": dict(spent),
        "last run": dict(run),
    }


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Hold a simulation's folder, which is made if it isn't there, for this process alone.

    Raises:
        RunError: another process holds it, it is no simulation's, or it can't be made.
    """
    with saying_where(folder):
        make_folder(folder)
        others = {path.name for path in folder.iterdir()} - {_LOCK}
        if others and not {LOG_FILE, MANIFEST} & others:
            raise RunError(
                "the folder holds something else than a simulation", where=str(folder), todo="name another"
            )
        held = hold(folder / _LOCK)
    if held is None:
        raise RunError(
            "another bedside process simulates into it", where=str(folder), todo="wait until it ends"
        )
    with held:
        yield
