"""What a simulation, or making records, would ask: the rules actors do some of it, and their calls are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bedside.core.errors import InputError
from bedside.judges.llm.prices import estimate_tokens
from bedside.simulation.actor_contract import ActorName
from bedside.simulation.record_making import RecordPlan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.calls import ACTOR_ROLES, ActorReply, ActorRole, Call, Exchange
from bedside.simulation.simulators.contract import UnusableConversationError

T = TypeVar("T")
#: Conversations of each clinician that are had to count by.
PLAYED = 20


@dataclass(frozen=True, slots=True)
class RolePreview:
    """What one actor would be asked.

    Attributes:
        role: whom it plays.
        actor: who it is.
        calls: about how many calls, as the rules actors have them.
        most_calls: how many at most, with every attempt that may be needed; 0 where that isn't known.
        input_tokens, output_tokens: about how many the calls have, by an estimate from the texts; replies are those of
            the rules actors, which may be shorter than a model's.
        cost: about how many US dollars; None where a price isn't known, 0 where nothing is paid.
    """

    role: ActorRole
    actor: ActorName
    calls: float
    most_calls: int
    input_tokens: float
    output_tokens: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class SimulationPreview:
    """What a simulation would ask.

    Attributes:
        conversations: how many it has.
        played: how many were had to count by, for each clinician.
        roles: what each actor would be asked.
    """

    conversations: int
    played: int
    roles: tuple[RolePreview, ...]


@dataclass(frozen=True, slots=True)
class RecordPreview:
    """What making records would ask.

    Attributes:
        name: what is made.
        records: how many.
        played: how many were made by toys to count by.
        actors: what each would be asked.
    """

    name: str
    records: int
    played: int
    actors: tuple[RolePreview, ...]


@dataclass(slots=True)
class CallSums:
    """What an actor was asked by those who play by rules, added up.

    Attributes:
        calls, most_calls, input_tokens, output_tokens: as :class:`RolePreview` has them.
    """

    calls: float = 0.0
    most_calls: int = 0
    input_tokens: float = 0.0
    output_tokens: float = 0.0

    def add(self, call: Call, reply: ActorReply, times: float = 1.0) -> None:
        """Count a call so many times."""
        self.calls += times
        self.input_tokens += times * sum(estimate_tokens(message.content) for message in call.messages())
        self.output_tokens += times * estimate_tokens(reply.text)

    def cost(self, name: ActorName, settings: SimulationSettings) -> float | None:
        """US dollars if this actor is asked: None where a price isn't known, 0 where nothing is paid."""
        if name.kind != "model":
            return 0.0
        price = settings.price_of(name)
        return None if price is None else price.of(round(self.input_tokens), round(self.output_tokens))


def preview_plan(plan: SimulationPlan, settings: SimulationSettings) -> SimulationPreview:
    """What having a plan's conversations would ask. Nothing is asked or written.

    What a case or a persona shares counts once. Where only some conversations are had, the others count as their mean.

    Args:
        plan: the conversations.
        settings: how actors would be asked; of them, prices count.

    Raises:
        InputError: the protocol has no rules actors to have conversations with.
    """
    missing = [role for role in ACTOR_ROLES if role not in plan.simulator.rules]
    if missing:
        raise InputError(f"{plan.simulator.name} has no {missing[0]} by rules to count calls with", where="`dry_run`")
    counted: dict[tuple[ActorRole, str], CallSums] = {}
    names: dict[tuple[ActorRole, str], ActorName] = {}
    shared: set[tuple[str, str, int, int]] = set()
    numbers = {clinician.identity: plan.number(clinician) for clinician in plan.clinicians}
    for clinician in plan.clinicians:
        roles, number = plan.roles(clinician), numbers[clinician.identity]
        for role, name in roles.items():
            names[role, name.identity] = name
        for conversation in plan.conversations(clinician):
            for role, most in plan.simulator.most_calls(plan.situation(conversation)).items():
                counted.setdefault((role, roles[role].identity), CallSums()).most_calls += most
        times = number / max(1, min(number, PLAYED))
        for conversation in _spread(plan.conversations(clinician), number):
            exchange = plan.simulator.converse(plan.situation(conversation))
            for call, reply in played(exchange, plan.simulator.rules)[0]:
                if call.scope != "conversation":
                    site = (conversation.key_of(call.scope), call.purpose, call.ordinal, call.attempt)
                    if site in shared:
                        continue
                    shared.add(site)
                counted.setdefault((call.actor, roles[call.actor].identity), CallSums()).add(call, reply, times)
    return SimulationPreview(
        len(plan),
        min(max(numbers.values()), PLAYED),
        tuple(_role_preview(place, names[place], own, settings) for place, own in sorted(counted.items())),
    )


def preview_records(plan: RecordPlan, settings: SimulationSettings) -> RecordPreview:
    """What making a plan's records would ask. Nothing is asked or written.

    Where only some records are made by toys, the others count as their mean.

    Args:
        plan: the records.
        settings: how actors would be asked; of them, prices count.
    """
    number = len(plan.tasks)
    wanted = min(number, PLAYED)
    names: dict[tuple[ActorRole, str], ActorName] = {}
    counts: dict[tuple[ActorRole, str], CallSums] = {}
    for place in range(wanted):
        exchanges, _ = played(plan.tasks[place * number // wanted].make(), plan.simulator.rules)
        for call, reply in exchanges:
            name = plan.actor(call)
            names[call.actor, name.identity] = name
            counts.setdefault((call.actor, name.identity), CallSums()).add(call, reply, number / wanted)
    actors = tuple(_role_preview(place, names[place], own, settings) for place, own in sorted(counts.items()))
    return RecordPreview(plan.name, number, wanted, actors)


def _spread(conversations: Iterable[PlannedConversation], number: int) -> Iterable[PlannedConversation]:
    """Conversations at equal distances, :data:`PLAYED` of them at most."""
    wanted = {place * number // min(number, PLAYED) for place in range(min(number, PLAYED))}
    return (conversation for place, conversation in enumerate(conversations) if place in wanted)


def played(
    exchange: Exchange[T], rules: Mapping[ActorRole, Callable[[Call], ActorReply]]
) -> tuple[list[tuple[Call, ActorReply]], T | None]:
    """A generator of calls played among toys: its calls with their replies, and what it came to.

    Args:
        exchange: it.
        rules: the toys by role.

    Returns:
        The calls with replies in their order, and the result; None where a reply couldn't be used.
    """
    exchanges: list[tuple[Call, ActorReply]] = []
    try:
        calls = next(exchange)
        while True:
            replies = tuple(rules[call.actor](call) for call in calls)
            exchanges += zip(calls, replies, strict=True)
            calls = exchange.send(replies)
    except StopIteration as end:
        result: T = end.value
        return exchanges, result
    except UnusableConversationError:
        return exchanges, None


def _role_preview(
    place: tuple[ActorRole, str], name: ActorName, own: CallSums, settings: SimulationSettings
) -> RolePreview:
    cost = own.cost(name, settings)
    return RolePreview(place[0], name, own.calls, own.most_calls, own.input_tokens, own.output_tokens, cost)
