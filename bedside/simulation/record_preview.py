"""What making records would ask: some of them are made by toys, and the calls counted."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.simulation.actor_contract import ActorName
from bedside.simulation.call_preview import PLAYED, CallSums, played
from bedside.simulation.record_making import RecordPlan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import ActorRole


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
    counts: dict[tuple[ActorRole, str], CallSums] = {}
    for place in range(wanted):
        exchanges, _ = played(plan.tasks[place * number // wanted].make(), plan.simulator.rules)
        for call, reply in exchanges:
            name = plan.actor(call)
            names[call.actor, name.identity] = name
            counts.setdefault((call.actor, name.identity), CallSums()).add(call, reply, number / wanted)
    actors = [
        ActorCalls(
            role,
            names[role, identity],
            calls=own.calls,
            input_tokens=own.input_tokens,
            output_tokens=own.output_tokens,
            cost=own.cost(names[role, identity], settings),
        )
        for (role, identity), own in sorted(counts.items(), key=lambda entry: entry[0])
    ]
    return RecordPreview(plan.name, number, wanted, tuple(actors))
