"""potato: a server for each rater, with a configuration, tasks and a scheme for each question.

A folder holds ``config.yaml`` and ``tasks.jsonl``. Only the rater may log in, by their name in the plan.
What comes back is ``annotations.jsonl`` of ``python -m potato.export --format jsonl``, which is written every minute,
too, in ``annotation_output``: with ``labels`` by scheme; or ``annotated_instances.jsonl`` of potato 1, with
``label_annotations``.

Sources: ``docs/configuration/{configuration,config_reference}.md``, ``docs/annotation-types/instance_display.md`` and
``docs/data-export/export_formats.md`` in https://github.com/davidjurgens/potato.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.annotation.tool_form import ToolForm, ToolResponse
from bedside.annotation.tool_tasks import ToolPage, ToolQuestion, ToolTask
from bedside.ratings.form_contract import no_export
from bedside.ratings.rating_content import RatingContent

#: What a label has that was not chosen; a choice is its own value.
_NOT_CHOSEN = (False, None, "", "false", "False")
_LABELS = ("labels", "label_annotations")


def _files(page: ToolPage, tasks: Sequence[ToolTask]) -> dict[str, str]:
    import yaml

    shown = [{"key": "conversation", "type": "dialogue", "label": "Conversation"}]
    if any(task.request for task in tasks):
        shown.append({"key": "request", "type": "text", "label": "What is asked"})
    config = {
        "annotation_task_name": page.name,
        "task_dir": ".",
        "data_files": ["tasks.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "output_annotation_dir": "annotation_output",
        "export_annotation_format": ["jsonl"],
        "require_password": False,
        "user_config": {"allow_all_users": False, "users": [page.rater]},
        "assignment_strategy": "fixed_order",
        "max_annotations_per_item": 1,
        "alert_time_each_instance": 10_000_000,
        "instance_display": {"fields": shown},
        "annotation_schemes": list(map(_scheme, page.questions)),
    }
    return {
        "config.yaml": yaml.safe_dump(config, allow_unicode=True, sort_keys=False, width=110),
        "tasks.jsonl": "".join(json.dumps(_task(task), ensure_ascii=False) + "\n" for task in tasks),
    }


def _scheme(question: ToolQuestion) -> dict[str, Any]:
    scheme: dict[str, Any] = {
        "annotation_type": "text",
        "name": question.name,
        "description": f"{question.title}. {question.about}".strip(),
    }
    if not question.choices:
        return {**scheme, "multiline": True, "rows": 2, "cols": 60}
    return {
        **scheme,
        "annotation_type": "multiselect" if question.several else "radio",
        "labels": [
            {"name": choice, "displayed_label": f"{choice}: {descriptor}"} for choice, descriptor in question.choices
        ],
        "label_requirement": {"required": question.required},
    }


def _task(task: ToolTask) -> dict[str, Any]:
    # potato would count turns from 1.
    turns = [
        {"speaker": speaker, "text": f"[{number}] {text}" if number else text} for number, speaker, text in task.lines
    ]
    asked = {"request": task.request} if task.request else {}
    return {"id": task.id, "text": task.text, "conversation": turns, **asked}


def _claims(first: Any) -> bool:
    return isinstance(first, dict) and any(isinstance(first.get(name), dict) for name in _LABELS)


def _responses(content: RatingContent) -> Iterator[ToolResponse]:
    for where, record in content.records():
        try:
            yield _response(where, record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise no_export("potato", where, error) from error


def _response(where: str, record: Mapping[str, Any]) -> ToolResponse:
    schemes = record[_LABELS[0] if _LABELS[0] in record else _LABELS[1]]
    values = {scheme: _values(labels) for scheme, labels in schemes.items()}
    answered = {scheme: entries for scheme, entries in values.items() if entries}
    user = str(record["user_id"])
    return ToolResponse(
        where,
        task=str(record["instance_id"] if "instance_id" in record else record["id"]),
        rater=user,
        user=user,
        state="submitted" if answered else "skipped",
        values=answered,
    )


def _values(labels: Mapping[str, Any]) -> list[str]:
    """The labels that were chosen, or what was written."""
    if set(labels) == {"text_box"}:
        return [str(labels["text_box"])] if str(labels["text_box"]).strip() else []
    return [label for label, value in labels.items() if str(value) == label or value not in (*_NOT_CHOSEN, "0")]


TOOL = ToolForm(
    name="potato",
    title="potato",
    modes=("rate", "audit", "findings", "codes", "pairs"),
    one_role=True,
    next_step="For each rater: potato start FOLDER/config.yaml -p 8001, with a port of their own; they log in by their "
    "name in the plan. What comes back is annotations.jsonl of python -m potato.export --config FOLDER/config.yaml "
    "--format jsonl --output OUT.",
    files=_files,
    claims=_claims,
    responses=_responses,
)
