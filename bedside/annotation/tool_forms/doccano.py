"""doccano: a project of text classification for each rater, with several labels to a text.

A folder holds ``tasks.jsonl`` to import as JSONL (columns ``text`` and ``label``; what other columns say goes with the
text and comes back), ``labels.json`` to import as labels and ``guideline.md`` to paste into the project's guideline. A
project has one list of labels, so that each is a question with its choice, ``empathy = 4``. What comes back is the
export as JSONL or JSON, with ``label`` and ``Comments``; the latter are the notes.

Sources: ``backend/data_export/pipeline/{dataset,factories,formatters}.py`` and ``backend/label_types/models.py`` in
https://github.com/doccano/doccano; https://doccano.github.io/doccano/tutorial/.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.annotation.fields import NOTES
from bedside.annotation.tool_form import ToolForm, ToolResponse
from bedside.annotation.tool_tasks import ToolPage, ToolTask
from bedside.core.errors import InputError
from bedside.ratings.form_contract import no_export
from bedside.ratings.rating_content import RatingContent

_IS = " = "
#: Characters of a label, at most.
_LABEL = 100
_KEYS = string.digits[1:] + string.ascii_lowercase
#: A background for the labels of each question, all dark enough for white text.
_COLOURS = ("#1f5f8b", "#7a3e00", "#2f6b2f", "#6a2c70", "#8b1e3f", "#3d4a5c")


def _files(page: ToolPage, tasks: Sequence[ToolTask]) -> dict[str, str]:
    lines = [
        json.dumps({"text": task.text, "label": [], "task": task.id, "rater": task.rater}, ensure_ascii=False)
        for task in tasks
    ]
    asked = [question.title for question in page.questions if question.choices and not question.several]
    how = f"Choose one label for each of: {', '.join(asked)}. " if asked else ""
    guideline = f"{how}A comment is taken for your notes.\n\n{page.guide}"
    return {
        "tasks.jsonl": "".join(line + "\n" for line in lines),
        "labels.json": json.dumps(list(_labels(page)), ensure_ascii=False, indent=2),
        "guideline.md": guideline,
    }


def _labels(page: ToolPage) -> Iterator[dict[str, Any]]:
    keys = iter(_KEYS)
    for number, question in enumerate(question for question in page.questions if question.choices):
        for choice, _ in question.choices:
            text = f"{question.name}{_IS}{choice}"
            if len(text) > _LABEL:
                raise InputError(
                    f"doccano takes labels of {_LABEL} characters, and {text!r} has {len(text)}",
                    where="the plan",
                    todo="export it in another form",
                )
            yield {
                "text": text,
                "prefix_key": None,
                "suffix_key": next(keys, None),
                "background_color": _COLOURS[number % len(_COLOURS)],
                "text_color": "#ffffff",
            }


def _claims(first: Any) -> bool:
    return (
        isinstance(first, dict)
        and isinstance(first.get("text"), str)
        and isinstance(first.get("label"), list)
        and {"task", "rater"} <= first.keys()
    )


def _responses(content: RatingContent) -> Iterator[ToolResponse]:
    for where, record in content.records():
        try:
            response = _response(where, record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise no_export("doccano", where, error) from error
        if response is not None:
            yield response


def _response(where: str, record: Mapping[str, Any]) -> ToolResponse | None:
    values: dict[str, list[str]] = {}
    fault = ""
    for label in record["label"]:
        question, between, choice = label.partition(_IS)
        if between:
            values.setdefault(question, []).append(choice)
        else:
            fault = f"the label {label!r} is not one of the plan's; remove it, and export again"
    notes = [str(comment) for comment in record.get("Comments") or () if str(comment).strip()]
    if not values and not notes and not fault:
        return None
    return ToolResponse(
        where,
        task=str(record["task"]),
        rater=str(record["rater"] or ""),
        user="",
        # Texts without a label are still to do; who only commented on one can't say what it is.
        state="submitted" if values else "skipped",
        values={**values, **({NOTES: notes} if notes else {})},
        shown=str(record["text"]),
        fault=fault,
    )


TOOL = ToolForm(
    name="doccano",
    title="doccano",
    modes=("rate", "audit", "codes", "pairs"),
    one_role=True,
    next_step="Make a project of text classification for each rater, with several labels to a text: import labels.json "
    "as labels and tasks.jsonl as JSONL, and paste guideline.md. What comes back is its export as JSONL.",
    files=_files,
    claims=_claims,
    responses=_responses,
)
