"""Addresses of servers, which may hold secrets."""

from __future__ import annotations

import re

_USER = re.compile(r"(^|//)[^/#?\s]*@")
_QUERY = re.compile(r"\?[^#\s]*")
_PASSWORD = re.compile(r"//[^/\s:@]*:([^/\s@]+)@")


def holds_secret(address: str) -> bool:
    """Whether an address has a place for secrets: a user before the host, or a query."""
    return bool(_USER.search(address) or _QUERY.search(address))


def without_secrets(address: str) -> str:
    """An address as it may be printed, without user, password and query."""
    return _QUERY.sub("?…", _USER.sub(r"\1…@", address))


def passwords_in(text: str) -> list[str]:
    """The passwords in the addresses of a text."""
    return _PASSWORD.findall(text)
