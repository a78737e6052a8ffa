"""Having conversations, or records, made: who takes part is made ready, the log is gone on with, files are written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside import __version__
from bedside.core.errors import BedsideError, InputError, RunError, one_of
from bedside.core.files import folder_held
from bedside.core.stopping import run_to_end
from bedside.judges.llm.batch_files import BatchRead
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Sampling
from bedside.judges.llm.queue import Patience
from bedside.ratings.names import is_human
from bedside.simulation.actor_contract import (
    ACTORS,
    Actor,
    ActorName,
    ActorSettings,
    LocalActor,
    Spending,
    WaveFiles,
    check_actors,
    open_actor,
)
from bedside.simulation.batch_waves import check_batchable, finished_wave, wave
from bedside.simulation.conversation_log import ConversationLog, ListedConversation, LoggedConversation, worker_logs
from bedside.simulation.conversing import converse, finished_conversation
from bedside.simulation.logged_actors import CallCounts, ConversationPool, LoggedActors, PlannedTalk, SimulationProgress
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.calls import ActorRole
from bedside.simulation.simulators.contract import Simulator
from bedside.simulation.talks_folder import TalkCounts, outcome, write_manifest, write_talks
from bedside.transcripts.simulation_folder import LOCK, LOG_FILE, MANIFEST, TRANSCRIPTS, simulation_manifest

if TYPE_CHECKING:
    from bedside.simulation.talk_page import TalkPage

#: Changed files or people that a message names.
_MOST_CHANGED = 6


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How actors are asked.

    Attributes:
        max_concurrency: calls under way at once to an address, whatever models it serves, or to an agent; of several
            endpoints, at that of the largest weight.
        max_calls: requests sent at most; what is left is had when the same simulation is run again.
        max_cost: once so many US dollars are spent, nothing more is sent, likewise.
        prices: of models whose price isn't known, by name.
        minutes: how long a person may talk; None for no limit.
        page: where people sit; None for the keyboard.
        replay: whether nobody is asked, and all replies come from the log.
        patience: how hard to try.
        batch_out: a file that language models' calls are written to, in place of asking; they wait for answers.
            ``max_calls`` is then how many are written.
        batch_in: the files that a service answered such calls with.

    Raises:
        InputError: a number is out of range.
    """

    max_concurrency: int = 8
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    minutes: float | None = None
    page: TalkPage | None = None
    replay: bool = False
    patience: Patience = field(default_factory=Patience)
    batch_out: Path | None = None
    batch_in: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.by_batch:
            for name, value in (("replay", self.replay), ("max_cost", self.max_cost)):
                if value:
                    raise InputError("calls go into a batch file", where=f"`{name}`", todo="leave it out")
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

    @property
    def by_batch(self) -> bool:
        """Whether language models are asked by batch files."""
        return self.batch_out is not None or bool(self.batch_in)

    def price_of(self, name: ActorName) -> Price | None:
        """What an actor's tokens cost; None where that isn't known."""
        price = self.prices.get(name.text) or self.prices.get(name.identity)
        return known_price(name.detail) if price is None and name.kind == "model" else price


@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """What a run of a simulation did.

    Attributes:
        counts: how many conversations there are, by what became of them.
        calls: what was asked in this run.
        requests: how many requests were sent in this run, repeated ones included.
        cost: US dollars that this run cost, as far as prices are known.
        wave: what was read and written of batch files; None where language models were asked themselves.
    """

    counts: TalkCounts
    calls: CallCounts
    requests: int
    cost: float
    wave: BatchRead | None = None


@dataclass(frozen=True, slots=True)
class TalkOrder:
    """What is to be made, and by whom: the conversations of a plan, or records.

    Attributes:
        simulator: the protocol's.
        cast: everybody who is asked, each with the role.
        sampling: how a language model in a role is asked to write.
        listed: what is to be made, as the log lists it.
        have: makes all of it.
        about: what the manifest says of it.
        noun, done: what the manifest calls such things, and those of them that were made.
        file: the name of the file that they go into.
    """

    simulator: Simulator
    cast: Sequence[tuple[ActorRole, ActorName]]
    sampling: Mapping[ActorRole, Sampling]
    listed: Iterable[ListedConversation]
    have: Callable[[LoggedActors], Awaitable[None]]
    about: Callable[[], dict[str, Any]]
    noun: str = "conversations"
    done: str = "finished"
    file: str = TRANSCRIPTS


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
        BedsideError: as :func:`carry_out`.
    """
    return carry_out(talk_order(plan, progress, settings.page), folder, settings)


def talk_order(
    plan: SimulationPlan, progress: Callable[[SimulationProgress], None] | None = None, page: TalkPage | None = None
) -> TalkOrder:
    """The conversations of a plan, to be carried out.

    Args:
        plan: which they are.
        progress: called whenever a conversation ends.
        page: where people sit.
    """
    return TalkOrder(
        plan.simulator,
        plan.parts(),
        plan.options.sampling,
        listed=(conversation.listed() for conversation in plan.conversations()),
        have=partial(_have_all, plan, progress, page),
        about=partial(_about, plan),
    )


async def _have_all(
    plan: SimulationPlan,
    progress: Callable[[SimulationProgress], None] | None,
    page: TalkPage | None,
    asked: LoggedActors,
) -> None:
    """Have all conversations. Those with people at the keyboard come first, one after the other, as nothing goes on
    while they type; at a page, each person's own come one after the other beside all else.
    """
    pool = ConversationPool(asked, len(plan), progress)
    queues = [_queue(plan, asked, clinician) for clinician in plan.clinicians]
    with_people = [planned for planned in plan.conversations() if plan.people(planned)] if plan.has_people() else []
    if page is None:
        await pool.in_turn(_talk(plan, asked, planned) for planned in with_people)
    else:
        for group in _sittings(plan, with_people):
            talks = (_talk(plan, asked, planned) for planned in group)
            queues.append((page.until_done(talks, plan.people(group[0])), 1))
    await pool.together(queues)


def _sittings(plan: SimulationPlan, with_people: Sequence[PlannedConversation]) -> list[list[PlannedConversation]]:
    """Conversations that are had one after the other, as the same person takes part."""
    by_person: dict[str, list[PlannedConversation]] = {}
    for planned in with_people:
        person = plan.patient if is_human(plan.patient.identity) else planned.clinician
        by_person.setdefault(person.identity, []).append(planned)
    return list(by_person.values())


def _queue(plan: SimulationPlan, asked: LoggedActors, clinician: ActorName) -> tuple[Iterator[PlannedTalk], int]:
    """A clinician's conversations without people, and how many are had at once: enough that everybody is busy."""
    conversations = plan.conversations(clinician)
    talks = (_talk(plan, asked, planned) for planned in conversations if not plan.people(planned))
    roles = plan.roles(clinician)
    taking_part = {name.identity: asked.actors[role, name.identity] for role, name in roles.items()}.values()
    limits = [actor.conversations for actor in taking_part if actor.conversations is not None]
    return talks, min([*limits, sum(actor.room for actor in taking_part)])


def _talk(plan: SimulationPlan, asked: LoggedActors, conversation: PlannedConversation) -> PlannedTalk:
    async def have() -> LoggedConversation:
        return finished_conversation(plan, conversation, await converse(plan, asked, conversation))

    return PlannedTalk(conversation.key, conversation.id, have)


def _about(plan: SimulationPlan) -> dict[str, Any]:
    """What a simulation is of."""
    return {
        "protocol": plan.simulator.name,
        "version": plan.simulator.version,
        "source": plan.simulator.source,
        "parameters of bedside's own": list(plan.simulator.parameters),
        "clinicians": [name.identity for name in plan.clinicians],
        "patient": plan.patient.identity,
        "evaluator": plan.evaluator.identity,
        **({} if plan.ranker is None else {"ranker": plan.ranker.identity}),
        **({} if plan.reviewer is None else {"reviewer": plan.reviewer.identity}),
        "toys": sorted({name.identity for _, name in plan.parts() if name.toy}),
        **plan.content(),
        "sampling": {role: sampling.parameters() for role, sampling in plan.options.sampling.items()},
        "cast": {"by": plan.cast_by, "sha256": plan.cast_digest()},
        **_of_file(plan.simulator),
    }


def _of_file(simulator: Simulator) -> dict[str, Any]:
    """What a simulation is of beside that, where a protocol file describes it."""
    source = simulator.made_of
    if source is None:
        return {}
    suite = str(Path(source.suite).absolute()) if source.suite.endswith(".yaml") else source.suite
    return {"protocol files": {**source.files, **source.data}, **({"suite": suite} if suite else {})}


def _check_files(order: TalkOrder, folder: Path) -> None:
    """Refuse to go on with what a protocol file described otherwise, or with people who were others.

    Raises:
        RunError: what was changed.
    """
    source, kept = order.simulator.made_of, simulation_manifest(folder)
    if source is None or kept is None:
        return
    pairs = [(source.files, kept.get("protocol files")), (order.about()["cases"], kept.get("cases"))]
    changed = [
        name
        for now, before in pairs
        for name, digest in now.items()
        if isinstance(before, dict) and before.get(name, digest) != digest
    ]
    if changed:
        more = f" and {len(changed) - _MOST_CHANGED} more" if len(changed) > _MOST_CHANGED else ""
        raise RunError(
            f"changed since this folder's conversations: {', '.join(changed[:_MOST_CHANGED])}{more}",
            where=str(folder),
            todo="name another folder as `out`, or put back what it was",
        )


def carry_out(
    order: TalkOrder, folder: Path, settings: SimulationSettings, have: Callable[[TalkRun], None] | None = None
) -> SimulationSummary:
    """Make what is ordered, or go on with it, and write the folder's files; also where somebody stops it.

    Args:
        order: what is to be made.
        folder: where it goes; made if it isn't there.
        settings: how actors are asked.
        have: makes it in another way than in this process, and adds what that took to the run.

    Raises:
        BedsideError: an actor can't be asked, the log or a file can't be written, or another process uses the folder.
            What was replied is kept.
    """
    if settings.replay and not (folder / LOG_FILE).is_file():
        raise RunError("there is no log to replay", where=str(folder), todo="leave `replay` out to ask")
    _check_prices(order, settings)
    if settings.by_batch:
        check_batchable(name for _, name in order.cast)
    elif have is None and not settings.replay:
        check_actors(name for _, name in order.cast)
    with (
        folder_held(folder, LOCK, "a simulation", is_ours=lambda names: bool({LOG_FILE, MANIFEST} & names)),
        wave(settings.batch_out, settings.batch_in, settings.max_calls) as files,
    ):
        _check_files(order, folder)
        worker_logs(folder).collect()
        run = TalkRun(order, folder, settings, files=files)
        try:
            if have is None:
                run_to_end(run.have)
            else:
                have(run)
        except KeyboardInterrupt:
            with suppress(BedsideError):  # that it was stopped is what is told
                run.write()
            raise
        done = None if files is None else finished_wave(files, run.log)
        return replace(run.write(), wave=done)


def _check_prices(order: TalkOrder, settings: SimulationSettings) -> None:
    """Refuse prices of nobody, and a limit of costs where costs aren't known.

    Raises:
        InputError: a price names no actor, or an actor has none.
    """
    names = {text: name for _, name in order.cast for text in (name.text, name.identity)}
    for text in settings.prices:
        one_of(text, names, "actor", InputError, where="`prices`")
    if settings.max_cost is None or settings.replay:
        return
    for name in names.values():
        if settings.price_of(name) is None and not ACTORS.load(name.kind).free:
            raise InputError(
                f"what {name.identity} costs isn't known",
                where="`max_cost`",
                todo="say it with `prices`, or limit calls with `max_calls`",
            )


class TalkRun:
    """One run of an order.

    Args:
        order: what is to be made.
        folder: where it goes.
        settings: how actors are asked.
        log: what replies are kept in; the folder's log unless given.
        files: batch files that language models are asked by.

    Attributes:
        folder, settings, log: as given.
        calls: what was asked.
    """

    def __init__(
        self,
        order: TalkOrder,
        folder: Path,
        settings: SimulationSettings,
        log: Path | None = None,
        files: WaveFiles | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.log: Path = folder / LOG_FILE if log is None else log
        self.calls: CallCounts = CallCounts()
        self._order = order
        self._files = files
        self._places: dict[str, asyncio.Semaphore] = {}
        self._spending = Spending(None if settings.by_batch else settings.max_calls, settings.max_cost)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    async def have(self) -> None:
        """Make all that is ordered."""
        actors: dict[tuple[ActorRole, str], Actor] = {}
        async with AsyncExitStack() as stack:
            for role, name in self._order.cast:
                actors[role, name.identity] = actor = self._opened(role, name)
                stack.push_async_callback(actor.close)
            log = stack.enter_context(closing(ConversationLog(self.log)))
            log.plan(self._order.listed)
            asked = LoggedActors(actors, log, spending=self._spending, counts=self.calls, replay=self.settings.replay)
            stack.push_async_callback(asked.stop)
            if self.settings.page is not None and not self.settings.replay:
                await stack.enter_async_context(self.settings.page.served())
            await self._order.have(asked)

    @property
    def sent(self) -> tuple[int, float]:
        """Requests that were sent, and what they cost in US dollars, as far as prices are known."""
        return self._spending.calls, self._spending.spent

    def list_all(self) -> None:
        """Write to the log what is to be made, and make nothing."""
        with closing(ConversationLog(self.log)) as log:
            log.plan(self._order.listed)

    def add(self, calls: CallCounts, requests: int, cost: float) -> None:
        """Count what another process asked as this run's."""
        self.calls.asked += calls.asked
        self.calls.replayed += calls.replayed
        self.calls.broken += calls.broken
        self._spending.calls += requests
        self._spending.spent += cost

    def _opened(self, role: ActorRole, name: ActorName) -> Actor:
        settings, order = self.settings, self._order
        if settings.replay:
            # Nobody: all replies come from the log, and a call that it doesn't hold ends the run.
            return LocalActor(None, 8)
        actor = open_actor(
            name,
            ActorSettings(
                role,
                order.simulator,
                order.sampling[role],
                self._spending,
                folder=self.folder,
                max_concurrency=settings.max_concurrency,
                price=settings.price_of(name),
                patience=settings.patience,
                minutes=settings.minutes,
                page=settings.page,
                wave=self._files,
                places=self._places,
            ),
        )
        if actor.stateful and settings.by_batch:
            raise InputError(
                f"{name.text} remembers conversations, and they go on in another process with each batch",
                where="`batch_out`",
                todo="simulate without `batch_out`, or with actors that remember nothing",
            )
        return actor

    def write(self) -> SimulationSummary:
        """Write the folder's files."""
        order, calls, spending = self._order, self.calls, self._spending
        counts = write_talks(self.folder, self.log, order.file)
        content = {
            "bedside": __version__,
            **order.about(),
            **outcome(self.log, counts, order.noun, order.done),
            "last run": {
                "started": self._started,
                "seconds": round(time.monotonic() - self._began, 3),
                "calls asked": calls.asked,
                "calls replayed": calls.replayed,
                f"{order.noun} begun anew": calls.broken,
                "requests": spending.calls,
                "cost": spending.spent,
            },
        }
        write_manifest(self.folder, content)
        return SimulationSummary(counts, calls, spending.calls, spending.spent)
