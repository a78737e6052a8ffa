"""A client of a Label Studio server: the projects of a plan, their tasks, and their answers.

The server would take the same task twice, so that nothing is sent twice on a cut connection. A project is known by a
mark in its description, whatever its title: the plan, the version of its page, the page as it was sent, and whose tasks
it holds. Where its owner described it anew, it is known by its tasks.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.core.addresses import holds_secret, without_secrets
from bedside.core.errors import InputError, LabelStudioError, from_extra

if TYPE_CHECKING:
    import httpx


# -- How requests reach a Label Studio server -----------------------------------------------------------

_TOO_MANY = 429
_OK = 200
#: Seconds to wait where the server doesn't say how long, the longest wait, and the longest time of all waits together.
_FIRST, _LONGEST, _ALTOGETHER = 2.0, 60.0, 300.0
#: Seconds an answer may take to begin; the second where it takes little work, by which a server that hangs is told.
_TIMEOUT, _PROMPT = 120.0, 15.0
_LIGHT = re.compile(r"GET .*/(whoami|projects|users)/?$|POST .*/token/refresh/$")


def patient_transport(url: str) -> httpx.BaseTransport:
    """A transport that sends a request again that the server refused as one too many (429), after the time it names.

    Such a request was not carried out, so nothing is done twice.

    Args:
        url: the server's address, for messages.
    """
    import httpx

    class PatientTransport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            waited, wait = 0.0, _FIRST
            if _LIGHT.match(f"{request.method} {request.url.path}"):
                request.extensions["timeout"] = httpx.Timeout(_PROMPT).as_dict()
            while True:
                response = super().handle_request(request)
                if response.status_code != _TOO_MANY or waited >= _ALTOGETHER:
                    break
                response.close()
                seconds = min(_seconds(response.headers.get("Retry-After")) or wait, _LONGEST)
                time.sleep(seconds)
                waited, wait = waited + seconds, wait * 2
            if response.status_code == _OK and "text/html" in response.headers.get("Content-Type", ""):
                response.close()
                raise LabelStudioError(
                    "what answers there is a web page, as where one must log in before Label Studio",
                    where=url,
                    todo="name the address of Label Studio itself, which its key opens",
                )
            return response

    return PatientTransport()


def _seconds(header: str | None) -> float | None:
    """The seconds that a Retry-After header names; None where it names none, or a date."""
    try:
        return max(float(header or ""), 0.1)
    except ValueError:
        return None


# -- A client of a Label Studio server ------------------------------------------------------------------

#: Tasks of one call, and of a page of a listing.
BATCH = 500
_MARK = re.compile(r"bedside plan=(\w+) page=(\w+) sent=(\w+) for=(.+)")
#: What every page of a plan has, and pages of others don't.
_OWN_PAGE = 'className="bedside '
#: Whose tasks a project holds that all raters share.
EVERYONE = "everyone"
#: What is asked of each task of a listing.
_LISTED = "id,data,overlap,total_annotations,cancelled_annotations"
_DRAFTED = json.dumps({
    "filters": {
        "conjunction": "and",
        "items": [{"filter": "filter:tasks:draft_exists", "operator": "equal", "type": "Boolean", "value": True}],
    }
})  # fmt: skip
#: Tasks that one address can name.
_NAMED = 200
_SERVER_FAULT = 500

#: Takes how many tasks are done, and how many there are.
TaskProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ServerTask:
    """A task on a server.

    Attributes:
        id: the server's number.
        data: what its page shows, with the item's id as ``external_id``.
        overlap: how many raters it is shown to.
        answers: how many were handed in or skipped.
    """

    id: int
    data: Mapping[str, Any]
    overlap: int
    answers: int


@dataclass(frozen=True, slots=True)
class ProjectMark:
    """What a project's description says of it.

    Attributes:
        plan: :func:`~bedside.annotation.annotation_plan.plan_hash` of its plan.
        page: :func:`~bedside.annotation.annotation_plan.page_version` of its page.
        sent: :func:`~bedside.annotation.labelling_page.page_digest` of its page as it was sent.
        part: whose tasks it holds.
    """

    plan: str
    page: str
    sent: str
    part: str

    def __str__(self) -> str:
        return f"bedside plan={self.plan} page={self.page} sent={self.sent} for={self.part}"


def project_mark(project: Any) -> ProjectMark | None:
    """What a project's description says of it; None where it is no project of a plan."""
    mark = _MARK.search(project.description or "")
    return mark and ProjectMark(*mark.groups())


def marked(description: str, mark: ProjectMark) -> str:
    """A project's description with its mark: what its owner wrote stays."""
    return f"{_MARK.sub('', description).strip()}\n{mark}".strip()


def annotation_count(project: Any) -> int:
    """How many answers a project has, skipped ones included."""
    return int(project.total_annotations_number or 0) + int(project.skipped_annotations_number or 0)


class UnreachableError(LabelStudioError):
    """The server was not reached, or failed: the same call can be made again."""


class LabelStudioClient:
    """A Label Studio server that can be spoken to.

    Args:
        url: its address, with its path where it has one.
        key: a personal access token, or a legacy token.

    Raises:
        LabelStudioError: it can't be reached, or does not take the key.
        MissingExtraError: the client library is not installed.
    """

    def __init__(self, url: str, key: str) -> None:
        with from_extra("annotate", "Label Studio needs label-studio-sdk"):
            import httpx
            from label_studio_sdk.client import LabelStudio
        if not re.match(r"https?://[^/]", url):
            raise InputError(
                f"{without_secrets(url)!r} is not an address", where="`url`", todo="write http://… or https://…"
            )
        if holds_secret(url):
            raise InputError(
                "the address holds a name, password or query",
                where="`url`",
                todo="leave it out; the server's key is named by `key`",
            )
        self.url: str = url.rstrip("/")
        if not (key.isascii() and key.isprintable()):
            raise LabelStudioError("the key holds characters that can't be sent", where=self.url, todo="copy it again")
        self._key = key
        # The client joins paths to the address as a browser does: without the slash a last part is lost.
        with self.speaking():
            connect: Any = LabelStudio
            # Conversations go to this address and to none that it names.
            session = httpx.Client(timeout=_TIMEOUT, follow_redirects=False, transport=patient_transport(self.url))
            self.client: Any = connect(base_url=f"{self.url}/", api_key=key, httpx_client=session)
            self.client.users.whoami()

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Turns what can go wrong on the way into one line that names the server."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            yield
        except ApiError as error:
            raise self._refused(error.status_code, error.body) from error
        except (httpx.TransportError, json.JSONDecodeError) as error:
            silent = "it doesn't answer" if isinstance(error, httpx.TimeoutException) else ""
            raise UnreachableError(
                f"Label Studio can't be reached ({silent or self._scrubbed(error) or type(error).__name__})",
                where=self.url,
                todo="see that it runs, then run the same command again: nothing is lost or done twice",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fault = self._scrubbed(error)
            raise LabelStudioError(f"Label Studio can't be asked ({fault})", where=self.url) from error

    def _scrubbed(self, fault: object) -> str:
        """What went wrong, without the key, which a server or the client library may repeat."""
        return " ".join(str(fault).replace(self._key, "[key removed]").split())

    def _refused(self, status: int | None, body: Any) -> LabelStudioError:
        if status in (401, 403):
            return LabelStudioError(
                "Label Studio does not take this key",
                where=self.url,
                todo="take a personal access token from Account & Settings, or the key of bedside annotate serve",
            )
        if status is not None and 300 <= status < 400:
            return LabelStudioError("the server redirects to another address", where=self.url, todo="name that address")
        if status is not None and status >= _SERVER_FAULT:
            return UnreachableError(f"Label Studio failed (status {status})", where=self.url, todo="run it again")
        fault = body.get("detail", body) if isinstance(body, dict) else re.sub(r"<[^>]+>", " ", str(body))
        return LabelStudioError(
            f"Label Studio refused (status {status}: {self._scrubbed(fault)[:200]})", where=self.url
        )

    def projects(self, plan: AnnotationPlan, named: int | None = None) -> dict[str, list[Any]]:
        """The plan's projects by whose tasks they hold, with titles and descriptions that are anybody's to change.

        The project whose number is ``named`` comes first, then those with a mark, the oldest first.

        Raises:
            LabelStudioError: the project that is named is not there, or holds other tasks.
        """
        projects: dict[str, list[Any]] = {}
        with self.speaking():
            listed = [(project_mark(project), project) for project in self.client.projects.list(page_size=BATCH)]
        for mark, project in sorted(listed, key=lambda one: (one[1].id != named, one[0] is None, one[1].id)):
            part = mark.part if mark is not None and mark.plan == plan_hash(plan) else None
            if part is None and (project.id == named or (mark is None and _OWN_PAGE in (project.label_config or ""))):
                part = _part_of(plan, self.tasks([project]), projects)
            if part is not None:
                projects.setdefault(part, []).append(project)
        if named is not None and named not in {project.id for several in projects.values() for project in several}:
            raise LabelStudioError(
                f"project {named} is not there, or holds other tasks than those of plan {plan_hash(plan)}",
                where=self.url,
                todo="name a project of the plan, or leave `project` out",
            )
        return projects

    def tasks(self, projects: Sequence[Any]) -> dict[str, list[ServerTask]]:
        """Tasks of projects by the item's id."""
        tasks: dict[str, list[ServerTask]] = {}
        for project in projects:
            for entry in self._listed(project, include=_LISTED):
                answers = int(entry["total_annotations"] or 0) + int(entry["cancelled_annotations"] or 0)
                task = ServerTask(entry["id"], entry["data"], entry["overlap"], answers)
                tasks.setdefault(task.data.get("external_id", ""), []).append(task)
        return tasks

    def drafts(self, project: Any) -> list[int]:
        """Ids of the tasks of a project that somebody has begun and not handed in."""
        return [task["id"] for task in self._listed(project, include="id", query=_DRAFTED)]

    def answers(self, project: Any, progress: Callable[[int], None]) -> Iterator[Mapping[str, Any]]:
        """The tasks of a project in the form of an export.

        An export takes the server five times as long as a listing, which shows no drafts of others: only tasks that
        have drafts are exported.
        """
        begun = sorted(self.drafts(project))
        fields = {"fields": "all", "include": "id,data,annotations", "expand": "annotations"}
        begun_ids = set(begun)
        for task in self._listed(project, progress, **fields):
            if task["id"] not in begun_ids:
                yield task
        for at in range(0, len(begun), _NAMED):
            ids = {"ids[]": begun[at : at + _NAMED]}
            with self.speaking():
                # Without the files that tasks could name: looking for them takes longer than all the rest.
                parts = self.client.projects.exports.download_sync(
                    project.id,
                    export_type="JSON",
                    download_all_tasks=True,
                    download_resources=False,
                    request_options={"additional_query_parameters": ids},
                )
                tasks = orjson.loads(b"".join(parts))
            yield from tasks

    def _listed(
        self, project: Any, progress: Callable[[int], None] = lambda done: None, **fields: str
    ) -> list[dict[str, Any]]:
        """All tasks of a project, with the fields asked for: the others take the server long.

        Pages shift when a task is deleted meanwhile, and one could fall between them: then the list is read again.
        """
        while True:
            tasks: dict[int, dict[str, Any]] = {}
            totals: set[int] = set()
            page = 1
            while page == 1 or (len(tasks) < min(totals) and len(totals) == 1):
                total, tasks_of_page = self._page({
                    "project": project.id, "page": page, "page_size": BATCH, "resolve_uri": False, **fields,
                })  # fmt: skip
                totals.add(total)
                if not tasks_of_page:
                    break
                tasks |= {task["id"]: task for task in tasks_of_page}
                progress(len(tasks))
                page += 1
            if totals == {len(tasks)}:
                return list(tasks.values())

    def _page(self, query: Mapping[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """How many tasks there are, and those of a page, as they are: the client's own models take most of the time
        of a long list, and change its times."""
        with self.speaking():
            answer = self.client._client_wrapper.httpx_client.request("api/tasks/", method="GET", params=query)
            if not answer.is_success:
                raise self._refused(answer.status_code, answer.text)
            listing = orjson.loads(answer.content)
        match listing:
            case {"total": int(total), "tasks": list(tasks)} if all(
                isinstance(task, dict) and isinstance(task.get("id"), int) for task in tasks
            ):
                return total, tasks
        raise LabelStudioError(
            "the server lists tasks as no Label Studio does",
            where=self.url,
            todo="check `url` and Label Studio's version: see bedside doctor",
        )


def _part_of(plan: AnnotationPlan, tasks: Mapping[str, list[ServerTask]], taken: Collection[str]) -> str | None:
    """Whose tasks these are, by the order in which they were sent; None where they aren't of the plan alone."""
    names = sorted(filter(None, tasks), key=lambda name: tasks[name][0].id)
    if not names or not plan.by_id.keys() >= set(names):
        return None
    orders = {EVERYONE: [item.id for item in plan.everything], **plan.assignment}

    def likeness(part: str) -> tuple[int, int, bool]:
        pairs = set(pairwise(names)) & set(pairwise(orders[part]))
        return len(pairs), len(set(names) & set(orders[part])), part not in taken

    return max(orders, key=likeness)


def report_tasks(progress: TaskProgress, base: int, total: int, done: int) -> None:
    """Say how many tasks of all are done, where ``base`` were done before."""
    progress(base + done, total)
