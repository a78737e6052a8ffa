"""Language models: any name that judges take, files of endpoints too."""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson

from bedside.core.errors import RegistryError
from bedside.judges.llm.batch_files import BatchClient
from bedside.judges.llm.clients.local import LocalName
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import named_models, rooms
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Request
from bedside.judges.llm.sharing import Sharing, open_client
from bedside.ratings.names import judge_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, CallPlace
from bedside.simulation.actors._queued import QueuedActor, identity
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.contract import Simulator

#: What providers take as the name of a schema.
_NO_SCHEMA_NAME = re.compile(r"[^A-Za-z0-9_-]+")
#: What else an actor may be, for a name that is none.
_OTHERS = "or rules, script:NAME, package.module:function, webhook:URL or human:NAME"


class ModelActor(QueuedActor):
    """Asks a language model; an :class:`bedside.simulation.actor_contract.Actor`.

    Args:
        name: the model.
        settings: how it is opened.
    """

    def __init__(self, name: ModelName, settings: ActorSettings) -> None:
        patience = settings.patience
        sharing = Sharing(settings.max_concurrency, patience.first_wait, patience.longest_wait, places=settings.places)
        self._seeded = bool(settings.sampling.temperature)
        #: A model on this computer writes no words where a schema is to be kept to.
        self._plain_words = isinstance(name, LocalName)
        wave = settings.wave
        super().__init__(
            open_client(name, settings.sampling, sharing)
            if wave is None
            else BatchClient(name, settings.sampling, wave.answers, wave.writer),
            name.url or name.identity,
            settings,
            room=sum(rooms(name.endpoints, settings.max_concurrency)) if name.endpoints else None,
            parameters=settings.sampling.parameters(),
            price=settings.price if wave is None or settings.price is None else settings.price.in_batches(),
        )

    def request(self, call: Call, place: CallPlace) -> Request:
        """What is sent for a call."""
        plain = call.schema is None or (self._plain_words and call.kind == "message")
        return Request(
            call.messages(),
            None if plain else orjson.dumps(call.schema).decode(),
            schema_name=_NO_SCHEMA_NAME.sub("_", call.purpose)[:64] or "reply",
            seed=place.seed if self._seeded else None,
            **identity(call, place),
        )


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    try:
        models = named_models(names)
    except RegistryError as error:
        if error.where is not None:
            raise
        raise RegistryError(error.what, todo=f"{error.todo or 'name another model'}; {_OTHERS}") from error
    return [ActorName(name.shown, "model", name.identity, judge_rater(name.identity), detail=name) for name in models]


def _open(name: ActorName, settings: ActorSettings) -> ModelActor:
    return ModelActor(name.detail, settings)


def _check(names: Sequence[ActorName]) -> None:
    check_models(name.detail for name in names)


ACTOR = ActorKind(
    name="model",
    title="a language model, named as judges are",
    takes=lambda text: False,  # what no other kind takes
    read=_read,
    open=_open,
    check=_check,
)
