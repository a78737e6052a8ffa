"""``webhook:https://…``: an agent at an address that calls are posted to, as JSON.

What is posted is described at :func:`bedside.simulation.actors._queued.agent_payload`; the answer is an object with
``message``, beside the schema's other fields, or, where ``kind`` is ``data``, the object that fits the schema. A key is
taken from ``BEDSIDE_WEBHOOK_KEY`` and sent as a bearer token. No redirect is followed.

A clinician there that takes the call and answers with an error of its own (500), with nothing, too much or something
else has failed. An address that can't be reached, and what stands before it (429, 502, 503, 504), is the network's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from bedside.core.addresses import holds_secret
from bedside.core.errors import RegistryError
from bedside.judges.llm.protocol import LanguageModelError
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import Actor, ActorKind, ActorName, ActorSettings
from bedside.simulation.actors._queued import AgentActor
from bedside.simulation.simulators.contract import Simulator

KEY = "BEDSIDE_WEBHOOK_KEY"
_BEGINNING = "webhook:"


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [_name(text) for text in names]


def _name(text: str) -> ActorName:
    url = text.removeprefix(_BEGINNING)
    try:
        parts = urlsplit(url)
        readable = parts.scheme in ("http", "https") and bool(parts.hostname)
        readable = readable and (parts.port is None or parts.port > 0)
    except ValueError:
        readable = False
    if not readable:
        raise RegistryError("the webhook's address can't be read", todo="write webhook:https://host/path")
    if holds_secret(url):
        raise RegistryError(
            "the address of a webhook must hold no name, password or query", todo=f"put the key into {KEY}"
        )
    return ActorName(text, "webhook", text, algorithm_rater(text), detail=url)


def _open(name: ActorName, settings: ActorSettings) -> Actor:
    from bedside.simulation.actors._webhook_client import WebhookClient

    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise LanguageModelError(f"{KEY} holds characters that can't be sent", todo="copy the key again")
    client = WebhookClient(
        name.detail, key=key, key_name=KEY, time_limit=settings.sampling.timeout, tested=settings.role == "clinician"
    )
    return AgentActor(client, name.detail, settings)


ACTOR = ActorKind(
    name="webhook",
    title="an address that calls are posted to",
    takes=lambda text: text.startswith(_BEGINNING),
    read=_read,
    open=_open,
)
