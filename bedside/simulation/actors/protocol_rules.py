"""``rules``: the simulator's own actors, which need no model. They are toys, and every table names them so."""

from __future__ import annotations

from collections.abc import Sequence

from bedside.core.errors import InputError
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, LocalActor
from bedside.simulation.simulators.contract import Simulator

RULES = "rules"
#: What tables call it.
_SHOWN = "rules-toy"


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    rater = algorithm_rater(RULES, f"{simulator.name}-{simulator.version}")
    return [ActorName(RULES, "protocol_rules", _SHOWN, rater, toy=True) for _ in names]


def _open(name: ActorName, settings: ActorSettings) -> LocalActor:
    reply = settings.simulator.rules.get(settings.role)
    if reply is None:
        raise InputError(
            f"{settings.simulator.name} has no {settings.role} by rules",
            where=f"`{settings.role}`",
            todo="name a model",
        )
    return LocalActor(reply, settings.max_concurrency)


ACTOR = ActorKind(
    name="protocol_rules",
    title="the simulator's own toy, which needs no model",
    takes=lambda text: text == RULES,
    read=_read,
    open=_open,
    free=True,
)
