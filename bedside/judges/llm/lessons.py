"""What an endpoint was found not to take: learnt by one call for all, and kept beside the store for the next."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import orjson

from bedside.core.errors import BedsideError
from bedside.core.files import write_bytes
from bedside.judges.llm.protocol import Client, NotTakenError, Reply, Sampling, UnusableError, WrongFormError

#: Seconds that calls wait for the first one's answer: who refuses a request says so at once.
_FIRST_SECONDS = 1.0
#: Days after which what was learnt is tried again: servers and models change.
_KEPT_DAYS = 30.0


class FirstCall:
    """Lets one call go ahead of the others, until it is known to be taken as it is.

    So what an endpoint refuses is refused once, and not by all calls in flight. An answer that takes longer than a
    second isn't waited for.
    """

    def __init__(self, known: bool = False) -> None:
        self.known = known
        self._leading = False
        self._news = asyncio.Event()

    async def call(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Make a call, when it is its turn; what it raises, this raises."""
        if not self.known:
            await self._turn()
        try:
            reply = await ask()
        except (NotTakenError, WrongFormError):
            self._change(known=False)
            raise
        except UnusableError:
            self._change(known=True)
            raise
        except BaseException:
            self._change(known=self.known)
            raise
        if not self.known:
            self._change(known=True)
        return reply

    async def _turn(self) -> None:
        while self._leading and not self.known:
            try:
                async with asyncio.timeout(_FIRST_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                return
        self._leading = True

    def _change(self, known: bool) -> None:
        self.known, self._leading = known, False
        self._news.set()
        self._news = asyncio.Event()


@runtime_checkable
class Learning(Protocol):
    """A client that learns what its endpoint takes.

    Attributes:
        place: what it is known by, see :func:`place_of`.
    """

    place: str

    def learnt(self) -> dict[str, Any]:
        """What was learnt, as JSON has it; empty where that is nothing."""
        ...

    def recall(self, lessons: Mapping[str, Any]) -> None:
        """Begin with what was learnt before."""
        ...


def place_of(address: str, model: str, sampling: Sampling) -> str:
    """What lessons are kept by: address and model, and a digest of the settings that decide what else is taken.

    A model may take a temperature only where it doesn't reason, or the other way round.
    """
    parameters = sampling.parameters()
    settings = {name: parameters[name] for name in ("reasoning_effort", "extra") if name in parameters}
    place = f"{address}#{model}"
    if not settings:
        return place
    return f"{place} {hashlib.sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]}"


def _learning(client: Client) -> Iterator[Learning]:
    """The clients that learn, of one that may share calls out among several."""
    if isinstance(client, Learning):
        yield client
    for inner in getattr(client, "inner", ()):
        yield from _learning(inner)


class EndpointMemory:
    """What was learnt of endpoints, in a small file beside a store of judgements; it holds no key and no text.

    Args:
        store: the store's file.
    """

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.stem}.endpoints.json")

    def recall(self, client: Client) -> None:
        """Tell a client what was learnt before."""
        lessons = self._read()
        for learning in _learning(client):
            entry = lessons.get(learning.place)
            if entry is not None and abs(time.time() - entry["learnt"]) < _KEPT_DAYS * 86_400:
                learning.recall(entry)

    def keep(self, client: Client) -> None:
        """Keep what a client learnt; a file that can't be written is done without."""
        kept = self._read()
        news = {learning.place: learnt for learning in _learning(client) if (learnt := learning.learnt())}
        news = {place: learnt for place, learnt in news.items() if {**kept.get(place, {}), **learnt} != kept.get(place)}
        if not news:
            return
        kept |= {place: {**learnt, "learnt": round(time.time())} for place, learnt in news.items()}
        with suppress(OSError, BedsideError):
            write_bytes(self._path, orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            data = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        entries = data.items() if isinstance(data, dict) else ()
        return {
            place: entry
            for place, entry in entries
            if isinstance(entry, dict) and isinstance(entry.get("learnt"), int | float)
        }
