"""The pull: a plan's answers come from a Label Studio server into its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, rater_of
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_store import StoreSummary, keep_answers
from bedside.annotation.answers import CollectedAnswers
from bedside.annotation.items import coded_positions, shown_by_item
from bedside.annotation.label_studio_client import LabelStudioClient, TaskProgress, report_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.sent_page import check_pages
from bedside.core.errors import LabelStudioError
from bedside.ratings.run import Run


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
    progress: TaskProgress = lambda done, total: None,
) -> PullSummary:
    """Bring a plan's answers into its run. Safe to repeat; an answer once brought is never lost.

    Args:
        plan: the plan.
        run: its run.
        server: the server.
        users: e-mail address or id of a user → rater of the plan, where the address does not begin with the rater's
            name.
        progress: called with the number of tasks read and of all.

    Raises:
        LabelStudioError: the server can't be reached, has no project of the plan, a page that is not as it was sent, or
            two users who can be one rater.
        InputError: what the server has isn't the form of Label Studio's tasks. Nothing is changed then.
    """
    projects = [project for of_part in server.projects(plan).values() for project in of_part]
    if not projects:
        raise LabelStudioError(
            f"the server has no project of plan {plan_hash(plan)}",
            where=server.url,
            todo="push the plan; answers that were pulled before are in the run",
        )
    check_pages(server, run, plan, projects)
    raters = _raters(server, plan, users or {})
    tasks: list[Mapping[str, Any]] = []
    done, total = 0, sum(project.task_number for project in projects)
    for project in projects:
        tasks += server.answers(project, partial(report_tasks, progress, done, total))
        done += project.task_number
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
    return PullSummary(collected, keep_answers(run, plan, collected.answers, current=True))


def _emails(server: LabelStudioClient) -> dict[str, str]:
    with server.speaking():
        return {str(user.id): user.email for user in server.client.users.list() if user.email}


def _raters(
    server: LabelStudioClient, plan: AnnotationPlan, users: Mapping[str, str]
) -> dict[int | str, str]:
    """The users who are raters of the plan, by id and by address."""
    emails = _emails(server)
    named = {user.casefold(): rater_of(plan, name, "`users`") for user, name in users.items()}
    plan_raters = {rater.casefold(): rater for rater in plan.raters}
    candidates: dict[str, list[str]] = {}
    rater_by_user: dict[str, str] = {}
    for user, email in emails.items():
        address = email.casefold()
        rater = named.get(user) or named.get(address)
        if rater is not None:
            rater_by_user[user] = rater
            continue
        rater = plan_raters.get(address) or plan_raters.get(address.partition("@")[0])
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
