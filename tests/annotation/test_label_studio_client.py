"""A server that is no Label Studio is told in one line, and an environment half installed isn't taken for whole."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from bedside.annotation import label_studio_server
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.core.errors import LabelStudioError

USER = {
    "id": 1, "email": "anna@example.org", "username": "anna", "first_name": "", "last_name": "", "initials": "a",
}  # fmt: skip


@contextmanager
def serving(reply: Callable[[str], tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """The address of a server that answers each path with a status, headers and a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = reply(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_server_that_asks_for_patience_gets_it_and_a_login_page_is_named() -> None:
    """It refuses the first two requests as too many, and shows a page to log in at any address but one."""
    times: list[float] = []

    def reply(path: str) -> tuple[int, dict[str, str], bytes]:
        times.append(time.monotonic())
        wait = {"Retry-After": "0.2"} if len(times) < 3 else {}
        status = 429 if wait else 200
        if "whoami" in path:
            return status, {"Content-Type": "application/json", **wait}, json.dumps(USER).encode()
        return status, {"Content-Type": "text/html; charset=utf-8", **wait}, b"<html><h1>Log in</h1></html>"

    with serving(reply) as address:
        client = LabelStudioClient(address, "a" * 40)
        assert len(times) == 3
        assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))
        with pytest.raises(LabelStudioError, match="a web page, as where one must log in"):
            client.tasks([SimpleNamespace(id=1)])


@pytest.mark.parametrize("listing", [{"tasks": []}, [], {"total": 1, "tasks": [7]}, "x"])
def test_a_listing_that_is_none(listing: object) -> None:
    def reply(path: str) -> tuple[int, dict[str, str], bytes]:
        return (200, {"Content-Type": "application/json"}, json.dumps(USER if "whoami" in path else listing).encode())

    with serving(reply) as address, pytest.raises(LabelStudioError, match="as no Label Studio does"):
        LabelStudioClient(address, "a" * 40).tasks([SimpleNamespace(id=1)])


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache folder of one's own, and a package index that can't be reached. Where the environment would be."""
    monkeypatch.delenv(label_studio_server.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return label_studio_server.environment_folder()


def put_program(environment: Path) -> Path:
    program = environment / "bin" / "label-studio"
    program.parent.mkdir(parents=True)
    program.touch()
    return program


@pytest.mark.slow
def test_an_interrupted_install_is_begun_again_and_one_that_fails_leaves_nothing(no_index: Path) -> None:
    put_program(no_index)
    lines: list[str] = []
    with pytest.raises(LabelStudioError, match="can't be installed") as failed:
        label_studio_server.ensure_environment(say=lines.append)
    assert "\n" not in str(failed.value)
    assert label_studio_server.VERSION in lines[0]
    assert not no_index.exists()


def test_a_finished_install_is_used(no_index: Path) -> None:
    program = put_program(no_index)
    (no_index / ".complete").touch()
    assert label_studio_server.ensure_environment() == program


def test_an_environment_of_ones_own_is_never_written_to(no_index: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").touch()
    with pytest.raises(LabelStudioError, match="has no Label Studio"):
        label_studio_server.ensure_environment(mine)
    assert list(mine.iterdir()) == [mine / "precious"]
    program = put_program(mine)
    assert label_studio_server.ensure_environment(mine) == program
