"""What potato writes: ``annotated_instances.jsonl``, one file a person; since potato 2 ``annotations.jsonl``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bedside.ratings.form_contract import CERTAIN, SETS, FormClaim, RatingForm, needed_item, record_cells
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent

_NAME = "annotated_instances.jsonl"
#: Labels of a scale, ``scale_4``, and of what somebody writes.
_SCALE = re.compile(r"(?:scale_)?(\d+)")
_WRITTEN = re.compile(r"text_?box.*|free_?text.*|bad_text", re.IGNORECASE)
#: What a label has that was not chosen.
_NOT_CHOSEN = (False, None, "", "0", "false", "False")
#: Where the labels stand: of potato 1 and 2.
_LABELS = ("label_annotations", "labels")


def _claims(content: RatingContent) -> FormClaim | None:
    first = content.first
    if not isinstance(first, dict):
        return None
    second = "instance_id" in first and isinstance(first.get("labels"), dict)
    return CERTAIN if second or isinstance(first.get("label_annotations"), dict) else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    folder = Path(content.place).resolve().parent.name if Path(content.place).name == _NAME else ""
    return record_cells(content, "potato", partial(_record_cells, folder=folder))


def _record_cells(content: RatingContent, where: str, record: Mapping[str, Any], folder: str) -> Iterator[RatedCell]:
    item = needed_item(content, where, {"id": record.get("id", record.get("instance_id"))}, record)
    rater = str(record.get("user_id") or folder)
    if "user_id" not in record and folder:
        content.account.remark(f"The rater is {folder}, as the folder of the file is called.")
    for schema, labels in record[_LABELS[0] if _LABELS[0] in record else _LABELS[1]].items():
        # What is chosen of radio buttons is its own value, which may be a level of 0.
        chosen = {label: value for label, value in labels.items() if value not in _NOT_CHOSEN or value == label}
        written = [label for label in chosen if _WRITTEN.fullmatch(label)]
        said = {"item": item, "rater": rater, "metric": schema}
        for label in written:
            yield RatedCell(where, schema, value=str(chosen[label]), kind="comment", **said)
        answers = [label for label in chosen if label not in written]
        if len(answers) > 1:
            content.account.count_left_out(SETS, where)
        elif answers:
            scale = _SCALE.fullmatch(answers[0])
            value = answers[0] if scale is None else scale[1]
            yield RatedCell(where, schema, value=value, **said)


FORM = RatingForm(
    name="potato",
    title="potato's annotated instances",
    description=(
        "One line an item (of potato 2 an item and person), with the label that was chosen in each scheme; of a "
        "scale its number (`scale_4` is 4). The rater is `user_id`, else the folder that `annotated_instances.jsonl` "
        "lies in. Texts are reasons of the ratings beside them; spans and answers of several labels are left out."
    ),
    example=(
        '{"user_id": "anna", "id": "a-1", "displayed_text": "…", "label_annotations": {"empathy": {"scale_4": "4"}}, '
        '"span_annotations": {}, "behavioral_data": {}}\n'
        '{"user_id": "ben", "id": "a-1", "displayed_text": "…", "label_annotations": {"empathy": {"scale_3": "3"}}, '
        '"span_annotations": {}, "behavioral_data": {}}\n'
    ),
    example_name="annotated_instances.jsonl",
    claims=_claims,
    read=_read,
    priority=10,
)
