"""A real HTTP server on loopback that speaks OpenAI's chat protocol and does as a script says.

As a program (``python tests/judges/llm/server.py --latency 0.2``) it prints its address and serves until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from aiohttp import web

from bedside.judges.settings import JudgeSettings


@dataclass
class Received:
    """A request that came in."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str

    @property
    def prompt(self) -> str:
        content = self.body["messages"][0]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    @property
    def form(self) -> str:
        return str(self.body.get("response_format", {}).get("type", "words"))

    @property
    def schema(self) -> dict[str, Any] | None:
        given = self.body.get("response_format", {})
        schema: dict[str, Any] | None = given.get("json_schema", given).get("schema")
        return schema


@dataclass
class Action:
    """What the server does with a request: by default it answers as the schema wants."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: The model's words; made of the schema if None.
    text: str | None = None
    #: The raw body, in place of an answer.
    body: bytes | None = None
    delay: float = 0.0
    #: Close the connection without an answer.
    drop: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)


Script = Callable[[Received, int], Action]


def fitting(request: Received) -> str:
    """A reply that fits the schema; which of the allowed values it gives depends on the prompt alone."""
    if request.schema is None:
        return '{"reason": "because of turn 0", "score": 3}'
    number = int(hashlib.sha256(request.prompt.encode()).hexdigest()[:8], 16)
    found = re.search(r"by number: ([\d, ]+)\.", request.prompt)
    asked = [int(each) for each in found[1].split(",")] if found else []
    return json.dumps(fill(request.schema, number, asked), ensure_ascii=False)


def fill(schema: dict[str, Any], number: int, asked: list[int]) -> Any:
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if "anyOf" in schema:
        return fill(schema["anyOf"][0], number, asked)
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if kind == "object":
        names = schema["properties"]
        made = {name: fill(part, number, asked) for name, part in names.items()}
        if all(part.get("type") == "number" for part in names.values()) and "reason" not in names:
            return {name: 1.0 if place == 0 else 0.0 for place, name in enumerate(names)}
        return made
    if kind == "array":
        if "item" in schema["items"].get("properties", {}):
            return [{**fill(schema["items"], number + each, asked), "item": each} for each in asked]
        return []
    return {"string": "because of turn 0", "integer": 0, "number": 0.5, "boolean": True}[kind]


def with_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Options of which those of :class:`JudgeSettings` are put into one."""
    names = {each.name for each in fields(JudgeSettings)}
    how = {name: options[name] for name in options if name in names}
    rest = {name: options[name] for name in options if name not in names}
    return {"settings": JudgeSettings(**how), **rest}


class JudgeServer:
    """The server, in a thread of its own; a context manager."""

    def __init__(
        self, script: Script | None = None, latency: float = 0.0, keep: bool = True, room: int | None = None
    ) -> None:
        self.script = script or (lambda request, number: Action())
        self.latency = latency
        #: What comes beyond so many at once waits until one is answered.
        self.room = asyncio.Semaphore(room or 1_000_000)
        self.keep = keep
        self.received: list[Received] = []
        self.count = 0
        self.prompts: Counter[str] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ready = threading.Event()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def judge(self) -> str:
        return f"{self.url}#tiny"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.start())
        self._ready.set()
        self._loop.run_forever()
        assert self._runner is not None
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> None:
        app = web.Application(client_max_size=2**28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=512)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        received = Received(json.loads(content), dict(request.headers), request.path)
        self.count += 1
        number = self.count
        if self.keep:
            self.received.append(received)
            self.prompts[received.prompt] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            action = self.script(received, number)
            if self.latency + action.delay:
                async with self.room:
                    await asyncio.sleep(self.latency + action.delay)
            return self._respond(request, received, action)
        finally:
            self.in_flight -= 1

    def _respond(self, request: web.Request, received: Received, action: Action) -> web.StreamResponse:
        if action.drop or action.body is not None or action.status != 200:
            return raw_response(request, action)
        text = fitting(received) if action.text is None else action.text
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
            **action.choice,
        }
        usage = {"prompt_tokens": len(received.prompt) // 4, "completion_tokens": len(text) // 4}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice],
                  "usage": usage, **action.extra}  # fmt: skip
        return web.json_response(answer, headers=action.headers)


def raw_response(request: web.Request, action: Action) -> web.StreamResponse:
    if action.drop:
        assert request.transport is not None
        request.transport.abort()
    body = b'{"error": {"message": "as scripted"}}' if action.body is None else action.body
    return web.Response(status=action.status, headers=action.headers, body=body)


#: One of each kind of fault.
FAULTS: tuple[Action, ...] = (
    Action(status=429, headers={"Retry-After": "0"}),
    Action(status=500),
    Action(status=503),
    Action(drop=True),
    Action(body=b'{"choices": [{"message": {"cont'),
    Action(body=b'{"choices": []}'),
    Action(text="I would rather not."),
    Action(text='{"reason": "far off", "score": 77}'),
)


def faulty(rate: float, seed: int, faults: tuple[Action, ...] = FAULTS) -> Script:
    """Each kind of fault with probability ``rate``, at random places."""
    generator = random.Random(seed)

    def script(request: Received, number: int) -> Action:
        drawn = generator.random()
        place = int(drawn / rate)
        return faults[place] if place < len(faults) else Action()

    return script


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--room", type=int)
    arguments = parser.parse_args()
    server = JudgeServer(latency=arguments.latency, keep=False, room=arguments.room)

    async def serve() -> None:
        await server.start(arguments.port)
        print(server.url, flush=True)  # noqa: T201
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
