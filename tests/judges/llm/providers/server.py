"""A real HTTP server on loopback that answers as a provider of language models documents it.

A provider's module states behaviours: functions from a :class:`Call` to an :class:`Answer`. One server serves
all tests of a module; a test sets its behaviour with :meth:`ProviderServer.behaving`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.judges.llm.server import fill


@dataclass(frozen=True)
class Call:
    """A request that came in.

    Attributes:
        method, path: of HTTP; the path is without the query.
        query: its last value for each name.
        headers: with names in lower case.
        body: the JSON that was sent; empty where there was none.
        number: which request it is since the behaviour was set, from 1.
        content: what was sent, as it came.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int
    content: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What a server answers.

    Attributes:
        body: JSON, or bytes as they are.
        status, headers: of HTTP.
        delay: seconds before it.
        drop: whether the connection is closed without an answer.
    """

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False


Behaviour = Callable[[Call], Answer]


def fitting(schema: Mapping[str, Any] | None, number: int = 2) -> str:
    """A judge's reply that fits a schema, or the rubrics with levels where there is none."""
    return json.dumps({"reason": "turn 0", "score": 3} if schema is None else fill(dict(schema), number, []))


class ProviderServer:
    """The server, in threads of its own; a context manager.

    Attributes:
        url: its address, without a path.
        calls: what came in since the behaviour was set.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._behaviour: Behaviour = lambda _: Answer(status=500)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ProviderServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def behaving(self, behaviour: Behaviour) -> Iterator[ProviderServer]:
        """Behave so as long as the block lasts; what came in before is forgotten."""
        self.calls.clear()
        before, self._behaviour = self._behaviour, behaviour
        try:
            yield self
        finally:
            self._behaviour = before

    def sent(self, path_end: str = "") -> list[Mapping[str, Any]]:
        """The bodies of what was posted to paths that end so."""
        return [call.body for call in self.calls if call.method == "POST" and call.path.endswith(path_end)]

    def _answer(self, method: str, target: str, headers: Mapping[str, str], content: bytes) -> Answer:
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        names = {name.lower(): value for name, value in headers.items()}
        body = json.loads(content) if content.startswith(b"{") else {}
        with self._lock:
            call = Call(method, parts.path, query, names, body, len(self.calls) + 1, content)
            self.calls.append(call)
        return self._behaviour(call)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _respond(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = owner._answer(self.command, self.path, dict(self.headers), content)
                time.sleep(answer.delay)
                if answer.drop:
                    self.close_connection = True
                    return
                body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                headers = {"Content-Type": "application/json", **answer.headers}
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _respond  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler
