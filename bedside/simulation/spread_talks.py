"""Conversations spread over an engine's workers: parts by case, each with a log of its own, put together as they end.

What conversations about a case share is asked once, as all of them are in one part. The files are written of the log
afterwards, as if one process had had all conversations.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from bedside.core.engines.contract import Engine
from bedside.core.errors import EngineError, InputError
from bedside.core.stopping import run_to_end
from bedside.simulation.actor_contract import ActorName
from bedside.simulation.conversation_pool import SimulationProgress
from bedside.simulation.log_parts import (
    PARTS,
    collect_parts,
    extract_log,
    held_log,
    is_begun,
    merge_log,
    take_in,
)
from bedside.simulation.logged_actors import CallCounts
from bedside.simulation.simulate import SimulationSettings, SimulationSummary, TalkRun, carry_out, talk_order
from bedside.simulation.simulation_plan import SimulationPlan

#: Conversations of a part at most, unless one case has more, and parts for each worker at least.
_MOST_CONVERSATIONS = 200
_PARTS_PER_WORKER = 4


@dataclass(frozen=True, slots=True)
class _TalkPart:
    """The conversations about some cases, for a worker.

    Attributes:
        folder: the simulation's.
        name: of the part; its logs begin with it.
        plan: the conversations.
        settings: how actors are asked.
    """

    folder: str
    name: str
    plan: SimulationPlan
    settings: SimulationSettings

    def logs(self) -> list[Path]:
        return sorted((Path(self.folder) / PARTS).glob(f"{self.name}-*.sqlite"))


@dataclass(frozen=True, slots=True)
class _HadPart:
    """What having a part took.

    Attributes:
        log: the name of its log.
        calls: what was asked.
        requests, cost: what was sent.
        progress: the last that was told of it; None where nothing ended.
    """

    log: str
    calls: CallCounts
    requests: int
    cost: float
    progress: SimulationProgress | None


def check_apart(plan: SimulationPlan, settings: SimulationSettings) -> None:
    """Refuse what workers can't do: let people talk, share a limit, replay, and take along what can't be sent.

    Raises:
        InputError: that is asked for.
    """
    todo = "simulate without `engine`"
    if plan.has_people():
        raise InputError("people talk at this keyboard, and workers have none", where="`engine`", todo=todo)
    limits = {"max_calls": settings.max_calls, "max_cost": settings.max_cost}
    for name, limit in limits.items():
        if limit is not None:
            raise InputError(f"workers can't share a limit, {limit:,}", where=f"`{name}`", todo=todo)
    if settings.by_batch:
        raise InputError("batch files are written by one process", where="`engine`", todo="leave it out")
    if settings.replay:
        raise InputError("nobody is asked, so there is nothing to share", where="`replay`", todo=todo)
    for _, actor in plan.parts():
        if not _can_be_sent(actor):
            raise InputError(
                f"the function {actor.text} can't be sent to workers",
                where="`engine`",
                todo="name it as package.module:function, or simulate without `engine`",
            )


def _can_be_sent(name: ActorName) -> bool:
    # As processes send it: libraries that also send functions' code would send a copy of what they refer to.
    try:
        ForkingPickler.dumps(name)
    except Exception:  # whatever an agent's own way of being sent raises
        return False
    return getattr(name.detail, "__module__", None) != "__main__"


def simulate_apart(
    plan: SimulationPlan,
    folder: Path,
    settings: SimulationSettings,
    engine: Engine,
    progress: Callable[[SimulationProgress], None] | None = None,
) -> SimulationSummary:
    """As :func:`bedside.simulation.simulate.simulate_plan`, by an engine's workers, which share the folder.

    Each worker has conversations with a log of its own, with the limit of calls at once for itself; what is finished
    is merged into the simulation's. After a stop, the same call, or one without an engine, merges what workers left,
    and asks what is missing then.

    Args:
        plan: which conversations there are.
        folder: where they go; made if it isn't there.
        settings: how actors are asked.
        engine: whose workers have them.
        progress: called whenever a part is had.

    Raises:
        InputError: workers can't do what is asked.
        EngineError: parts were not had because workers were lost.
        BedsideError: as :func:`bedside.simulation.simulate.carry_out`.
    """
    check_apart(plan, settings)

    def have(run: TalkRun) -> None:
        run.list_all()
        _have_apart(plan, run, engine, progress)

    return carry_out(talk_order(plan), folder, settings, have)


def _have_apart(
    plan: SimulationPlan,
    run: TalkRun,
    engine: Engine,
    progress: Callable[[SimulationProgress], None] | None,
) -> None:
    """Have workers have conversations, and take in what they finish."""
    lost = None
    ended = {"finished": 0, "failed": 0, "unfinished": 0}
    (run.folder / PARTS).mkdir(mode=0o700, exist_ok=True)
    try:
        for part, outcome in engine.run_tasks(_have_part, list(_parts(plan, run, engine.workers))):
            # First that of whoever finished: of two processes that were at the same, its replies go together.
            own = [] if outcome.value is None else [run.folder / PARTS / outcome.value.log]
            for log in dict.fromkeys([*own, *part.logs()]):
                take_in(run.folder, log)
            if outcome.error is not None:
                raise outcome.error
            if outcome.value is None:
                lost = outcome.lost
                continue
            had = outcome.value
            run.add(had.calls, had.requests, had.cost)
            for state in ended:
                ended[state] += getattr(had.progress, state, 0)
            if progress is not None:
                counts = run.calls
                progress(SimulationProgress(len(plan), **ended, asked=counts.asked, replayed=counts.replayed))
    finally:
        collect_parts(run.folder)
    if lost is not None:
        raise EngineError(
            f"conversations were not finished, because workers were lost ({lost})",
            where=str(run.folder),
            todo="what is finished is kept; run the same command again to go on",
        )


def _parts(plan: SimulationPlan, run: TalkRun, workers: int) -> Iterator[_TalkPart]:
    per_case = max(1, len(plan) // len(plan.cases))
    shares = -(-len(plan.cases) // (_PARTS_PER_WORKER * max(1, workers)))
    size = max(1, min(_MOST_CONVERSATIONS // per_case, shares))
    begun = is_begun(run.log)
    for number, start in enumerate(range(0, len(plan.cases), size)):
        own = replace(plan, cases=plan.cases[start : start + size])
        part = _TalkPart(str(run.folder.absolute()), f"{number:06d}", own, run.settings)
        if begun:
            # What is in the simulation's log already, for the worker, which may be where that can't be opened.
            extract_log(run.folder / PARTS / f"{part.name}-before.sqlite", run.log, _keys(own))
        yield part


def _keys(plan: SimulationPlan) -> set[str]:
    """The keys of a plan's conversations, and of what they share."""
    return {
        key
        for conversation in plan.conversations()
        for key in (conversation.key, *conversation.shared_keys.values())
    }


def _have_part(part: _TalkPart) -> _HadPart:
    """What a worker does: have a part with a log of its own, beginning with what others left of it."""
    folder = Path(part.folder)
    own = folder / PARTS / f"{part.name}-{uuid.uuid4().hex}.sqlite"
    latest: list[SimulationProgress] = []

    def note(progress: SimulationProgress) -> None:
        latest[:] = [progress]

    with held_log(own):
        for log in part.logs():
            with held_log(log) as free:
                if free and log.exists():
                    merge_log(own, log)
        run = TalkRun(talk_order(part.plan, note), folder, part.settings, own)
        run_to_end(run.have)
    requests, cost = run.sent
    return _HadPart(own.name, run.calls, requests, cost, latest[0] if latest else None)
