"""What Prodigy exports: one JSON line an annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.ratings.form_contract import CERTAIN, FormClaim, RatingForm
from bedside.ratings.rated_cell import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.record_fields import (
    SETS,
    SKIPPED,
    SPANS,
    answer_text,
    field_of,
    needed_item,
    no_export,
    of_row,
)

_ANSWERS = frozenset(("accept", "reject", "ignore"))


def _claims(content: RatingContent) -> FormClaim | None:
    first = content.first
    answer = first.get("answer") if isinstance(first, dict) else None
    if not isinstance(answer, str) or answer not in _ANSWERS:
        return None
    return CERTAIN if "_input_hash" in first or "_annotator_id" in first or "_session_id" in first else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    for where, record in content.records():
        try:
            cell = _cell(content, where, record)
        except (KeyError, TypeError, AttributeError) as error:
            raise no_export("Prodigy", where, error) from error
        if cell is not None:
            yield cell


def _cell(content: RatingContent, where: str, record: Mapping[str, Any]) -> RatedCell | None:
    leave = content.account.count_left_out
    if not isinstance(record["answer"], str):
        raise TypeError("an answer is no word")
    if record["answer"] == "ignore":
        leave(SKIPPED, where)
        return None
    meta = record.get("meta") or {}
    item = needed_item(content, where, record, meta, _hashed(record))
    rater = record.get("_annotator_id") or record.get("_session_id") or field_of(record, "rater", content)
    metric, value = "", ""
    if "accept" in record:
        # A choice: what was chosen counts if the whole was accepted.
        chosen = answer_text(record["accept"])
        if record["answer"] == "reject":
            leave("rejected choices", where)
            return None
        if chosen is None:
            leave(SETS, where)
            return None
        value = chosen
    elif isinstance(record.get("label"), str):
        metric, value = record["label"], record["answer"]
    elif "spans" in record:
        leave(SPANS, where)
        return None
    else:
        value = record["answer"]
    return RatedCell(
        where,
        metric or "answer",
        item=item,
        rater=str(rater or ""),
        metric=metric,
        value=value,
        **of_row(content, record, meta),
    )


def _hashed(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": record["_input_hash"]} if "_input_hash" in record else {}


FORM = RatingForm(
    name="prodigy",
    title="Prodigy's export as JSON lines",
    description=(
        "The option that was chosen (`accept`), or whether a `label` was accepted or rejected, with the label as "
        "metric; "
        "the rater is `_annotator_id`, else `_session_id`; the item a field such as `transcript_id`, of the task "
        "or its "
        "`meta`, else `_input_hash`. Ignored tasks, several choices and labels of parts of the text are left out and "
        "counted."
    ),
    example=(
        '{"text": "…", "transcript_id": "a-1", "options": [{"id": "4", "text": "4"}, {"id": "5", "text": "5"}], '
        '"accept": ["4"], "answer": "accept", "_input_hash": 101, "_task_hash": 201, "_session_id": "warmth-anna", '
        '"_annotator_id": "warmth-anna", "_view_id": "choice"}\n'
        '{"text": "…", "transcript_id": "a-1", "options": [{"id": "4", "text": "4"}, {"id": "5", "text": "5"}], '
        '"accept": ["5"], "answer": "accept", "_input_hash": 101, "_task_hash": 201, "_session_id": "warmth-ben", '
        '"_annotator_id": "warmth-ben", "_view_id": "choice"}\n'
    ),
    example_name="prodigy.jsonl",
    claims=_claims,
    read=_read,
    priority=10,
)
