"""Secrets: what must never be written anywhere, taken out of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from bedside.core.addresses import passwords_in

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
#: What is shorter is no secret but a word, such as the EMPTY that some servers want for a key.
_SHORTEST_SECRET = 8


class Secrets:
    """The values that must never be written anywhere: those of the environment whose names say so."""

    def __init__(self, environment: Mapping[str, str] | None = None, more: Iterable[str] = ()) -> None:
        environment = os.environ if environment is None else environment
        values = {
            value.strip()
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST_SECRET
        }
        # Those of proxies stand in addresses.
        more = [*more, *(password for value in environment.values() for password in passwords_in(value))]
        values |= {value for value in more if len(value) >= _SHORTEST_SECRET}
        self._values = sorted(values, key=len, reverse=True)

    def scrub(self, text: str) -> str:
        """The text without any of them."""
        for value in self._values:
            if value in text:
                text = text.replace(value, "[key removed]")
        return text

    def line(self, text: str, limit: int = 300) -> str:
        """The beginning of a text that came from outside, in one printable line without secrets."""
        plain = " ".join(self.scrub(text).split())
        plain = "".join(character if character.isprintable() else "\ufffd" for character in plain)
        return plain if len(plain) <= limit else f"{plain[:limit]}…"
