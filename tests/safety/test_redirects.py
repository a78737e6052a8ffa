"""A server that points elsewhere is not followed there: what is sent stays with the address that the user named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

import bedside
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.core.errors import LabelStudioError


class Elsewhere(BaseHTTPRequestHandler):
    """Redirects to ``target`` where it has one, and keeps what it is asked."""

    target = ""
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(307 if self.target else 200)
        if self.target:
            self.send_header("Location", self.target + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def hosts() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that redirects, and what the one it points to was asked."""
    asked: list[str] = []
    servers = []
    target = ""
    for kept in (asked, []):
        kind = type("Kind", (Elsewhere,), {"target": target, "asked": kept})
        server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = f"http://127.0.0.1:{server.server_address[1]}"
        servers.append(server)
    yield target, asked
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_label_studio(hosts: tuple[str, list[str]]) -> None:
    address, elsewhere = hosts
    with pytest.raises(LabelStudioError, match="redirects to another address"):
        LabelStudioClient(address, "a" * 40)
    assert not elsewhere


def test_doctor(hosts: tuple[str, list[str]]) -> None:
    address, elsewhere = hosts
    (found,) = [one for one in bedside.doctor(label_studio=address).results if one.group == "Label Studio"]
    assert found.good is False
    assert not elsewhere
