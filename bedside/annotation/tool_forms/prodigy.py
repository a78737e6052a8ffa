"""Prodigy: tasks for the recipe ``mark`` with the interface ``choice``, one question a task.

A folder holds ``tasks.jsonl`` and ``prodigy.json``, which Prodigy reads where it is started; questions with several
choices have their own in ``several/``: that is a setting of the whole session. Tasks bring their hashes, so that
two conversations with the same words stay two. What comes back is ``prodigy db-out``.

Sources: https://prodi.gy/docs/api-interfaces (``choice``: ``options``, ``accept``), https://prodi.gy/docs/install
(``prodigy.json``), https://prodi.gy/docs/recipes (``mark``), https://prodi.gy/docs/api-loaders (hashes).
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bedside.annotation.tool_form import ToolForm, ToolResponse
from bedside.annotation.tool_tasks import ToolPage, ToolQuestion, ToolTask
from bedside.ratings.form_contract import no_export
from bedside.ratings.rating_content import RatingContent

_ANSWERS = ("accept", "reject", "ignore")
_REJECTED = "a rejected task has neither an answer nor none; accept or ignore it, and export again"
_TAG = re.compile(r"<[^>]*>")


def _files(page: ToolPage, tasks: Sequence[ToolTask]) -> dict[str, str]:
    files = {}
    for several, folder in ((False, ""), (True, "several/")):
        lines = [
            json.dumps(_task(task, question), ensure_ascii=False) + "\n"
            for task in tasks
            for question in task.questions
            if question.choices and question.several == several
        ]
        if lines or not (several or tasks):
            config = {
                "choice_style": "multiple" if several else "single",
                "choice_auto_accept": False,
                "exclude_by": "task",
            }
            files[f"{folder}tasks.jsonl"] = "".join(lines)
            files[f"{folder}prodigy.json"] = json.dumps(config, indent=2)
    return files


def _task(task: ToolTask, question: ToolQuestion) -> dict[str, Any]:
    shown = f'<div style="white-space: pre-wrap" dir="auto">{html.escape(task.text)}</div>'
    asked = f"<p><b>{html.escape(question.title)}</b><br>{html.escape(question.about)}</p>"
    return {
        "html": shown + asked,
        "options": [{"id": choice, "text": f"{choice}: {descriptor}"} for choice, descriptor in question.choices],
        "task": task.id,
        "question": question.name,
        "rater": task.rater,
        "_input_hash": _hash(task.id),
        "_task_hash": _hash(task.id, question.name),
    }


def _hash(*parts: str) -> int:
    """A number of 32 bits, such as Prodigy knows tasks by."""
    return int.from_bytes(hashlib.sha256("\n".join(parts).encode()).digest()[:4], "big", signed=True)


def _claims(first: Any) -> bool:
    return (
        isinstance(first, dict)
        and first.get("answer") in _ANSWERS
        and {"options", "task", "question", "rater"} <= first.keys()
    )


def _responses(content: RatingContent) -> Iterator[ToolResponse]:
    for where, record in content.records():
        try:
            yield _response(where, record)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
            raise no_export("Prodigy", where, error) from error


def _response(where: str, record: Mapping[str, Any]) -> ToolResponse:
    accepted = record["answer"] == "accept"
    chosen = record.get("accept") or []
    at = record.get("_timestamp")
    return ToolResponse(
        where,
        task=str(record["task"]),
        rater=str(record["rater"] or ""),
        # A session is called after the time at which it began, where nobody names it.
        user="",
        state="submitted" if accepted and chosen else "skipped",
        values={str(record["question"]): [str(choice) for choice in chosen]} if accepted else {},
        shown=html.unescape(_TAG.sub(" ", str(record.get("html", "")))),
        fault="" if record["answer"] != "reject" else _REJECTED,
        updated="" if at is None else datetime.fromtimestamp(at, UTC).isoformat(),
    )


TOOL = ToolForm(
    name="prodigy",
    title="Prodigy",
    modes=("rate", "audit", "codes", "pairs"),
    one_role=False,
    next_step="In each rater's folder: prodigy mark RATER tasks.jsonl --loader jsonl --view-id choice; what has "
    "several choices is in the folder several. What comes back is prodigy db-out RATER.",
    files=_files,
    claims=_claims,
    responses=_responses,
)
