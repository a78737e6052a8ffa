"""The server of the page on which a run is looked at: it answers whoever has the secret, and changes nothing."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bedside.core.errors import BedsideError, InputError
from bedside.core.page_addresses import PagePlace
from bedside.core.page_serving import (
    Handler,
    add_files,
    check_library,
    guard,
    json_answer,
    listening,
    page_contents,
    sent_secret,
)
from bedside.reports.viewer.conversation_content import conversation
from bedside.reports.viewer.judgement_lookup import JudgementLookup
from bedside.reports.viewer.list_query import read_query
from bedside.reports.viewer.state_lookup import StateLookup
from bedside.reports.viewer.viewed_run import NoSuchTranscriptError, ViewedRun

if TYPE_CHECKING:
    from aiohttp import web

#: Modules of the page, each after those that it imports, beside those that all pages share.
MODULES = ("address.js", "numbers.js", "keys.js", "list_page.js", "judgement.js", "conversation_page.js",
           "pair_page.js", "view.js")  # fmt: skip
_FILES = ("page.html", "page.css", *MODULES, "served.js")
#: The furthest that a page of the list can begin: beyond any run.
_FURTHEST = 10**9
#: Where it is served, where nothing has that port.
PORT = 8087


class ViewServer:
    """A run's page without its network: what is answered to which question.

    Args:
        viewed: the run.
    """

    def __init__(self, viewed: ViewedRun) -> None:
        self._viewed = viewed
        self._judgements = JudgementLookup(viewed.path)
        self._states = StateLookup(viewed.path)
        #: What is asked of the run's tables, by the path; each takes what was sent with it.
        self.questions: Mapping[str, Callable[[web.Request], Any]] = {
            "/run": lambda request: viewed.overview,
            "/list": lambda request: viewed.page(_query(request), _start(request)),
            "/neighbours": lambda request: viewed.neighbours(_query(request), _id(request)),
            "/conversation": lambda request: conversation(viewed, _id(request)),
            "/version": lambda request: None,
        }
        #: What is asked of files that take long to look through the first time.
        self.slow_questions: Mapping[str, Callable[[web.Request], Any]] = {
            "/judgements": lambda request: self._judgements.of(_id(request)),
            "/judgement": lambda request: self._judgements.whole(request.query.get("key", "")),
            "/states": lambda request: self._states.of(_id(request)),
        }

    def answer(self, request: web.Request) -> dict[str, Any]:
        """What the run's tables say, with the version of the run that says it.

        Raises:
            NoSuchTranscriptError, InputError: it is asked for what there isn't.
            RunError: the run isn't there any more, or damaged.
        """
        version = self._viewed.version()
        return {"version": version, "data": self.questions[request.path](request)}

    def slow_answer(self, request: web.Request) -> dict[str, Any]:
        """What the judgements and hidden states say.

        Raises:
            RunError: the store of judgements or the file of states is damaged.
        """
        return {"data": self.slow_questions[request.path](request)}

    def close(self) -> None:
        """Forget what was looked up."""
        self._judgements.close()


async def serve_view(
    server: ViewServer, place: PagePlace, secret: str, *, started: Callable[[], None]
) -> None:
    """Serve until the task is cancelled.

    Args:
        server: the run's page.
        place: where.
        secret: what must come with every question.
        started: called once the server answers.

    Raises:
        InputError: the port can't be listened at.
        MissingExtraError: the library that serves is missing.
    """
    check_library("view")
    with ThreadPoolExecutor(1) as tables, ThreadPoolExecutor(1) as files:
        async with listening(_application(server, place, secret, tables, files), place):
            started()
            await asyncio.Event().wait()


def _application(
    server: ViewServer, place: PagePlace, secret: str, tables: ThreadPoolExecutor, files: ThreadPoolExecutor
) -> web.Application:
    from aiohttp import web

    def answering(work: Callable[[web.Request], dict[str, Any]], worker: ThreadPoolExecutor) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            if not hmac.compare_digest(
                sent_secret(request).encode(errors="surrogateescape"), secret.encode()
            ):
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
            return json_answer(await asyncio.get_running_loop().run_in_executor(worker, work, request))

        return answer

    def told(error: BedsideError) -> tuple[dict[str, Any], int]:
        kinds = {NoSuchTranscriptError: 404, InputError: 422}
        return {"error": str(error)}, next(
            (code for kind, code in kinds.items() if isinstance(error, kind)), 503
        )

    application = web.Application(middlewares=[guard(place, told)])
    add_files(application, page_contents(__package__, _FILES), "page.html")
    for path in server.questions:
        application.router.add_get(path, answering(server.answer, tables))
    for path in server.slow_questions:
        application.router.add_get(path, answering(server.slow_answer, files))
    return application


def _query(request: web.Request) -> Any:
    return read_query(request.query.items())


def _id(request: web.Request) -> str:
    return request.query.get("id", "")


def _start(request: web.Request) -> int:
    text = request.query.get("start", "0")
    if not (text.isascii() and text.isdigit() and int(text) < _FURTHEST):
        raise InputError(f"{text!r} is no place in the list", where="start")
    return int(text)
