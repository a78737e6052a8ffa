"""Argilla: a dataset for each rater, as ``rg.Dataset.to_disk`` writes one and ``rg.Dataset.from_disk`` reads it.

A folder holds ``.argilla/dataset.json`` and ``.argilla/settings.json`` (fields, questions, guidelines) and
``records.json``. What comes back is ``records.json`` again, with responses by question, or the records flat, as JSON or
Parquet, where each response has its status.

Sources: "Importing and exporting datasets and records", https://docs.argilla.io/latest/how_to_guides/import_export;
``argilla/src/argilla/datasets/_io/_disk.py`` and ``argilla-server/.../api/schemas/v1/questions.py`` (what a title, text
and description may hold) in https://github.com/argilla-io/argilla.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.annotation.answers import State
from bedside.annotation.tool_form import ToolForm, ToolResponse
from bedside.annotation.tool_tasks import ToolPage, ToolQuestion, ToolTask
from bedside.core.errors import InputError
from bedside.ratings.form_contract import argilla_responses, is_argilla_record, no_export
from bedside.ratings.rating_content import RatingContent

#: Characters of an option, a question's description and a dataset's guidelines, at most.
_OPTION, _DESCRIPTION, _GUIDELINES = 500, 1_000, 10_000
#: From so many options on Argilla asks how many are seen at once.
_MANY = 3
_STATES: Mapping[str | None, State] = {"draft": "draft", "discarded": "skipped"}


def _files(page: ToolPage, tasks: Sequence[ToolTask]) -> dict[str, str]:
    if len(page.guide) > _GUIDELINES:
        raise InputError(
            f"Argilla takes guidelines of {_GUIDELINES:,} characters, and what the plan's rubrics say has "
            f"{len(page.guide):,}",
            where="the plan",
            todo="make a plan with fewer rubrics",
        )
    # Every rater has a dataset of their own: one answer finishes a record.
    distribution = {"strategy": "overlap", "min_submitted": 1}
    asked = [_field("request", "What is asked")] if any(task.request for task in tasks) else []
    settings = {
        "guidelines": page.guide,
        "questions": list(map(_question, page.questions)),
        "fields": [_field("conversation", "Conversation"), *asked],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": distribution,
    }
    dataset = {
        "name": page.name,
        "status": "draft",
        "guidelines": page.guide,
        "allow_extra_metadata": True,
        "distribution": distribution,
    }
    return {
        ".argilla/dataset.json": json.dumps(dataset, ensure_ascii=False, indent=2),
        ".argilla/settings.json": json.dumps(settings, ensure_ascii=False, indent=2),
        "records.json": json.dumps(list(map(_record, tasks)), ensure_ascii=False, indent=2),
    }


def _field(name: str, title: str) -> dict[str, Any]:
    required = name == "conversation"
    return {"name": name, "title": title, "required": required, "settings": {"type": "text", "use_markdown": False}}


def _question(question: ToolQuestion) -> dict[str, Any]:
    settings: dict[str, Any] = {"type": "text", "use_markdown": False}
    if question.choices:
        settings = {
            "type": "multi_label_selection" if question.several else "label_selection",
            "options": [
                {"value": choice, "text": _fitting(f"{choice}: {descriptor}", _OPTION), "description": None}
                for choice, descriptor in question.choices
            ],
        }
        if len(question.choices) >= _MANY:
            settings["visible_options"] = len(question.choices)
        if question.several:
            settings["options_order"] = "natural"
    return {
        "name": question.name,
        "title": question.title,
        "description": _fitting(question.about, _DESCRIPTION) or None,
        "required": question.required,
        "settings": settings,
    }


def _fitting(text: str, most: int) -> str:
    """A text that Argilla takes; the guidelines have the whole."""
    return text if len(text) <= most else f"{text[: most - 2]} …"


def _record(task: ToolTask) -> dict[str, Any]:
    fields = {"conversation": task.conversation, **({"request": task.request} if task.request else {})}
    return {
        "id": task.id,
        "fields": fields,
        "metadata": {"rater": task.rater},
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }


def _responses(content: RatingContent) -> Iterator[ToolResponse]:
    for where, record in content.records():
        try:
            yield from _of_record(where, record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise no_export("Argilla", where, error) from error


def _of_record(where: str, record: Mapping[str, Any]) -> Iterator[ToolResponse]:
    metadata, fields = record.get("metadata") or record, record.get("fields") or record
    values: dict[str, dict[str, tuple[str, ...]]] = {}
    states: dict[str, State] = {}
    for question, value, user, status in argilla_responses(record):
        states[user] = _STATES.get(status, "submitted")
        entries = value if isinstance(value, list) else [value]
        if not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"the answer to {question} is no text and no label")
        values.setdefault(user, {})[question] = tuple(entries)
    for user, state in states.items():
        yield ToolResponse(
            where,
            task=str(record["id"]),
            rater=str(metadata.get("rater") or ""),
            user=user,
            state=state,
            values=values[user],
            shown="\n\n".join(str(fields[name]) for name in ("conversation", "request") if fields.get(name)),
        )


TOOL = ToolForm(
    name="argilla",
    title="Argilla",
    modes=("rate", "audit", "findings", "codes", "pairs"),
    one_role=True,
    next_step="Make each rater's folder a dataset in a workspace of their own: rg.Dataset.from_disk(FOLDER, "
    "workspace=…, client=…). What comes back is records.json of to_disk.",
    files=_files,
    claims=is_argilla_record,
    responses=_responses,
)
