"""What local pages have in common: who may ask their servers, what every answer forbids, and where they listen.

Whoever asks is known by a secret in the header ``Authorization`` of every request, never by a cookie: a page elsewhere
can't have a browser send it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import BedsideError, InputError, MissingExtraError
from bedside.core.page_addresses import PagePlace

if TYPE_CHECKING:
    from aiohttp import web

Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]
#: What is told of an error, and with which status.
Telling = Callable[[BedsideError], tuple[dict[str, Any], int]]

#: Modules that all pages share.
SHARED_FILES = ("elements.js",)
#: How long open requests are waited for at the end, in seconds.
_END_SECONDS = 5.0
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
}


def check_library(extra: str) -> None:
    """See that the library that serves is there.

    Args:
        extra: the extra that brings it.

    Raises:
        MissingExtraError: it isn't installed.
    """
    try:
        import aiohttp.web  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("aiohttp is not installed", todo=f'pip install "bedside[{extra}]"') from error


@asynccontextmanager
async def listening(application: web.Application, place: PagePlace) -> AsyncIterator[None]:
    """Serve while the block lasts.

    Raises:
        InputError: the port can't be listened at, or the certificate can't be used.
    """
    from aiohttp import web

    tls = place.tls()
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_END_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, place.host, place.port, ssl_context=tls).start()
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"the server can't listen at {place.host}, port {place.port} ({reason})",
                where="`port`",
                todo="end what has that port, or choose another `port` or `host`",
            ) from error
        yield
    finally:
        await runner.cleanup()


def page_contents(package: str, names: Iterable[str]) -> dict[str, bytes]:
    """A page's files by their names: those in the folder ``files`` of its package, and those that all pages share."""
    own = files(package).joinpath("files")
    shared = files("bedside.core").joinpath("page_files")
    contents = {name: own.joinpath(name).read_bytes() for name in names}
    return {**contents, **{name: shared.joinpath(name).read_bytes() for name in SHARED_FILES}}


def add_files(application: web.Application, contents: dict[str, bytes], first: str) -> None:
    """Have an application give a page's files away: ``first`` at its root, all of them under ``/files/``."""
    from aiohttp import web

    async def file(request: web.Request) -> web.Response:
        name = request.match_info.get("file", first)
        if name not in contents:
            raise web.HTTPNotFound
        kind = _TYPES[name[name.rindex(".") :]]
        return web.Response(body=contents[name], content_type=kind, charset="utf-8")

    application.router.add_get("/", file)
    application.router.add_get("/files/{file}", file)


def sent_secret(request: web.Request) -> str:
    """The secret that came with a request; empty where none did."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret if scheme == "Bearer" else ""


def json_answer(value: Any, status: int = 200) -> web.Response:
    """An answer of JSON."""
    from aiohttp import web

    body = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8")


def guard(place: PagePlace, telling: Telling) -> Any:
    """Refuses what doesn't come from the page itself, and makes every answer one that says nothing it shouldn't.

    Args:
        place: where the page is served.
        telling: what is told of an error of bedside's, and with which status.
    """
    from aiohttp import web

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await _answer(place, request, handler)
        except web.HTTPException as refusal:
            response = json_answer({"error": refusal.reason}, refusal.status)
            for name in ("Allow", "WWW-Authenticate"):
                if name in refusal.headers:
                    response.headers[name] = refusal.headers[name]
        except BedsideError as error:
            response = json_answer(*telling(error))
        except TimeoutError:
            response = json_answer({"error": "The request took too long."}, 408)
        response.headers.update(_HEADERS)
        return response

    return guarded


async def _answer(place: PagePlace, request: web.Request, handler: Handler) -> web.StreamResponse:
    from aiohttp import web

    host = request.headers.get("Host", "")
    if len(request.headers.getall("Host", [])) != 1 or not place.accepts_host(host):
        raise web.HTTPMisdirectedRequest(reason="The server is not known by this name")
    if (
        request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none")
        and request.path != "/"
    ):
        raise web.HTTPForbidden(reason="Asked by another page")
    if request.method not in ("GET", "HEAD") and not place.accepts_origin(
        request.headers.get("Origin", ""), host
    ):
        raise web.HTTPForbidden(reason="Asked by another page")
    return await handler(request)
