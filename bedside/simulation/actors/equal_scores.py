"""``none``: a ranker that finds all candidates alike, so that the first is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.judges.llm.prices import Price
from bedside.judges.llm.queue import CallRecord
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, CallPlace
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Simulator

NONE = "none"


class EqualScoresActor:
    """Scores every candidate alike; an :class:`bedside.simulation.actor_contract.Actor`."""

    conversations: int | None = None
    stateful = False
    price: Price | None = None

    def __init__(self, room: int) -> None:
        self.room = room
        self.parameters: dict[str, Any] = {}

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """The same score for each."""
        return ActorReply(orjson.dumps({"scores": [0.0] * len(call.material["candidates"])}).decode())

    async def close(self) -> None:
        """Nothing is held."""


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [ActorName(NONE, "equal_scores", NONE, algorithm_rater(NONE)) for _ in names]


def _open(name: ActorName, settings: ActorSettings) -> EqualScoresActor:
    if settings.role != "ranker":
        raise InputError("none is no actor", where=f"`{settings.role}`", todo="name a model, or rules")
    return EqualScoresActor(settings.max_concurrency)


ACTOR = ActorKind(
    name="equal_scores",
    title="a ranker that finds all candidates alike",
    takes=lambda text: text == NONE,
    read=_read,
    open=_open,
)
