"""The rating page's server: each rater is answered by the page's state, and answers go into the run as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

from bedside.annotation.assignment_by_need import is_reached
from bedside.annotation.rating_page.adjudication_queue import AdjudicationQueue
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import MOST_BYTES, EntryConflictError, read_entry
from bedside.annotation.rating_page.page_folder import RESEARCHER, PageFolder
from bedside.annotation.rating_page.page_state import (
    ClosedItemError,
    IncompleteEntryError,
    NoSuchItemError,
    OtherLinkError,
    PageState,
)
from bedside.annotation.rating_page.recruited_page import RecruitedPage
from bedside.core.errors import BedsideError, InputError
from bedside.core.page_serving import SERVER_TROUBLE, LocalPage, PagePlace, page_contents, serve
from bedside.ratings.run import Run

#: Takes a line about the work.
ShowLine = Callable[[str], None]
#: Gives what the researcher's page shows, as what becomes JSON.
StudyShown = Callable[[], Mapping[str, Any]]

#: How often answers go into the run where there are new ones, in seconds.
COLLECT_SECONDS = 10.0
_SCRIPTS = ("page", "enrolment", "views", "server", "questions", "conversation", "words", "study")
_FILES = ("page.html", "study.html", "page.css", *(f"{name}.js" for name in _SCRIPTS))
_STATUS: dict[type[BedsideError], int] = {
    NoSuchItemError: 404,
    ClosedItemError: 403,
    OtherLinkError: 403,
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
    study: StudyShown | None = None,
    queue: AdjudicationQueue | None = None,
) -> None:
    """Serve until the task is cancelled; answers go into the run as they come, and once more at the end.

    Args:
        state: the page.
        place: where.
        folder: the page's folder.
        run: the run that answers go into.
        started: called once the server answers.
        say: takes a line where answers can't go into the run, and where they can again.
        study: what the researcher's page shows; called in a thread of its own.
        queue: what raters differ on, where somebody settles it meanwhile.

    Raises:
        InputError: the port can't be listened at, or the certificate can't be used.
    """
    await serve(
        _page(state, say, study, queue),
        place,
        started=started,
        beside=lambda worker: _collect_for_ever(state, folder, run, worker, say, queue),
    )


async def _collect_for_ever(
    state: PageState, folder: PageFolder, run: Run, worker: Executor, say: ShowLine, queue: AdjudicationQueue | None
) -> None:
    """Put answers into the run as they come. What fails is tried again: the database has the answers."""
    loop = asyncio.get_running_loop()
    last, trouble = {"": -1}, ""

    def revisions() -> dict[str, int]:
        return {"": state.database.last_revision(), **({} if queue is None else queue.last_revisions())}

    while True:
        fault = "Answers are kept, and not in the run yet"
        try:
            if isinstance(state, RecruitedPage):
                await loop.run_in_executor(worker, state.sweep)
            numbers = await loop.run_in_executor(worker, revisions)
            if numbers != last:
                # Reading the run and the store anew takes a moment: raters are answered meanwhile.
                plan, need = await loop.run_in_executor(worker, lambda: (state.plan, state.need))
                if numbers[""] != last[""]:
                    await asyncio.to_thread(collect, folder, Run(run.path), plan)  # it may have changed since
                if queue is not None:
                    fault = "What raters differ on can't be queued"
                    await asyncio.to_thread(queue.fill, plan, numbers)
                    await loop.run_in_executor(worker, queue.take_up)
                fault = "Whether the targets are reached can't be told"
                if need is not None and await asyncio.to_thread(is_reached, run.path, plan, need):
                    await loop.run_in_executor(worker, state.stop)
                    say(f"The targets {need.until} are reached: nobody gets more items.")
                if trouble:
                    say("Answers go into the run again.")
                last, trouble = numbers, ""
        except Exception as error:  # whatever it is, raters go on
            if str(error) != trouble:
                say(f"{fault}: {error}")
            trouble = str(error)
        await asyncio.sleep(COLLECT_SECONDS)


def _page(state: PageState, say: ShowLine, study: StudyShown | None, queue: AdjudicationQueue | None) -> LocalPage:
    def page_of(asker: str) -> PageState | AdjudicationQueue:
        if asker == RESEARCHER:
            raise OtherLinkError(state.words.say("other_link"))
        return queue if queue is not None and asker in queue.adjudicators else state

    def study_of(asker: str) -> Mapping[str, Any]:
        if asker != RESEARCHER or study is None:
            raise OtherLinkError(state.words.say("other_link"))
        return study()

    def error_words(error: BedsideError, status: int) -> dict[str, Any]:
        if status == SERVER_TROUBLE:
            say(f"A rater's request failed: {error}")
            return {"error": state.words.say("server_trouble")}
        wanting = {"wanting": error.wanting} if isinstance(error, IncompleteEntryError) else {}
        text = "; ".join(filter(None, (error.what, error.todo)))
        return {"error": text.replace(".; ", ". ").replace("。; ", "。"), **wanting}

    contents = page_contents(__package__, _FILES)
    contents["page.html"] = state.words.page(contents["page.html"])
    contents["texts.js"] = state.words.script()
    return LocalPage(
        contents=contents,
        asker=state.rater_of,
        answers={
            "/share": lambda rater, request: page_of(rater).share(rater),
            "/items/{item}": lambda rater, request: page_of(rater).item(rater, request.match_info["item"]),
        },
        slow_answers={"/study": lambda asker, request: study_of(asker)},
        changes={
            "/items/{item}": lambda rater, request, body: page_of(rater).save(
                rater, request.match_info["item"], read_entry(body)
            ),
            **_of_people(state),
        },
        most_bytes=MOST_BYTES,
        statuses=_STATUS,
        error_words=error_words,
    )


def _of_people(state: PageState) -> dict[str, Callable[[str, Any, bytes], Any]]:
    """What is sent by people who enrol, by its path; nothing where nobody can."""
    if not isinstance(state, RecruitedPage):
        return {}
    return {
        "/enrolment": lambda asker, request, body: state.enrol(asker, body),
        "/questionnaire": lambda rater, request, body: state.answer_questionnaire(rater, body),
        "/withdrawal": lambda rater, request, body: state.withdraw(rater, body),
    }
