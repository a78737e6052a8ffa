"""What Label Studio exports as JSON: tasks with their annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.ratings.form_contract import (
    CERTAIN,
    SETS,
    SKIPPED,
    SPANS,
    FormClaim,
    RatingForm,
    account_name,
    answer_text,
    needed_item,
    of_row,
    record_cells,
)
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent

#: Kinds of results that hold a rating, each with the key of its value.
_VALUES = {"choices": "choices", "rating": "rating", "number": "number"}


def _claims(content: RatingContent) -> FormClaim | None:
    first = content.first
    if not isinstance(first, dict) or not isinstance(first.get("data"), dict):
        return None
    return CERTAIN if isinstance(first.get("annotations"), list) else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    return record_cells(content, "Label Studio", _task_cells)


def _task_cells(content: RatingContent, where: str, task: Mapping[str, Any]) -> Iterator[RatedCell]:
    data = task["data"]
    leave = content.account.count_left_out
    item = needed_item(content, where, data, {"id": task["id"]})
    of_task = of_row(content, data)
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            leave(SKIPPED, where)
            continue
        rater = account_name(annotation["completed_by"])
        for result in annotation["result"]:
            kind, value, metric = result["type"], result["value"], str(result["from_name"])
            said = {"item": item, "rater": rater, "metric": metric, **of_task}
            if "start" in value or (kind not in _VALUES and kind != "textarea"):
                leave(SPANS, where)
            elif kind == "textarea":
                lines = value["text"] if isinstance(value["text"], list) else [value["text"]]
                yield RatedCell(where, metric, value="\n".join(map(str, lines)), kind="comment", **said)
            elif (answer := answer_text(value[_VALUES[kind]])) is None:
                leave(SETS, where)
            else:
                yield RatedCell(where, metric, value=answer, **said)


FORM = RatingForm(
    name="label_studio",
    title="Label Studio's export as JSON",
    description=(
        "Choices, ratings and numbers of each annotation, by the name of their tag; the rater is the annotator's "
        "e-mail address or number, the item a field of the task such as `transcript_id` or `external_id`, else the "
        "task's id. Texts are reasons of the ratings beside them. Labels of parts of the text, answers of several "
        "labels and skipped tasks are left out and counted."
    ),
    example=(
        '[{"id": 1, "data": {"transcript_id": "a-1", "text": "…"}, "annotations": ['
        '{"id": 11, "completed_by": 3, "was_cancelled": false, "result": [{"from_name": "empathy", "to_name": "text", '
        '"type": "rating", "value": {"rating": 4}}]}, '
        '{"id": 12, "completed_by": 4, "was_cancelled": false, "result": [{"from_name": "empathy", "to_name": "text", '
        '"type": "rating", "value": {"rating": 3}}]}]}]\n'
    ),
    example_name="label-studio.json",
    claims=_claims,
    read=_read,
    priority=10,
)
