"""Pages that this machine serves: where, who may ask, what every answer forbids, and the browser that shows one.

A page gives its files and what it answers (:class:`LocalPage`); all else of its server is the same for all pages.
Whoever asks is known by a secret in the header ``Authorization`` of every request, never by a cookie: a page elsewhere
can't have a browser send it. No secret, text or address of anyone is logged.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import ipaddress
import itertools
import logging
import os
import re
import secrets
import socket
import ssl
import sys
import threading
import traceback
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import orjson

from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import holding, read_json, write_json
from bedside.core.json_shape import TEXT, ObjectOf

if TYPE_CHECKING:
    from aiohttp import web

# -- Where a page is served -----------------------------------------------------------------------------

#: Where a page is served, unless told otherwise.
HOST, PORT = "127.0.0.1", 8086
_SECRET = re.compile(r"[A-Za-z0-9_-]{20,100}")
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
        return not self.address.startswith("https:") and not is_loopback(urlsplit(self.address).hostname or "")

    @property
    def reach(self) -> str:
        """What serving it opens, and to whom, in a sentence."""
        if self.only_here:
            others = "" if self.public is None else f", and whoever the proxy of {self.public} lets in"
            return f"Only this machine can reach it{others}."
        host = "an address of this machine" if self.host in ("0.0.0.0", "::") else self.host
        limit = f": let the proxy of {self.public} alone do so" if self.certificate is None else " by TLS"
        return f"Whoever reaches {host} can reach its port {self.port}{limit}."

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
            own.add("{0.scheme}://{0.netloc}".format(urlsplit(self.public)).casefold())
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
            reason = getattr(error, "strerror", None) or str(error)
            if isinstance(error, ssl.SSLError):
                pair = error.reason == "KEY_VALUES_MISMATCH"
                reason = "the key is another certificate's" if pair else "one of the two is no PEM, or has a password"
            raise InputError(
                f"the certificate can't be used ({reason})",
                where=str(self.certificate),
                todo="give `certificate` and `key` as PEM files, the key without a password",
            ) from error
        return context


def checked_place(place: PagePlace, called: str = "address") -> PagePlace:
    """A place that can be one; its public address is the argument of that name.

    Raises:
        InputError: the public address is none, a key has no certificate or a certificate no key, or others could read
            along.
    """
    if (place.certificate is None) != (place.key is None):
        raise InputError(
            "a certificate needs its key", where="`certificate`", todo="give both, `certificate` and `key`"
        )
    try:
        parts = urlsplit(place.public or "")
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_one = is_one and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:
        is_one = False
    if place.public is not None and not is_one:
        raise InputError(
            f"{place.public!r} is not an address",
            where=f"`{called}`",
            todo="write it as people type it, such as https://studies.example.org/rating",
        )
    if not place.only_here and place.certificate is None and parts.scheme != "https":
        raise InputError(
            f"{place.host} opens the page to others, and what is read and written there would go unencrypted",
            where="`host`",
            todo="give `certificate` and `key`, or name the https address of the proxy before it",
        )
    public = None if place.public is None else parts.geturl().rstrip("/")
    return PagePlace(place.host, place.port, public, place.certificate, place.key)


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


# -- Who may ask ----------------------------------------------------------------------------------------


def new_secret() -> str:
    """A secret that can't be guessed, however fast a server answers."""
    return secrets.token_urlsafe(24)


def secret_digest(secret: str) -> bytes:
    """What secrets are looked up by, so that how long it takes says nothing about them."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class LinkFile:
    """The file with the secret of each person's link, which its owner alone reads.

    Attributes:
        path: the file; it stands outside of what is copied and sent on, so that no secret goes with that.
    """

    path: Path

    def secrets(self, people: Sequence[str]) -> dict[str, str]:
        """Person → secret. Those there already keep theirs; who is new gets one.

        Raises:
            RunError: the file is damaged or can't be written.
        """
        with self._held():
            known = self._known()
            missing = [person for person in people if person not in known]
            if missing:
                known |= {person: new_secret() for person in missing}
                write_json(self.path, {"raters": known})
        return {person: known[person] for person in people}

    def links(self, address: str, people: Sequence[str]) -> dict[str, str]:
        """Person → link. The secret stands behind ``#``: browsers never send that part, so that no log can hold it."""
        return {person: f"{address}/#{secret}" for person, secret in self.secrets(people).items()}

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Remove the links of whoever is gone."""
        with self._held():
            known = self._known()
            kept = {person: secret for person, secret in known.items() if not is_gone(person)}
            if kept != known:
                write_json(self.path, {"raters": kept})

    def _held(self) -> AbstractContextManager[None]:
        refusal = RunError("another bedside process is making links", where=str(self.path.parent), todo="try again")
        return holding(self.path.with_suffix(".lock"), refusal, 10.0)

    def _known(self) -> dict[str, str]:
        if not self.path.is_file():
            return {}
        try:
            known: dict[str, str] = read_json(self.path, "file of links", {"raters": ObjectOf(TEXT)})["raters"]
            if not all(map(_SECRET.fullmatch, known.values())) or len(set(known.values())) < len(known):
                raise ValueError("a secret is none")
        except (RunError, ValueError) as error:
            raise RunError(
                "the file of links is damaged",
                where=str(self.path),
                todo="restore it from a copy, or remove it: everybody then gets a new link",
            ) from error
        return known


# -- What is served -------------------------------------------------------------------------------------

Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]
#: Gives what becomes JSON, to whom a secret made known and what was asked.
Answer = Callable[[str, "web.Request"], Any]

#: Modules that all pages share.
SHARED_FILES = ("elements.js",)
#: How long open requests are waited for at the end, and how long one may take to arrive, in seconds.
_END_SECONDS, _REQUEST_SECONDS = 5.0, 30.0
#: How long a connection may be open without a whole request, or speak of TLS, in seconds.
_IDLE_SECONDS, _TLS_SECONDS = 60.0, 10.0
#: Connections that are open at once, how many may wait to be let in, and how many are before others are answered.
_MOST_CONNECTIONS, _MOST_BEFORE_DOOR, _LET_IN_AT_ONCE = 512, 4096, 16
#: How long nobody is let in where no file can be opened for them, in seconds.
_WAIT_SECONDS = 0.02
#: What is answered to an error that a page knows no status of.
SERVER_TROUBLE = 503
_NO_MORE_FILES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_LOG = logging.getLogger(__name__)
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
    "Server": "bedside",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPage:
    """A page: its files, and what is answered to it. All questions but the slow ones are answered in one thread.

    Attributes:
        contents: its files by name; ``page.html`` stands at the root, all of them under ``/files/``.
        asker: whose a secret is; None where it is nobody's. Secrets are looked up by their :func:`secret_digest`.
        answers: what is asked, by its path.
        slow_answers: what takes long, by its path: the others don't wait for it.
        changes: what is sent, by its path; what came with the request is given, too.
        most_bytes: of what is sent at once.
        statuses: the status of each kind of error of bedside's; of all others, :data:`SERVER_TROUBLE`.
        error_words: what is said of an error, given its status.
    """

    contents: Mapping[str, bytes]
    asker: Callable[[str], str | None]
    answers: Mapping[str, Answer]
    slow_answers: Mapping[str, Answer] = field(default_factory=dict)
    changes: Mapping[str, Callable[[str, web.Request, bytes], Any]] = field(default_factory=dict)
    most_bytes: int = 1024**2
    statuses: Mapping[type[BedsideError], int]
    error_words: Callable[[BedsideError, int], Mapping[str, Any]]


def page_contents(package: str, names: Iterable[str]) -> dict[str, bytes]:
    """A page's files by their names: those in the folder ``files`` of its package, and those that all pages share.

    The look that they share stands before a page's own.
    """
    own = files(package).joinpath("files")
    shared = files("bedside.core").joinpath("page_files")
    contents = {name: own.joinpath(name).read_bytes() for name in names}
    contents["page.css"] = shared.joinpath("look.css").read_bytes() + contents["page.css"]
    return {**contents, **{name: shared.joinpath(name).read_bytes() for name in SHARED_FILES}}


async def serve(
    page: LocalPage,
    place: PagePlace,
    *,
    started: Callable[[], None],
    beside: Callable[[Executor], Awaitable[None]] | None = None,
) -> None:
    """Serve until the task is cancelled.

    Args:
        page: what is served.
        place: where.
        started: called once the server answers.
        beside: what goes on meanwhile, given the thread that answers questions.

    Raises:
        InputError: the port can't be listened at, or the certificate can't be used.
    """
    with ThreadPoolExecutor(1) as worker, ThreadPoolExecutor(1) as slow_worker:
        busy = set[Any]()
        async with _listening(_application(page, place, worker, slow_worker, busy), place, busy):
            started()
            await (asyncio.Event().wait() if beside is None else beside(worker))


@asynccontextmanager
async def _listening(application: web.Application, place: PagePlace, busy: set[Any]) -> AsyncIterator[None]:
    from aiohttp import web

    class Connection(web.RequestHandler):
        def handle_error(self, request: Any, status: int = 500, exc: Any = None, message: Any = None) -> web.Response:
            if status >= 500 and exc is not None:  # bedside's own fault; its words may be of somebody's text
                trace = "".join(traceback.format_tb(exc.__traceback__))
                _LOG.error("A page met a fault of bedside's: %s\n%s", type(exc).__name__, trace)
            response = _json({"error": HTTPStatus(status).phrase}, status)
            response.headers.update(_HEADERS)
            response.force_close()
            return response

        def log_exception(self, *args: Any, **kw: Any) -> None:
            """What a client sent that can't be read, and its address: nobody else's business."""

    tls = place.tls()
    runner = web.AppRunner(application, shutdown_timeout=_END_SECONDS)
    await runner.setup()
    loop, kind = asyncio.get_running_loop(), cast(Any, Connection)
    come = partial(kind, runner.server, loop=loop, access_log=None, keepalive_timeout=_IDLE_SECONDS)
    door = _Door(runner.server, come, busy, tls, place.public is not None)
    with ExitStack() as ending:
        try:
            ending.callback(door.close)
            try:
                for family, _, _, _, address in await loop.getaddrinfo(
                    place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
                ):
                    opened = socket.create_server(address, family=family, backlog=_MOST_BEFORE_DOOR)
                    ending.callback(opened.close)
                    opened.setblocking(False)
                    ending.callback(loop.create_task(door.let_in(opened)).cancel)
            except (OSError, UnicodeError) as error:
                where, todo = "`port`", "end what has that port, or choose another `port` or `host`"
                if isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL:
                    where, todo = "`host`", "give an address of this machine, or 0.0.0.0 for all of them"
                reason = getattr(error, "strerror", None) or str(error)
                trouble = f"the server can't listen at {place.host}, port {place.port} ({reason})"
                raise InputError(trouble, where=where, todo=todo) from error
            yield
        finally:
            ending.close()
            await runner.cleanup()


class _Door:
    """Lets connections in; of too many, the oldest that waits goes for each that comes.

    A client has half of them at most. Behind a proxy all are the proxy's, which is one client without that limit.

    Args:
        server: who answers.
        come: makes what speaks with who comes.
        busy: the connections whose request is being answered.
        tls: what speaks TLS; None where nothing does.
        behind_proxy: whether people's connections are those of a proxy.
    """

    def __init__(self, server: Any, come: Any, busy: set[Any], tls: ssl.SSLContext | None, behind_proxy: bool) -> None:
        self._server, self._come, self._busy, self._tls = server, come, busy, tls
        # Half of the files that may still be opened are others'.
        self._most = max(2, min(_MOST_CONNECTIONS, _free_files() // 2))
        self._at_once = max(1, min(_LET_IN_AT_ONCE, self._most // 16))  # closing takes some rounds
        self._most_of_one = self._most if behind_proxy else self._most // 2
        #: Whose each connection is, the oldest first.
        self._clients: dict[Any, str] = {}
        #: Those that aren't whole yet, and the ways of those that are.
        self._coming: dict[Any, asyncio.Task[Any]] = {}
        self._ways: dict[Any, asyncio.Transport] = {}

    async def let_in(self, opened: socket.socket) -> None:
        """Let in whoever comes there, until cancelled."""
        loop, quiet_until = asyncio.get_running_loop(), 0.0
        for number in itertools.count():
            try:
                connection, address = await loop.sock_accept(opened)
            except OSError as error:
                if error.errno in _NO_MORE_FILES:  # else who came has gone
                    if loop.time() > quiet_until:
                        _LOG.warning("No more files can be open (%s): who comes to the page waits", error.strerror)
                    quiet_until = loop.time() + _IDLE_SECONDS
                    for _ in range(self._at_once):
                        self._make_room()
                    await asyncio.sleep(_WAIT_SECONDS)
                continue
            if self._has_room(client := client_of(address[0])):
                self._take(connection, client)
            else:
                connection.close()
            if not number % self._at_once:
                await asyncio.sleep(0)

    def _take(self, connection: socket.socket, client: str) -> None:
        loop, protocol = asyncio.get_running_loop(), self._come()
        limit = None if self._tls is None else _TLS_SECONDS
        coming = loop.create_task(
            loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._tls, ssl_handshake_timeout=limit)
        )
        self._clients[protocol], self._coming[protocol] = client, coming
        coming.add_done_callback(partial(self._came, protocol, connection))

    def _came(self, protocol: Any, connection: socket.socket, coming: asyncio.Task[Any]) -> None:
        del self._coming[protocol]
        if coming.cancelled() or coming.exception() is not None:  # as who speaks no TLS, or has gone
            connection.close()
        else:
            self._ways[protocol] = coming.result()[0]

    def _has_room(self, client: str) -> bool:
        """Whether one more can be let in, once another was ended where there are too many."""
        if len(self._clients) < self._most_of_one:
            return True
        there = {*self._coming, *self._server.connections}
        self._clients = {each: whose for each, whose in self._clients.items() if each in there}
        self._ways = {each: way for each, way in self._ways.items() if each in there}
        if Counter(self._clients.values())[client] >= self._most_of_one:
            return self._make_room(client)
        return len(self._clients) < self._most or self._make_room()

    def _make_room(self, client: str | None = None) -> bool:
        """End the oldest connection of a client, or of who has most, whose request isn't being answered; whether there
        is one."""
        waiting = {each: whose for each, whose in self._clients.items() if each not in self._busy}
        if client is None and waiting:
            client = Counter(waiting.values()).most_common(1)[0][0]
        oldest = next((each for each, whose in waiting.items() if whose == client), None)
        if oldest is None:
            return False
        del self._clients[oldest]
        if oldest in self._coming:
            self._coming[oldest].cancel()
        elif oldest in self._ways:
            self._ways.pop(oldest).abort()  # what is still to be sent may never be taken
        return True

    def close(self) -> None:
        """End what isn't whole yet."""
        for task in self._coming.values():
            task.cancel()


def client_of(address: str) -> str:
    """Who asks from an address: of IPv6, all of a network, for whoever has one has billions."""
    own = ipaddress.ip_address(address.partition("%")[0])
    if own.version == 6 and own.ipv4_mapped is None:
        return str(ipaddress.ip_network((own, 64), strict=False))
    return str(getattr(own, "ipv4_mapped", None) or own)


def _free_files() -> int:
    """How many files this process may open besides those it has."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 2 * _MOST_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2 * _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft - len(os.listdir("/dev/fd"))


def _application(
    page: LocalPage, place: PagePlace, worker: Executor, slow_worker: Executor, busy: set[Any]
) -> web.Application:
    from aiohttp import web

    async def file(request: web.Request) -> web.Response:
        name = request.match_info.get("file", "page.html")
        if name not in page.contents:
            raise web.HTTPNotFound
        kind = _TYPES[name[name.rindex(".") :]]
        return web.Response(body=page.contents[name], content_type=kind, charset="utf-8")

    def answering(thread: Executor, answer: Callable[..., Any]) -> Handler:
        async def handler(request: web.Request) -> web.Response:
            loop = asyncio.get_running_loop()
            scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
            asker = await loop.run_in_executor(thread, page.asker, secret if scheme == "Bearer" else "")
            if asker is None:
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
            sent: tuple[bytes, ...] = ()
            if request.method == "PUT":
                busy.discard(request.protocol)  # who is still sending waits, too
                try:
                    async with asyncio.timeout(_REQUEST_SECONDS):
                        sent = (await request.read(),)
                except (ConnectionError, web.RequestPayloadError) as error:  # gone, or what came is no body
                    raise web.HTTPBadRequest from error
                busy.add(request.protocol)
            return _json(await loop.run_in_executor(thread, answer, asker, request, *sent))

        return handler

    async def forbid(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)

    application = web.Application(middlewares=[_guard(page, place, busy)], client_max_size=page.most_bytes)
    application.on_response_prepare.append(forbid)
    for path in ("/", "/files/{file}"):
        application.router.add_get(path, file)
    for path, answer in page.answers.items():
        application.router.add_get(path, answering(worker, answer))
    for path, answer in page.slow_answers.items():
        application.router.add_get(path, answering(slow_worker, answer))
    for path, change in page.changes.items():
        application.router.add_put(path, answering(worker, change))
    return application


def _json(value: Any, status: int = 200) -> web.Response:
    from aiohttp import web

    body = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8")


def _guard(page: LocalPage, place: PagePlace, busy: set[Any]) -> Any:
    """Refuses what doesn't come from the page itself, and makes every answer one that says nothing it shouldn't."""
    from aiohttp import web

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        busy.add(request.protocol)
        try:
            response = await _checked(place, request, handler)
        except web.HTTPException as refusal:
            response = _json({"error": refusal.reason}, refusal.status)
            for name in ("Allow", "WWW-Authenticate"):
                if name in refusal.headers:
                    response.headers[name] = refusal.headers[name]
        except BedsideError as error:
            status = next((code for kind, code in page.statuses.items() if isinstance(error, kind)), SERVER_TROUBLE)
            response = _json(page.error_words(error, status), status)
        except TimeoutError:
            response = _json({"error": "The request took too long."}, 408)
        finally:
            busy.discard(request.protocol)
        return response

    return guarded


async def _checked(place: PagePlace, request: web.Request, handler: Handler) -> web.StreamResponse:
    from aiohttp import web

    host = request.headers.get("Host", "")
    if len(request.headers.getall("Host", [])) != 1 or not place.accepts_host(host):
        raise web.HTTPMisdirectedRequest(reason="The server is not known by this name")
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none") and request.path != "/":
        raise web.HTTPForbidden(reason="Asked by another page")
    if request.method not in ("GET", "HEAD") and not place.accepts_origin(request.headers.get("Origin", ""), host):
        raise web.HTTPForbidden(reason="Asked by another page")
    return await handler(request)


# -- The browser that shows it --------------------------------------------------------------------------


@contextmanager
def opened_in_browser(link: str) -> Iterator[threading.Thread | None]:
    """Have the browser open a link, where there is one that has a window of its own; what starts it is given.

    The link goes by a file that its owner alone can read: others see the words that a program was started with.
    """
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        yield None
        return
    with TemporaryDirectory(prefix="bedside-page-") as folder:  # nobody else can look into it
        page = Path(folder) / "open.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>bedside</title>'
            f'<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Go on to the page</a>\n',
            "utf-8",
        )
        # Some ways to start a browser wait for it; the page is served meanwhile.
        starting = threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True)
        starting.start()
        yield starting
