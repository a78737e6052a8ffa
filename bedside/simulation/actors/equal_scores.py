"""``none``: a ranker that finds all candidates alike, so that the first is taken."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from bedside.core.errors import InputError
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, LocalActor
from bedside.simulation.simulators.calls import ActorReply
from bedside.simulation.simulators.contract import Simulator

NONE = "none"


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [ActorName(NONE, "equal_scores", NONE, algorithm_rater(NONE)) for _ in names]


def _open(name: ActorName, settings: ActorSettings) -> LocalActor:
    if settings.role != "ranker":
        raise InputError("none is no actor", where=f"`{settings.role}`", todo="name a model, or rules")
    return LocalActor(
        lambda call: ActorReply(orjson.dumps({"scores": [0.0] * len(call.material["candidates"])}).decode()),
        settings.max_concurrency,
    )


ACTOR = ActorKind(
    name="equal_scores",
    title="a ranker that finds all candidates alike",
    takes=lambda text: text == NONE,
    read=_read,
    open=_open,
)
