"""A plan's items go to a Label Studio server as they are sent, and its answers come back into the run."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, known_rater, page_version, plan_hash, rater_of
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_store import StoreSummary, keep_answers, plan_folder, read_store
from bedside.annotation.answers import CollectedAnswers
from bedside.annotation.assignment_by_need import entering
from bedside.annotation.items import TURN_MARKS, coded_positions, label_studio_tasks, shown_by_item
from bedside.annotation.label_studio_client import (
    BATCH,
    EVERYONE,
    LabelStudioClient,
    ProjectMark,
    ServerTask,
    TaskProgress,
    UnreachableError,
    annotation_count,
    marked,
    project_mark,
    report_tasks,
)
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.labelling_page import instructions_page, labelling_page, page_digest
from bedside.core.errors import LabelStudioError
from bedside.core.files import holding, make_folder, replacing, saying_where
from bedside.ratings.run import Run

# -- The labelling page as it was sent ------------------------------------------------------------------

#: The page as it was sent, in the plan's folder.
PAGE = "page.xml"


def mark_of(plan: AnnotationPlan, part: str) -> ProjectMark:
    """What the description says of the project that holds a part's tasks."""
    return ProjectMark(plan_hash(plan), page_version(plan), page_digest(labelling_page(plan)), part)


def keep_page(run: Run, plan: AnnotationPlan) -> None:
    """Keep the page in the run, so that it can be put back where somebody changes it."""
    path = plan_folder(run, plan) / PAGE
    page = labelling_page(plan).encode()
    if not path.is_file() or path.read_bytes() != page:
        with replacing(path) as temporary:
            temporary.write_bytes(page)


def check_pages(server: LabelStudioClient, run: Run, plan: AnnotationPlan, projects: Iterable[Any]) -> None:
    """Refuse answers on a page that isn't the one that was sent: what they mean can't be known.

    Raises:
        LabelStudioError: a choice, what it records, a descriptor or anything else of a page was changed.
    """
    for project in projects:
        if annotation_count(project) and not _is_as_sent(plan, project):
            raise LabelStudioError(
                f"the page of project {project.title!r} was changed after it was sent, and has answers",
                where=f"{server.url}/projects/{project.id}/settings/labeling",
                todo=f"put back the page that {plan_folder(run, plan) / PAGE} holds, and look at the answers since",
            )


def _is_as_sent(plan: AnnotationPlan, project: Any) -> bool:
    # One known by its tasks alone shows the page that would be sent now, or not the one that was.
    mark = project_mark(project) or mark_of(plan, EVERYONE)
    try:
        digest = page_digest(project.label_config or "")
    except ValueError:
        return False
    return (mark.sent, mark.page) == (digest, page_version(plan))


# -- The push -------------------------------------------------------------------------------------------
# What the server lacks is made up for here. It would take the same task twice, so what it has is listed before
# anything is sent, and a copy nobody answered is taken away. It does not check what a page's answers mean, so a page
# that somebody changed is noticed. It can't hide anything from its members, so nothing that tells systems apart is
# sent.

#: About how many bytes one call sends: it is taken whole or not at all.
BATCH_BYTES = 8_000_000
_ATTEMPTS = 4
#: Characters of a project's title at most.
_TITLE = 50


@dataclass(frozen=True, slots=True)
class PushSummary:
    """What a push did.

    Attributes:
        projects: title → address of the page where its raters begin.
        sent: tasks that were not there.
        present: tasks that were.
        removed: second copies of a task that were taken away; nobody had answered them.
        answered: tasks that are gone from the server, and were not sent again because all their answers are in the run.
        taken_back: tasks that were taken from a rater who no longer has them, and who hadn't begun them.
    """

    projects: Mapping[str, str]
    sent: int
    present: int
    removed: int
    answered: int
    taken_back: int


def push(
    plan: AnnotationPlan,
    run: Run,
    server: LabelStudioClient,
    *,
    strict: bool | None = None,
    text: str = "",
    project: int | None = None,
    progress: TaskProgress = lambda done, total: None,
) -> PushSummary:
    """Put a plan's tasks on a server. Safe to repeat at any time: what is there is not sent again.

    Args:
        plan: the plan.
        run: its run.
        server: the server.
        strict: a project for each rater, with that rater's items in that rater's order. False: one project that all
            share, where each item is shown to as many raters as it has in the plan, whoever comes first: who rates what
            in the plan is not kept. By default as it is on the server already, else one project only where every
            rater rates every item.
        text: instructions, consent and training texts in Markdown, shown before the first task.
        project: the number of a project that holds tasks of the plan, where it isn't known by itself.
        progress: called with the number of tasks that are there and of all.

    Raises:
        LabelStudioError: the server can't be reached or refuses; the page of a project that has answers was changed;
            the plan is on the server in the other form; or another process pushes this plan.
    """
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    refusal = LabelStudioError("another bedside process pushes this plan", where=str(folder), todo="wait until it ends")
    with holding(folder / ".push.lock", refusal):
        return _push(plan, run, server, server.projects(plan, project), strict, text, progress)


def _push(
    plan: AnnotationPlan,
    run: Run,
    server: LabelStudioClient,
    projects_by_part: Mapping[str, list[Any]],
    strict: bool | None,
    text: str,
    progress: TaskProgress,
) -> PushSummary:
    # What is there of raters who withdrew is for the user to delete.
    gone = {part for part in projects_by_part if known_rater(plan, part) in plan.withdrawn}
    projects_by_part = {part: projects for part, projects in projects_by_part.items() if part not in gone}
    if strict is None:
        strict = EVERYONE not in projects_by_part if projects_by_part else not _all_rate_all(plan)
    tasks_by_part: dict[str, list[dict[str, Any]]] = (
        {rater: label_studio_tasks(plan, run, rater) for rater in plan.people}
        if strict
        else {EVERYONE: label_studio_tasks(plan, run)}
    )
    if set(projects_by_part) - set(tasks_by_part):
        raise LabelStudioError(
            f"this plan is on the server {'as one project' if strict else 'with a project for each rater'}",
            where=server.url,
            todo="push it in that form",
        )
    for projects in projects_by_part.values():
        check_pages(server, run, plan, projects)
    keep_page(run, plan)
    answered = _answered(plan, run)
    total = sum(map(len, tasks_by_part.values()))
    done = sent = removed = skipped = taken_back = 0
    addresses = {}
    for part, tasks in tasks_by_part.items():
        if not tasks and part not in projects_by_part:
            continue  # a rater who dropped out before anything was sent
        project = _project(server, plan, part, text, projects_by_part.get(part, []))
        projects = projects_by_part.get(part) or [project]
        before = sum(known.task_number or 0 for known in projects)
        present, copies = _tidy(server, projects)
        absent = [task for task in tasks if _item_of(task) not in present]
        unsent = [task for task in absent if not _is_answered(plan, part, _item_of(task), answered)]
        skipped += len(absent) - len(unsent)
        base = done + len(tasks) - len(unsent)
        progress(base, total)
        sending = TaskSender(server, projects, project.id, partial(report_tasks, progress, base, total))
        sending.send(unsent)
        sent += len(unsent)
        removed += copies + sending.removed
        # A request of a push that was killed, or a push from a copy of the run, may have sent the same meanwhile.
        if unsent and before + len(unsent) - copies - sending.removed != _count(server, projects):
            removed += _tidy(server, projects)[1]
        taken_back += _take_back(server, projects, present, set(map(_item_of, tasks)))
        done += len(tasks)
        if part == EVERYONE:
            _set_overlap(server, plan, projects)
        addresses[project.title] = f"{server.url}/projects/{project.id}/data"
    return PushSummary(
        projects=addresses,
        sent=sent,
        present=total - sent - skipped,
        removed=removed,
        answered=skipped,
        taken_back=taken_back,
    )


def _all_rate_all(plan: AnnotationPlan) -> bool:
    """Whether every rater rates every item, so that one project gives each what the plan gives them."""
    return all(len(raters) == len(plan.raters) for raters in plan.raters_of.values())


def _item_of(task: Mapping[str, Any]) -> str:
    return str(task["data"]["external_id"])


def _is_answered(plan: AnnotationPlan, part: str, item: str, answered: Mapping[str, frozenset[str]]) -> bool:
    """Whether all who would see a task in a part have answered it."""
    raters = plan.raters_of[item] if part == EVERYONE else (part,)
    return answered.get(item, frozenset()).issuperset(raters)


def _answered(plan: AnnotationPlan, run: Run) -> dict[str, frozenset[str]]:
    """Item → raters whose answer is in the run."""
    answered: dict[str, set[str]] = {}
    for item, rater in read_store(run, plan).counting():
        answered.setdefault(item, set()).add(rater)
    return {item: frozenset(raters) for item, raters in answered.items()}


def _project(server: LabelStudioClient, plan: AnnotationPlan, part: str, text: str, projects: Sequence[Any]) -> Any:
    """The project of a part, made or brought up to date; without a text, the one it has stays."""
    page, instructions = labelling_page(plan), instructions_page(plan, text)
    if projects:
        project = projects[0]
        renew = project.label_config != page and not annotation_count(project)
        if renew or project_mark(project) is None:
            fields = {"label_config": page} if renew else {}
            description = marked(project.description or "", mark_of(plan, part))
            with server.speaking():
                project = server.client.projects.update(project.id, description=description, **fields)
        if text and project.expert_instruction != instructions:
            with server.speaking():
                server.client.projects.update(project.id, expert_instruction=instructions)
        return project
    whose = "" if part == EVERYONE else f" for {part}"
    settings: dict[str, Any] = {
        "title": f"Rating {plan_hash(plan)}{whose}"[:_TITLE],
        "description": str(mark_of(plan, part)),
        "label_config": page,
        "expert_instruction": instructions,
        "show_instruction": True,
        "enable_empty_annotation": False,
        # In codes mode, the marks of the turns to be coded; there are no predictions else.
        "show_collab_predictions": plan.mode == "codes",
        "model_version": TURN_MARKS if plan.mode == "codes" else "",
        "maximum_annotations": _usual_overlap(plan) if part == EVERYONE else 1,
        "sampling": "Sequential sampling",
    }
    try:
        with server.speaking():
            return server.client.projects.create(**settings, request_options={"max_retries": 0})
    except UnreachableError:
        # It may be there all the same.
        arrived = server.projects(plan).get(part)
        if not arrived:
            raise
        return arrived[0]


def _tidy(server: LabelStudioClient, projects: Sequence[Any]) -> tuple[dict[str, ServerTask], int]:
    """The task of each item; second copies without answers are taken away."""
    tasks: dict[str, ServerTask] = {}
    removed = 0
    listed = server.tasks(projects)
    begun: set[int] = set()
    if any(name and len(copies) > 1 for name, copies in listed.items()):
        begun = {task for project in projects for task in server.drafts(project)}
    for name, copies in listed.items():
        ordered = sorted(copies, key=lambda task: (not task.answers, task.id not in begun, task.id))
        tasks[name] = ordered[0]
        for copy in ordered[1:]:
            if name and not copy.answers and copy.id not in begun:
                with server.speaking():
                    server.client.tasks.delete(copy.id)
                removed += 1
    return tasks, removed


def _take_back(
    server: LabelStudioClient, projects: Sequence[Any], present: Mapping[str, ServerTask], assigned: Set[str]
) -> int:
    """Take away tasks of items that others rate now, where nobody has begun them; how many."""
    others = [task for name, task in present.items() if name and name not in assigned and not task.answers]
    if not others:
        return 0
    begun = {task for project in projects for task in server.drafts(project)}
    open_tasks = [task for task in others if task.id not in begun]
    for task in open_tasks:
        with server.speaking():
            server.client.tasks.delete(task.id)
    return len(open_tasks)


class TaskSender:
    """Sends tasks in batches. After a fault, what has arrived is looked up before anything is sent again."""

    def __init__(
        self, server: LabelStudioClient, projects: Sequence[Any], target: int, progress: Callable[[int], None]
    ) -> None:
        self.server = server
        self.projects = projects
        self.target = target
        self.progress = progress
        self.removed: int = 0

    def send(self, tasks: Sequence[dict[str, Any]]) -> None:
        """Send tasks, all of them.

        Raises:
            LabelStudioError: the server refuses, or was not reached several times in a row.
        """
        unsent = list(tasks)
        faults = 0
        while unsent:
            batch = _batch(unsent)
            try:
                with self.server.speaking():
                    self.server.client.projects.import_tasks(
                        self.target, request=batch, return_task_ids=True, request_options={"max_retries": 0}
                    )
                unsent = unsent[len(batch) :]
                faults = 0
            except UnreachableError as error:
                faults += 1
                if faults == _ATTEMPTS:
                    raise UnreachableError(
                        f"{error.what}, after {len(tasks) - len(unsent):,} of {len(tasks):,} tasks",
                        where=self.server.url,
                        todo="run the same command again: what is there is not sent twice",
                    ) from error
                time.sleep(2.0**faults / 4)
                unsent = self._still_missing(unsent)
            self.progress(len(tasks) - len(unsent))

    def _still_missing(self, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What has not arrived. A call whose answer was lost may be at work still: wait until nothing more comes."""
        try:
            before = -1
            while (count := _count(self.server, self.projects)) != before:
                before = count
                time.sleep(0.5)
            present, removed = _tidy(self.server, self.projects)
        except UnreachableError:
            return tasks
        self.removed += removed
        return [task for task in tasks if _item_of(task) not in present]


def _count(server: LabelStudioClient, projects: Sequence[Any]) -> int:
    """How many tasks projects have now; to list them takes a server longer than to take them in."""
    with server.speaking():
        return sum(int(server.client.projects.get(project.id).task_number or 0) for project in projects)


def _batch(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    size = 0
    for number, task in enumerate(tasks[:BATCH]):
        size += len(json.dumps(task))
        if number and size > BATCH_BYTES:
            return list(tasks[:number])
    return list(tasks[:BATCH])


def _usual_overlap(plan: AnnotationPlan) -> int:
    """The number of raters that most items have."""
    return Counter(map(len, plan.raters_of.values())).most_common(1)[0][0]


def _set_overlap(server: LabelStudioClient, plan: AnnotationPlan, projects: Sequence[Any]) -> None:
    """Items that have more raters or fewer than most: the training set, what everyone rates."""
    usual = _usual_overlap(plan)
    special = {name: len(raters) for name, raters in plan.raters_of.items() if len(raters) != usual}
    if not special:
        return
    for name, tasks in server.tasks(projects).items():
        for task in tasks:
            if name in special and task.overlap != special[name]:
                with server.speaking():
                    server.client.tasks.update(task.id, overlap=special[name])


# -- The pull -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PullSummary:
    """What a pull did.

    Attributes:
        collected: what was on the server.
        stored: what became of it in the run.
    """

    collected: CollectedAnswers
    stored: StoreSummary


def pull(
    plan: AnnotationPlan,
    run: Run,
    server: LabelStudioClient,
    *,
    users: Mapping[str, str] | None = None,
    project: int | None = None,
    progress: TaskProgress = lambda done, total: None,
) -> PullSummary:
    """Bring a plan's answers into its run. Safe to repeat; an answer once brought is never lost.

    Args:
        plan: the plan.
        run: its run.
        server: the server.
        users: e-mail address or id of a user → rater of the plan, where the address does not begin with the rater's
            name.
        project: the number of the one project whose answers are brought; of all of the plan's without it.
        progress: called with the number of tasks read and of all.

    Raises:
        LabelStudioError: the server can't be reached, has no project of the plan, a page that is not as it was sent, or
            two users who can be one rater.
        InputError: what the server has isn't the form of Label Studio's tasks. Nothing is changed then.
    """
    parts = server.projects(plan, project).values()
    projects = [labelled for part in parts for labelled in part if project in (None, labelled.id)]
    if not projects:
        raise LabelStudioError(
            f"the server has no project of plan {plan_hash(plan)}",
            where=server.url,
            todo="push the plan; answers that were pulled before are in the run",
        )
    check_pages(server, run, plan, projects)
    raters = _raters(server, plan, users or {})
    tasks: list[Mapping[str, Any]] = []
    done, total = 0, sum(labelled.task_number for labelled in projects)
    for labelled in projects:
        tasks += server.answers(labelled, partial(report_tasks, progress, done, total))
        done += labelled.task_number
    collected = read_export(
        plan,
        tasks,
        raters,
        where=server.url,
        shown=shown_by_item(plan, run),
        answer_check=AnswerCheck(plan, coded_positions(plan, run)),
    )
    emails = _emails(server) if collected.strangers else {}
    strangers = Counter({emails.get(user, user): count for user, count in collected.strangers.items()})
    collected = replace(collected, strangers=dict(sorted(strangers.items())))
    return PullSummary(collected, keep_answers(run, plan, entering(run, plan, collected.answers), current=True))


def _emails(server: LabelStudioClient) -> dict[str, str]:
    with server.speaking():
        return {str(user.id): user.email for user in server.client.users.list() if user.email}


def _raters(server: LabelStudioClient, plan: AnnotationPlan, users: Mapping[str, str]) -> dict[int | str, str]:
    """The users who are raters of the plan, by id and by address."""
    emails = _emails(server)
    named = {user.casefold(): rater_of(plan, name, "`users`") for user, name in users.items()}
    candidates: dict[str, list[str]] = {}
    rater_by_user: dict[str, str] = {}
    for user, email in emails.items():
        address = email.casefold()
        rater = named.get(user) or named.get(address)
        if rater is not None:
            rater_by_user[user] = rater
            continue
        rater = known_rater(plan, address) or known_rater(plan, address.partition("@")[0])
        if rater is not None and rater not in named.values():
            candidates.setdefault(rater, []).append(user)
    for rater, same_named in candidates.items():
        if len(same_named) > 1:
            addresses = " and ".join(emails[user] for user in same_named)
            raise LabelStudioError(
                f"{addresses} could both be the rater {rater}",
                where=server.url,
                todo=f"say who is: `users={emails[same_named[0]]}={rater}`",
            )
        rater_by_user[same_named[0]] = rater
    return {key: rater for user, rater in rater_by_user.items() for key in (int(user), emails[user])}
