"""``rules``: the simulator's own actors, which need no model. They are toys, and every table names them so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bedside.core.errors import InputError
from bedside.judges.llm.prices import Price
from bedside.judges.llm.queue import CallRecord
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, CallPlace
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Simulator

RULES = "rules"
#: What tables call it.
_SHOWN = "rules-toy"


class RuleActor:
    """Replies to a call from its material; an :class:`bedside.simulation.actor_contract.Actor`."""

    conversations: int | None = None
    stateful = False
    price: Price | None = None

    def __init__(self, reply: Callable[[Call], ActorReply], room: int) -> None:
        self.room = room
        self.parameters: dict[str, Any] = {}
        self._reply = reply

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Reply to a call."""
        return self._reply(call)

    async def close(self) -> None:
        """Nothing is held."""


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    rater = algorithm_rater(RULES, f"{simulator.name}-{simulator.version}")
    return [ActorName(RULES, "protocol_rules", _SHOWN, rater, toy=True) for _ in names]


def _open(name: ActorName, settings: ActorSettings) -> RuleActor:
    reply = settings.simulator.rules.get(settings.role)
    if reply is None:
        raise InputError(
            f"{settings.simulator.name} has no {settings.role} by rules",
            where=f"`{settings.role}`",
            todo="name a model",
        )
    return RuleActor(reply, settings.max_concurrency)


ACTOR = ActorKind(
    name="protocol_rules",
    title="the simulator's own toy, which needs no model",
    takes=lambda text: text == RULES,
    read=_read,
    open=_open,
    free=True,
)
