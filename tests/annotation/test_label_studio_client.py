"""What a server that is no Label Studio answers, in one line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from types import SimpleNamespace

import pytest

from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.core.errors import LabelStudioError

USER = {
    "id": 1,
    "email": "anna@example.org",
    "username": "anna",
    "first_name": "",
    "last_name": "",
    "initials": "a",
}


@pytest.fixture
def address() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listing = {"1": {"tasks": []}, "2": [], "3": {"total": 1, "tasks": [7]}, "4": "x"}
            project = self.path.partition("project=")[2].partition("&")[0]
            body = json.dumps(USER if "whoami" in self.path else listing[project]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def odd_address() -> Iterator[tuple[str, list[float]]]:
    """A server that refuses the first two requests as too many, and shows a page to log in at any address but one's."""
    times: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            times.append(time.monotonic())
            whoami = "whoami" in self.path
            self.send_response(429 if len(times) < 3 else 200)
            if len(times) < 3:
                self.send_header("Retry-After", "0.2")
            body = json.dumps(USER).encode() if whoami else b"<html><h1>Log in</h1></html>"
            self.send_header("Content-Type", "application/json" if whoami else "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", times
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_server_that_asks_for_patience_gets_it_and_a_login_page_is_named(
    odd_address: tuple[str, list[float]],
) -> None:
    address, times = odd_address
    client = LabelStudioClient(address, "a" * 40)
    assert len(times) == 3
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))
    with pytest.raises(LabelStudioError, match="what answers there is a web page, as where one must log in"):
        client.tasks([SimpleNamespace(id=1)])


@pytest.mark.parametrize("project", [1, 2, 3, 4])
def test_a_listing_that_is_none(address: str, project: int) -> None:
    with pytest.raises(LabelStudioError, match="as no Label Studio does"):
        LabelStudioClient(address, "a" * 40).tasks([SimpleNamespace(id=project)])
