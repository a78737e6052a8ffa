"""Where chats in OpenAI's form are posted, and with which key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """An address that takes chats in OpenAI's form.

    Attributes:
        url: where chats are posted.
        where: the address as messages name it.
        key: empty where none is sent.
        key_name: the environment variable that holds it.
        key_header: the header that the key is sent in, in place of a bearer token.
        models_url: where the models are listed; None where that says nothing of what can be asked.
        partner: who is there, for messages.
        access: what to check where access is refused though the key is right.
        no_model: what to check where there is no such model.
        pay: what to do where the account has nothing left.
    """

    url: str
    where: str
    key: str
    key_name: str
    key_header: str = ""
    models_url: str | None = None
    partner: str = "the server"
    access: str = "what the key may ask of this server"
    no_model: str = "check the address, which mostly ends in /v1, and the model's name"
    pay: str = "see its billing"
