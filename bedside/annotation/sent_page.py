"""The labelling page as it was sent: what its answers mean rests on it, so that a page that was changed is noticed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, page_version, plan_hash
from bedside.annotation.answer_store import plan_folder
from bedside.annotation.label_studio_client import (
    LabelStudioClient,
    ProjectMark,
    annotation_count,
    project_mark,
)
from bedside.annotation.labelling_page import labelling_page, page_digest
from bedside.core.errors import LabelStudioError
from bedside.core.files import replacing
from bedside.ratings.run import Run

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
    mark = project_mark(project)
    try:
        digest = page_digest(project.label_config or "")
    except ValueError:
        return False
    return mark is not None and (mark.sent, mark.page) == (digest, page_version(plan))
