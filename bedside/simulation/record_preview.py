"""What making records would ask: some of them are made by toys, and the calls counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bedside.llm.tokens import estimate_tokens
from bedside.simulation.actor_contract import ActorName
from bedside.simulation.call_preview import PLAYED
from bedside.simulation.record_making import RecordPlan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulators.calls import ActorReply, ActorRole, Call, Exchange
from bedside.simulators.contract import UnusableConversationError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ActorCalls:
    """What one actor would be asked.

    Attributes:
        role: whom it plays.
        actor: who it is.
        calls: about how many calls.
        input_tokens, output_tokens: about how many the calls have, by an estimate from the texts; replies are the
            toys'.
        cost: about how many US dollars; None where a price isn't known, 0 where nothing is paid.
    """

    role: ActorRole
    actor: ActorName
    calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None


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
    actors: tuple[ActorCalls, ...]


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
    counts: dict[tuple[ActorRole, str], list[float]] = {}
    for place in range(wanted):
        exchanges, _ = played(plan.tasks[place * number // wanted].make(), plan.simulator.rules)
        for call, reply in exchanges:
            name = plan.actor(call)
            names[call.actor, name.identity] = name
            own = counts.setdefault((call.actor, name.identity), [0.0, 0.0, 0.0])
            own[0] += 1
            own[1] += sum(estimate_tokens(message.content) for message in call.messages())
            own[2] += estimate_tokens(reply.text)
    actors = []
    for (role, identity), own in sorted(counts.items()):
        name = names[role, identity]
        calls, read, written = (count * number / wanted for count in own)
        cost: float | None = 0.0
        if name.kind == "model":
            price = settings.price_of(name)
            cost = None if price is None else price.of(round(read), round(written))
        actors.append(ActorCalls(role, name, calls, read, written, cost))
    return RecordPreview(plan.name, number, wanted, tuple(actors))


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
