"""A real HTTP server on loopback that answers as a provider of language models documents it.

A provider's module states behaviours: functions from a :class:`Call` to an :class:`Answer`. One server serves
all tests of a module; a test sets its behaviour with :meth:`ProviderServer.behaving`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.judges.llm.server import Action, JudgeServer, fill, raw_response


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


class ProviderServer(JudgeServer):
    """The server, in a thread of its own; a context manager.

    Attributes:
        calls: what came in since the behaviour was set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._behaviour: Behaviour = lambda _: Answer(status=500)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

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

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        content, address = await request.read(), request.rel_url
        names = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(content) if content.startswith(b"{") else {}
        call = Call(
            request.method, address.raw_path, dict(address.query), names, body, len(self.calls) + 1, content
        )  # fmt: skip
        self.calls.append(call)
        answer = self._behaviour(call)
        await asyncio.sleep(answer.delay)
        sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        headers = {"Content-Type": "application/json", **answer.headers}
        return raw_response(request, Action(answer.status, headers, body=sent, drop=answer.drop))
