"""A page at which people take part in conversations, several at once: each has a link, and sees what they would see at
the keyboard, no more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.page_serving import LinkFile, LocalPage, PagePlace, new_secret, page_contents, secret_digest, serve
from bedside.simulation.person import ShownKind, timed
from bedside.simulation.simulators.calls import ActorRole

if TYPE_CHECKING:
    from aiohttp import web


T = TypeVar("T")

#: How long what was sent may take until it is kept, and how long a page may take to see that all is done, in seconds.
_KEPT_SECONDS, _GOODBYE_SECONDS = 20.0, 3.0
_FILES = ("page.html", "page.css", "talk.js")
_MOST_CHARACTERS = 20_000


class OutOfTurnError(BedsideError):
    """A line that isn't waited for: another window sent one, or the other side speaks."""


class _SentLine(BaseModel):
    """What a page sends.

    Attributes:
        session: of which screen; another once the command was started again.
        number: how many lines were taken before.
        text: the line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    session: str
    number: int = Field(ge=0)
    text: str = Field(max_length=_MOST_CHARACTERS)


class PageScreen:
    """What one person sees and types: a :class:`bedside.simulation.person.Screen` with a page before it.

    A line counts as sent once it is on the disk; one that is sent again, as its answer was lost, is taken once. Their
    time runs from the moment that a page first showed what is asked.

    Args:
        role: whose side they take.
    """

    ending = ("Close the page", "at any time; your link goes on where you were")

    def __init__(self, role: ActorRole) -> None:
        self.role = role
        self.unseen = 0.0
        #: Whether they know that all is done.
        self.said_goodbye = False
        self._session = new_secret()[:12]
        self._shown: list[dict[str, str]] = []
        self._changed = threading.Condition()
        self._prompt: str | None = None
        self._line: str | None = None
        self._texts: list[str] = []
        self._taken = 0
        self._seen: float | None = None
        self._reminders: tuple[tuple[float, str], ...] = ()
        self._timers = ExitStack()
        self._done = self._closed = False

    def show(self, text: str, kind: ShownKind = "note") -> None:
        """Show a text of some kind."""
        with self._changed:
            self._shown.append({"kind": kind, "text": text})

    def line(self, prompt: str) -> str:
        """Wait for a line.

        Raises:
            EOFError: the page is no longer served.
        """
        with self._changed:
            asked, self._prompt = monotonic(), prompt
            self._changed.wait_for(lambda: self._line is not None or self._closed)
            self.unseen = (monotonic() if self._seen is None else self._seen) - asked
            line, self._line, self._prompt, self._seen = self._line, None, None, None
            if line is None:
                raise EOFError
            self._shown.append({"kind": "own", "text": f"{prompt}{line}"})
            return line

    def kept(self) -> None:
        """What was typed last is on the disk."""
        with self._changed:
            self._taken += 1
            self._changed.notify_all()

    @contextmanager
    def reminding(self, reminders: Iterable[tuple[float, str]]) -> Iterator[None]:
        """Show lines, each so many seconds after a page showed what is asked, and how long there is."""
        self._reminders = tuple(reminders)
        with self._timers:
            yield
        self._reminders = ()

    def news(self, session: str, since: int) -> dict[str, Any]:
        """What the page shows: all texts of a new session, or those from number ``since`` on."""
        with self._changed:
            if self._prompt is not None and self._seen is None:
                self._seen = monotonic()
                self._timers.enter_context(timed(self._reminders, self.show))
            left = None
            if self._reminders and self._seen is not None:
                left = max(0, round(self._seen + self._reminders[-1][0] - monotonic()))
            self.said_goodbye = self._done
            return {
                "session": self._session,
                "role": self.role,
                "shown": self._shown[since:] if session == self._session else self._shown,
                "from": since if session == self._session else 0,
                "prompt": self._prompt if self._line is None else None,
                "taken": self._taken,
                "left": left,
                "done": self._done,
            }

    def send(self, sent: _SentLine) -> None:
        """Take a line, and come back once it is on the disk.

        Raises:
            OutOfTurnError: none is waited for.
            RunError: it isn't kept in time.
        """
        with self._changed:
            if sent.session == self._session and sent.number < len(self._texts):
                if sent.text != self._texts[sent.number]:
                    raise OutOfTurnError("Another text was taken first", todo="what you typed is still in the box")
            elif sent.session != self._session or sent.number != self._taken or self._prompt is None:
                raise OutOfTurnError("This isn't waited for", todo="load the page again")
            else:
                self._texts.append(sent.text)
                self._line = " ".join(sent.text.split("\n"))
                self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._taken > sent.number, _KEPT_SECONDS):
                raise RunError("It isn't kept yet", todo="try again")

    def finish(self) -> None:
        """There is no more to come."""
        self._done = True

    def close(self) -> None:
        """Wait for nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class TalkPage:
    """The page of a simulation's people.

    Their secrets stand in ``TALKS-page`` beside the simulation's folder, which is copied and sent on.

    Args:
        place: where it is served.
        folder: that of the simulation.
        links: called with each person's link once it is served.
    """

    def __init__(
        self, place: PagePlace, folder: Path, links: Callable[[Mapping[str, str]], None] | None = None
    ) -> None:
        self._place = place
        self._links = links
        self._file = LinkFile(folder.absolute().with_name(f"{folder.absolute().name}-page") / "links.json")
        self._screens: dict[str, PageScreen] = {}

    def screen(self, person: str, role: ActorRole) -> PageScreen:
        """The screen of a person, ``human:NAME``."""
        return self._screens.setdefault(person, PageScreen(role))

    def until_done(self, talks: Iterator[T], people: Iterable[str]) -> Iterator[T]:
        """Conversations that are had one after the other; then those people know that there are no more."""
        yield from talks
        for person in people:
            if person in self._screens:
                self._screens[person].finish()

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Serve the page while the block runs; at its end, those who are done are told so.

        Raises:
            BedsideError: it can't be served there.
        """
        self._file.path.parent.mkdir(mode=0o700, exist_ok=True)
        secrets = self._file.secrets(list(self._screens))
        by_digest = {secret_digest(secret): self._screens[person] for person, secret in secrets.items()}
        ready = asyncio.Event()
        serving = asyncio.create_task(serve(self._page(by_digest), self._place, started=ready.set))
        try:
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if serving.done():
                serving.result()
            if self._links is not None:
                self._links(self._file.links(self._place.address, list(self._screens)))
            yield
            end = monotonic() + _GOODBYE_SECONDS
            while monotonic() < end and not all(screen.said_goodbye for screen in self._screens.values()):
                await asyncio.sleep(0.1)
        finally:
            for screen in self._screens.values():
                screen.close()
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    def _page(self, screens: Mapping[bytes, PageScreen]) -> LocalPage:
        def screen_of(secret: str) -> PageScreen:
            return screens[bytes.fromhex(secret)]

        return LocalPage(
            contents=page_contents(__package__, _FILES),
            asker=lambda sent: digest.hex() if (digest := secret_digest(sent)) in screens else None,
            answers={"/news": lambda asker, request: screen_of(asker).news(*_place_of(request))},
            changes={"/line": lambda asker, request, body: screen_of(asker).send(_sent(body))},
            statuses={OutOfTurnError: 409, InputError: 422},
            error_words=lambda error, status: {"error": str(error)},
        )


def _place_of(request: web.Request) -> tuple[str, int]:
    """The session that a page shows, and how many of its texts."""
    since = request.query.get("since", "0")
    if not (since.isascii() and since.isdigit() and len(since) < 9):
        raise InputError(f"{since!r:.40} is no number of texts")
    return request.query.get("session", ""), int(since)


def _sent(body: bytes) -> _SentLine:
    try:
        return _SentLine.model_validate_json(body)
    except ValidationError as error:
        raise InputError("This is no line") from error
