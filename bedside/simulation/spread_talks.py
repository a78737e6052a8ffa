"""Conversations spread over an engine's workers: parts by case, each with a log of its own, put together as they end.

What conversations about a case share is asked once, as all of them are in one part. The files are written of the log
afterwards, as if one process had had all conversations.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from bedside.core.engines.contract import Engine
from bedside.core.engines.part_databases import part_size
from bedside.core.errors import InputError
from bedside.core.stopping import run_to_end
from bedside.simulation.actor_contract import ActorName
from bedside.simulation.conversation_log import extract_log, is_begun, worker_logs
from bedside.simulation.logged_actors import CallCounts, SimulationProgress
from bedside.simulation.simulate import SimulationSettings, SimulationSummary, TalkRun, carry_out, talk_order
from bedside.simulation.simulation_plan import SimulationPlan

#: Conversations of a part at most, unless one case has more.
_MOST_CONVERSATIONS = 200


@dataclass(frozen=True, slots=True)
class _TalkPart:
    """The conversations about some cases, for a worker.

    Attributes:
        folder: the simulation's.
        plan: the conversations.
        settings: how actors are asked.
    """

    folder: Path
    plan: SimulationPlan
    settings: SimulationSettings


@dataclass(frozen=True, slots=True)
class _HadPart:
    """What having a part took.

    Attributes:
        calls: what was asked.
        requests, cost: what was sent.
        progress: the last that was told of it; None where nothing ended.
    """

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
    plan: SimulationPlan, run: TalkRun, engine: Engine, progress: Callable[[SimulationProgress], None] | None
) -> None:
    """Have workers have conversations, and take in what they finish."""
    ended = {"finished": 0, "failed": 0, "unfinished": 0}
    begun = is_begun(run.log)

    def extract(part: _TalkPart, log: Path) -> None:
        if begun:
            extract_log(log, run.log, _keys(part.plan))

    with closing(
        worker_logs(run.folder).share(engine, _have_part, _parts(plan, run, engine.workers), extract)
    ) as parts:
        for part in parts:
            run.add(part.calls, part.requests, part.cost)
            for state in ended:
                ended[state] += getattr(part.progress, state, 0)
            if progress is not None:
                counts = run.calls
                progress(SimulationProgress(len(plan), **ended, asked=counts.asked, replayed=counts.replayed))


def _parts(plan: SimulationPlan, run: TalkRun, workers: int) -> list[_TalkPart]:
    per_case = max(1, len(plan) // len(plan.cases))
    size = part_size(len(plan.cases), workers, _MOST_CONVERSATIONS // per_case)
    return [
        _TalkPart(run.folder.absolute(), replace(plan, cases=plan.cases[start : start + size]), run.settings)
        for start in range(0, len(plan.cases), size)
    ]


def _keys(plan: SimulationPlan) -> set[str]:
    """The keys of a plan's conversations, and of what they share."""
    return {
        key for conversation in plan.conversations() for key in (conversation.key, *conversation.shared_keys.values())
    }


def _have_part(part: _TalkPart, log: Path) -> _HadPart:
    """What a worker does: have a part with a log of its own."""
    latest: list[SimulationProgress] = []

    def note(progress: SimulationProgress) -> None:
        latest[:] = [progress]

    run = TalkRun(talk_order(part.plan, note), part.folder, part.settings, log)
    run_to_end(run.have)
    requests, cost = run.sent
    return _HadPart(run.calls, requests, cost, latest[0] if latest else None)
