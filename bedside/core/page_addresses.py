"""Where a local page is served, and which addresses a browser may have used to get there."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bedside.core.errors import InputError

# -- Addresses of servers -------------------------------------------------------------------------------

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


# -- Where a local page is served -----------------------------------------------------------------------

#: Where a page is served, unless told otherwise.
HOST, PORT = "127.0.0.1", 8086
_HOST_HEADER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Where the page is served.

    Attributes:
        host, port: where the server listens.
        public: the address that people use where it isn't the server's own, as behind a proxy; without a ``/`` at the
            end.
        certificate, key: files of the server's certificate and its key, for TLS.
    """

    host: str = HOST
    port: int = PORT
    public: str | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def scheme(self) -> str:
        """``https`` where the server speaks TLS itself."""
        return "http" if self.certificate is None else "https"

    @property
    def address(self) -> str:
        """What people's links begin with."""
        if self.public is not None:
            return self.public
        host = self.host
        if host in ("0.0.0.0", "::"):
            host = _own_address() or socket.gethostname()
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def only_here(self) -> bool:
        """Whether this machine alone can reach it."""
        return is_loopback(self.host)

    @property
    def is_readable(self) -> bool:
        """Whether what is sent goes through a network in clear text."""
        return not self.address.startswith("https:") and not is_loopback(
            urlsplit(self.address).hostname or ""
        )

    def accepts_host(self, header: str) -> bool:
        """Whether a request may name the server so.

        A page elsewhere can have its own name point to this machine, and so have a browser ask here in its name. It
        can't do so with an address in figures; other names than this machine's are refused.
        """
        match = _HOST_HEADER.fullmatch(header)
        if match is None:
            return False
        name = match[1].strip("[]").casefold()
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = {"localhost", self.host.casefold(), socket.gethostname().casefold()}
            if self.public is not None:
                own.add((urlsplit(self.public).hostname or "").casefold())
            return name in own
        return True

    def accepts_origin(self, origin: str, host_header: str) -> bool:
        """Whether a request that changes something may come from a page of this origin: from the server's own."""
        own = {f"{self.scheme}://{host_header}"}
        if self.public is not None:
            parts = urlsplit(self.public)
            own.add(f"{parts.scheme}://{parts.netloc}")
        return origin in own

    def tls(self) -> ssl.SSLContext | None:
        """What speaks TLS; None where the server doesn't.

        Raises:
            InputError: the certificate or its key can't be used.
        """
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except (OSError, ValueError) as error:
            raise InputError(
                f"the certificate can't be used ({error})",
                where=str(self.certificate),
                todo="give `certificate` and `key` as PEM files, the key without a password",
            ) from error
        return context


def checked_place(place: PagePlace) -> PagePlace:
    """A place that can be one.

    Raises:
        InputError: the public address is none, or a key has no certificate or a certificate no key.
    """
    if (place.certificate is None) != (place.key is None):
        raise InputError(
            "a certificate needs its key", where="`certificate`", todo="give both, `certificate` and `key`"
        )
    if place.public is None:
        return place
    parts = urlsplit(place.public)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise InputError(
            f"{place.public!r} is not an address",
            where="`address`",
            todo="write it as people type it, such as https://studies.example.org/rating",
        )
    return PagePlace(place.host, place.port, place.public.rstrip("/"), place.certificate, place.key)


def free_port(wanted: int) -> int:
    """The port of this machine that is wanted, where nothing has it; else one that is free."""
    for port in (wanted, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    return 0


def is_loopback(host: str) -> bool:
    """Whether a host is this machine to itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def _own_address() -> str | None:
    """This machine's address on its network; None where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documentation: only the way there is looked up
            return str(probe.getsockname()[0])
        except OSError:
            return None
