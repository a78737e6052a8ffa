"""The rating page's server: what comes over the network is checked here, and answered by the page's state.

A rater is known by the secret that comes with every request. No secret, text or address of anyone is logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import EntryConflictError
from bedside.annotation.rating_page.page_entries import MOST_BYTES, read_entry
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.rating_page.page_state import (
    ClosedItemError,
    IncompleteEntryError,
    NoSuchItemError,
    PageState,
)
from bedside.core.errors import BedsideError, InputError
from bedside.core.page_addresses import PagePlace
from bedside.core.page_serving import (
    add_files,
    check_library,
    guard,
    json_answer,
    listening,
    page_contents,
    sent_secret,
)
from bedside.ratings.run import Run

if TYPE_CHECKING:
    from aiohttp import web

T = TypeVar("T")
#: Takes a line about the work.
ShowLine = Callable[[str], None]

#: How often answers go into the run where there are new ones, in seconds.
COLLECT_SECONDS = 10.0
#: How long a request may take to arrive, in seconds.
_REQUEST_SECONDS = 30.0
_FILES = ("page.html", "page.css", "page.js", "server.js", "questions.js", "conversation.js", "words.js")
_STATUS: dict[type[BedsideError], int] = {
    NoSuchItemError: 404,
    ClosedItemError: 403,
    EntryConflictError: 409,
    IncompleteEntryError: 422,
    InputError: 422,
}


async def serve_page(
    state: PageState,
    place: PagePlace,
    folder: PageFolder,
    run: Run,
    *,
    started: Callable[[], None],
    say: ShowLine,
) -> None:
    """Serve until the task is cancelled; answers go into the run as they come, and once more at the end.

    Args:
        state: the page.
        place: where.
        folder: the page's folder.
        run: the run that answers go into.
        started: called once the server answers.
        say: takes a line where answers can't go into the run, and where they can again.

    Raises:
        InputError: the port can't be listened at, or the certificate can't be used.
        MissingExtraError: the library that serves is missing.
    """
    check_library("annotate")
    with ThreadPoolExecutor(1) as worker:
        async with listening(_application(state, place, worker, say), place):
            started()
            collector = asyncio.create_task(_collecting(state, folder, run, worker, say))
            try:
                await asyncio.Event().wait()
            finally:
                collector.cancel()


async def _collecting(
    state: PageState, folder: PageFolder, run: Run, worker: ThreadPoolExecutor, say: ShowLine
) -> None:
    """Put answers into the run as they come. What fails is tried again: the database has the answers."""
    loop = asyncio.get_running_loop()
    last, trouble = -1, ""
    while True:
        try:
            number = await loop.run_in_executor(worker, state.database.last_revision)
            if number != last:
                # Reading the run and the store anew takes a moment: raters are answered meanwhile.
                plan = await loop.run_in_executor(worker, lambda: state.plan)
                await asyncio.to_thread(_collect_anew, folder, run, plan)
                last = number
                if trouble:
                    say("Answers go into the run again.")
                trouble = ""
        except Exception as error:  # whatever it is, raters go on
            if str(error) != trouble:
                say(f"Answers are kept, and not in the run yet: {error}")
            trouble = str(error)
        await asyncio.sleep(COLLECT_SECONDS)


def _collect_anew(folder: PageFolder, run: Run, plan: AnnotationPlan) -> None:
    """Put answers into the run as it is now: other commands may have changed it since it was opened."""
    collect(folder, Run(run.path), plan)


def _application(
    state: PageState, place: PagePlace, worker: ThreadPoolExecutor, say: ShowLine
) -> web.Application:
    from aiohttp import web

    async def in_turn(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(worker, work)

    async def rater_of(request: web.Request) -> str:
        secret = sent_secret(request)
        rater = await in_turn(lambda: state.rater_of(secret)) if secret else None
        if rater is None:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        return rater

    async def share(request: web.Request) -> web.Response:
        rater = await rater_of(request)
        return json_answer(await in_turn(lambda: state.share(rater)))

    async def item(request: web.Request) -> web.Response:
        rater = await rater_of(request)
        return json_answer(await in_turn(lambda: state.item(rater, request.match_info["item"])))

    async def save(request: web.Request) -> web.Response:
        rater = await rater_of(request)
        async with asyncio.timeout(_REQUEST_SECONDS):
            body = await request.read()
        return json_answer(
            await in_turn(lambda: state.save(rater, request.match_info["item"], read_entry(body)))
        )

    def told(error: BedsideError) -> tuple[dict[str, Any], int]:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503)
        if status == 503:
            say(f"A rater's request failed: {error}")
            return {"error": state.words.say("server_trouble")}, status
        said = {"error": " ".join(filter(None, (error.what, error.todo)))}
        return (
            {**said, "wanting": error.wanting} if isinstance(error, IncompleteEntryError) else said
        ), status

    application = web.Application(middlewares=[guard(place, told)], client_max_size=MOST_BYTES)
    contents = page_contents(__package__, _FILES)
    contents["page.html"] = state.words.page(contents["page.html"])
    contents["texts.js"] = state.words.script()
    add_files(application, contents, "page.html")
    application.router.add_get("/share", share)
    application.router.add_get("/items/{item}", item)
    application.router.add_put("/items/{item}", save)
    return application
