"""The server of the page on which a run is looked at: it answers whoever has the secret, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError
from bedside.core.page_serving import LocalPage, page_contents, secret_digest
from bedside.reports.viewer.judgement_lookup import JudgementLookup, StateLookup
from bedside.reports.viewer.viewed_run import NoSuchTranscriptError, ViewedRun, conversation, read_query

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
        self._questions: Mapping[str, Callable[[web.Request], Any]] = {
            "/run": lambda request: viewed.overview,
            "/list": lambda request: viewed.page(read_query(request.query.items()), _start(request)),
            "/neighbours": lambda request: viewed.neighbours(read_query(request.query.items()), _id(request)),
            "/conversation": lambda request: conversation(viewed, _id(request)),
            "/version": lambda request: None,
        }
        #: What is asked of files that take long to look through the first time.
        self._slow_questions: Mapping[str, Callable[[web.Request], Any]] = {
            "/judgements": lambda request: self._judgements.of(_id(request)),
            "/judgement": lambda request: self._judgements.whole(request.query.get("key", "")),
            "/states": lambda request: self._states.of(_id(request)),
            "/findings": lambda request: viewed.findings(),
        }

    def page(self, secret: str) -> LocalPage:
        """The page, for whoever has a secret."""
        digest = secret_digest(secret)
        return LocalPage(
            contents=page_contents(__package__, _FILES),
            asker=lambda sent: "viewer" if secret_digest(sent) == digest else None,
            answers=dict.fromkeys(self._questions, self._answer),
            slow_answers=dict.fromkeys(self._slow_questions, self._slow_answer),
            statuses={NoSuchTranscriptError: 404, InputError: 422},
            error_words=lambda error, status: {"error": str(error)},
        )

    def _answer(self, asker: str, request: web.Request) -> dict[str, Any]:
        """What the run's tables say, with the version of the run that says it."""
        version = self._viewed.version()
        return {"version": version, "data": self._questions[request.path](request)}

    def _slow_answer(self, asker: str, request: web.Request) -> dict[str, Any]:
        """What the judgements and hidden states say."""
        return {"data": self._slow_questions[request.path](request)}

    def close(self) -> None:
        """Forget what was looked up."""
        self._judgements.close()


def _id(request: web.Request) -> str:
    return request.query.get("id", "")


def _start(request: web.Request) -> int:
    text = request.query.get("start", "0")
    if not (text.isascii() and text.isdigit() and int(text) < _FURTHEST):
        raise InputError(f"{text!r} is no place in the list", where="start")
    return int(text)
