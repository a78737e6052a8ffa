"""A plan and a Label Studio server: tasks go out, answers come back.

What the server lacks is made up for here. It would take the same task twice, so what it has is listed before anything
is sent, nothing is sent twice on a cut connection, and a copy nobody answered is taken away. It does not check what a
page's answers mean, so a page that somebody changed is noticed. It can't hide anything from its members, so nothing
that tells systems apart is sent.

A project is known by a mark in its description: the plan, the version of its page, and whose tasks it holds.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from bedside.annotation.answers import Kept, Read, current, keep_answers, plan_folder, read_export, read_store
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.page import controls, instructions_page, labelling_page
from bedside.annotation.plan import AnnotationPlan, page_version, plan_hash, rater_of
from bedside.ratings.run import Run
from bedside.support.errors import InputError, LabelStudioError, MissingExtraError
from bedside.support.files import make_folder, saying_where
from bedside.support.urls import holds_secret, shown

#: Tasks of one call, and about how many bytes: a call is taken whole or not at all. Of a page of a listing, too.
BATCH = 500
BATCH_BYTES = 8_000_000
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
_ATTEMPTS = 4
_TITLE = 50
_TIMEOUT = 120.0
_EVERYONE = "everyone"
_MARK = re.compile(r"bedside plan=(\w+) page=(\w+) for=(.+)")
_SERVER_FAULT = 500

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did.

    Attributes:
        projects: title → address of the page where its raters begin.
        sent: tasks that were not there.
        present: tasks that were.
        removed: second copies of a task that were taken away; nobody had answered them.
        answered: tasks that are gone from the server, and were not sent again because all their answers are in the run.
    """

    projects: Mapping[str, str]
    sent: int
    present: int
    removed: int
    answered: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull found and did.

    Attributes:
        read: what was on the server.
        kept: what became of it in the run.
    """

    read: Read
    kept: Kept


@dataclass(frozen=True, slots=True)
class Task:
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


class LabelStudioServer:
    """A Label Studio server that can be spoken to.

    Args:
        url: its address, with its path where it has one.
        key: a personal access token, or a legacy token.

    Raises:
        LabelStudioError: it can't be reached, or does not take the key.
        MissingExtraError: the client library is not installed.
    """

    def __init__(self, url: str, key: str) -> None:
        try:
            from label_studio_sdk.client import LabelStudio
        except ImportError as error:
            raise MissingExtraError(
                "label-studio-sdk is not installed", todo="pip install 'bedside[annotate]'"
            ) from error
        if not re.match(r"https?://[^/]", url):
            raise InputError(
                f"{shown(url)!r} is no address", where="--url", todo="write http://… or https://…"
            )
        if holds_secret(url):
            raise InputError(
                "the address holds a name, password or query",
                where="--url",
                todo="put the key into an environment variable, see --key-env",
            )
        self.url = url.rstrip("/")
        if not (key.isascii() and key.isprintable()):
            raise LabelStudioError(
                "the key holds characters that can't be sent", where=self.url, todo="copy it again"
            )
        self._key = key
        # The client joins paths to the address as a browser does: without the slash a last part is lost.
        with self.speaking():
            connect: Any = LabelStudio
            # Conversations go to this address and to none that it names.
            self.client = connect(
                base_url=f"{self.url}/", api_key=key, timeout=_TIMEOUT, follow_redirects=False
            )
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
            raise UnreachableError(
                f"Label Studio can't be reached ({self._scrubbed(error) or type(error).__name__})",
                where=self.url,
                todo="see that it runs, then run the same command again: nothing is lost or done twice",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = self._scrubbed(error)
            raise LabelStudioError(f"Label Studio can't be asked ({said})", where=self.url) from error

    def _scrubbed(self, said: object) -> str:
        """What went wrong, without the key, which a server or the client library may repeat."""
        return " ".join(str(said).replace(self._key, "[key removed]").split())

    def _refused(self, status: int | None, body: Any) -> LabelStudioError:
        if status in (401, 403):
            return LabelStudioError(
                "Label Studio does not take this key",
                where=self.url,
                todo="take a personal access token from Account & Settings, or the key of bedside annotate serve",
            )
        if status is not None and 300 <= status < 400:
            return LabelStudioError(
                "the server redirects to another address", where=self.url, todo="name that address"
            )
        if status is not None and status >= _SERVER_FAULT:
            return UnreachableError(
                f"Label Studio failed (status {status})", where=self.url, todo="run it again"
            )
        said = body.get("detail", body) if isinstance(body, dict) else re.sub(r"<[^>]+>", " ", str(body))
        return LabelStudioError(
            f"Label Studio refused (status {status}: {self._scrubbed(said)[:200]})", where=self.url
        )

    def projects(self, plan: AnnotationPlan) -> dict[str, list[Any]]:
        """The plan's projects, oldest first, by whose tasks they hold."""
        found: dict[str, list[Any]] = {}
        with self.speaking():
            for project in sorted(self.client.projects.list(title=plan_hash(plan)), key=lambda each: each.id):
                mark = _MARK.search(project.description or "")
                if mark and mark[1] == plan_hash(plan):
                    found.setdefault(mark[3], []).append(project)
        return found

    def tasks(self, projects: Sequence[Any]) -> dict[str, list[Task]]:
        """Tasks of projects by the item's id."""
        found: dict[str, list[Task]] = {}
        for project in projects:
            for each in self._listed(project, include=_LISTED):
                answers = int(each["total_annotations"] or 0) + int(each["cancelled_annotations"] or 0)
                task = Task(each["id"], each["data"], each["overlap"], answers)
                found.setdefault(task.data.get("external_id", ""), []).append(task)
        return found

    def drafts(self, project: Any) -> list[int]:
        """Ids of the tasks of a project that somebody has begun and not handed in."""
        return [each["id"] for each in self._listed(project, include="id", query=_DRAFTED)]

    def answers(self, project: Any, progress: Callable[[int], None]) -> Iterator[Mapping[str, Any]]:
        """The tasks of a project in the form of an export.

        An export takes the server five times as long as a listing, which shows no drafts of others: only tasks that
        have drafts are exported.
        """
        begun = sorted(self.drafts(project))
        fields = {"fields": "all", "include": "id,data,annotations", "expand": "annotations"}
        known = set(begun)
        for task in self._listed(project, progress, **fields):
            if task["id"] not in known:
                yield task
        for at in range(0, len(begun), _NAMED):
            named = {"ids[]": begun[at : at + _NAMED]}
            with self.speaking():
                # Without the files that tasks could name: looking for them takes longer than all the rest.
                parts = self.client.projects.exports.download_sync(
                    project.id,
                    export_type="JSON",
                    download_all_tasks=True,
                    download_resources=False,
                    request_options={"additional_query_parameters": named},
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
            found: dict[int, dict[str, Any]] = {}
            totals: set[int] = set()
            page = 1
            while page == 1 or (len(found) < min(totals) and len(totals) == 1):
                asked = {
                    "project": project.id,
                    "page": page,
                    "page_size": BATCH,
                    "resolve_uri": False,
                    **fields,
                }
                total, tasks = self._page(asked)
                totals.add(total)
                if not tasks:
                    break
                found |= {task["id"]: task for task in tasks}
                progress(len(found))
                page += 1
            if totals == {len(found)}:
                return list(found.values())

    def _page(self, asked: Mapping[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """How many tasks there are, and those of a page, as they are: the client's own models take most of the time
        of a long list, and change its times."""
        with self.speaking():
            answer = self.client._client_wrapper.httpx_client.request(
                "api/tasks/", method="GET", params=asked
            )
            if not answer.is_success:
                raise self._refused(answer.status_code, answer.text)
            got = orjson.loads(answer.content)
        match got:
            case {"total": int(total), "tasks": list(tasks)} if all(
                isinstance(task, dict) and isinstance(task.get("id"), int) for task in tasks
            ):
                return total, tasks
        raise LabelStudioError(
            "what answers lists tasks as no Label Studio does",
            where=self.url,
            todo="check --url and Label Studio's version: see bedside doctor",
        )


class UnreachableError(LabelStudioError):
    """The server was not reached, or failed: the same call can be made again."""


# -- push -------------------------------------------------------------------------------------------


def push(
    plan: AnnotationPlan,
    run: Run,
    server: LabelStudioServer,
    *,
    strict: bool = False,
    text: str = "",
    progress: Progress = lambda done, total: None,
) -> Pushed:
    """Put a plan's tasks on a server. Safe to repeat at any time: what is there is not sent again.

    Args:
        plan: the plan.
        run: its run.
        server: the server.
        strict: a project for each rater, with that rater's items in that rater's order; else one project that all
            share, where each item is shown to as many raters as it has in the plan, whoever comes first.
        text: instructions, consent and training texts in Markdown, shown before the first task.
        progress: called with the number of tasks that are there and of all.

    Raises:
        LabelStudioError: the server can't be reached or refuses; the page of a project that has answers was changed;
            the plan is on the server in the other form; or another process pushes this plan.
    """
    import filelock

    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    lock = filelock.FileLock(folder / ".push.lock", timeout=0)
    try:
        with lock:
            return _push(plan, run, server, strict, text, progress)
    except filelock.Timeout as error:
        raise LabelStudioError(
            "another bedside process pushes this plan", where=str(folder), todo="wait until it ends"
        ) from error


def _push(
    plan: AnnotationPlan, run: Run, server: LabelStudioServer, strict: bool, text: str, progress: Progress
) -> Pushed:
    parts: dict[str, list[dict[str, Any]]] = (
        {rater: label_studio_tasks(plan, run, rater) for rater in plan.raters}
        if strict
        else {_EVERYONE: label_studio_tasks(plan, run)}
    )
    there = server.projects(plan)
    others = set(there) - set(parts)
    if others:
        raise LabelStudioError(
            f"this plan is on the server {'as one project' if strict else 'with a project for each rater'}",
            where=server.url,
            todo="push it in that form" + ("" if strict else ", with --strict"),
        )
    for known in there.values():
        _see_page(server, plan, known)
    answered = _answered(plan, run)
    total = sum(map(len, parts.values()))
    done = sent = removed = skipped = 0
    projects = {}
    for part, tasks in parts.items():
        project = _project(server, plan, part, text, there.get(part, []))
        every = there.get(part) or [project]
        wanted = []
        found, copies = _tidy(server, every)
        removed += copies
        for task in tasks:
            name = task["data"]["external_id"]
            if name in found:
                continue
            if answered.get(name, frozenset()).issuperset(
                plan.raters_of[name] if part == _EVERYONE else (part,)
            ):
                skipped += 1
                continue
            wanted.append(task)
        base = done + len(tasks) - len(wanted)
        progress(base, total)
        sending = _Sending(server, every, project.id, partial(_report, progress, base, total))
        sending.send(wanted)
        sent += len(wanted)
        removed += sending.removed
        done += len(tasks)
        if part == _EVERYONE:
            _set_overlap(server, plan, every)
        projects[project.title] = f"{server.url}/projects/{project.id}/data"
    return Pushed(projects, sent, total - sent - skipped, removed, skipped)


def _report(progress: Progress, base: int, total: int, done: int) -> None:
    progress(base + done, total)


def _answered(plan: AnnotationPlan, run: Run) -> dict[str, frozenset[str]]:
    """Item → raters whose answer is in the run."""
    found: dict[str, set[str]] = {}
    for item, rater in current(read_store(run, plan)):
        found.setdefault(item, set()).add(rater)
    return {item: frozenset(raters) for item, raters in found.items()}


def _project(
    server: LabelStudioServer, plan: AnnotationPlan, part: str, text: str, known: Sequence[Any]
) -> Any:
    """The project of a part, made or brought up to date; without a text, the one it has stays."""
    page, instructions = labelling_page(plan), instructions_page(plan, text)
    if known:
        project = known[0]
        if project.label_config != page and not _annotations(project):
            with server.speaking():
                project = server.client.projects.update(project.id, label_config=page)
        if text and project.expert_instruction != instructions:
            with server.speaking():
                server.client.projects.update(project.id, expert_instruction=instructions)
        return project
    whose = "" if part == _EVERYONE else f" for {part}"
    settings: dict[str, Any] = {
        "title": f"Rating {plan_hash(plan)}{whose}"[:_TITLE],
        "description": f"bedside plan={plan_hash(plan)} page={page_version(plan)} for={part}",
        "label_config": page,
        "expert_instruction": instructions,
        "show_instruction": True,
        "enable_empty_annotation": False,
        "show_collab_predictions": False,
        "maximum_annotations": _usual(plan) if part == _EVERYONE else 1,
        "sampling": "Sequential sampling",
    }
    try:
        with server.speaking():
            return server.client.projects.create(**settings, request_options={"max_retries": 0})
    except UnreachableError:
        # It may be there all the same.
        made = server.projects(plan).get(part)
        if not made:
            raise
        return made[0]


def _annotations(project: Any) -> int:
    return int(project.total_annotations_number or 0) + int(project.skipped_annotations_number or 0)


def _see_page(server: LabelStudioServer, plan: AnnotationPlan, projects: Sequence[Any]) -> None:
    """Refuse a page that asks something else than the plan and has answers already."""
    for project in projects:
        if not _annotations(project):
            continue
        mark = _MARK.search(project.description or "")
        try:
            same = controls(project.label_config or "") == controls(labelling_page(plan))
        except ValueError:
            same = False
        if not same or mark is None or mark[2] != page_version(plan):
            raise LabelStudioError(
                f"the page of project {project.title!r} asks something else than the plan, and has answers",
                where=f"{server.url}/projects/{project.id}/settings/labeling",
                todo="restore the page, or make another plan: answers to other questions can't be mixed",
            )


def _tidy(server: LabelStudioServer, projects: Sequence[Any]) -> tuple[dict[str, Task], int]:
    """The task of each item; second copies without answers are taken away."""
    found: dict[str, Task] = {}
    removed = 0
    listed = server.tasks(projects)
    begun: set[int] = set()
    if any(name and len(copies) > 1 for name, copies in listed.items()):
        begun = {task for project in projects for task in server.drafts(project)}
    for name, copies in listed.items():
        ordered = sorted(copies, key=lambda task: (not task.answers, task.id not in begun, task.id))
        found[name] = ordered[0]
        for copy in ordered[1:]:
            if name and not copy.answers and copy.id not in begun:
                with server.speaking():
                    server.client.tasks.delete(copy.id)
                removed += 1
    return found, removed


class _Sending:
    """Sends tasks in batches. After a fault, what has arrived is looked up before anything is sent again."""

    def __init__(
        self, server: LabelStudioServer, projects: Sequence[Any], target: int, progress: Callable[[int], None]
    ) -> None:
        self.server = server
        self.projects = projects
        self.target = target
        self.progress = progress
        self.removed = 0

    def send(self, tasks: Sequence[dict[str, Any]]) -> None:
        left = list(tasks)
        faults = 0
        while left:
            batch = _batch(left)
            try:
                with self.server.speaking():
                    self.server.client.projects.import_tasks(
                        self.target, request=batch, return_task_ids=True, request_options={"max_retries": 0}
                    )
                left = left[len(batch) :]
                faults = 0
            except UnreachableError as error:
                faults += 1
                if faults == _ATTEMPTS:
                    raise UnreachableError(
                        f"{error.what}, after {len(tasks) - len(left):,} of {len(tasks):,} tasks",
                        where=self.server.url,
                        todo="run the same command again: what is there is not sent twice",
                    ) from error
                time.sleep(2.0**faults / 4)
                left = self._still_missing(left)
            self.progress(len(tasks) - len(left))

    def _still_missing(self, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What has not arrived. A call whose answer was lost may be at work still: wait until nothing more comes."""
        try:
            before = -1
            while (count := self._count()) != before:
                before = count
                time.sleep(0.5)
            found, removed = _tidy(self.server, self.projects)
        except UnreachableError:
            return tasks
        self.removed += removed
        return [task for task in tasks if task["data"]["external_id"] not in found]

    def _count(self) -> int:
        with self.server.speaking():
            return int(self.server.client.projects.get(self.target).task_number or 0)


def _batch(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    size = 0
    for number, task in enumerate(tasks[:BATCH]):
        size += len(json.dumps(task))
        if number and size > BATCH_BYTES:
            return list(tasks[:number])
    return list(tasks[:BATCH])


def _usual(plan: AnnotationPlan) -> int:
    """The number of raters that most items have."""
    return Counter(map(len, plan.raters_of.values())).most_common(1)[0][0]


def _set_overlap(server: LabelStudioServer, plan: AnnotationPlan, projects: Sequence[Any]) -> None:
    """Items that have more raters or fewer than most: the training set, what everyone rates."""
    usual = _usual(plan)
    special = {name: len(raters) for name, raters in plan.raters_of.items() if len(raters) != usual}
    if not special:
        return
    for name, tasks in server.tasks(projects).items():
        for task in tasks:
            if name in special and task.overlap != special[name]:
                with server.speaking():
                    server.client.tasks.update(task.id, overlap=special[name])


# -- pull -------------------------------------------------------------------------------------------


def pull(
    plan: AnnotationPlan,
    run: Run,
    server: LabelStudioServer,
    *,
    users: Mapping[str, str] | None = None,
    progress: Progress = lambda done, total: None,
) -> Pulled:
    """Bring a plan's answers into its run. Safe to repeat; an answer once brought is never lost.

    Args:
        plan: the plan.
        run: its run.
        server: the server.
        users: e-mail address or id of a user → rater of the plan, where the address does not begin with the rater's
            name.
        progress: called with the number of tasks read and of all.

    Raises:
        LabelStudioError: the server can't be reached, has no project of the plan, or two users can be one rater.
        InputError: an answer that the plan's page can't have given; the task is named. Nothing is changed then.
    """
    by_part = server.projects(plan)
    projects = [project for known in by_part.values() for project in known]
    if not projects:
        raise LabelStudioError(
            f"the server has no project of plan {plan_hash(plan)}",
            where=server.url,
            todo="push the plan; answers that were pulled before are in the run",
        )
    raters = _raters(server, plan, users or {})
    tasks: list[Mapping[str, Any]] = []
    done, total = 0, sum(project.task_number for project in projects)
    for project in projects:
        tasks += server.answers(project, partial(_report, progress, done, total))
        done += project.task_number
    read = read_export(plan, tasks, raters, where=server.url)
    emails = _emails(server) if read.strangers else {}
    named = Counter({emails.get(user, user): count for user, count in read.strangers.items()})
    read = Read(read.answers, dict(sorted(named.items())), read.foreign)
    return Pulled(read, keep_answers(run, plan, read.answers))


def _emails(server: LabelStudioServer) -> dict[str, str]:
    with server.speaking():
        return {str(user.id): user.email for user in server.client.users.list() if user.email}


def _raters(
    server: LabelStudioServer, plan: AnnotationPlan, given: Mapping[str, str]
) -> dict[int | str, str]:
    """The users who are raters of the plan, by id and by address."""
    emails = _emails(server)
    named = {key.casefold(): rater_of(plan, name, "--users") for key, name in given.items()}
    known = {rater.casefold(): rater for rater in plan.raters}
    candidates: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    for user, email in emails.items():
        address = email.casefold()
        rater = named.get(user) or named.get(address)
        if rater is not None:
            found[user] = rater
            continue
        rater = known.get(address) or known.get(address.partition("@")[0])
        if rater is not None and rater not in named.values():
            candidates.setdefault(rater, []).append(user)
    for rater, several in candidates.items():
        if len(several) > 1:
            addresses = " and ".join(emails[user] for user in several)
            raise LabelStudioError(
                f"{addresses} could both be the rater {rater}",
                where=server.url,
                todo=f"say who is: --users {emails[several[0]]}={rater}",
            )
        found[several[0]] = rater
    return {key: rater for user, rater in found.items() for key in (int(user), emails[user])}
